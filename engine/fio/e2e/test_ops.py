"""Reads, writes, trims and syncs: what reaches the file, and what fio counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Loop
from fio_runner import MIB, Fio, Option, blocks, class_sums, stats

KINDS = ["read", "write", "randrw"]
More = dict[str, Option]


@pytest.mark.parametrize("rw", KINDS)
def test_every_byte_once(fio: Fio, target: More, rw: str) -> None:
    for job in fio.modes(rw=rw, iodepth=16, **target).jobs:
        assert job["read"]["io_bytes"] + job["write"]["io_bytes"] == 4 * MIB
        assert job["read"]["total_ios"] + job["write"]["total_ios"] == 1024
    assert len(list(fio.folder.iterdir())) == (2 if target["device"] == "auto" else 0)


def filled(fio: Fio, direct: int) -> Path:
    fio.job(rw="write", direct=direct, buffer_pattern='"abc"', end_fsync=1)
    path = fio.folder / "F"
    assert blocks(path) >= 4 * MIB
    assert 0 not in path.read_bytes()
    return path


def test_trim_punches_holes_and_keeps_the_size(fio: Fio, bypass: str, direct: int) -> None:
    path = filled(fio, direct)
    job = fio.job(rw="randtrim", bypass=bypass, direct=direct, iodepth=8).jobs[0]
    assert job["trim"]["total_ios"] == 1024
    assert path.stat().st_size == 4 * MIB
    assert blocks(path) < MIB
    assert not any(path.read_bytes())


def test_trim_of_a_part_leaves_the_rest(fio: Fio, bypass: str) -> None:
    path = filled(fio, 1)
    fio.job(rw="trim", bypass=bypass, direct=1, size="1M", offset="1M")
    content = path.read_bytes()
    assert not any(content[MIB : 2 * MIB])
    assert 0 not in content[:MIB] + content[2 * MIB :]
    assert len(content) == 4 * MIB


@pytest.mark.parametrize("device", ["model", "null"])
def test_trim_without_a_file(fio: Fio, device: str, bypass: str) -> None:
    job = fio.job(rw="randtrim", device=device, bypass=bypass, iodepth=8).jobs[0]
    assert job["trim"]["total_ios"] == 1024


def test_trim_of_a_block_device(fio: Fio, loop: Loop, bypass: str) -> None:
    where = str(loop.path)
    fio.job(filename=where, rw="write", direct=1, size="8M", buffer_pattern='"abc"')
    before = blocks(loop.image)
    job = fio.job(filename=where, rw="randtrim", direct=1, size="8M", bypass=bypass).jobs[0]
    assert job["trim"]["total_ios"] == 2048
    os.sync()
    assert blocks(loop.image) <= before - 7 * MIB
    with loop.path.open("rb") as device:
        assert not any(device.read(8 * MIB))


def test_block_device_verifies(fio: Fio, loop: Loop, bypass: str, direct: int) -> None:
    run = fio.job(
        filename=loop.path,
        rw="randwrite",
        direct=direct,
        size="8M",
        iodepth=16,
        verify="crc32c",
        bypass=bypass,
    )
    assert run.jobs[0]["read"]["total_ios"] == 2048


@pytest.mark.parametrize("rw", ["trimwrite", "randtrimwrite"])
def test_trimwrite_ends_with_what_was_written(fio: Fio, bypass: str, rw: str) -> None:
    path = filled(fio, 1)
    more: More = {"rw": rw, "bypass": bypass, "direct": 1, "iodepth": 1}
    job = fio.job(buffer_pattern='"xyz"', **more).jobs[0]
    assert job["trim"]["total_ios"] == job["write"]["total_ios"] == 1024
    if rw == "trimwrite":  # each block is trimmed, then written
        assert path.read_bytes() == (b"xyz" * 1366)[:4096] * 1024


@pytest.mark.parametrize("every", ["fsync", "fdatasync"])
def test_syncs_are_issued_and_counted(fio: Fio, target: More, every: str) -> None:
    more: More = {"rw": "write", "iodepth": 1, every: 16}
    out = fio.folder / "s.json"
    jobs = fio.modes(stats_json=out, **more, **target).jobs
    klass = "sync_write" if target["direct"] else "async_write"
    ops = class_sums(stats(out), "ops")
    assert list(ops) == [klass]
    # fio issues none behind the last write, and counts no fdatasync
    assert ops[klass] == 2 * (1024 + 1024 // 16 - 1)
    for job in jobs:
        assert job["sync"]["total_ios"] == (1024 // 16 - 1 if every == "fsync" else 0)


def test_syncs_as_many_as_with_io_uring(fio: Fio, bypass: str) -> None:
    more: More = {"rw": "randwrite", "direct": 1, "iodepth": 1, "fsync": 7}
    ours = fio.job(bypass=bypass, **more).jobs[0]["sync"]["total_ios"]
    assert ours == fio.job(ioengine="io_uring", **more).jobs[0]["sync"]["total_ios"] > 0


@pytest.mark.parametrize(
    "more", [{"end_fsync": 1, "fsync_on_close": 1}, {"sync": 1}, {"sync": "dsync"}]
)
def test_other_ways_to_be_durable(fio: Fio, target: More, more: More) -> None:
    for job in fio.modes(rw="write", size="512k", **target, **more).jobs:
        assert job["write"]["io_bytes"] == MIB // 2


def test_fsync_costs_what_the_model_says(fio: Fio, bypass: str) -> None:
    run = fio.job(
        device="model", bypass=bypass, rw="write", size="64k", fsync=1, model_flush_time="5ms"
    )
    sync = run.jobs[0]["sync"]["lat_ns"]
    assert sync["N"] >= 15
    assert 5e6 <= sync["mean"] < 15e6


def test_sync_file_range_is_refused(fio: Fio, device: str) -> None:
    run = fio.job(device=device, rw="write", sync_file_range="write:8", ok=False)
    assert len(run.lines("sluice:", "sync_file_range=", "use fsync= or fdatasync=")) == 1, run
    assert not (fio.folder / "F").exists()


def test_size_that_is_no_multiple_of_the_block(fio: Fio, bypass: str, direct: int) -> None:
    path = fio.folder / "F"
    path.write_bytes(b"x" * (MIB + 1000))
    more: More = {"rw": "read", "direct": direct, "size": "", "iodepth": 8}
    ours = fio.job(bypass=bypass, **more).jobs[0]["read"]
    fios = fio.job(ioengine="io_uring", **more).jobs[0]["read"]
    assert (ours["total_ios"], ours["io_bytes"]) == (fios["total_ios"], fios["io_bytes"])


def test_short_read_at_the_end(fio: Fio, bypass: str, direct: int) -> None:
    """The file shrinks behind fio's back: it is told a size, and reads less."""
    path = fio.folder / "F"
    path.write_bytes(b"x" * (MIB + 512))
    (fio.folder / "log").write_text(
        f"fio version 2 iolog\n{path} add\n{path} open\n"
        + "".join(f"{path} read {MIB - 8192 + i * 4096} 4096\n" for i in range(3))
        + f"{path} close\n",
        encoding="utf-8",
    )
    more: More = {"filename": "", "size": "", "read_iolog": "log", "direct": direct, "iodepth": 4}
    ours = fio.job(bypass=bypass, **more).jobs[0]
    fios = fio.job(ioengine="io_uring", **more).jobs[0]
    for key in ("total_ios", "io_bytes", "short_ios"):
        assert ours["read"][key] == fios["read"][key], key
    assert ours["error"] == fios["error"] == 0
