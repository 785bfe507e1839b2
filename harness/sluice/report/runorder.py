"""The run-order diagnostic: does the machine drift while it is being measured?

Each run is drawn as its deviation from the mean of its own cell, in the order in which the runs
happened. A level cloud is what a sound session looks like; a slope, a step or a wave is the
machine and not the tunable.
"""

from __future__ import annotations

import math
from statistics import fmean, median

from matplotlib.lines import Line2D

from sluice.model import METRICS, Run, Status
from sluice.readings import Key, Readings
from sluice.report.canvas import Canvas, Panel
from sluice.report.charts import Chart
from sluice.report.digits import DASH, THIN
from sluice.report.scales import Ticks
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import LIGHT, MARKERS, MAX_SERIES, SERIES
from sluice.verdicts.family import gates_of
from sluice.verdicts.focus import focus_axis

__all__ = ["run_order"]

_NAME = "run-order"


def run_order(readings: Readings) -> Chart | None:
    """The chart for the first two gating metrics; None when no cell ran twice."""
    keys = [Key(gate.metric, gate.role) for gate in gates_of(readings.results)][:2]
    drawn = [(key, values) for key in keys if (values := _deviations(readings, key))]
    if not drawn:
        return None
    arms = _arms(readings)
    panels = [
        Panel(
            f"{METRICS[key.metric].label}: deviation from the cell's mean",
            130.0,
            _ticks([value for _, value in values]),
        )
        for key, values in drawn
    ]
    entries = [
        Line2D(
            [],
            [],
            color=SERIES[style],
            marker=MARKERS[style],
            markersize=5.0,
            linestyle="none",
            label=label,
        )
        for label, style in arms.values()
    ]
    bad = [run for run in readings.results.runs if run.status is not Status.OK]
    if bad:
        entries.append(
            Line2D(
                [],
                [],
                color=LIGHT["ink"],
                marker="x",
                markersize=5.0,
                linestyle="none",
                label="failed",
            )
        )
    last = max(run.order for run in readings.results.runs)
    marks = _marks(last)
    canvas = Canvas(
        _NAME,
        panels,
        entries,
        "position in the plan (lines: start of a block)",
        [f"{mark:,}" for mark in marks],
    )
    canvas.x_ticks(marks, [f"{mark:,}" for mark in marks])
    for axes, (_, values) in zip(canvas.axes, drawn, strict=True):
        axes.set_xlim(-0.02 * last - 0.5, 1.02 * last + 0.5)
        for start in _starts(readings):
            axes.axvline(start - 0.5, color=LIGHT["grid"], linewidth=0.8)
        axes.axhline(0.0, color=LIGHT["line"], linewidth=0.8)
        axes.plot(
            [run.order for run in bad],
            [axes.get_ylim()[0]] * len(bad),
            linestyle="none",
            marker="x",
            markersize=5.0,
            color=LIGHT["ink"],
            clip_on=False,
        )
        for value, (_, style) in arms.items():
            some = [(run.order, y) for run, y in values if _arm(readings, run) == value]
            axes.plot(
                [x for x, _ in some],
                [y for _, y in some],
                linestyle="none",
                marker=MARKERS[style],
                markersize=3.5,
                markeredgewidth=0.0,
                color=SERIES[style],
                alpha=0.8,
            )
    title = "Run order: is there a drift?"
    desc = (
        "Deviation of each run from its cell's mean against its position in the plan. The "
        "table below the chart has the median by block."
    )
    return Chart(
        _NAME,
        title,
        title,
        desc,
        "A level cloud is sound; a slope or a step is the machine, not the tunable.",
        finish(canvas.svg(), _NAME, title, desc, {}),
        _table(readings, drawn),
    )


Deviations = list[tuple[Run, float]]


def _deviations(readings: Readings, key: Key) -> Deviations:
    """Each run's deviation in percent, for cells that ran at least twice."""
    found: Deviations = []
    for cell in readings.results.cells:
        some = readings.of(cell.id, key)
        mean = fmean(reading.value for reading in some) if some else 0.0
        if len(some) > 1 and mean > 0.0:
            found += [(one.run, (one.value / mean - 1.0) * 100.0) for one in some]
    return sorted(found, key=lambda item: item[0].order)


def _arms(readings: Readings) -> dict[str, tuple[str, int]]:
    """Value of the axis in question -> label and style; one arm for all beyond four values."""
    axis = focus_axis(readings.results.sweep.axes)
    if axis is None or len(axis.values) > MAX_SERIES:
        return {"": ("all runs", 0)}
    return {
        value.text: (f"{axis.name}={value.text}", style) for style, value in enumerate(axis.values)
    }


def _arm(readings: Readings, run: Run) -> str:
    axis = focus_axis(readings.results.sweep.axes)
    if axis is None or len(axis.values) > MAX_SERIES:
        return ""
    return readings.results.cell(run.cell).values[axis.name]


def _starts(readings: Readings) -> list[int]:
    """Position of each block's first run, but for the first block."""
    first: dict[int, int] = {}
    for run in readings.results.runs:
        first[run.block] = min(first.get(run.block, run.order), run.order)
    return sorted(first.values())[1:]


def _ticks(values: list[float]) -> Ticks:
    """Symmetric limits, so that up and down look alike; at least 1 %."""
    reach = max(1.0, max(abs(value) for value in values) * 1.1)
    size = 10.0 ** math.floor(math.log10(reach))
    step = next(size * f for f in (0.5, 1.0, 2.0, 5.0, 10.0) if size * f >= reach / 2.6)
    at = tuple(step * n for n in (-2, -1, 0, 1, 2) if abs(step * n) <= reach)
    return Ticks(-reach, reach, at, tuple(f"{v:+g}{THIN}%" if v else f"0{THIN}%" for v in at))


def _marks(last: int) -> list[int]:
    step = max(1, 10 ** math.floor(math.log10(max(1, last))))
    step = next(
        (
            step * f // 10
            for f in (2, 5, 10, 20, 50)
            if step * f // 10 and last / (step * f // 10) <= 6
        ),
        step,
    )
    return list(range(0, last + 1, max(1, step)))


def _table(readings: Readings, drawn: list[tuple[Key, Deviations]]) -> Table:
    """The median deviation of each block: a drift in figures."""
    rows = []
    for block in sorted({run.block for run in readings.results.runs}):
        runs = [run for run in readings.results.runs if run.block == block]
        cells = []
        for _, values in drawn:
            some = [value for run, value in values if run.block == block]
            cells.append(f"{median(some):+.2f}{THIN}%" if some else DASH)
        bad = sum(run.status is not Status.OK for run in runs)
        rows.append((str(block + 1), str(len(runs)), str(bad), *cells))
    head = (
        "block",
        "runs",
        "failed",
        *(f"{METRICS[key.metric].label}, median" for key, _ in drawn),
    )
    return Table(
        head,
        tuple(rows),
        frozenset(),
        "Median deviation of the block's runs from their cells' means.",
    )
