"""The hockey stick: what latency costs as the offered load rises, under an open loop.

In a closed loop a slow device is asked less, which hides what its users would wait; so the sweep
offers a rate (``rate_iops`` as an axis, ``rate_process=poisson``) and the chart shows what came of
it. A point that achieved less than 97 % of its target has a backlog that grows as long as the run
lasts: its latency measures the run's length, so it is masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.lines import Line2D

from sluice.model import Axis, Cell, Role, Run, Workload
from sluice.readings import Key, Readings
from sluice.report import marks
from sluice.report.canvas import Canvas, Panel
from sluice.report.charts import Chart, Group
from sluice.report.digits import DASH, figure, interval, percent
from sluice.report.estimate import Estimate, mean_of
from sluice.report.layout import Facet, Line, facets_by
from sluice.report.scales import latency_ticks, linear_ticks
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import DASHES, MARKERS, SERIES
from sluice.report.words import slug
from sluice.verdicts.focus import focus_axis

__all__ = ["ACHIEVED", "RATE", "achieved", "hockey_sticks"]

TITLE = "Latency against load"
RATE = "rate_iops"
ACHIEVED = 0.97
"""Least share of its target at which a point is shown."""
P99, IOPS = Key("lat_p99"), Key("iops")


@dataclass(frozen=True, slots=True)
class _Point:
    """One cell."""

    cell: Cell
    target: float
    """Of one job, in I/Os a second."""
    share: float
    """Of the target that was achieved."""
    iops: Estimate
    p99: Estimate | None

    @property
    def masked(self) -> bool:
        """Whether it fell short."""
        return self.share < ACHIEVED


def hockey_sticks(readings: Readings) -> Group | None:
    """A chart for each workload and combination of the axes that are neither the rate nor the one
    in question; None for a sweep that offers no rates."""
    axes = [axis for axis in readings.results.sweep.axes if len(axis.values) > 1]
    rate = next((axis for axis in axes if axis.name == RATE and axis.numeric), None)
    if rate is None or rate.role is Role.NEIGHBOUR:
        return None
    others = [axis for axis in axes if axis is not rate]
    focus = focus_axis(tuple(others))
    rest = [axis for axis in others if axis is not focus]
    charts = [
        chart
        for workload in readings.results.sweep.workloads
        for facet in facets_by(focus, rest)
        if (chart := _chart(readings, rate, focus, workload, facet)) is not None
    ]
    lead = (
        "Open loop: I/Os arrive at the offered rate whether or not earlier ones are done. The "
        "further right a line stays flat, the more the value carries. Points are joined in the "
        f"order of the offered load; those that achieved less than {percent(ACHIEVED)} of it are "
        "masked (a cross at the top: how far they got)."
    )
    missing = () if charts else ("no cell has an achieved rate and a p99.",)
    return Group(TITLE, lead, tuple(charts), 4, missing)


def achieved(run: Run, target: float) -> float | None:
    """Share of the offered load that the measured jobs completed. fio applies the rate to each job
    and direction; of a mixture the direction with the larger part runs into it, so that one
    counts."""
    shares = []
    jobs = {(job.name, job.index) for job in run.jobs()}
    for job in jobs:
        rates = [
            sample.values.get("iops", 0.0)
            for direction in ("read", "write", "trim")
            for sample in run.jobs(Role.MEASURED, direction)
            if (sample.name, sample.index) == job
        ]
        if rates:
            shares.append(max(rates) / target)
    return fmean(shares) if shares else None


def _chart(
    readings: Readings, rate: Axis, focus: Axis | None, workload: Workload, facet: Facet
) -> Chart | None:
    drawn: list[tuple[Line, list[_Point]]] = []
    for line in facet.lines:
        fixed = dict(facet.fixed) | ({focus.name: line.value} if focus else {})
        points = _points(readings, rate, workload, fixed)
        if points:
            drawn.append((line, points))
    points = [point for _, some in drawn for point in some]
    shown = [point for point in points if not point.masked and point.p99 is not None]
    if not shown:
        return None
    values = [
        value
        for point in shown
        if point.p99
        for value in (point.p99.mean, *(one.value for one in readings.of(point.cell.id, P99)))
    ]
    y_ticks = latency_ticks("lat_p99", min(values), max(values))
    x = linear_ticks("iops", max(point.iops.mean for point in points), goal=4)
    where = ", ".join(filter(None, (workload.name, facet.title)))
    name = slug("-".join(("load", where, *(line.value for line, _ in drawn))))
    canvas = Canvas(
        name,
        [Panel("p99 latency, logarithmic", 240.0, y_ticks, log=True)],
        _legend([line for line, _ in drawn]),
        "IOPS achieved",
        x.labels,
    )
    axes = canvas.axes[0]
    axes.set_xlim(x.low, x.high)
    canvas.x_ticks(x.at, x.labels)
    for line, some in drawn:
        _draw(canvas, readings, line, some)
    loops = {"poisson": "Poisson arrivals", "linear": "arrivals at equal distances"}
    how = loops.get(workload.arrivals, "arrivals as the jobs say")
    title = f"{TITLE}: {where}"
    desc = f"p99 against the IOPS achieved, {where}; {how}. The data table has every point."
    return Chart(
        name,
        title,
        f"{where}: {workload.title}" if workload.title else where,
        desc,
        f"Open loop, {how}. Bars: 95 % t interval over blocks. {_masked(drawn)}",
        finish(canvas.svg(), name, title, desc, canvas.hovers),
        _table(rate, drawn),
        _summary(drawn),
    )


def _points(
    readings: Readings, rate: Axis, workload: Workload, fixed: dict[str, str]
) -> list[_Point]:
    """The cells of a line by rising rate."""
    found = []
    for cell in readings.results.cells:
        target = rate.value(cell.values[rate.name]).number
        if cell.workload != workload.name or not target:
            continue
        if any(cell.values.get(name) != text for name, text in fixed.items()):
            continue
        shares = [
            share
            for run in readings.results.runs_of(cell.id)
            if (share := achieved(run, target)) is not None
        ]
        iops = mean_of(readings, cell.id, IOPS)
        if shares and iops is not None:
            p99 = mean_of(readings, cell.id, P99)
            found.append(_Point(cell, target, fmean(shares), iops, p99))
    return sorted(found, key=lambda point: point.target)


def _draw(canvas: Canvas, readings: Readings, line: Line, points: Sequence[_Point]) -> None:
    axes = canvas.axes[0]
    shown = [(p, p.p99) for p in points if not p.masked and p.p99 is not None]
    single = []
    for point, _ in shown:
        rates = {reading.run.id: reading.value for reading in readings.of(point.cell.id, IOPS)}
        single += [(rates[one.run.id], one.value) for one in readings.of(point.cell.id, P99)]
    marks.dots(axes, single, line.style)
    marks.curve(axes, [(p.iops.mean, p99.mean) for p, p99 in shown], line.style)
    marks.bars(axes, [(point.iops.mean, p99) for point, p99 in shown], line.style)
    for point, p99 in shown:
        gid = f"mean{len(canvas.hovers)}"
        canvas.hovers[gid] = (
            f"{line.label or point.cell.workload}: offered {point.target:,.0f} a job, achieved "
            f"{percent(point.share)}, p99 {interval('lat_p99', p99)}"
        )
        marks.mean(axes, gid, point.iops.mean, p99, line.style)
    _, top = axes.get_ylim()
    axes.plot(
        [point.iops.mean for point in points if point.masked],
        [top for point in points if point.masked],
        linestyle="none",
        marker="x",
        markersize=6.0,
        color=SERIES[line.style],
        markeredgewidth=1.6,
        clip_on=False,
    )


def _legend(lines: Sequence[Line]) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            color=SERIES[line.style],
            marker=MARKERS[line.style],
            markersize=6.5,
            linewidth=1.6,
            linestyle=DASHES[line.style],
            label=line.label,
        )
        for line in lines
        if line.label
    ]


def _masked(drawn: Sequence[tuple[Line, Sequence[_Point]]]) -> str:
    """Which points are masked, as a sentence."""
    parts = []
    for line, points in drawn:
        masked = [point for point in points if point.masked]
        if masked:
            each = ", ".join(f"{p.target:,.0f} ({percent(p.share)} achieved)" for p in masked[:6])
            more = f" and {len(masked) - 6} more" if len(masked) > 6 else ""
            parts.append(f"{line.label or 'offered'}: {each}{more}")
    return f"Masked: {'; '.join(parts)}." if parts else "No point is masked."


def _table(rate: Axis, drawn: Sequence[tuple[Line, Sequence[_Point]]]) -> Table:
    rows = tuple(
        (
            line.label or "all",
            point.cell.values[rate.name],
            percent(point.share),
            interval("iops", point.iops),
            DASH if point.masked else interval("lat_p99", point.p99),
            "masked" if point.masked else "",
        )
        for line, points in drawn
        for point in points
    )
    head = ("cell", f"{rate.name} of each job", "achieved", "IOPS", "p99 latency", "")
    return Table(head, rows, frozenset((0, 5)), "Mean over blocks with its 95 % t interval.")


def _summary(drawn: Sequence[tuple[Line, Sequence[_Point]]]) -> str:
    """How far each line goes before it falls short."""
    parts = []
    for line, points in drawn:
        kept = [point for point in points if not point.masked]
        if kept:
            last = kept[-1]
            p99 = figure("lat_p99", last.p99.mean if last.p99 else None)
            parts.append(
                f"{line.label or 'the jobs'}: {figure('iops', last.iops.mean)} IOPS at p99 {p99}"
            )
        else:
            parts.append(f"{line.label or 'the jobs'}: no load was carried")
    return f"Highest load carried: {'; '.join(parts)}."
