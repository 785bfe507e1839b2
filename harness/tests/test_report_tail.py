"""The table of the slowest I/Os."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from report_synthetic import BYPASS, SOLO, results, sweep

from sluice.model import Results, Status
from sluice.report.tail import MAX_SLOWEST, slowest


def io(device_ms: int, **more: Any) -> dict[str, Any]:
    return {
        "at_ns": 1_500_000_000,
        "queue_ns": 0,
        "device_ns": device_ms * 1_000_000,
        "reap_ns": 0,
        "op": "read",
        "class": "sync_read",
        "file": "/x",
        "offset": 4096,
        "length": 4096,
        "ahead": 3,
        "bypassed": True,
        "error": 0,
    } | more


def with_tails(*tails: list[dict[str, Any]]) -> Results:
    whole = results(sweep((BYPASS,), (SOLO,), blocks=2))
    runs = [
        replace(run, engine_stats={"jobs": [{"job": "a.1", "tail": tail}]})
        for run, tail in zip(whole.runs, tails, strict=False)
    ]
    return replace(whole, runs=(*runs, *whole.runs[len(runs) :]))


def test_the_slowest_of_all_runs_stand_first() -> None:
    table = slowest(with_tails([io(5), io(2)], [io(9, error=110), io(1, bypassed=False)]))
    assert table is not None
    total = table.head.index("total, ms")
    assert [row[total] for row in table.rows] == ["9.000", "5.000", "2.000", "1.000"]
    assert all(len(row) == len(table.head) for row in table.rows)
    assert table.rows[0][table.head.index("operation")] == "read (error 110)"
    assert [row[table.head.index("path")] for row in table.rows][-1] == "queued"
    assert table.rows[0][table.head.index("after, s")] == "1.500"
    assert table.rows[0][table.head.index("offset, KiB")] == "4"


def test_no_more_than_fit() -> None:
    table = slowest(with_tails([io(n) for n in range(1, 100)]))
    assert table is not None
    assert len(table.rows) == MAX_SLOWEST


def test_engines_without_and_runs_that_failed_have_none() -> None:
    whole = with_tails([io(5)])
    assert (
        slowest(replace(whole, runs=tuple(replace(r, engine_stats=None) for r in whole.runs)))
        is None
    )
    failed = tuple(replace(run, status=Status.FAILED) for run in whole.runs)
    assert slowest(replace(whole, runs=failed)) is None
    assert slowest(with_tails([])) is None
