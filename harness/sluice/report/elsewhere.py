"""Published figures beside measured ones. Another machine: shapes and ratios, never levels."""

from __future__ import annotations

from matplotlib.lines import Line2D

from sluice.model import METRICS, Published, PublishedPoint, Value
from sluice.readings import Key, Readings
from sluice.report.canvas import Canvas, Panel
from sluice.report.charts import Chart, Group, y_ticks
from sluice.report.digits import DASH, TIMES, figure, interval, ratio
from sluice.report.estimate import mean_of, ratio_of
from sluice.report.kinds import is_latency
from sluice.report.layout import Layout, axis_label, choose
from sluice.report.response import Series, draw, extent, legend
from sluice.report.scales import Ticks, XScale, x_scale
from sluice.report.svg import finish
from sluice.report.tables import Table, column
from sluice.report.theme import DASHES, MARKERS, MAX_SERIES, SERIES
from sluice.verdicts.focus import reference

__all__ = ["published_group"]


def published_group(readings: Readings) -> Group | None:
    """Two charts with one x axis and each its own y axis; None without a published table."""
    published = readings.results.sweep.published
    if published is None or not published.points:
        return None
    layout = choose(readings.results.sweep.axes, along=published.axis)
    scale = x_scale(layout.x, [Value(point.value, point.number) for point in published.points])
    charts = (_measured(readings, layout, scale, published), *_published(layout, scale, published))
    return Group(
        "Published figures",
        f"From {published.source} ({published.table}). A different "
        "machine: compare shapes only, never the absolute figures.",
        tuple(chart for chart in charts if chart is not None),
    )


def _measured(
    readings: Readings, layout: Layout, scale: XScale, published: Published
) -> Chart | None:
    key = Key(published.metric)
    by_facet = [
        [
            Series(
                layout.cells(readings.results, published.workload, facet, line),
                key,
                line.label,
                line.style,
            )
            for line in facet.lines
        ]
        for facet in layout.facets
    ]
    span = extent(readings, [one for series in by_facet for one in series])
    if span is None:
        return None
    ticks = y_ticks(published.metric, *span)
    label = METRICS[published.metric].label
    panels = [
        Panel(
            f"Measured: {label}" + (f", {facet.title}" if facet.title else ""),
            170.0,
            ticks,
            log=is_latency(published.metric),
        )
        for facet in layout.facets
    ]
    name = "published-measured"
    canvas = Canvas(
        name, panels, legend(by_facet[0], scale.joined), _x_label(layout, scale), list(scale.ticks)
    )
    canvas.x_axis(scale)
    for index, series in enumerate(by_facet):
        draw(canvas, index, series, layout.x, scale, readings)
    title = f"Measured here: {label}, {published.workload}"
    desc = f"{label} against {layout.x.name}, workload {published.workload}, as measured."
    base, _ = reference(layout.x)
    rows: list[tuple[str, ...]] = []
    for series in by_facet:
        for one in series:
            for text, cell in one.cells.items():
                other = one.cells.get(base)
                against = ratio_of(readings, cell.id, other.id, key) if other else None
                rows.append(
                    (
                        *cell.values.values(),
                        interval(key.metric, mean_of(readings, cell.id, key)),
                        DASH if text == base else ratio(against),
                    )
                )
    axes = [axis.name for axis in readings.results.sweep.axes]
    table = Table(
        (*axes, column(key), f"ratio to {layout.x.name}={base}"),
        tuple(rows),
        frozenset(range(len(axes))),
        "Mean and ratio with 95 % t intervals, each on its own.",
    )
    return Chart(
        name,
        title,
        title,
        desc,
        "This machine.",
        finish(canvas.svg(), name, title, desc, canvas.hovers),
        table,
    )


def _published(layout: Layout, scale: XScale, published: Published) -> list[Chart]:
    """Up to four series in each chart."""
    names = list(dict.fromkeys(point.series for point in published.points))
    highest = max(point.y for point in published.points)
    ticks = y_ticks(published.metric, min(point.y for point in published.points), highest)
    charts = []
    for start in range(0, len(names), MAX_SERIES):
        some = names[start : start + MAX_SERIES]
        number = f"-{start // MAX_SERIES + 1}" if len(names) > MAX_SERIES else ""
        charts.append(
            _elsewhere(f"published-elsewhere{number}", layout, scale, published, some, ticks)
        )
    return charts


def _elsewhere(
    name: str, layout: Layout, scale: XScale, published: Published, series: list[str], ticks: Ticks
) -> Chart:
    label = METRICS[published.metric].label
    entries = [
        Line2D(
            [],
            [],
            color=SERIES[i],
            marker=MARKERS[i],
            markersize=6.0,
            linewidth=1.6,
            linestyle=DASHES[i] if scale.joined else "none",
            markerfacecolor="none",
            label=one,
        )
        for i, one in enumerate(series)
    ]
    canvas = Canvas(
        name,
        [Panel(f"Published: {label}", 170.0, ticks, is_latency(published.metric))],
        entries,
        _x_label(layout, scale),
        list(scale.ticks),
    )
    canvas.x_axis(scale)
    rows: list[tuple[str, ...]] = []
    base, _ = reference(layout.x)
    for index, one in enumerate(series):
        points = sorted(
            (point for point in published.points if point.series == one),
            key=lambda point: scale.at[point.value],
        )
        shift = (index - (len(series) - 1) / 2) * 0.12 * scale.step * (not scale.joined)
        canvas.axes[0].plot(
            [scale.at[point.value] + shift for point in points],
            [point.y for point in points],
            color=SERIES[index],
            marker=MARKERS[index],
            markersize=6.5,
            markerfacecolor="none",
            markeredgewidth=1.4,
            linewidth=1.6,
            clip_on=False,
            linestyle=DASHES[index] if scale.joined else "none",
        )
        rows += [
            (one, point.value, figure(published.metric, point.y), _relative(points, point, base))
            for point in points
        ]
    title = f"Published, a different machine: {label}"
    desc = f"{label} against {layout.x.name} as published by {published.source}."
    table = Table(
        ("set-up", layout.x.name, label, f"ratio to {base}"),
        tuple(rows),
        frozenset((0, 1)),
        "As published; no spread was given.",
    )
    return Chart(
        name,
        title,
        title,
        desc,
        "A different machine: compare shapes only.",
        finish(canvas.svg(), name, title, desc, {}),
        table,
    )


def _relative(points: list[PublishedPoint], point: PublishedPoint, base: str) -> str:
    under = next((other.y for other in points if other.value == base), None)
    return f"{TIMES}{point.y / under:.3g}" if under and point.value != base else DASH


def _x_label(layout: Layout, scale: XScale) -> str:
    return axis_label(layout.x) + (f" ({scale.note})" if scale.note else "")
