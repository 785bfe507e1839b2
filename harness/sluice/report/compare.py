"""Every cell against the default, metric by metric: what the answer of a report is counted from.

An interval here is simultaneous: all comparisons of the report hold together with 95 %
(Bonferroni), because a reader looks for the largest of many. What an interval says is named by
:class:`Finding`; whether that is a regression is for `sluice gate` to judge, not for a report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sluice.model import METRICS, Axis, Cell, Gate, Results, Role
from sluice.report.estimate import LEVEL, Estimate, ratio_of
from sluice.report.layout import focus_axis, reference
from sluice.report.readings import Key, Readings

__all__ = ["Comparison", "Comparisons", "Finding", "compare", "gates_of"]


class Finding(Enum):
    """What the interval of a ratio says about a margin."""

    HIGHER = "higher by more than the margin"
    LOWER = "lower by more than the margin"
    WITHIN = "within the margin"
    ABOVE = "higher, by more or less than the margin"
    BELOW = "lower, by more or less than the margin"
    OPEN = "undecided"
    NO_INTERVAL = "no interval"
    MISSING = "no figure"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One cell over its reference, in one metric."""

    gate: Gate
    cell: Cell
    base: Cell
    ratio: Estimate | None
    finding: Finding


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All comparisons of a report."""

    axis: Axis | None
    """The axis along which is compared; None: nothing varies."""
    base: str
    """Text of the value that is compared with."""
    base_is_default: bool
    rows: tuple[Comparison, ...]
    level: float
    """Confidence of each single interval, so that all together have :data:`LEVEL`."""

    @property
    def judged(self) -> bool:
        """Whether any comparison has an interval."""
        return any(row.ratio is not None and row.ratio.interval for row in self.rows)


def gates_of(results: Results) -> tuple[Gate, ...]:
    """The sweep's gating metrics; IOPS and p99 where it names none."""
    if results.sweep.gates:
        return results.sweep.gates
    return tuple(
        Gate(name, METRICS[name].higher_is_better, METRICS[name].margin)
        for name in ("iops", "lat_p99")
    )


def compare(readings: Readings) -> Comparisons:
    """Compare each cell that isn't at the reference with the one that is and else equals it."""
    results = readings.results
    axis = focus_axis(results.sweep.axes)
    if axis is None:
        return Comparisons(None, "", False, (), LEVEL)
    base, is_default = reference(axis)
    pairs = [
        (gate, cell, other)
        for gate in gates_of(results)
        for cell, other in _pairs(results, axis, base)
        if gate.role is Role.MEASURED or results.workload(cell.workload).interference
    ]
    level = 1.0 - (1.0 - LEVEL) / max(1, len(pairs))
    rows = []
    for gate, cell, other in pairs:
        ratio = ratio_of(readings, cell.id, other.id, Key(gate.metric, gate.role), level)
        rows.append(Comparison(gate, cell, other, ratio, _finding(ratio, gate.margin)))
    return Comparisons(axis, base, is_default, tuple(rows), level)


def _pairs(results: Results, axis: Axis, base: str) -> Iterator[tuple[Cell, Cell]]:
    """Each planned cell away from the reference, and its partner at it."""
    at_base = {
        (cell.workload, _others(cell, axis)): cell
        for cell in results.cells
        if cell.values.get(axis.name) == base
    }
    for cell in results.cells:
        partner = at_base.get((cell.workload, _others(cell, axis)))
        if partner is None or cell.values.get(axis.name) == base:
            continue
        if cell.skipped is None and partner.skipped is None:
            yield cell, partner


def _others(cell: Cell, axis: Axis) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in cell.values.items() if name != axis.name)


def _finding(ratio: Estimate | None, margin: float) -> Finding:
    if ratio is None:
        return Finding.MISSING
    ends = ratio.interval
    if ends is None:
        return Finding.NO_INTERVAL
    low, high = ends
    if low > 1.0 + margin:
        return Finding.HIGHER
    if high < 1.0 - margin:
        return Finding.LOWER
    if low >= 1.0 - margin and high <= 1.0 + margin:
        return Finding.WITHIN
    if low > 1.0:
        return Finding.ABOVE
    return Finding.BELOW if high < 1.0 else Finding.OPEN
