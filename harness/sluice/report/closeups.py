"""Which cells are looked at closely: distributions, timelines and fairness take a chart for a few
cells, and a large sweep has too many for all of them.

Shown are the combinations of the other axes at which the axis in question made the largest
difference, because that is where a reader asks what happened. Choosing by the largest difference
says nothing about its size: the ratios with their intervals are for that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sluice.model import Cell, Results, Workload
from sluice.readings import Key, Readings
from sluice.report.estimate import ratio_of
from sluice.report.layout import Facet, Line, facets_by
from sluice.report.words import plural, slug
from sluice.verdicts.focus import focus_axis, reference

__all__ = ["MAX_CLOSE", "CloseUp", "close_ups", "left_out"]

MAX_CLOSE = 6
"""Charts of one kind, over all workloads."""


@dataclass(frozen=True, slots=True)
class CloseUp:
    """A few cells that differ only in the axis in question."""

    workload: Workload
    facet: Facet
    lines: tuple[tuple[Line, Cell], ...]
    """Those that ran at least once."""

    @property
    def where(self) -> str:
        """Workload and fixed values, as a reader would type them."""
        return ", ".join(filter(None, (self.workload.name, self.facet.title)))

    @property
    def name(self) -> str:
        """For the names of charts: unique in the sweep."""
        others = [line.value for line, _ in self.lines]
        return slug("-".join((self.workload.name, self.facet.title, *others)))


def close_ups(readings: Readings, metric: str) -> tuple[tuple[CloseUp, ...], int]:
    """The combinations with the largest effect on `metric`, in the order of the sweep, and how many
    others there are."""
    results = readings.results
    focus = focus_axis(results.sweep.axes)
    rest = [axis for axis in results.sweep.axes if axis is not focus and len(axis.values) > 1]
    found: list[tuple[float, CloseUp]] = []
    for workload in results.sweep.workloads:
        for facet in facets_by(focus, rest):
            lines = tuple(
                (line, cell)
                for line in facet.lines
                if (cell := _cell(results, workload, facet, line, focus.name if focus else None))
                and readings.of(cell.id, Key("iops"))
            )
            if lines:
                base = reference(focus)[0] if focus else ""
                close = CloseUp(workload, facet, lines)
                found.append((_effect(readings, close, base, metric), close))
    best = sorted(range(len(found)), key=lambda index: (-found[index][0], index))[:MAX_CLOSE]
    return tuple(found[index][1] for index in sorted(best)), len(found) - len(best)


def left_out(count: int) -> str:
    """What isn't shown, as a sentence; empty when all is."""
    if not count:
        return ""
    return (
        f"Shown are the {MAX_CLOSE} combinations with the largest differences; "
        f"{plural(count, 'other')} would look like more of the same."
    )


def _cell(
    results: Results, workload: Workload, facet: Facet, line: Line, focus: str | None
) -> Cell | None:
    wanted = dict(facet.fixed) | ({focus: line.value} if focus else {})
    return next(
        (
            cell
            for cell in results.cells
            if cell.workload == workload.name
            and all(cell.values.get(name) == text for name, text in wanted.items())
        ),
        None,
    )


def _effect(readings: Readings, close: CloseUp, base: str, metric: str) -> float:
    """The largest |log ratio| to the reference among the lines."""
    at_base = next((cell for line, cell in close.lines if line.value == base), None)
    if at_base is None:
        return 0.0
    ratios = [
        ratio_of(readings, cell.id, at_base.id, Key(metric))
        for _, cell in close.lines
        if cell is not at_base
    ]
    return max((abs(math.log(one.mean)) for one in ratios if one and one.mean > 0), default=0.0)
