"""Which axis of a sweep lies along a chart, which becomes its lines, and which opens panels.

Rules: at most four lines in a panel, a numeric axis along the chart where that costs no panels,
and the default in every panel, because it is what everything is compared with.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.model import Axis, Cell, Results
from sluice.report.theme import MAX_SERIES
from sluice.verdicts.focus import reference

__all__ = [
    "Facet",
    "Layout",
    "Line",
    "axis_label",
    "choose",
    "facets_by",
]


@dataclass(frozen=True, slots=True)
class Line:
    """One series of a panel. Its style stays the same in all panels."""

    value: str
    """Text of the series axis's value; empty when there is no such axis."""
    label: str
    style: int
    """Index into the palette."""


@dataclass(frozen=True, slots=True)
class Facet:
    """One panel: fixed values of the remaining axes, and up to four lines."""

    fixed: tuple[tuple[str, str], ...]
    """Axis name and value text."""
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """The fixed values, as a reader would type them; empty when nothing is fixed."""
        return ", ".join(f"{name}={value}" for name, value in self.fixed)


@dataclass(frozen=True, slots=True)
class Layout:
    """How every response chart of a sweep is laid out."""

    x: Axis
    series: Axis | None
    facets: tuple[Facet, ...]

    def cells(self, results: Results, workload: str, facet: Facet, line: Line) -> dict[str, Cell]:
        """Value text of the x axis -> cell, for one line of one panel."""
        fixed = dict(facet.fixed)
        if self.series is not None:
            fixed[self.series.name] = line.value
        return {
            cell.values[self.x.name]: cell
            for cell in results.cells
            if cell.workload == workload
            and all(cell.values.get(name) == text for name, text in fixed.items())
        }


def axis_label(axis: Axis) -> str:
    """The axis's name, with whose option it is where it isn't everybody's."""
    return axis.name if axis.role is None else f"{axis.name} of the {axis.role.value} job"


def choose(axes: tuple[Axis, ...], along: str | None = None) -> Layout:
    """The layout with the fewest panels; then the one with numbers along the chart, then the one
    with the most values along it; then the order of the sweep file. `along`: name of the axis that
    has to lie along the chart."""
    varying = [axis for axis in axes if len(axis.values) > 1 or axis.name == along]
    varying = varying or list(axes[:1])
    candidates: list[tuple[tuple[int, bool, int, int], Axis, Axis | None, list[Axis]]] = []
    for position, x in enumerate(varying):
        if along is not None and x.name != along:
            continue
        others = [axis for axis in varying if axis is not x]
        choices: list[Axis | None] = [*others] if others else [None]
        for series in choices:
            rest = [axis for axis in others if axis is not series]
            panels = _panels(series) * math.prod(len(axis.values) for axis in rest)
            candidates.append(((panels, not x.numeric, -len(x.values), position), x, series, rest))
    _, x, split, rest = min(candidates, key=lambda item: item[0])
    return Layout(x, split, facets_by(split, rest))


def facets_by(series: Axis | None, rest: Sequence[Axis]) -> tuple[Facet, ...]:
    """A panel for each combination of the axes in `rest`, with the values of `series` as its
    lines; several panels where these are too many."""
    fixed = [
        tuple(zip((axis.name for axis in rest), texts, strict=True))
        for texts in itertools.product(*([v.text for v in axis.values] for axis in rest))
    ]
    return tuple(Facet(pairs, lines) for pairs in fixed for lines in _groups(series))


def _panels(series: Axis | None) -> int:
    return 1 if series is None else len(list(_groups(series)))


def _groups(series: Axis | None) -> Iterator[tuple[Line, ...]]:
    """The series in groups of four; beyond four, the reference leads each group of three more."""
    if series is None:
        yield (Line("", "", 0),)
        return
    base, is_default = reference(series)
    texts = [value.text for value in series.values]
    if len(texts) <= MAX_SERIES:
        yield tuple(
            _line(series, text, index, is_default and text == base)
            for index, text in enumerate(texts)
        )
        return
    others = [text for text in texts if text != base]
    size = MAX_SERIES - 1
    for start in range(0, len(others), size):
        lines = [_line(series, base, 0, is_default)]
        lines += [
            _line(series, text, style, False)
            for style, text in enumerate(others[start : start + size], start=1)
        ]
        yield tuple(lines)


def _line(axis: Axis, text: str, style: int, default: bool) -> Line:
    return Line(text, f"{axis.name}={text}" + (" (default)" if default else ""), style)
