"""The slowest single I/Os of a sweep, with where their time went, from the engine's statistics."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import Any

from sluice.model import Results, Run, Status
from sluice.report.tables import Table

__all__ = ["MAX_SLOWEST", "slowest"]

MAX_SLOWEST = 20
"""Rows: over all runs, the slowest first."""

Io = Mapping[str, Any]


def slowest(results: Results) -> Table | None:
    """None when no run has any: another engine, an older one, or tail_ios=0."""
    found = heapq.nlargest(MAX_SLOWEST, _ios(results), key=lambda one: _total_ns(one[2]))
    if not found:
        return None
    axes = [axis.name for axis in results.sweep.axes]
    head = (
        *("workload", *axes, "block", "job", "operation", "class", "path", "offset, KiB"),
        *("ahead", "after, s", "total, ms", "queue, ms", "device, ms", "reap, ms"),
    )
    rows = tuple(_row(results, axes, run, job, io) for run, job, io in found)
    note = (
        "Ahead: the job's own I/Os at the device when this one was issued. After: since the job's "
        "first I/O, its ramp included."
    )
    return Table(
        head, rows, frozenset([*range(1 + len(axes)), *range(2 + len(axes), 6 + len(axes))]), note
    )


def _ios(results: Results) -> Iterator[tuple[Run, str, Io]]:
    for run in results.runs:
        if run.status is not Status.OK or run.engine_stats is None:
            continue
        for job in run.engine_stats.get("jobs", ()):
            for io in job.get("tail", ()):
                yield run, str(job.get("job", "")), io


def _total_ns(io: Io) -> int:
    return int(io["queue_ns"]) + int(io["device_ns"]) + int(io["reap_ns"])


def _row(results: Results, axes: list[str], run: Run, job: str, io: Io) -> tuple[str, ...]:
    cell = results.cell(run.cell)
    error = f" (error {io['error']})" if io["error"] else ""
    times = (_total_ns(io), int(io["queue_ns"]), int(io["device_ns"]), int(io["reap_ns"]))
    return (
        cell.workload,
        *(cell.values.get(name, "") for name in axes),
        str(run.block + 1),
        job,
        f"{io['op']}{error}",
        str(io["class"]),
        "bypassed" if io["bypassed"] else "queued",
        f"{int(io['offset']) / 1024:g}",
        str(io["ahead"]),
        f"{int(io['at_ns']) / 1e9:.3f}",
        *(f"{time / 1e6:.3f}" for time in times),
    )
