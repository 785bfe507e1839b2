"""Draws the response charts of a report.

One figure for each workload, of equal limits, so that solo and interference can be compared by
eye; throughput always stands over its CPU cost, because a gain that costs a core is another trade.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.model import METRICS, Workload
from sluice.readings import Key, Readings
from sluice.report.canvas import Canvas, Panel
from sluice.report.kinds import Kind, Row, is_latency, kinds
from sluice.report.layout import Facet, Layout, axis_label
from sluice.report.response import Series, draw, extent, legend
from sluice.report.scales import Ticks, latency_ticks, linear_ticks, x_scale
from sluice.report.svg import Drawing, finish
from sluice.report.tables import Table, response_table, too_few
from sluice.report.words import plural, slug

__all__ = ["Chart", "Group", "response_groups", "y_ticks"]


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure of a report."""

    name: str
    """Unique in the report; also the file's name without its suffix."""
    title: str
    """What is shown, and of which workload: for lists of charts."""
    heading: str
    """The same below a heading that already says what is shown."""
    desc: str
    """For those who can't see the picture."""
    caption: str
    drawing: Drawing
    table: Table
    summary: str = ""
    """What the chart shows, in a sentence or two, for whoever doesn't look at it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Figures that belong beside each other, under one heading."""

    title: str
    lead: str
    charts: tuple[Chart, ...]
    open: int | None = None
    """So many charts are shown at once, the others folded; None: all are shown."""
    missing: tuple[str, ...] = ()
    """What isn't drawn, and why, a sentence each."""

    @property
    def shown(self) -> tuple[Chart, ...]:
        """The charts that are seen at once."""
        return self.charts[: self.open]

    @property
    def folded(self) -> tuple[Chart, ...]:
        """The charts behind a summary that opens."""
        return () if self.open is None else self.charts[self.open :]


def response_groups(readings: Readings, layout: Layout) -> Iterator[Group]:
    """Throughput and latency of the measured jobs, then what the neighbours got. A group of which
    nothing at all was measured is left out."""
    for kind in kinds(readings, layout):
        limits = [_limits(readings, layout, kind, row) for row in kind.rows]
        panels = [
            Panel(row.title, row.height, ticks or y_ticks(row.metrics[0], 1.0, 1.0), row.log)
            for row, ticks in zip(kind.rows, limits, strict=True)
        ]
        if any(limits):
            charts = tuple(
                _chart(readings, layout, kind, workload, facet, panels)
                for workload in kind.workloads
                for facet in layout.facets
            )
            yield Group(kind.title, kind.lead, charts)


def y_ticks(metric: str, low: float, high: float) -> Ticks:
    """The y axis for figures from low to high: logarithmic for latency, else from 0."""
    if is_latency(metric):
        return latency_ticks(metric, max(low, 1.0), max(high, 1.0))
    return linear_ticks(metric, high, goal=4 if metric in ("iops", "bw") else 2)


def _chart(
    readings: Readings,
    layout: Layout,
    kind: Kind,
    workload: Workload,
    facet: Facet,
    panels: list[Panel],
) -> Chart:
    drawn = [_series(readings, layout, kind, row, workload, facet) for row in kind.rows]
    scale = x_scale(layout.x)
    where = ", ".join(filter(None, (workload.name, facet.title)))
    name = f"{kind.name}-{workload.name}"
    if len(layout.facets) > 1:
        number = layout.facets.index(facet) + 1
        where += f" ({number} of {len(layout.facets)})"
        name += f"-{number}"
    name = slug(name)
    along = axis_label(layout.x) + (f" ({scale.note})" if scale.note else "")
    canvas = Canvas(name, panels, legend(drawn[0], scale.joined), along, list(scale.ticks))
    canvas.x_axis(scale)
    for index, (row, series) in enumerate(zip(kind.rows, drawn, strict=True)):
        draw(canvas, index, series, layout.x, scale, readings, abreast=len(row.metrics) == 1)
    cells = [
        cell
        for line in facet.lines
        for cell in layout.cells(readings.results, workload.name, facet, line).values()
    ]
    title = f"{kind.title}: {where}"
    desc = (
        f"{kind.title} against {axis_label(layout.x)}, workload {where}: "
        f"{', '.join(panel.title for panel in panels)}; {plural(len(cells), 'cell')}. "
        "The data table has every figure."
    )
    return Chart(
        name,
        title,
        f"{where}: {workload.title}" if workload.title else where,
        desc,
        f"{_caption(workload, layout)} {too_few(readings, cells, kind.columns)}".strip(),
        finish(canvas.svg(), name, title, desc, canvas.hovers),
        response_table(readings, cells, kind.columns),
    )


def _series(
    readings: Readings, layout: Layout, kind: Kind, row: Row, workload: Workload, facet: Facet
) -> list[Series]:
    """The lines of one panel: one a value of the series axis, or one a metric."""
    found = []
    for line in facet.lines:
        cells = layout.cells(readings.results, workload.name, facet, line)
        for style, metric in enumerate(row.metrics):
            key = Key(metric, kind.role, row.direction)
            if len(row.metrics) > 1:
                found.append(Series(cells, key, METRICS[metric].label.split()[0], style))
            else:
                found.append(Series(cells, key, line.label, line.style))
    return found


def _limits(readings: Readings, layout: Layout, kind: Kind, row: Row) -> Ticks | None:
    """Limits that hold this row of every figure of the kind; None when nothing was measured."""
    seen = [
        extent(readings, _series(readings, layout, kind, row, workload, facet))
        for workload in kind.workloads
        for facet in layout.facets
    ]
    spans = [span for span in seen if span is not None]
    if not spans:
        return None
    return y_ticks(row.metrics[0], min(low for low, _ in spans), max(high for _, high in spans))


def _caption(workload: Workload, layout: Layout) -> str:
    """The loop, because a closed loop hides what a user would wait; and where the default is."""
    text = "Closed loop: an I/O starts when one ends."
    if workload.open_loop:
        text = "Open loop: arrivals don't wait for completions."
    default = layout.x.default
    if default is None:
        return text
    if any(layout.x.is_default(value.text) for value in layout.x.values):
        return f"{text} Ringed: the default, {default}."
    return f"{text} The default, {default}, is not in the sweep."
