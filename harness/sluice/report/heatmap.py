"""The ratio map: where along a second axis a value pays, and where it costs.

Rows and columns are the axis in question and another one (or the workloads); a field is the ratio
to the default at the same place. Colour is the log2 of the ratio, blue for better and orange for
worse, even at 0; hatching says that the difference is inconclusive, and an empty field why it is
empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from sluice.model import Axis, Cell, Gate, Results
from sluice.report.answer import metric_name
from sluice.report.canvas import Canvas, Panel, shortened, text_width
from sluice.report.charts import Chart
from sluice.report.digits import DASH, TIMES
from sluice.report.scales import Ticks
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import LIGHT, STEPS, step_role
from sluice.report.words import plural, slug
from sluice.stats import Comparison, Verdict
from sluice.verdicts.family import Comparisons, gates_of

__all__ = ["heat_maps"]

ROW = 26.0
MAX_COLUMNS = 9
"""More don't leave room for four characters on a telephone; then the axes change places."""
MAX_PANELS = 6
"""Of one figure."""
MAX_CHARTS = 3
"""For a metric; what is beyond is in the table of all comparisons."""
MAX_LOG2 = 3.0
"""Stronger differences all have the strongest colour."""
WORKLOAD = "workload"


@dataclass(frozen=True, slots=True)
class _Grid:
    """What the rows and columns of every map of a sweep are."""

    rows: tuple[str, ...]
    row_name: str
    columns: tuple[str, ...]
    column_name: str


def heat_maps(results: Results, found: Comparisons) -> Iterator[Chart]:
    """A figure for each gating metric; nothing where a map would be a single row and column."""
    focus = found.axis
    if focus is None:
        return
    others = [axis for axis in results.sweep.axes if axis is not focus and len(axis.values) > 1]
    # Numbers first, then the axis with the most values: that is where a trend can show.
    across = max(others, key=lambda axis: (axis.numeric, len(axis.values)), default=None)
    grid = _grid(results, found, focus, across)
    if len(grid.rows) * len(grid.columns) < 2 or min(len(grid.rows), len(grid.columns)) < 1:
        return
    for gate in gates_of(results):
        rows = [row for row in found.rows if row.gate == gate]
        if not any(row.ratio for row in rows):
            continue
        panels = _panels(rows, grid)
        for start in range(0, min(len(panels), MAX_PANELS * MAX_CHARTS), MAX_PANELS):
            part = panels[start : start + MAX_PANELS]
            number = start // MAX_PANELS + 1 if len(panels) > MAX_PANELS else 0
            yield _chart(results, found, gate, grid, part, number, _limit(rows))


def _grid(results: Results, found: Comparisons, focus: Axis, across: Axis | None) -> _Grid:
    mine = tuple(value.text for value in focus.values if value.text != found.base)
    if across is None:
        theirs = tuple(load.name for load in results.sweep.workloads)
        name = WORKLOAD
    else:
        theirs, name = tuple(value.text for value in across.values), across.name
    # More than fit across: then they stand below each other.
    if len(theirs) > MAX_COLUMNS and len(mine) <= MAX_COLUMNS:
        return _Grid(theirs, name, mine, focus.name)
    return _Grid(mine, focus.name, theirs, name)


Fields = dict[tuple[str, str], Comparison]


def _panels(rows: Sequence[Comparison], grid: _Grid) -> list[tuple[str, Fields]]:
    """Title -> the fields of one map: one for each combination of everything else."""
    panels: dict[str, Fields] = {}
    for row in rows:
        facts = _facts(row.cell)
        place = facts.pop(grid.row_name), facts.pop(grid.column_name)
        load = facts.pop(WORKLOAD, "")
        title = ", ".join(filter(None, (load, *(f"{k}={v}" for k, v in facts.items()))))
        panels.setdefault(title, {})[place] = row
    return list(panels.items())


def _facts(cell: Cell) -> dict[str, str]:
    return {WORKLOAD: cell.workload, **cell.values}


def _chart(
    results: Results,
    found: Comparisons,
    gate: Gate,
    grid: _Grid,
    panels: Sequence[tuple[str, Fields]],
    number: int,
    limit: float,
) -> Chart:
    name = slug(f"map-{gate.metric}-{gate.role.value}" + (f"-{number}" if number else ""))
    label = metric_name(gate)
    high, low = len(grid.rows), len(grid.columns)
    ticks = Ticks(
        high - 0.5, -0.5, tuple(range(high)), tuple(shortened(text, 16) for text in grid.rows)
    )
    left = 12.0 + max(text_width(text) for text in ticks.labels)
    canvas = Canvas(
        name,
        [Panel(title or label, ROW * high, ticks) for title, _ in panels],
        _legend(gate, limit),
        grid.column_name,
        grid.columns,
        max(left, 34.0),
    )
    canvas.x_ticks(range(low), grid.columns)
    reasons: list[str] = []
    for axes, (_, fields) in zip(canvas.axes, panels, strict=True):
        axes.set_xlim(-0.5, low - 0.5)
        axes.grid(False)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="x", length=0)
        room = canvas.width / low
        for r, row in enumerate(grid.rows):
            for c, column in enumerate(grid.columns):
                one = fields.get((row, column))
                _field(axes, c, r, one, limit, reasons, _skipped(results, grid, row, column), room)
    which = f" ({number})" if number else ""
    title = f"{label}: ratio to {found.axis.name if found.axis else ''}={found.base}{which}"
    desc = (
        f"{label} as a ratio to {found.axis.name if found.axis else ''}={found.base}: rows "
        f"{grid.row_name}, columns {grid.column_name}; {plural(len(panels), 'map')}. "
        "The data table has every ratio."
    )
    notes = "; ".join(f"{_letter(index)} {why}" for index, why in enumerate(reasons))
    rows = [one for _, fields in panels for one in fields.values()]
    return Chart(
        name,
        title,
        title,
        desc,
        f"Rows: {grid.row_name}. Hatched: inconclusive." + (f" Empty: {notes}." if notes else ""),
        finish(canvas.svg(), name, title, desc, {}),
        _table(grid, panels),
        _summary(rows),
    )


def _field(
    axes: object,
    x: int,
    y: int,
    one: Comparison | None,
    limit: float,
    reasons: list[str],
    skipped: str,
    room: float,
) -> None:
    """A field: its colour, its hatching, its text."""
    ratio = one.ratio if one is not None and one.verdict is not Verdict.NONE else None
    if one is None or ratio is None or ratio <= 0.0:
        why = skipped if one is None else one.why.value if one.why else "no figure"
        if why not in reasons:
            reasons.append(why)
        _text(axes, x, y, _letter(reasons.index(why)), LIGHT["soft"])
        return
    better = math.log2(ratio) * (1.0 if one.gate.higher_is_better else -1.0)
    step = round(max(-1.0, min(1.0, better / limit)) * STEPS)
    axes.add_patch(  # type: ignore[attr-defined]
        Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, facecolor=LIGHT[step_role(step)], linewidth=0.0)
    )
    if one.verdict is Verdict.INCONCLUSIVE:
        axes.add_patch(  # type: ignore[attr-defined]
            PathPatch(
                _hatching(x, y, room), facecolor="none", edgecolor=LIGHT["line"], linewidth=0.7
            )
        )
    digits = 2 if ratio < 9.95 else 1 if ratio < 99.5 else 0
    _text(axes, x, y, f"{min(ratio, 9999):.{digits}f}", LIGHT["ink"])


def _text(axes: object, x: int, y: int, text: str, colour: str) -> None:
    axes.text(  # type: ignore[attr-defined]
        x, y, text, ha="center", va="center_baseline", fontsize=10.5, color=colour
    )


def _hatching(x: int, y: int, room: float) -> Path:
    """Parallel strokes at 45 degrees through the field's corners, leaving the text its room."""
    points: list[tuple[float, float]] = []
    half_x, half_y = 0.47, 0.46
    across = 2 * half_y * ROW / room  # how far a stroke of the field's height goes sideways
    offset = -half_x - across
    while offset < half_x:
        start, end = offset, offset + across
        # Cut where it leaves the field at its sides.
        low = max(0.0, (-half_x - start) / (end - start))
        high = min(1.0, (half_x - start) / (end - start))
        if high - low > 0.05:
            for t in (low, high):
                points.append((x + start + t * across, y + half_y - t * 2 * half_y))
        offset += 7.0 / room
    codes = [Path.MOVETO, Path.LINETO] * (len(points) // 2)
    return Path(points, codes)


def _letter(index: int) -> str:
    return chr(ord("a") + index) if index < 26 else f"a{index - 25}"


def _skipped(results: Results, grid: _Grid, row: str, column: str) -> str:
    """Why a field has no comparison."""
    for cell in results.cells:
        facts = _facts(cell)
        here = facts.get(grid.row_name) == row and facts.get(grid.column_name) == column
        if here and cell.skipped is not None:
            return f"skipped: {cell.skipped}"
    return "the default wasn't measured there"


def _limit(rows: Sequence[Comparison]) -> float:
    """The log2 at which the colours end: the strongest ratio, but no less than three margins, or
    noise would look like a finding."""
    margin = max((row.margin for row in rows), default=0.03)
    strongest = max((abs(math.log2(row.ratio)) for row in rows if row.ratio), default=0.0)
    return min(MAX_LOG2, max(strongest, math.log2(1.0 + 3.0 * margin)))


def _legend(gate: Gate, limit: float) -> list[Line2D]:
    """Both ends of the scale and its middle, with their ratios."""
    entries = []
    for step, name in ((-STEPS, " worse"), (0, ""), (STEPS, " better")):
        log2 = step / STEPS * limit * (1.0 if gate.higher_is_better else -1.0)
        text = f"{TIMES}{2.0**log2:.2f}{name}" if step else f"{TIMES}1"
        entries.append(
            Line2D(
                [],
                [],
                color=LIGHT[step_role(step)],
                marker="s",
                markersize=11.0,
                linestyle="none",
                markeredgewidth=0.0,
                label=text,
            )
        )
    return entries


def _table(grid: _Grid, panels: Sequence[tuple[str, Fields]]) -> Table:
    body = []
    for title, fields in panels:
        for row in grid.rows:
            cells = []
            for column in grid.columns:
                one = fields.get((row, column))
                if one is None or one.ratio is None:
                    cells.append(DASH)
                else:
                    cells.append(f"{TIMES}{one.ratio:.3f} {one.verdict.value}")
            body.append((title, row, *cells))
    return Table(
        ("map", grid.row_name, *(f"{grid.column_name}={text}" for text in grid.columns)),
        tuple(body),
        frozenset((0, 1)),
    )


def _summary(rows: Sequence[Comparison]) -> str:
    known = [row for row in rows if row.ratio and row.verdict is not Verdict.NONE]
    if not known:
        return ""
    better = sum(row.verdict is Verdict.IMPROVED for row in known)
    worse = sum(row.verdict is Verdict.REGRESSED for row in known)
    ratios = [row.ratio for row in known if row.ratio]
    return (
        f"Of {plural(len(known), 'ratio')}, {better} improved and {worse} regressed; from "
        f"{TIMES}{min(ratios):.2f} to {TIMES}{max(ratios):.2f}."
    )
