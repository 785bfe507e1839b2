"""The tail of the latency: 1 - CDF on two logarithmic axes, from the merged json+ bins.

A thin line is one run, the thick one all runs of a cell merged. A line ends where fewer than 100
I/Os lie beyond: what comes after is the luck of a handful. Percentiles of single runs can't be
averaged, but bins can be added, so the thick line is exact to the width of fio's bins (0.8 %).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.lines import Line2D

from sluice import histogram
from sluice.histogram import Bins
from sluice.metrics import MIN_IOS_BEYOND
from sluice.model import Role, Status
from sluice.readings import Readings
from sluice.report.canvas import Canvas, Panel
from sluice.report.charts import Chart, Group
from sluice.report.closeups import CloseUp, close_ups, left_out
from sluice.report.digits import DASH, figure
from sluice.report.kept import Kept
from sluice.report.layout import Line
from sluice.report.scales import Ticks, latency_ticks
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import DASHES, SERIES
from sluice.report.words import plural

__all__ = ["nines", "tail", "thinned"]

TITLE = "Latency tail"
MAX_THIN = 20
"""Runs of a cell that are drawn one by one, spread over the session."""
NINES = (
    *((0.5, "p50"), (0.1, "p90"), (0.01, "p99"), (0.001, "p99.9"), (1e-4, "p99.99")),
    *((1e-5, "p99.999"), (1e-6, "p99.9999")),
)
"""Share of I/Os that took longer, and the name of the percentile."""
HEIGHT = 250.0

Curve = list[tuple[float, float]]
"""Latency in ns and the share of I/Os that took longer, falling."""


def nines(readings: Readings, kept: Kept) -> Group | None:
    """A chart for each close-up and direction; a group that says why there is none."""
    close, more = close_ups(readings, "lat_p99")
    if not close:
        return None
    charts = []
    for one in close:
        names = readings.directions(one.workload.name)
        for direction in names if len(names) > 1 else ("all",):
            chart = _chart(readings, kept, one, direction)
            if chart is not None:
                charts.append(chart)
    if not charts:
        return Group(TITLE, "", (), missing=("the folders of the runs hold no latency bins.",))
    lead = (
        "Share of I/Os that took longer than a latency, both axes logarithmic: the further left a "
        "line, the better. Thin: one run; thick: all runs of the cell merged. A line ends where "
        f"fewer than {MIN_IOS_BEYOND} I/Os lie beyond."
    )
    return Group(TITLE, lead, tuple(charts), 4, tuple(filter(None, (left_out(more),))))


def tail(bins: Bins) -> Curve:
    """The points of 1 - CDF that at least 100 I/Os support, by rising latency."""
    total = sum(bins.values())
    beyond = total
    curve: Curve = []
    for midpoint in sorted(bins):
        beyond -= bins[midpoint]
        if beyond < MIN_IOS_BEYOND:
            break
        curve.append((float(midpoint), beyond / total))
    return curve


def thinned(curve: Curve, width: float, height: float, decades: tuple[float, float]) -> Curve:
    """`curve` without points that lie closer than a pixel and a half to the one before, on panels
    of that size whose axes span so many decades. The last point stays."""
    if len(curve) < 3:
        return curve
    kept = [curve[0]]
    for point in curve[1:-1]:
        dx = math.log10(point[0] / kept[-1][0]) / decades[0] * width
        dy = math.log10(kept[-1][1] / point[1]) / decades[1] * height
        if math.hypot(dx, dy) >= 1.5:
            kept.append(point)
    return [*kept, curve[-1]]


def _chart(readings: Readings, kept: Kept, close: CloseUp, direction: str) -> Chart | None:
    latency = readings.results.sweep.latency
    drawn: list[tuple[Line, Bins, list[Curve]]] = []
    for line, cell in close.lines:
        runs = [
            run
            for run in readings.results.runs_of(cell.id, Status.OK)
            if kept.bins(run, Role.MEASURED, direction)
        ]
        bins = [kept.bins(run, Role.MEASURED, direction) for run in runs]
        pooled = histogram.merge(bins)
        if tail(pooled):
            drawn.append((line, pooled, [tail(one) for one in _spread(bins, MAX_THIN)]))
    if not drawn:
        return None
    points = [point for _, pooled, _ in drawn for point in tail(pooled)]
    x = latency_ticks("lat_p99", min(x for x, _ in points), max(x for x, _ in points), goal=3)
    lowest = min(y for _, y in points)
    at = [(y, text) for y, text in NINES if y >= lowest * 0.999]
    y_ticks = Ticks(lowest / 1.3, 1.0, tuple(y for y, _ in at), tuple(text for _, text in at))
    title = "I/Os that took longer" + ("" if direction == "all" else f", {direction}s")
    name = f"tail-{close.name}" + ("" if direction == "all" else f"-{direction}")
    canvas = Canvas(
        name,
        [Panel(title, HEIGHT, y_ticks, log=True)],
        _legend([line for line, _, _ in drawn]),
        f"{latency}, logarithmic",
        x.labels,
    )
    axes = canvas.axes[0]
    axes.set_xscale("log")
    axes.set_xlim(x.low, x.high)
    canvas.x_ticks(x.at, x.labels)
    axes.set_xticks([], minor=True)
    decades = (math.log10(x.high / x.low), math.log10(1.3 / lowest))
    for line, pooled, singles in drawn:
        for thickness, alpha, curves in ((0.6, 0.35, singles), (2.0, 1.0, [tail(pooled)])):
            for curve in curves:
                few = thinned(curve, canvas.width, HEIGHT, decades)
                axes.plot(
                    [x for x, _ in few],
                    [y for _, y in few],
                    color=SERIES[line.style],
                    linewidth=thickness,
                    alpha=alpha,
                    linestyle=DASHES[line.style] if thickness > 1 else "solid",
                )
    where = close.where + ("" if direction == "all" else f", {direction}s")
    desc = (
        f"Share of I/Os above a latency, both logarithmic, {where}: "
        f"{plural(len(drawn), 'line')}. The data table has the percentiles."
    )
    return Chart(
        name,
        f"{TITLE}: {where}",
        where,
        desc,
        f"fio's {latency}." + _capped([singles for _, _, singles in drawn], close, readings),
        finish(canvas.svg(), name, f"{TITLE}: {where}", desc, canvas.hovers),
        _table([(line, pooled) for line, pooled, _ in drawn]),
        _summary([(line, pooled) for line, pooled, _ in drawn]),
    )


def _spread(items: Sequence[Bins], most: int) -> list[Bins]:
    """At most so many of them, evenly chosen."""
    if len(items) <= most:
        return list(items)
    return [items[index * len(items) // most] for index in range(most)]


def _capped(singles: list[list[Curve]], close: CloseUp, readings: Readings) -> str:
    runs = max(len(list(readings.results.runs_of(cell.id))) for _, cell in close.lines)
    drawn = max(len(some) for some in singles)
    return f" Thin lines for {drawn} of {runs} runs." if drawn < runs else ""


def _legend(lines: Sequence[Line]) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            color=SERIES[line.style],
            linewidth=2.0,
            linestyle=DASHES[line.style],
            label=line.label,
        )
        for line in lines
        if line.label
    ]


def _value(pooled: Bins, share: float) -> float | None:
    """The percentile beyond which `share` of the I/Os lie; None where too few do."""
    if sum(pooled.values()) * share < MIN_IOS_BEYOND - 1e-6:
        return None
    return histogram.quantiles(pooled, [1.0 - share])[0]


def _table(drawn: Sequence[tuple[Line, Bins]]) -> Table:
    shown = [
        (share, text)
        for share, text in NINES
        if any(_value(pooled, share) is not None for _, pooled in drawn)
    ]
    rows = tuple(
        (
            line.label or "all",
            f"{sum(pooled.values()):,}",
            *(figure("lat_p99", _value(pooled, share)) for share, _ in shown),
        )
        for line, pooled in drawn
    )
    return Table(
        ("cell", "I/Os", *(text for _, text in shown)),
        rows,
        frozenset((0,)),
        f"Of all runs merged; {DASH}: fewer than {MIN_IOS_BEYOND} I/Os beyond.",
    )


def _summary(drawn: Sequence[tuple[Line, Bins]]) -> str:
    """The deepest percentile that all lines have, each line's figure."""
    common = [
        (share, text)
        for share, text in NINES
        if all(_value(pooled, share) is not None for _, pooled in drawn)
    ]
    if not common:
        return ""
    share, text = common[-1]
    each = "; ".join(
        f"{line.label or 'all runs'} {figure('lat_p99', _value(pooled, share))}"
        for line, pooled in drawn
    )
    return f"{text} of all runs merged: {each}."
