"""The job that a user brings: it runs, verified, on every device and in every mode."""

from __future__ import annotations

import pytest
from fio_runner import MIB, Fio, Option

JOB = ["--size=256M", "--rw=randrw", "--bs=4k", "--iodepth=32", "--verify=crc32c", "--do_verify=1"]


def test_the_main_job(fio: Fio) -> None:
    run = fio.raw(
        f"--ioengine={fio.engine}",
        "--output-format=json",
        "--name=a",
        "--filename=F",
        "--direct=1",
        *JOB,
        timeout=120,
    )
    job = run.jobs[0]
    assert job["error"] == 0
    assert job["write"]["io_bytes"] > 100 * MIB
    # its own reads, and each written block once more to verify it
    assert job["read"]["io_bytes"] == 256 * MIB


@pytest.mark.parametrize("numjobs", [1, 4])
def test_main_job_smaller(fio: Fio, target: dict[str, Option], numjobs: int) -> None:
    where: dict[str, Option] = {"numjobs": numjobs} | target
    if numjobs > 1:  # jobs that share a file would verify each other's blocks
        where["filename_format"] = "$jobname.$jobnum"
        where["nrfiles"] = 1
    where |= {"verify": "crc32c", "do_verify": 1}
    run = fio.modes(**where, size="8M", rw="randrw", iodepth=32)
    assert len(run.jobs) == 2 * numjobs
    for job in run.jobs:
        assert job["error"] == 0
        assert job["write"]["io_bytes"] > 2 * MIB
        assert job["write"]["short_ios"] == job["read"]["short_ios"] == 0


def test_four_jobs_on_one_file_verify(fio: Fio, bypass: str, direct: int) -> None:
    run = fio.job(
        bypass=bypass,
        direct=direct,
        size="4M",
        offset_increment="4M",
        rw="randrw",
        iodepth=32,
        verify="crc32c",
        do_verify=1,
        numjobs=4,
    )
    assert len(run.jobs) == 4
    assert all(job["error"] == 0 for job in run.jobs)


def test_jobs_that_overwrite_each_other_fail_as_with_io_uring(fio: Fio) -> None:
    """fio seeds each job's blocks by its number, so that no engine can pass this one."""
    more: dict[str, Option] = {
        "size": "8M",
        "rw": "randrw",
        "direct": 1,
        "iodepth": 32,
        "numjobs": 4,
    }
    for engine in ("io_uring", ""):
        run = fio.job(ioengine=engine, verify="crc32c", do_verify=1, ok=False, **more)
        assert run.lines("verify: bad header rand_seed"), run


def test_job_with_one_line_changed(fio: Fio) -> None:
    run = fio.file(
        "rw=randread\nbs=4k\nsize=4M\ndirect=1\nfilename=F\n[one]\niodepth=1\n[two]\niodepth=16",
    )
    assert [job["jobname"] for job in run.jobs] == ["one", "two"]
    assert [job["read"]["total_ios"] for job in run.jobs] == [1024, 1024]
