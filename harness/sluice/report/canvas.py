"""A figure of stacked panels, in pixels of a telephone's width, drawn by matplotlib.

The width is that of a narrow screen, so that text stays legible there; a wide screen shows several
figures side by side. Panels are stacked and share the x axis: never two y axes in one panel, whose
crossings would be accidents of scale. Everything is placed by hand, which is exact and many times
faster than a layout engine.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sluice.report.scales import Ticks, XScale
from sluice.report.theme import LIGHT

__all__ = ["SMALL", "WIDTH", "Canvas", "Panel", "shortened", "text_width"]

WIDTH = 410.0
"""Of every figure, in units of its view box; about one CSS pixel on a telephone."""
LEFT, RIGHT, TOP, TITLE, GAP, FOOT = 62.0, 14.0, 6.0, 21.0, 12.0, 20.0
FONT, SMALL = 11.5, 11.0

_RC: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text: selectable, searchable, in the page's font
    "text.parse_math": False,  # a '$' in an option's value is a dollar sign
    "font.family": "DejaVu Sans",
    "font.size": FONT,
    "axes.linewidth": 0.8,
    "axes.edgecolor": LIGHT["line"],
    "axes.facecolor": "none",
    "xtick.color": LIGHT["line"],
    "ytick.color": LIGHT["line"],
    "xtick.labelcolor": LIGHT["soft"],
    "ytick.labelcolor": LIGHT["soft"],
    "text.color": LIGHT["ink"],
    "path.simplify": False,
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the stacked panels."""

    title: str
    """What is drawn, with unit and kind of axis. Stands above the panel, where it can be long."""
    height: float
    ticks: Ticks
    log: bool = False


@dataclass(slots=True)
class Canvas:
    """A figure under construction. `axes` has one entry for each panel, top first."""

    name: str
    panels: Sequence[Panel]
    legend: Sequence[Line2D] = ()
    x_label: str = ""
    x_labels: Sequence[str] = ()
    """Tick labels of the x axis, measured to decide whether they have to be slanted."""
    left: float = LEFT
    """Room for the labels of the y axis."""
    hovers: dict[str, str] = field(default_factory=dict)
    """Id of an element -> what a pointer that rests on it reads."""
    figure: Any = None
    axes: list[Any] = field(default_factory=list)
    slanted: bool = False

    def __post_init__(self) -> None:
        room = self.width / max(1, len(self.x_labels))
        widest = max((text_width(label) for label in self.x_labels), default=0.0)
        self.slanted = widest > room - 4.0
        below = 18.0 + (min(widest, 130.0) * 0.6 if self.slanted else 0.0) + FOOT
        rows = self._legend_rows()
        head = TOP + 17.0 * len(rows)
        height = head + sum(p.height + TITLE + GAP for p in self.panels) - GAP + below
        with matplotlib.rc_context(_RC):
            self.figure = Figure(figsize=(WIDTH / 72.0, height / 72.0), dpi=72)
            FigureCanvasSVG(self.figure)
            self.figure.patch.set_visible(False)
            self._draw_legend(rows, height)
            top = height - head
            for index, panel in enumerate(self.panels):
                top -= TITLE
                self._add(panel, top, height, last=index == len(self.panels) - 1)
                top -= panel.height + GAP
            self.figure.text(
                (self.left + self.width / 2) / WIDTH,
                5.0 / height,
                self.x_label,
                ha="center",
                va="bottom",
                color=LIGHT["ink"],
            )

    @property
    def width(self) -> float:
        """Of the panels, in pixels."""
        return WIDTH - self.left - RIGHT

    def x_axis(self, scale: XScale) -> None:
        """Put the axis's values along every panel."""
        self.x_ticks(list(scale.ticks.values()), list(scale.ticks))
        ends = list(scale.at.values())
        room = (
            0.6 * scale.step
            if scale.kind == "category"
            else max(0.4 * scale.step, 0.05 * (max(ends) - min(ends)))
        )
        for axes in self.axes:
            axes.set_xlim(min(ends) - room, max(ends) + room)
        if scale.zero is not None:
            for axes in self.axes:
                axes.axvline(
                    scale.at[scale.zero] + 0.5 * scale.step,
                    color=LIGHT["line"],
                    linewidth=0.8,
                    linestyle=(0, (1.0, 3.0)),
                )

    def x_ticks(self, positions: Sequence[float], labels: Sequence[str]) -> None:
        """Ticks of the x axis; labels under the lowest panel only."""
        for axes in self.axes:
            axes.set_xticks(positions, minor=False)
            axes.set_xticklabels([""] * len(positions))
        self.axes[-1].set_xticklabels(
            [shortened(label) if self.slanted else label for label in labels],
            rotation=35 if self.slanted else 0,
            ha="right" if self.slanted else "center",
            rotation_mode="anchor",
        )

    def svg(self) -> str:
        """The drawing as matplotlib writes it. Equal drawings give equal text."""
        out = io.StringIO()
        with matplotlib.rc_context({**_RC, "svg.hashsalt": self.name}), warnings.catch_warnings():
            # The browser draws the text; that matplotlib's font lacks a letter doesn't matter.
            warnings.filterwarnings("ignore", "Glyph", UserWarning)
            self.figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        return out.getvalue()

    def _add(self, panel: Panel, top: float, height: float, *, last: bool) -> None:
        axes = self.figure.add_axes(
            (
                self.left / WIDTH,
                (top - panel.height) / height,
                self.width / WIDTH,
                panel.height / height,
            )
        )
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        if panel.log:
            axes.set_yscale("log")
        axes.set_ylim(panel.ticks.low, panel.ticks.high)
        axes.set_yticks(panel.ticks.at, minor=False)
        axes.set_yticks([], minor=True)
        axes.set_yticklabels(panel.ticks.labels)
        axes.grid(axis="y", color=LIGHT["grid"], linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0, pad=5, labelsize=SMALL)
        axes.tick_params(axis="x", length=3, pad=4, labelsize=SMALL)
        self.figure.text(
            8.0 / WIDTH,
            (top + 7.0) / height,
            panel.title,
            ha="left",
            va="bottom",
            fontweight="bold",
            fontsize=FONT,
        )
        self.axes.append(axes)

    def _legend_rows(self) -> list[list[Line2D]]:
        """The legend's entries in rows that fit."""
        rows: list[list[Line2D]] = []
        used = WIDTH
        for entry in self.legend:
            width = text_width(_label(entry)) + 48.0
            if used + width > WIDTH - 8.0:
                rows.append([])
                used = 8.0
            rows[-1].append(entry)
            used += width
        return rows

    def _draw_legend(self, rows: list[list[Line2D]], height: float) -> None:
        for index, row in enumerate(rows):
            left = 8.0
            middle = height - TOP - 17.0 * index - 7.0
            for entry in row:
                entry.set_data(
                    [left / WIDTH, (left + 13.0) / WIDTH, (left + 26.0) / WIDTH],
                    [middle / height] * 3,
                )
                entry.set_markevery([1])
                entry.set_transform(self.figure.transFigure)
                self.figure.add_artist(entry)
                label = _label(entry)
                self.figure.text(
                    (left + 31.0) / WIDTH,
                    middle / height,
                    label,
                    va="center_baseline",
                    ha="left",
                    fontsize=SMALL,
                )
                left += text_width(label) + 48.0


def text_width(text: str) -> float:
    """About how wide `text` is drawn: 0.57 of the font's size a letter, which suits most fonts."""
    return 0.57 * SMALL * len(text)


def _label(entry: Line2D) -> str:
    """An entry of a legend, cut to the figure's width."""
    return shortened(str(entry.get_label()), 54)


def shortened(label: str, most: int = 21) -> str:
    """A label of at most `most` letters, cut in the middle; the data table has it in full."""
    half = most // 2
    return label if len(label) <= most else f"{label[:half]}\N{HORIZONTAL ELLIPSIS}{label[-half:]}"
