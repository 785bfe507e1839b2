"""I/O that hangs: told of while it hangs, given up where a job must end, in every mode."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time

import pytest
from fio_runner import DESCRIBE, Fio, Json, Option, Run, options, stats

More = dict[str, Option]

DEADMAN_MS = 400
CHECK_MS = 100
WATCHED: More = {
    "deadman_ms": DEADMAN_MS,
    "deadman_check_ms": CHECK_MS,
    "iodepth": 8,
    "rw": "randread",
}


# fio goes on after EIO and EILSEQ only, unless told of others; ETIMEDOUT it knows by number.
GOES_ON: More = {"continue_on_error": "io", "ignore_error": "110,110"}


def modes() -> list[str]:
    """Each value of bypass= that this build has."""
    if not DESCRIBE.exists():
        return ["off", "all"]
    out = subprocess.run([str(DESCRIBE)], capture_output=True, text=True, check=True).stdout
    rows = json.loads(out)["tunables"]
    values = next(row for row in rows if row["name"] == "bypass")["values"]
    return [str(value["name"]) for value in values]


TARGETS: dict[str, More] = {
    "file": {"device": "auto", "direct": 1},
    "model": {"device": "model", "direct": 1, "model_read_time": "20us"},
}


@pytest.fixture(params=modes())
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=TARGETS)
def where(request: pytest.FixtureRequest) -> More:
    return TARGETS[str(request.param)]


def ages(run: Run, what: str) -> list[float]:
    """Ages in seconds on the deadman's lines that hold `what`."""
    lines = run.lines("sluice: deadman: job a.1: ", what)
    return [
        float(found.group(1)) for found in (re.search(r"([\d.]+) s;", x) for x in lines) if found
    ]


def measured(fio: Fio, ok: bool | None = True, **given: Option) -> tuple[Run, Json]:
    out = fio.folder / "s.json"
    run = fio.job(stats_json=out, ok=ok, **given)
    return run, stats(out)["jobs"][0]


def test_a_swallowed_io_is_told_of_while_it_hangs(fio: Fio, where: More, mode: str) -> None:
    more: More = WATCHED | where | {"fault": "swallow:nth=50,for=700ms", "bypass": mode}
    run, job = measured(fio, slow_io_ms=600, **more)
    told = ages(run, "has been at the device")
    assert told, run  # a file's other I/Os may take as long when the machine is busy
    for age in told:
        assert DEADMAN_MS / 1e3 <= age <= (DEADMAN_MS + CHECK_MS + 200) / 1e3, run
    line = run.lines("has been at the device")[0]
    for words in (str(fio.folder / "F"), "read of 4096 bytes at ", "sync_read", "others in flight"):
        assert words in line
    assert ("bypassed" in line) == (mode in ("direct", "hybrid", "all")), line
    assert (job["deadman_events"], job["cancelled"]) == (len(told), 0)
    assert job["classes"]["sync_read"]["slow_ios"] >= 1


def test_one_that_never_comes_ends_the_job_all_the_same(fio: Fio, where: More, mode: str) -> None:
    more: More = WATCHED | where | {"fault": "swallow:nth=50", "bypass": mode}
    start = time.monotonic()
    run, job = measured(fio, ok=False, **more)
    assert time.monotonic() - start < 8
    assert len(ages(run, "is given up with ETIMEDOUT")) == 1, run
    assert ages(run, "is given up")[0] >= 2 * DEADMAN_MS / 1e3
    assert run.lines("Connection timed out"), run
    assert job["cancelled"] == 1
    assert sum(values["ops"] for values in job["classes"].values()) == 1024


def test_cancel_gives_it_up_at_once_and_the_job_goes_on(fio: Fio, where: More, mode: str) -> None:
    given = {"fault": "swallow:nth=50", "bypass": mode, "deadman_action": "cancel"}
    run, job = measured(fio, ok=None, **(GOES_ON | WATCHED | where | given))
    assert (DEADMAN_MS + CHECK_MS + 200) / 1e3 >= ages(run, "is given up")[0] >= DEADMAN_MS / 1e3
    assert run.jobs[0]["total_err"] == job["cancelled"] == 1
    assert sum(values["ops"] for values in job["classes"].values()) == 1024


@pytest.mark.parametrize("memory", ["malloc", "mmap", "shm"])
def test_a_late_one_spoils_no_data(fio: Fio, where: More, memory: str) -> None:
    # Late reads land in their old buffers while the io_u's read and check other blocks in new ones.
    text = f"""\
filename=F
size=8M
bs=4k
iodepth=8
mem={memory}
verify=crc32c
[lay]
rw=write
do_verify=0
fault=fail:nth=1000000
[check]
stonewall
rw=read
deadman_ms=200
deadman_check_ms=50
deadman_action=cancel
continue_on_error=io
ignore_error=110,110
fault=fail:nth=1000000
"""
    text = text.replace("fail:nth=1000000", "swallow:every=300,for=600ms,op=read")
    run = fio.file(text, ok=None, **where)
    assert run.lines("is given up with ETIMEDOUT"), run
    assert not run.lines("verify:"), run


@pytest.mark.parametrize("action", ["report", "cancel"])
def test_a_limit_of_one_starves_nobody(fio: Fio, where: More, action: str) -> None:
    given: More = {"fault": "swallow:nth=50", "max_active": 1, "deadman_action": action}
    start = time.monotonic()
    run = fio.job(ok=None, numjobs=3, size="1M", **(WATCHED | where | given))
    assert time.monotonic() - start < 12
    assert sum(job["error"] != 0 for job in run.jobs) == 1, run
    done = sorted(job["read"]["total_ios"] for job in run.jobs)
    assert done[1:] == [256, 256]


@pytest.mark.parametrize("action", ["report", "cancel"])
@pytest.mark.parametrize("late", ["", ",for=900ms"])
def test_merged_io_that_hangs_ends_with_all_its_parts(
    fio: Fio, where: More, action: str, late: str
) -> None:
    # Sequential, one at the device: nearly every I/O is made of several jobs' or slots' reads.
    given: More = {
        "fault": "swallow:nth=20" + late,
        "rw": "read",
        "sync_read_max_active": 1,
        "aggregation_limit": "32k",
        "deadman_action": action,
        "size": "2M",
        "numjobs": 2,
    }
    out = fio.folder / "s.json"
    start = time.monotonic()
    run = fio.job(ok=None, stats_json=out, **(GOES_ON | WATCHED | where | given))
    assert time.monotonic() - start < 12
    document = stats(out)
    assert document["leaves"][0]["aggregates"] > 10, run
    cancelled = sum(job["cancelled"] for job in document["jobs"])
    assert sum(job["total_err"] for job in run.jobs) == cancelled
    assert cancelled > 0 or (late and action == "report"), run
    ops = [sum(c["ops"] for c in job["classes"].values()) for job in document["jobs"]]
    assert ops == [512, 512]


@pytest.mark.parametrize("deadman", [0, 30_000])
def test_interrupt_ends_a_job_whose_io_hangs(
    fio: Fio, where: More, mode: str, deadman: int
) -> None:
    given: More = {"fault": "swallow:nth=50", "deadman_ms": deadman, "bypass": mode}
    args = ["--output-format=json", f"--ioengine={fio.engine}", "--name=a", "--filename=F"]
    more: More = {"size": "4M", "bs": "4k", "time_based": 1, "runtime": 60}
    process = fio.start(*args, *options(**(WATCHED | where | more | given)))
    time.sleep(1.5)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - start < 5, out + err
    assert "is given up with ETIMEDOUT" in err


def test_waiting_for_a_limit_is_not_hanging(fio: Fio) -> None:
    more: More = {"device": "model", "model_read_time": "20ms", "max_active": 1, "iodepth": 64}
    watched: More = {"deadman_ms": 100, "deadman_check_ms": 10}
    run, job = measured(fio, size="512k", bypass="off", **(WATCHED | more | watched))
    assert not run.lines("deadman: "), run
    assert job["deadman_events"] == 0
    assert job["classes"]["async_read"]["queue_ns"]["max"] > 5e8


FAULTS: dict[str, tuple[str, ...]] = {
    "swalow:nth=1": ("'swalow'", "swallow, delay, fail, short"),
    "swallow": ("'swallow'", "nth=, every= or p="),
    "swallow:nth=0": ("'nth=0'", "from 1 on"),
    "fail:p=2": ("'p=2'", "p=0 to p=1"),
    "delay:nth=1": ("for=",),
    "fail:nth=1,errno=EWHAT": ("'errno=EWHAT'", "EIO"),
    "short:nth=1,for=1s": ("'for=1s'", "bytes="),
}


@pytest.mark.parametrize("plan", FAULTS)
def test_a_plan_that_does_not_parse(fio: Fio, plan: str) -> None:
    run = fio.job(rw="write", fault=plan, ok=False)
    ours = [x for x in run.lines("sluice: ") if "note:" not in x]
    assert len(ours) == 1, run
    for words in ("fault", *FAULTS[plan]):
        assert words in ours[0]
    assert not (fio.folder / "F").exists()


def test_faults_fail_and_shorten(fio: Fio, where: More) -> None:
    run, job = measured(fio, rw="randwrite", fault="short:nth=9,bytes=512", **where)
    assert run.jobs[0]["write"]["short_ios"] == 1
    assert sum(values["short_transfers"] for values in job["classes"].values()) == 1
    more: More = {"continue_on_error": "io", "fault": "fail:every=100,errno=EIO"}
    run, job = measured(fio, ok=None, rw="randwrite", **(where | more))
    assert sum(values["errors"] for values in job["classes"].values()) == 10
    assert run.jobs[0]["total_err"] == 10


def test_a_delay_makes_each_io_slower(fio: Fio, where: More) -> None:
    given: More = {"rw": "randread", "size": "1M", "delay_time": "3ms"}
    _, job = measured(fio, **(where | given))
    assert 3e6 <= job["classes"]["sync_read"]["device_ns"]["min"] < 6e6
    given["delay_ops"] = "write"
    _, job = measured(fio, **(where | given))
    assert job["classes"]["sync_read"]["device_ns"]["percentile"]["50.000000"] < 3e6
