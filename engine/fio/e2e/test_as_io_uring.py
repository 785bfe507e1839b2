"""The same job with fio's io_uring and with the engine ends with the same file and figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from fio_runner import MIB, Fio, Json, Option, sha256

More = dict[str, Option]

# A pattern made of the offset: what else fio writes holds the time of the day.
PATTERN: More = {"verify": "pattern", "verify_pattern": '"sluice"%o'}
JOBS: dict[str, More] = {
    "randwrite": {"rw": "randwrite", **PATTERN},
    "randwrite, deep": {"rw": "randwrite", "iodepth": 64, **PATTERN},
    "buffered": {"rw": "randrw", "direct": 0, **PATTERN},
    "randrw": {"rw": "randrw", "rwmixread": 30, **PATTERN},
    "one at a time": {"rw": "write", "iodepth": 1, "scramble_buffers": 0},
    "overwriting": {
        "rw": "randwrite",
        "norandommap": 1,
        "serialize_overlap": 1,
        "io_size": "8M",
        **PATTERN,
    },
    "sizes": {"rw": "randwrite", "bsrange": "4k-32k", "bs": "", **PATTERN},
    "strided": {
        "rw": "write",
        "zonemode": "strided",
        "zonesize": "64k",
        "zonerange": "128k",
        "size": "2M",
        **PATTERN,
    },
    "offset": {"rw": "randwrite", "offset": "1M", "size": "1M", **PATTERN},
}


def issued(job: Json) -> dict[str, tuple[int, ...]]:
    keys = ("total_ios", "io_bytes", "short_ios")
    return {way: tuple(job[way][key] for key in keys) for way in ("read", "write", "trim")}


@pytest.mark.parametrize("case", JOBS)
def test_same_totals_and_same_file(fio: Fio, case: str) -> None:
    more: More = {"direct": 1, "iodepth": 16, "randseed": 42, "allrandrepeat": 1}
    more |= JOBS[case] | {"end_fsync": 1}
    files = {}
    totals = {}
    engines: dict[str, More] = {
        "io_uring": {"ioengine": "io_uring"},
        "all": {"bypass": "all"},
        "limited": {"bypass": "off", "max_active": 3},
    }
    for name, given in engines.items():
        path = fio.folder / "F"
        path.write_bytes(b"\0" * 4 * MIB)
        totals[name] = issued(fio.job(**(more | given)).jobs[0])
        files[name] = sha256(path)
    assert set(map(str, totals.values())) == {str(totals["io_uring"])}
    assert set(files.values()) == {files["io_uring"]}


@pytest.mark.parametrize("rw", ["read", "write"])
def test_no_space_ends_as_with_io_uring(
    fio: Fio, small_filesystem: Path, bypass: str, direct: int, rw: str
) -> None:
    small = Fio(fio.folder / "small")
    more: More = {"rw": rw, "size": "32M", "bs": "64k", "direct": direct, "iodepth": 8}
    if rw != "read":
        more |= {"fallocate": "none", "overwrite": 0}
    ours = small.job(bypass=bypass, ok=False, **more)
    (small.folder / "F").unlink()
    fios = small.job(ioengine="io_uring", ok=False, **more)
    assert ours.code == fios.code == 1
    assert ours.lines("No space left on device"), ours
    if ours.out and rw == "write":
        assert ours.jobs[0]["error"] == fios.jobs[0]["error"] == 28


def test_full_device_write_fails_as_with_io_uring(fio: Fio, bypass: str) -> None:
    more: More = {"filename": "/dev/full", "rw": "write", "size": "64k"}
    ours = fio.job(bypass=bypass, ok=None, **more)
    fios = fio.job(ioengine="io_uring", ok=None, **more)
    assert ours.code == fios.code
    assert ours.jobs[0]["error"] == fios.jobs[0]["error"]
