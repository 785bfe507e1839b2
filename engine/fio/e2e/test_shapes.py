"""How a job spreads its I/O over time and files: each of fio's ways works through the engine."""

from __future__ import annotations

import time

import pytest
from fio_runner import MIB, Fio, Option

Options = dict[str, Option]


def named(more: object) -> str | None:
    return ",".join(f"{k}={v}" for k, v in more.items()) if isinstance(more, dict) else None


@pytest.mark.parametrize(
    "more",
    [
        {"iodepth_batch": 8},
        {"iodepth_batch_submit": 16, "iodepth_batch_complete_min": 4},
        {"iodepth_batch_complete_min": 1, "iodepth_batch_complete_max": 32},
        {"iodepth_batch_complete_min": 0},
        {"iodepth_batch": 32, "iodepth_low": 4},
        {"iodepth_low": 1, "iodepth_batch_complete_min": 8},
        {"serialize_overlap": 1, "norandommap": 1},
        {"thinktime": 100, "thinktime_blocks": 64},
        {"thinktime": 100, "thinktime_blocks": 64, "iodepth_batch": 8},
        {"thinktime": 100, "thinktime_blocks": 64, "thinktime_blocks_type": "issue"},
        {"fixedbufs": 0},
        {"registerfiles": 0},
        {"force_async": 4},
        {"fixedbufs": 0, "registerfiles": 0, "force_async": 1},
        {"mem": "mmap"},
        {"mem": "shm"},
        {"iomem_align": "64k"},
        {"cpus_allowed": "0"},
        {"io_limit": "2M", "io_size": "4M"},
        {"disable_lat": 1, "disable_clat": 1, "disable_slat": 1},
        {"gtod_reduce": 1},
        {"clocksource": "clock_gettime"},
        {"unified_rw_reporting": 0, "lockmem": "1M"},
        {"iodepth": 1},
        {"iodepth": 256},
        {"invalidate": 0, "fadvise_hint": 0},
        {"create_on_open": 1},
        {"fallocate": "none"},
        {"prioclass": 2, "prio": 3},
    ],
    ids=named,
)
def test_the_same_work_in_every_shape(fio: Fio, more: Options) -> None:
    given: Options = {"iodepth": 32, "direct": 1, "rw": "randrw", **more}
    for job in fio.modes(**given).jobs:
        assert job["error"] == 0
        assert job["read"]["total_ios"] + job["write"]["total_ios"] == 1024


def test_huge_pages(fio: Fio, bypass: str) -> None:
    run = fio.job(bypass=bypass, mem="mmaphuge", rw="randread", direct=1, iodepth=32, ok=None)
    if run.code != 0 and run.lines("mmap"):
        pytest.skip("no huge pages reserved (sysctl vm.nr_hugepages)")
    assert run.code == 0, run
    assert run.jobs[0]["read"]["total_ios"] == 1024


@pytest.mark.parametrize(
    "more",
    [
        {"bssplit": "4k/50:16k/50", "bs": ""},
        {"bsrange": "4k-64k", "bs": ""},
        {"bs": "4k,8k,16k"},
        {"offset": "1M", "size": "1M"},
        {"offset": "25%", "size": "1M"},
        {"size": "50%"},
        {"offset_increment": "1M", "numjobs": 2, "size": "1M"},
        {"zonemode": "strided", "zonesize": "64k", "zonerange": "256k", "size": "2M"},
        {"zonemode": "strided", "zonesize": "64k", "zoneskip": "64k", "size": "1M"},
        {"random_distribution": "zipf:1.2"},
        {"random_distribution": "zoned:60/10:40/90"},
        {"randrepeat": 0, "norandommap": 1},
        {"percentage_random": 50},
        {"rw": "read:8k"},
        {"rw": "rw:4k"},
        {"loops": 3},
        {"number_ios": 100},
        {"rwmixread": 70},
    ],
    ids=named,
)
def test_counts_as_io_uring(fio: Fio, more: Options) -> None:
    (fio.folder / "F").write_bytes(b"x" * 4 * MIB)
    given: Options = {"rw": "randrw", "direct": 1, "iodepth": 8, "randseed": 7, **more}
    ours = fio.job(bypass="off", **given).jobs
    fios = fio.job(ioengine="io_uring", **given).jobs
    assert len(ours) == len(fios)
    for one, other in zip(ours, fios, strict=True):
        for way in ("read", "write"):
            assert one[way]["total_ios"] == other[way]["total_ios"]
            assert one[way]["io_bytes"] == other[way]["io_bytes"]


FILES = [
    {"file_service_type": "roundrobin"},
    {"file_service_type": "random"},
    {"file_service_type": "sequential"},
    {"openfiles": 2},
    {"openfiles": 2, "file_service_type": "sequential"},
    {"openfiles": 1, "file_service_type": "random"},
]


@pytest.mark.parametrize("more", FILES, ids=named)
@pytest.mark.parametrize("device", ["auto", "model"])
def test_eight_files(fio: Fio, device: str, more: Options) -> None:
    given: Options = {"nrfiles": 8, "size": "8M", "iodepth": 8, **more}
    for job in fio.modes(device=device, rw="randrw", direct=1, **given).jobs:
        assert job["error"] == 0
        assert job["read"]["io_bytes"] + job["write"]["io_bytes"] == 8 * MIB


@pytest.mark.parametrize("more", FILES, ids=named)
def test_eight_files_verify(fio: Fio, more: Options) -> None:
    given: Options = {"nrfiles": 8, "size": "8M", "iodepth": 8, **more}
    fio.modes(rw="randwrite", verify="crc32c", fsync_on_close=1, **given)


def test_many_model_files_fit_into_the_address_space(fio: Fio) -> None:
    fio.job(device="model", filename="", nrfiles=300, size="2400k", rw="randrw", iodepth=8)


def test_more_files_than_were_ever_open(fio: Fio, bypass: str) -> None:
    run = fio.job(
        bypass=bypass, filename="", nrfiles=200, size="1600k", rw="randrw", direct=1, iodepth=8
    )
    assert run.jobs[0]["read"]["total_ios"] + run.jobs[0]["write"]["total_ios"] == 400


def test_many_jobs_on_one_file(fio: Fio, target: Options, bypass: str) -> None:
    run = fio.job(group_reporting=1, bypass=bypass, rw="randrw", numjobs=8, **target)
    assert len(run.jobs) == 1
    job = run.jobs[0]
    assert job["read"]["io_bytes"] + job["write"]["io_bytes"] == 8 * 4 * MIB


def seconds_of(job: dict[str, dict[str, float]]) -> float:
    return max(job["read"]["runtime"], job["write"]["runtime"]) / 1000


def test_time_based_runs_its_time(fio: Fio, device: str) -> None:
    given: Options = {"time_based": 1, "runtime": "600ms", "rw": "randread", "iodepth": 4}
    for job in fio.modes(device=device, direct=1, **given).jobs:
        assert 0.55 <= seconds_of(job) < 1.5
        assert job["read"]["total_ios"] > 100


def test_ramp_time_is_not_counted(fio: Fio, device: str) -> None:
    given: Options = {"time_based": 1, "runtime": 1, "ramp_time": "500ms", "rw": "randread"}
    start = time.monotonic()
    for job in fio.modes(device=device, direct=1, iodepth=4, **given).jobs:
        assert 0.9 <= seconds_of(job) < 2
        assert job["read"]["total_ios"] > 100
    assert time.monotonic() - start > 1.3


@pytest.mark.parametrize(
    "more",
    [
        {"rate_iops": 500},
        {"rate_iops": 500, "rate_process": "poisson"},
        {"rate": "2000k"},
        {"rate_iops": 500, "rate_ignore_thinktime": 1, "thinktime": 100},
    ],
    ids=named,
)
def test_rate_is_kept(fio: Fio, more: Options) -> None:
    given: Options = {"time_based": 1, "runtime": 1, "rw": "randread", "iodepth": 16, **more}
    for job in fio.modes(direct=1, **given).jobs:
        assert 400 <= job["read"]["iops"] <= 600


def test_iolog_replays(fio: Fio, device: str, bypass: str) -> None:
    more: Options = {"rw": "randrw", "iodepth": 8, "direct": 1, "device": device}
    wrote = fio.job(bypass=bypass, write_iolog="log", **more).jobs[0]
    replay: Options = {"filename": "", "size": "", "read_iolog": "log", "replay_no_stall": 1}
    if device != "auto":
        replay["size"] = "4M"
    run = fio.job(bypass=bypass, **{**more, **replay})
    for way in ("read", "write"):
        assert run.jobs[0][way]["total_ios"] == wrote[way]["total_ios"]


def test_iolog_keeps_its_pauses(fio: Fio, bypass: str) -> None:
    path = fio.folder / "F"
    path.write_bytes(b"x" * MIB)
    entries = "".join(f"{i * 50_000} {path} read {i * 4096} 4096\n" for i in range(1, 9))
    (fio.folder / "log").write_text(
        f"fio version 3 iolog\n0 {path} add\n0 {path} open\n{entries}450000 {path} close\n",
        encoding="utf-8",
    )
    start = time.monotonic()
    run = fio.job(bypass=bypass, filename="", size="", read_iolog="log", direct=1, iodepth=4)
    assert run.jobs[0]["read"]["total_ios"] == 8
    assert 0.3 < time.monotonic() - start < 5


def test_steady_state(fio: Fio, bypass: str) -> None:
    run = fio.job(
        bypass=bypass,
        device="model",
        rw="randread",
        iodepth=4,
        time_based=1,
        runtime=4,
        steadystate="iops:90%",
        steadystate_duration=1,
    )
    assert run.jobs[0]["steadystate"]["ss"] == "iops:90.000000%"
    assert run.jobs[0]["steadystate"]["attained"] == 1


def test_latency_target_lowers_the_depth(fio: Fio, bypass: str) -> None:
    run = fio.job(
        bypass=bypass,
        device="model",
        model_channels=1,
        model_read_time="100us",
        rw="randread",
        iodepth=64,
        time_based=1,
        runtime=2,
        latency_target="2ms",
        latency_window="100ms",
        latency_percentile=90,
    )
    assert 0 < run.jobs[0]["latency_depth"] < 40
