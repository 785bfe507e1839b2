"""Places the marks of a response chart: every run, means with intervals, the default ringed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.lines import Line2D

from sluice.model import METRICS, Axis, Cell, Leg, Status
from sluice.readings import Key, Readings
from sluice.report import marks
from sluice.report.canvas import Canvas
from sluice.report.digits import interval
from sluice.report.estimate import Estimate, mean_of
from sluice.report.scales import XScale
from sluice.report.theme import DASHES, MARKERS, SERIES

__all__ = ["Series", "draw", "extent", "legend"]

LANES = {"category": 0.72, "log2": 0.36, "linear": 0.36}
"""Share of the room between two values over which the series of a panel spread. Narrow where a
position means a number."""
MAX_LANE = 0.42
"""Of one series: a lone series' dots stay near their value."""


@dataclass(frozen=True, slots=True)
class Series:
    """What one line of a panel shows."""

    cells: dict[str, Cell]
    """Value text of the x axis -> cell."""
    key: Key
    label: str
    style: int


def extent(readings: Readings, series: Sequence[Series]) -> tuple[float, float] | None:
    """Smallest and largest figure to be seen: all runs, and intervals as far as twice the largest
    run (those of two blocks reach further, and would flatten everything else)."""
    values = [
        reading.value
        for one in series
        for cell in one.cells.values()
        for reading in readings.of(cell.id, one.key)
    ]
    if not values:
        return None
    low, high = min(values), max(values)
    for one in series:
        for cell in one.cells.values():
            ends = (mean_of(readings, cell.id, one.key) or _NOTHING).interval
            if ends is not None:
                low = min(low, max(ends[0], 0.5 * min(values)))
                high = max(high, min(ends[1], 1.5 * max(values)))
    return low, high


def draw(
    canvas: Canvas,
    panel: int,
    series: Sequence[Series],
    axis: Axis,
    scale: XScale,
    readings: Readings,
    *,
    abreast: bool = True,
) -> None:
    """Fill a panel. Series stand abreast at each value, so that none hides another, unless the
    caller knows that they lie at different heights."""
    axes = canvas.axes[panel]
    lanes = len(series) if abreast else 1
    width = min(LANES[scale.kind] / lanes, MAX_LANE) * scale.step
    ranks = _ranks(readings)
    absent: dict[str, list[tuple[float, str]]] = {}
    for index, one in enumerate(series):
        shift = (index - (lanes - 1) / 2) * width if abreast else 0.0
        runs: list[marks.Point] = []
        means: list[tuple[float, str, Estimate]] = []
        for text, cell in one.cells.items():
            centre = scale.at[text] + shift
            for reading in readings.of(cell.id, one.key):
                rank = ranks[reading.run.block, reading.run.leg]
                runs.append((centre + (rank - 0.5) * 0.7 * width, reading.value))
            estimate = mean_of(readings, cell.id, one.key)
            if estimate is not None:
                means.append((centre, text, estimate))
            elif abreast or index == 0:
                absent.setdefault(text, []).append((centre, _absence(readings, cell, one.key)))
        means.sort(key=lambda item: item[0])
        marks.dots(axes, runs, one.style)
        if scale.joined:
            points = [(x, found.mean) for x, text, found in means if text != scale.zero]
            marks.curve(axes, points, one.style)
        marks.bars(axes, [(x, estimate) for x, _, estimate in means], one.style)
        for x, text, estimate in means:
            gid = f"mean{len(canvas.hovers)}"
            canvas.hovers[gid] = _hover(axis, text, one, estimate)
            marks.mean(axes, gid, x, estimate, one.style)
            if axis.is_default(text):
                marks.ring(axes, x, estimate.mean)
    for places in absent.values():  # lanes are too narrow for words of their own
        words = "; ".join(dict.fromkeys(why for _, why in places))
        marks.absence(axes, fmean(at for at, _ in places), words)


def legend(series: Sequence[Series], joined: bool) -> list[Line2D]:
    """Entries for series that have a label; a lone series without one needs none."""
    return [
        Line2D(
            [],
            [],
            color=SERIES[one.style],
            marker=MARKERS[one.style],
            markersize=6.5,
            linewidth=1.6,
            linestyle=DASHES[one.style] if joined else "none",
            label=one.label,
        )
        for one in series
        if one.label
    ]


_NOTHING = Estimate(0.0, None, None, 0, 0)


def _absence(readings: Readings, cell: Cell, key: Key) -> str:
    """Why a cell has no mark."""
    if cell.skipped is not None:
        return "skipped"
    if readings.unsupported(cell.id, key):
        return "too few I/Os"
    runs = list(readings.results.runs_of(cell.id, None))
    if not runs:
        return "not run"
    return "failed" if all(run.status is not Status.OK for run in runs) else "not measured"


def _hover(axis: Axis, text: str, one: Series, estimate: Estimate) -> str:
    name = METRICS[one.key.metric].label if one.key.metric in METRICS else one.key.metric
    where = f"{axis.name}={text}" + (f", {one.label}" if one.label else "")
    return (
        f"{where}: {name} {interval(one.key.metric, estimate)}, "
        f"{estimate.runs} runs in {estimate.blocks} blocks"
    )


def _ranks(readings: Readings) -> dict[tuple[int, Leg], float]:
    """(block, leg) -> 0..1 in the order of time, so that a drift shows as a slope of the dots."""
    blocks = [block.index for block in readings.results.blocks]
    blocks = sorted(set(blocks) | {run.block for run in readings.results.runs})
    order = [(block, leg) for block in blocks for leg in (Leg.FORWARD, Leg.REVERSE)]
    return {key: index / max(1, len(order) - 1) for index, key in enumerate(order)}
