"""What happened within the runs: bandwidth and latency by window, from fio's own logs.

The thick line is the median of the runs (bandwidth) or the percentile of their merged histograms
(latency); a thin line is one run. fio logs nothing during the ramp, so that stretch is shaded and
empty: what it hides is how the run got to speed, not a part of any figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.lines import Line2D

from sluice import histogram
from sluice.histogram import Bins
from sluice.metrics import MIN_IOS_BEYOND
from sluice.model import Role, Run
from sluice.readings import Readings
from sluice.report.canvas import Canvas, Panel
from sluice.report.charts import Chart, Group, y_ticks
from sluice.report.closeups import CloseUp, close_ups, left_out
from sluice.report.digits import DASH, figure
from sluice.report.kept import Kept
from sluice.report.layout import Line
from sluice.report.scales import Ticks
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import DASHES, LIGHT, SERIES
from sluice.timeline import Kind, window

__all__ = ["within"]

TITLE = "Within the runs"
DEPTHS = (("lat_p99", 0.99, "p99"), ("lat_p99", 0.9, "p90"))
"""The percentile by window, and what is taken where the windows hold too few I/Os for it."""
Curve = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Row:
    """One panel: its title, what it measures, and for each line the runs' curves and the thick."""

    title: str
    metric: str
    height: float
    lines: list[tuple[Line, list[Curve], Curve]]


def within(readings: Readings, kept: Kept) -> Group | None:
    """A chart for each close-up; a group that says why there is none."""
    sweep = readings.results.sweep
    close, more = close_ups(readings, "lat_p99")
    if not close:
        return None
    charts = [chart for one in close if (chart := _chart(readings, kept, one)) is not None]
    if charts:
        lead = (
            f"By window of {_window(sweep.runtime_s)}. Thin: one run; thick: "
            "bandwidth, the median of the runs; latency, all runs merged. Level is sound; a slope "
            "says that the ramp was too short, a wave that something else was at work."
        )
        return Group(TITLE, lead, tuple(charts), 2, tuple(filter(None, (left_out(more),))))
    if window(sweep.runtime_s) is None:
        why = f"runs of {sweep.runtime_s:g} s are too short to be cut into windows"
    elif sweep.timeline == Kind.NONE:
        why = "the sweep keeps no timeline (timeline, a key of the sweep file)"
    else:
        why = "the folders of the runs hold no logs"
    return Group(TITLE, "", (), missing=(f"{why}.",))


def _window(runtime_s: float) -> str:
    width_s = window(runtime_s) or 0.0
    return "1 s" if width_s == 1.0 else f"{1000 * width_s:g} ms"


def _chart(readings: Readings, kept: Kept, close: CloseUp) -> Chart | None:
    sweep = readings.results.sweep
    rows = [row for row in _rows(readings, kept, close) if row.lines]
    if not rows:
        return None
    panels = [Panel(row.title, row.height, _limits(row), row.metric != "bw") for row in rows]
    marks = _marks(sweep.ramp_s, sweep.runtime_s)
    labels = [f"{mark:g}" for mark in marks]
    name = f"within-{close.name}"
    canvas = Canvas(
        name, panels, _legend(rows[0]), "seconds after the ramp (shaded: not logged)", labels
    )
    canvas.x_ticks(marks, labels)
    for axes, row in zip(canvas.axes, rows, strict=True):
        axes.set_xlim(-sweep.ramp_s if sweep.ramp_s else 0.0, sweep.runtime_s)
        if sweep.ramp_s:
            axes.axvspan(-sweep.ramp_s, 0.0, color=LIGHT["shade"], linewidth=0.0, zorder=0.5)
        for line, singles, pooled in row.lines:
            style = SERIES[line.style]
            for curve in singles:
                axes.plot(*zip(*curve, strict=True), color=style, linewidth=0.6, alpha=0.35)
            if pooled:
                axes.plot(
                    *zip(*pooled, strict=True),
                    color=style,
                    linewidth=2.0,
                    linestyle=DASHES[line.style],
                )
    title = f"{TITLE}: {close.where}"
    desc = (
        f"{', '.join(row.title for row in rows)} against the seconds of a run, {close.where}. "
        "The data table has the extremes by window."
    )
    return Chart(
        name,
        title,
        close.where,
        desc,
        "" if len(rows) > 1 else 'No latency: for that the sweep needs timeline = "latency".',
        finish(canvas.svg(), name, title, desc, {}),
        _table(rows),
        _summary(rows[0]),
    )


def _rows(readings: Readings, kept: Kept, close: CloseUp) -> Iterator[_Row]:
    lines = [(line, list(readings.results.runs_of(cell.id))) for line, cell in close.lines]
    yield _Row("Bandwidth", "bw", 130.0, _rates(kept, lines, Role.MEASURED))
    for metric, quantile, name in DEPTHS:
        found = _percentiles(kept, lines, quantile)
        if any(pooled for _, _, pooled in found):
            yield _Row(f"{name} latency", metric, 120.0, found)
            break
    if close.workload.interference:
        yield _Row("Bandwidth of the neighbour", "bw", 100.0, _rates(kept, lines, Role.NEIGHBOUR))


Lines = Sequence[tuple[Line, Sequence[Run]]]


def _rates(kept: Kept, lines: Lines, role: Role) -> list[tuple[Line, list[Curve], Curve]]:
    found = []
    for line, runs in lines:
        singles: list[Curve] = []
        for run in runs:
            logs = [log for _, log in kept.logs(run, role)]
            timeline = kept.timeline(run)
            if logs and timeline is not None:
                singles.append(
                    [
                        (number * timeline.window_s, sum(log.rate(number) for log in logs))
                        for number in range(1, timeline.windows + 1)
                    ]
                )
        if singles:
            found.append((line, singles, _across(singles, median)))
    return found


def _percentiles(
    kept: Kept, lines: Lines, quantile: float
) -> list[tuple[Line, list[Curve], Curve]]:
    found = []
    for line, runs in lines:
        singles: list[Curve] = []
        merged: dict[float, list[Bins]] = {}
        for run in runs:
            windows = _windows(kept, run)
            for moment, bins in windows.items():
                merged.setdefault(moment, []).append(bins)
            curve = _curve(windows, quantile)
            if curve:
                singles.append(curve)
        pooled = _curve({at: histogram.merge(some) for at, some in merged.items()}, quantile)
        if singles or pooled:
            found.append((line, singles, pooled))
    return found


def _windows(kept: Kept, run: Run) -> dict[float, Bins]:
    """End of a window -> what the measured jobs completed in it."""
    timeline = kept.timeline(run)
    found: dict[float, list[Bins]] = {}
    if timeline is not None:
        for _, log in kept.logs(run, Role.MEASURED, latencies=True):
            for windows in log.latencies.values():
                for number, bins in windows.items():
                    found.setdefault(number * timeline.window_s, []).append(bins)
    return {moment: histogram.merge(parts) for moment, parts in found.items()}


def _curve(windows: dict[float, Bins], quantile: float) -> Curve:
    """The percentile in every window that has enough I/Os for it."""
    curve: Curve = []
    for moment in sorted(windows):
        if sum(windows[moment].values()) * (1.0 - quantile) >= MIN_IOS_BEYOND - 1e-6:
            value = histogram.quantiles(windows[moment], [quantile])[0]
            if value is not None:
                curve.append((moment, value))
    return curve


def _across(curves: Sequence[Curve], take: Callable[[Sequence[float]], float]) -> Curve:
    """One curve of several. Their logs may end a window apart; what most of them have counts."""
    values: dict[float, list[float]] = {}
    for curve in curves:
        for moment, value in curve:
            values.setdefault(moment, []).append(value)
    return [(at, take(some)) for at, some in sorted(values.items()) if 2 * len(some) > len(curves)]


def _limits(row: _Row) -> Ticks:
    values = [
        value
        for _, singles, pooled in row.lines
        for curve in (*singles, pooled)
        for _, value in curve
    ]
    return y_ticks(row.metric, min(values), max(values))


def _marks(ramp_s: float, runtime_s: float) -> list[float]:
    """Round seconds, of which 0 is one."""
    size = max(runtime_s, ramp_s, 1e-3)
    steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 3600, 1e9)
    step = next(step for step in steps if step * 6 >= size)
    first = -int(ramp_s / step + 1e-6)
    return [step * index for index in range(first, int(runtime_s / step + 1e-6) + 1)]


def _legend(row: _Row) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            color=SERIES[line.style],
            linewidth=2.0,
            linestyle=DASHES[line.style],
            label=line.label,
        )
        for line, _, _ in row.lines
        if line.label
    ]


def _table(rows: Sequence[_Row]) -> Table:
    body = []
    for row in rows:
        for line, singles, pooled in row.lines:
            values = [value for _, value in pooled]
            first, last = (values[0], values[-1]) if values else (None, None)
            body.append(
                (
                    row.title,
                    line.label or "all",
                    str(len(singles)),
                    *(figure(row.metric, one) for one in (first, last)),
                    *(figure(row.metric, take(values)) if values else DASH for take in (min, max)),
                )
            )
    return Table(
        ("what", "cell", "runs", "first window", "last window", "least", "most"),
        tuple(body),
        frozenset((0, 1)),
        "Of the thick lines.",
    )


def _summary(row: _Row) -> str:
    """How far the median of the runs moves from the first half to the second."""
    parts = []
    for line, _, pooled in row.lines:
        values = [value for _, value in pooled]
        half = len(values) // 2
        early, late = sum(values[:half]) / max(1, half), sum(values[-half:]) / max(1, half)
        if half and early > 0:
            parts.append(f"{line.label or 'all runs'} {100 * (late / early - 1):+.1f} %")
    if not parts:
        return ""
    return f"Bandwidth, second half of a run against the first: {'; '.join(parts)}."
