"""The slowest I/Os of a job, one by one, and the trace."""

from __future__ import annotations

import itertools
import json

import pytest
from fio_runner import Fio, Option, stats

More = dict[str, Option]
SLOW: More = {"device": "model", "rw": "randread", "size": "4M", "iodepth": 4, "direct": 1}


def test_the_slowest_are_told_of(fio: Fio, bypass: str) -> None:
    out = fio.folder / "s.json"
    fault = "delay:nth=100,for=40ms+delay:nth=500,for=80ms"
    fio.job(stats_json=out, bypass=bypass, fault=fault, tail_ios=5, **SLOW)
    job = stats(out)["jobs"][0]
    tail = job["tail"]
    assert len(tail) == 5
    totals = [io["queue_ns"] + io["device_ns"] for io in tail]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] >= 80e6
    assert totals[1] >= 40e6
    device = job["classes"]["sync_read"]["device_ns"]
    assert max(io["device_ns"] for io in tail) == device["max"]
    for io in tail:
        assert io["bypassed"] == (bypass == "all")
        assert (io["op"], io["class"], io["length"]) == ("read", "sync_read", 4096)
        assert io["file"] == str(fio.folder / "F")
        assert io["offset"] % 4096 == 0
        assert 0 <= io["ahead"] < 4
        assert 0 <= io["at_ns"] <= job["elapsed_ns"]


def test_of_those_that_waited_the_whole_time_counts(fio: Fio) -> None:
    out = fio.folder / "s.json"
    more: More = SLOW | {"iodepth": 32, "max_active": 2, "model_read_time": "500us", "size": "1M"}
    fio.job(stats_json=out, bypass="off", **more)
    tail = stats(out)["jobs"][0]["tail"]
    assert len(tail) == 10
    assert all(io["queue_ns"] > io["device_ns"] for io in tail)


@pytest.mark.parametrize("most", [0, 1, 2000])
def test_as_many_as_asked_for(fio: Fio, most: int) -> None:
    out = fio.folder / "s.json"
    fio.job(stats_json=out, tail_ios=most, **SLOW)
    assert len(stats(out)["jobs"][0]["tail"]) == min(most, 1024)


def test_the_trace_holds_the_last_ones(fio: Fio, bypass: str) -> None:
    out = fio.folder / "t.json"
    fio.job(trace=out, trace_ios=300, numjobs=2, bypass=bypass, **SLOW)
    events = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    assert names == ["a.1", "a.2"] or names == ["a.2", "a.1"]
    for process in (1, 2):
        device = [e for e in events if e["pid"] == process and e.get("cat") == "device"]
        assert len(device) == 300
        # One track a slot: its slices follow each other.
        for slot in {event["tid"] for event in device}:
            track = sorted((e["ts"], e["ts"] + e["dur"]) for e in device if e["tid"] == slot)
            for (_, end), (begin, _) in itertools.pairwise(track):
                assert end <= begin + 0.002
    assert all(e["args"]["bypassed"] == (bypass == "all") for e in events if e["ph"] == "X")


def test_a_trace_that_cannot_be_written(fio: Fio) -> None:
    run = fio.job(trace="none/t.json", rw="write", ok=False)
    ours = [x for x in run.lines("sluice: ") if "note:" not in x]
    assert len(ours) == 1 and "trace=none/t.json" in ours[0], run
    assert not (fio.folder / "F").exists()
