"""The marks of a response chart: what a dot, a mean, an interval and a ring look like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sluice.report.estimate import Estimate
from sluice.report.theme import DASHES, LIGHT, MARKERS, SERIES

__all__ = ["Point", "absence", "bars", "curve", "dots", "mean", "ring"]

Point = tuple[float, float]


def dots(axes: Any, points: Sequence[Point], style: int) -> None:
    """One small, pale dot a run."""
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        linestyle="none",
        marker=MARKERS[style],
        markersize=3.0,
        color=SERIES[style],
        markeredgewidth=0.0,
        alpha=0.7,
        zorder=2.0,
    )


def curve(axes: Any, points: Sequence[Point], style: int) -> None:
    """A line through means, for axes on which the room between two values means something."""
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        color=SERIES[style],
        linewidth=1.6,
        linestyle=DASHES[style],
        zorder=3.0,
    )


def bars(axes: Any, means: Sequence[tuple[float, Estimate]], style: int) -> None:
    """The intervals of a series; one that leaves the panel ends in an arrow at the edge."""
    colour = SERIES[style]
    bottom, top = axes.get_ylim()
    xs: list[float] = []
    ys: list[float] = []
    for x, estimate in means:
        if estimate.interval is None:
            continue
        low, high = estimate.interval
        xs += [x, x, math.nan]  # one line with breaks: a line of its own for each takes its time
        ys += [max(low, bottom), min(high, top), math.nan]
        if high > top:
            _arrow(axes, x, top, "^", colour)
        if low < bottom:
            _arrow(axes, x, bottom, "v", colour)
    axes.plot(xs, ys, color=colour, linewidth=2.0, zorder=3.5, solid_capstyle="butt")


def mean(axes: Any, gid: str, x: float, estimate: Estimate, style: int) -> None:
    """The mean, as an element of its own: a pointer that rests on it is told the figure."""
    colour = SERIES[style]
    (line,) = axes.plot(
        [x],
        [estimate.mean],
        linestyle="none",
        marker=MARKERS[style],
        markersize=6.5,
        color=colour,
        markeredgecolor=LIGHT["ground"],
        markeredgewidth=1.0,
        zorder=4.0,
        clip_on=False,
    )
    line.set_gid(gid)


def ring(axes: Any, x: float, y: float) -> None:
    """Around the mean at the default."""
    axes.plot(
        [x],
        [y],
        linestyle="none",
        marker="o",
        markersize=13.0,
        markerfacecolor="none",
        markeredgecolor=LIGHT["ink"],
        markeredgewidth=1.2,
        zorder=5.0,
        clip_on=False,
    )


def absence(axes: Any, x: float, why: str) -> None:
    """Words where a mark would be: an empty place that says nothing looks like a small figure."""
    axes.annotate(
        why,
        (x, 0.0),
        (0.0, 4.0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        rotation=90,
        ha="center",
        va="bottom",
        fontsize=10.0,
        color=LIGHT["soft"],
    )


def _arrow(axes: Any, x: float, y: float, marker: str, colour: str) -> None:
    axes.plot(
        [x],
        [y],
        linestyle="none",
        marker=marker,
        markersize=5.0,
        color=colour,
        markeredgewidth=0.0,
        clip_on=False,
        zorder=4.0,
    )
