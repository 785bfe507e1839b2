"""verify= in all its kinds, and that bad data is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fio_runner import Fio, Option

More = dict[str, Option]
KINDS = [
    "md5",
    "crc64",
    "crc32c",
    "crc32c-intel",
    "crc32",
    "crc16",
    "crc7",
    "xxhash",
    "sha512",
    "sha256",
    "sha1",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "null",
    "meta",
    "pattern",
]


def kind_options(kind: str) -> More:
    found: More = {"verify": kind}
    if kind in ("meta", "pattern"):
        found["verify_pattern"] = '0xdeadbeef"sluice"' + ("%o" if kind == "meta" else "")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(fio: Fio, kind: str) -> None:
    run = fio.modes(direct=1, rw="randwrite", iodepth=16, **kind_options(kind))
    assert [job["read"]["total_ios"] for job in run.jobs] == [1024, 1024]


@pytest.mark.parametrize("kind", ["crc32c", "meta", "pattern"])
def test_kinds_in_memory(fio: Fio, kind: str) -> None:
    run = fio.modes(device="model", rw="randwrite", iodepth=16, **kind_options(kind))
    assert [job["read"]["total_ios"] for job in run.jobs] == [1024, 1024]


@pytest.mark.parametrize(
    "more",
    [
        {"verify_backlog": 64, "verify_backlog_batch": 16},
        {"verify_async": 2, "verify_backlog": 32},
        {"verify_interval": 512},
        {"verifysort": 0},
        {"serialize_overlap": 1, "norandommap": 1, "io_size": "8M"},
        {"bsrange": "512-16k", "bs": "", "blockalign": 512},
        {"bssplit": "4k/50:8k/50", "bs": ""},
        {"loops": 2},
        {"fsync": 32},
    ],
    ids=lambda more: ",".join(more) if isinstance(more, dict) else None,
)
def test_ways_to_verify(fio: Fio, keeper: More, more: More) -> None:
    given: More = {"rw": "randwrite", "iodepth": 16, "verify": "crc32c"} | keeper | more
    for job in fio.modes(**given).jobs:
        assert job["error"] == 0
        assert job["read"]["total_ios"] > 0


def test_null_keeps_nothing_and_verifies_nothing(fio: Fio) -> None:
    fio.modes(device="null", rw="randwrite", iodepth=16, verify="crc32c")


def damage(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("kind", ["crc32c", "sha256", "meta", "pattern"])
def test_a_flipped_bit_is_found(fio: Fio, kind: str) -> None:
    more: More = {"rw": "write", "direct": 1, "iodepth": 8, **kind_options(kind)}
    fio.job(do_verify=0, **more)
    fio.job("--verify_only", **more)
    damage(fio.folder / "F", 1_000_000 if kind != "meta" else 999_424)
    run = fio.job("--verify_only", ok=False, **more)
    assert run.jobs[0]["error"] != 0
    assert run.lines("verify"), run


def test_one_job_reads_what_another_wrote(fio: Fio, bypass: str) -> None:
    text = """\
verify=crc32c
filename=F
size=4M
bs=4k
iodepth=16
[writer]
rw=randwrite
do_verify=0
[reader]
stonewall
rw=randread
"""
    for device in ("auto", "model"):
        run = fio.file(text, device=device, bypass=bypass, randrepeat=1, direct=1)
        assert run.jobs[1]["read"]["total_ios"] == 1024


def test_the_model_forgets_nothing_but_knows_what_it_never_had(fio: Fio) -> None:
    run = fio.job(device="model", rw="read", verify="crc32c", ok=False)
    assert run.lines("verify: bad magic header"), run


def test_verify_state(fio: Fio, bypass: str) -> None:
    more: More = {
        "rw": "randwrite",
        "direct": 1,
        "verify": "crc32c",
        "bypass": bypass,
        "iodepth": 4,
    }
    fio.job(do_verify=0, verify_state_save=1, number_ios=100, **more)
    states = list(fio.folder.glob("*verify.state"))
    assert len(states) == 1
    read = fio.job("--verify_only", verify_state_load=1, number_ios=100, **more).jobs[0]["read"]
    assert 0 < read["total_ios"] <= 100


@pytest.mark.parametrize("device", ["auto", "model"])
def test_merged_io_keeps_its_data(fio: Fio, device: str) -> None:
    """Two jobs on one file; I/O goes together with its neighbours."""
    out = fio.folder / "s.json"
    text = """\
filename=F
size=4M
offset_increment=4M
rw=readwrite
verify=crc32c
bs=4k
direct=1
iodepth=32
numjobs=2
queue_profile=openzfs
sync_read_max_active=1
sync_write_max_active=1
[job]
"""
    run = fio.file(text, device=device, stats_json=out)
    document = json.loads(out.read_text(encoding="utf-8"))
    leaf = document["leaves"][0]
    assert leaf["aggregates"] > 50
    assert leaf["merged"] >= 2 * leaf["aggregates"]
    assert sum(job["merged"] for job in document["jobs"]) == leaf["merged"]
    assert all(job["error"] == 0 for job in run.jobs)
