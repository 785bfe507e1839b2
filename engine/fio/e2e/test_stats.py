"""stats_json= tells what fio tells, and what fio can't know."""

from __future__ import annotations

import pytest
from fio_runner import MIB, Fio, Json, Option, Run, class_sums, stats

More = dict[str, Option]


def measured(fio: Fio, **given: Option) -> tuple[Run, Json]:
    out = fio.folder / "s.json"
    run = fio.job(stats_json=out, **given)
    return run, stats(out)


@pytest.mark.parametrize("rw", ["randrw", "randtrim"])
def test_counts_are_those_of_fio(fio: Fio, target: More, bypass: str, rw: str) -> None:
    run, document = measured(fio, rw=rw, bypass=bypass, iodepth=16, numjobs=2, **target)
    kind = "sync" if target["direct"] else "async"
    for what, ours in (("total_ios", "ops"), ("io_bytes", "bytes")):
        sums = class_sums(document, ours)
        for way, name in (("read", f"{kind}_read"), ("write", f"{kind}_write"), ("trim", "trim")):
            assert sums.pop(name, 0) == sum(job[way][what] for job in run.jobs), (what, way)
        assert not sums
    assert class_sums(document, "errors") == class_sums(document, "short_transfers") == {}
    queued = sum(class_sums(document, "queued").values())
    assert queued == (0 if bypass == "all" else sum(class_sums(document, "ops").values()))


def test_histograms_hold_every_operation(fio: Fio, target: More, bypass: str) -> None:
    _, document = measured(fio, rw="randrw", bypass=bypass, iodepth=16, fsync=64, **target)
    for job in document["jobs"]:
        assert job["classes"]
        for values in job["classes"].values():
            for name in ("queue_ns", "device_ns", "reap_ns"):
                histogram = values[name]
                assert histogram["N"] == values["ops"] == sum(histogram["bins"].values())
                assert histogram["min"] <= histogram["mean"] <= histogram["max"]
            assert (values["device_ns"]["max"] > 0) == (values["ops"] > 0)


@pytest.mark.parametrize("io_class", ["scrub", "async_read"])
def test_a_job_may_choose_its_class(fio: Fio, bypass: str, io_class: str) -> None:
    _, document = measured(fio, rw="randrw", bypass=bypass, direct=1, io_class=io_class)
    assert class_sums(document, "ops") == {io_class: 1024}


def test_limits_hold(fio: Fio, bypass: str) -> None:
    more: More = {"rw": "randread", "direct": 1, "iodepth": 32, "sync_read_max_active": 4}
    run, document = measured(fio, bypass=bypass, **more)
    leaf = document["leaves"][0]
    assert leaf["limits"]["sync_read"]["max_active"] == 4
    assert run.jobs[0]["read"]["total_ios"] == 1024
    if bypass == "off":
        assert leaf["active_max"] == 4
        assert 0 < leaf["waiting_max"] <= 28
        assert document["jobs"][0]["waited"] > 900
    else:
        assert leaf["active_max"] == leaf["waiting_max"] == document["jobs"][0]["waited"] == 0


def test_mean_depth_is_the_limit(fio: Fio) -> None:
    more: More = {"rw": "randread", "iodepth": 16, "max_active": 4, "model_read_time": "200us"}
    _, document = measured(fio, device="model", size="8M", **more)
    job = document["jobs"][0]
    assert 3 < job["depth_integral_ns"] / job["elapsed_ns"] <= 4.05
    assert 10 < job["queue_integral_ns"] / job["elapsed_ns"] <= 12.05


@pytest.mark.parametrize("max_active", [1, 3])
def test_jobs_share_a_limit(fio: Fio, target: More, max_active: int) -> None:
    more: More = {"rw": "randrw", "iodepth": 8, "numjobs": 4, "size": "2M"}
    run, document = measured(fio, max_active=max_active, bypass="off", **more, **target)
    for job in run.jobs:
        assert job["read"]["total_ios"] + job["write"]["total_ios"] == 512
    assert document["leaves"][0]["active_max"] <= max_active


@pytest.mark.parametrize("device", ["auto", "model"])
def test_a_job_that_thinks_progresses_beside_a_busy_one(fio: Fio, device: str) -> None:
    text = """\
filename=F
size=4M
rw=randread
bs=4k
direct=1
max_active=1
time_based
runtime=2
[busy]
iodepth=32
[thinks]
iodepth=2
thinktime=1000
thinktime_blocks=2
"""
    out = fio.folder / "s.json"
    run = fio.file(text, device=device, model_read_time="20us", stats_json=out)
    busy, thinks = (job["read"]["total_ios"] for job in run.jobs)
    assert busy > 500
    assert thinks > 50
    assert stats(out)["leaves"][0]["active_max"] == 1


def test_stonewalled_jobs_are_all_told_of(fio: Fio, device: str, bypass: str) -> None:
    text = "filename=F\nsize=2M\nbs=4k\n[one]\nrw=write\n[two]\nstonewall\nrw=randread\nnumjobs=2\n"
    out = fio.folder / "s.json"
    run = fio.file(text, device=device, bypass=bypass, stats_json=out)
    document = stats(out)
    assert len(run.jobs) == 3
    assert document["jobs"][0]["job"] == "one.1"
    assert sorted(job["job"] for job in document["jobs"]) == ["one.1", "two.2", "two.3"]
    assert class_sums(document, "bytes") == {"async_write": 2 * MIB, "async_read": 4 * MIB}
    assert [leaf["path"] for leaf in document["leaves"]] == [str(fio.folder / "F")]
    assert list(fio.folder.glob("s.json?*")) == []


def test_the_model_takes_its_time(fio: Fio, bypass: str) -> None:
    more: More = {"device": "model", "model_read_time": "2ms", "model_write_time": "1ms"}
    run, document = measured(fio, rw="randrw", iodepth=4, size="1M", bypass=bypass, **more)
    classes = document["jobs"][0]["classes"]
    assert classes["async_read"]["device_ns"]["min"] >= 2e6
    assert classes["async_read"]["device_ns"]["mean"] < 4e6
    assert 1e6 <= classes["async_write"]["device_ns"]["mean"] < 3e6
    assert run.jobs[0]["read"]["clat_ns"]["mean"] >= 2e6


def test_bytes_cost_the_model_time(fio: Fio) -> None:
    more: More = {"device": "model", "model_read_time": 0, "model_bandwidth": "64M", "bs": "64k"}
    _, document = measured(fio, rw="read", size="4M", **more)
    mean = document["jobs"][0]["classes"]["async_read"]["device_ns"]["mean"]
    assert 976_562 <= mean < 2_000_000  # 64 KiB at 64 MiB/s


CASES: dict[str, More] = {
    "file": {"device": "auto", "direct": 1},
    "file, limited": {"device": "auto", "direct": 1, "max_active": 4},
    "model": {"device": "model", "model_read_time": "500us"},
    "model, limited": {"device": "model", "model_read_time": "500us", "max_active": 2},
}


@pytest.mark.parametrize("case", CASES)
def test_clat_is_queue_and_device(fio: Fio, bypass: str, case: str) -> None:
    run, document = measured(fio, rw="randread", iodepth=16, bypass=bypass, **CASES[case])
    clat = run.jobs[0]["read"]["clat_ns"]["mean"]
    values = next(v for v in document["jobs"][0]["classes"].values() if v["ops"])
    ours = sum(values[name]["mean"] for name in ("queue_ns", "device_ns", "reap_ns"))
    assert clat == pytest.approx(ours, rel=0.1, abs=5_000)
    assert (values["queue_ns"]["max"] > 0) == ("limited" in case and bypass == "off")


def test_system_calls_are_counted(fio: Fio, bypass: str) -> None:
    _, document = measured(fio, rw="randread", direct=1, iodepth=1, bypass=bypass)
    job = document["jobs"][0]
    assert 1024 <= job["enters"] <= 1100  # one system call an I/O, and few beside
    assert job["elapsed_ns"] > 0
    assert job["cpu_user_ns"] + job["cpu_system_ns"] > 0
