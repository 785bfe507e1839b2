"""The forest chart: every comparison as a ratio with its interval, the worst first.

A row is a cell in one metric. The grey band is that metric's margin: what lies inside it is no
change to a user. The x axis is logarithmic, so that twice and half are equally far from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.lines import Line2D

from sluice.report import digits
from sluice.report.answer import metric_name, where
from sluice.report.canvas import SMALL, WIDTH, Canvas, Panel, shortened, text_width
from sluice.report.charts import Chart
from sluice.report.digits import TIMES
from sluice.report.estimate import Estimate
from sluice.report.looks import LOOKS
from sluice.report.scales import Ticks, ratio_ticks
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import LIGHT
from sluice.report.words import plural
from sluice.stats import Comparison, Verdict

__all__ = ["forest"]

ROWS = 24
"""Of one figure: a telephone's screen and a half."""
MAX_CHARTS = 8
WORST, BEST = 5, 3
"""Of very large sweeps only so many charts at each end are drawn; the ratios between are alike, and
the table of all comparisons has them."""
PITCH = 30.0
"""Height of a row: a line of text and the interval below it."""
REACH = 4.0
"""An interval of few blocks can reach anywhere; the axis goes no further than this factor beyond
the ratios themselves."""
LEFT = 14.0


def forest(rows: Sequence[Comparison], table: Table) -> Iterator[Chart]:
    """Charts of at most :data:`ROWS` rows each, all with one x axis. `rows` are in the order in
    which they are to be shown, `table` has a row for each."""
    shown = [(row, cells) for row, cells in zip(rows, table.rows, strict=True) if row.ratio]
    if not shown:
        return
    ticks = _ticks([row for row, _ in shown])
    parts = [shown[start : start + ROWS] for start in range(0, len(shown), ROWS)]
    for number, part in enumerate(parts, 1):
        if len(parts) <= MAX_CHARTS or number <= WORST or number > len(parts) - BEST:
            some = Table(table.head, tuple(cells for _, cells in part), table.words, table.note)
            yield _chart([row for row, _ in part], some, ticks, number, len(parts), len(rows))


def _chart(
    rows: Sequence[Comparison], table: Table, ticks: Ticks, number: int, parts: int, whole: int
) -> Chart:
    name = "forest" if parts == 1 else f"forest-{number}"
    height = PITCH * len(rows)
    canvas = Canvas(
        name,
        [Panel("Ratio and its interval, logarithmic", height, Ticks(height, 0.0, (), ()))],
        _legend(rows),
        f"{TIMES}1: no difference",
        ticks.labels,
        LEFT,
    )
    axes = canvas.axes[0]
    axes.set_xscale("log")
    axes.set_xlim(ticks.low, ticks.high)
    canvas.x_ticks(ticks.at, ticks.labels)
    axes.set_xticks([], minor=True)
    axes.grid(False)
    for index, row in enumerate(rows):
        _row(canvas, row, PITCH * index, ticks)
    title = "Every comparison, the worst first" + (f" ({number} of {parts})" if parts > 1 else "")
    desc = (
        f"{plural(len(rows), 'ratio')} with intervals, sorted by effect; the grey band is the "
        "margin. The data table has every figure."
    )
    caption = ""
    if len(rows) < whole and parts == 1:
        caption = f"{plural(whole - len(rows), 'comparison')} without a ratio: see the table."
    return Chart(
        name,
        title,
        title,
        desc,
        caption,
        finish(canvas.svg(), name, title, desc, canvas.hovers),
        table,
        _summary(rows),
    )


def _row(canvas: Canvas, row: Comparison, top: float, ticks: Ticks) -> None:
    """Words, below them the band, the interval and the mark."""
    axes = canvas.axes[0]
    look = LOOKS[row.verdict]
    ratio = row.ratio or 1.0
    middle = top + 21.0
    label = f"{where(row.cell)}: {metric_name(row.gate)}"
    right = f"{TIMES}{ratio:.2f} {look.sign}" if ratio < 100 else f"over {TIMES}100 {look.sign}"
    room = int((WIDTH - LEFT - 14.0 - text_width(right) - 8.0) / text_width("x"))
    for text, at, side in ((shortened(label, room), 0.0, "left"), (right, 1.0, "right")):
        axes.annotate(
            text,
            (at, top + 12.0),
            xycoords=("axes fraction", "data"),
            ha=side,
            va="baseline",
            fontsize=SMALL,
            color=LIGHT["ink"],
        )
    axes.fill(
        [1.0 - row.margin, 1.0 + row.margin, 1.0 + row.margin, 1.0 - row.margin],
        [middle - 6.0, middle - 6.0, middle + 6.0, middle + 6.0],
        color=LIGHT["grid"],
        linewidth=0.0,
        zorder=0.5,
    )
    axes.plot(
        [1.0, 1.0], [middle - 6.0, middle + 6.0], color=LIGHT["line"], linewidth=0.8, zorder=1
    )
    if row.interval is not None:
        low, high = (min(max(end, ticks.low), ticks.high) for end in row.interval)
        axes.plot(
            [low, high], [middle, middle], color=look.colour, linewidth=2.0, zorder=2.0,
            solid_capstyle="butt",
        )  # fmt: skip
        for end, limit, marker in (
            (row.interval[0], ticks.low, "<"),
            (row.interval[1], ticks.high, ">"),
        ):
            if (end < limit) if marker == "<" else (end > limit):
                axes.plot(
                    [limit], [middle], linestyle="none", marker=marker, markersize=5.0,
                    color=look.colour, markeredgewidth=0.0, clip_on=False, zorder=2.0,
                )  # fmt: skip
    (mark,) = axes.plot(
        [min(max(ratio, ticks.low), ticks.high)],
        [middle],
        linestyle="none",
        marker=look.marker,
        markersize=7.0,
        color=look.colour,
        markerfacecolor=look.colour if look.filled else LIGHT["ground"],
        markeredgewidth=1.4 if not look.filled or look.marker == "x" else 0.0,
        clip_on=False,
        zorder=3.0,
    )
    gid = f"mean{len(canvas.hovers)}"
    mark.set_gid(gid)
    estimate = Estimate(ratio, row.low, row.high, row.blocks, row.blocks)
    canvas.hovers[gid] = f"{label}: {digits.ratio(estimate)}, {row.verdict.value}"


def _ticks(rows: Sequence[Comparison]) -> Ticks:
    """One axis for all figures: every ratio and margin, and intervals within reason."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    low, high = min(*ratios, 1.0), max(*ratios, 1.0)
    spread = max(high, 1.0 / low)
    for row in rows:
        low, high = min(low, 1.0 - row.margin), max(high, 1.0 + row.margin)
        if row.interval is not None:
            bound = min(spread**1.5 * 1.05, spread * REACH)
            low = min(low, max(row.interval[0], 1.0 / bound))
            high = max(high, min(row.interval[1], bound))
    low, high = max(low, 1e-3), min(high, 1e3)
    found = ratio_ticks(low, high)
    # Room at both ends for half a mark.
    room = (found.high / found.low) ** 0.02
    return Ticks(found.low / room, found.high * room, found.at, found.labels)


def _legend(rows: Sequence[Comparison]) -> list[Line2D]:
    seen = {row.verdict for row in rows}
    return [
        Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            markersize=7.0,
            linestyle="none",
            markerfacecolor=look.colour if look.filled else LIGHT["ground"],
            markeredgewidth=1.4 if not look.filled or look.marker == "x" else 0.0,
            label=verdict.value,
        )
        for verdict, look in LOOKS.items()
        if verdict in seen
    ]


def _summary(rows: Sequence[Comparison]) -> str:
    """The first and the last row in words."""
    named = [
        f"{where(row.cell)}, {metric_name(row.gate)} {TIMES}{row.ratio:.3f} ({row.verdict.value})"
        for row in (rows[0], rows[-1])
    ]
    if len(rows) == 1:
        return f"{named[0]}."
    changed = sum(row.verdict in (Verdict.REGRESSED, Verdict.IMPROVED) for row in rows)
    return f"{changed} of {len(rows)} changed. First: {named[0]}. Last: {named[1]}."
