"""Which groups of figures a report has: throughput, latency, and what the neighbours got."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.model import METRICS, Role, Workload
from sluice.readings import Key, Readings
from sluice.report.layout import Layout

__all__ = ["Kind", "Row", "is_latency", "kinds"]

PERCENTILES = ("lat_p50", "lat_p99", "lat_p999")
PROPORTIONAL = 0.005
"""Bandwidth whose ratio to IOPS varies by less than this says nothing that IOPS doesn't."""


@dataclass(frozen=True, slots=True)
class Row:
    """One panel of a figure: one metric in several lines, or several metrics of one line."""

    metrics: tuple[str, ...]
    direction: str
    height: float

    @property
    def log(self) -> bool:
        """Whether the y axis is logarithmic."""
        return is_latency(self.metrics[0])

    @property
    def title(self) -> str:
        """What stands above the panel."""
        label = METRICS[self.metrics[0]].label
        if len(self.metrics) > 1:
            label = "Latency: p50, p99, p99.9"
        return label + ("" if self.direction == "all" else f", {self.direction}s")


@dataclass(frozen=True, slots=True)
class Kind:
    """What the figures of one group show."""

    name: str
    title: str
    lead: str
    role: Role
    rows: tuple[Row, ...]
    columns: tuple[Key, ...]
    """Of the data table."""
    workloads: tuple[Workload, ...]


def is_latency(metric: str) -> bool:
    """Whether the metric belongs on a logarithmic axis."""
    return metric.startswith("lat_")


def kinds(readings: Readings, layout: Layout) -> Iterator[Kind]:
    """The groups of this sweep, in the order of the page."""
    sweep = readings.results.sweep
    gates = {gate.metric for gate in sweep.gates}
    rates = ("iops", "bw") if "bw" in gates or not _proportional(readings) else ("iops",)
    yield Kind(
        "throughput",
        "Throughput and its CPU cost",
        "CPU is user and system time of the job's own threads; interrupts and kernel threads "
        "are not in it.",
        Role.MEASURED,
        tuple(_row(metric) for metric in (*rates, "cpu_us")),
        tuple(Key(name) for name in ("iops", "bw", "cpu_us", "ctx")),
        sweep.workloads,
    )
    yield _latency(readings, layout)
    disturbed = tuple(load for load in sweep.workloads if load.interference)
    if disturbed:
        metrics = (*rates, "lat_p99", "cpu_us")
        yield Kind(
            "neighbour",
            "What the neighbour got",
            "The jobs that run beside the measured ones: what one side gains, does the other "
            "pay for it?",
            Role.NEIGHBOUR,
            tuple(_row(metric) for metric in metrics),
            tuple(Key(metric, Role.NEIGHBOUR) for metric in metrics),
            disturbed,
        )


def _latency(readings: Readings, layout: Layout) -> Kind:
    """Reads and writes apart where a workload has both: their mixture is nobody's latency. The
    three percentiles share a panel when there is one line of each to draw."""
    sweep = readings.results.sweep
    both = tuple(
        name
        for name in ("read", "write")
        if any(name in readings.directions(load.name) for load in sweep.workloads)
    )
    directions = both if len(both) > 1 else ("all",)
    if layout.series is None:
        rows = tuple(Row(PERCENTILES, direction, 250.0) for direction in directions)
    else:
        rows = tuple(_row(metric, name) for name in directions for metric in PERCENTILES)
    start = "submission" if sweep.latency == "clat" else "creation"
    return Kind(
        "latency",
        "Latency",
        f"fio's {sweep.latency}: from an I/O's {start} to its completion. Logarithmic axes.",
        Role.MEASURED,
        rows,
        tuple(Key(metric, direction=name) for name in directions for metric in PERCENTILES),
        sweep.workloads,
    )


def _row(metric: str, direction: str = "all") -> Row:
    height = {"iops": 190.0, "bw": 190.0, "cpu_us": 90.0}.get(metric, 130.0)
    return Row((metric,), direction, height)


def _proportional(readings: Readings) -> bool:
    """Whether bandwidth is IOPS times one size in all runs."""
    ratios = [
        width.value / rate.value
        for cell in readings.results.cells
        for width, rate in zip(
            readings.of(cell.id, Key("bw")), readings.of(cell.id, Key("iops")), strict=False
        )
        if rate.value > 0
    ]
    return not ratios or max(ratios) - min(ratios) <= PROPORTIONAL * max(ratios)
