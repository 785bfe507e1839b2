"""Every cell of a campaign against the default, metric by metric: the family of a report.

With more than two values each is held against the default and not against every other: that is the
question ("is anything better than what I have?"), and it takes fewer comparisons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sluice.model import METRICS, Axis, Cell, Gate, Results, Role
from sluice.readings import Readings
from sluice.stats import Comparison, Observed, Verdict, judge
from sluice.verdicts import standing
from sluice.verdicts.focus import focus_axis, reference
from sluice.verdicts.observe import paired

__all__ = ["Comparisons", "compare", "gates_of", "observe", "others"]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All comparisons of a campaign, judged as one family."""

    axis: Axis | None
    """The axis along which is compared; None: nothing varies."""
    base: str
    """Text of the value that is compared with."""
    base_is_default: bool
    rows: tuple[Comparison, ...]

    @property
    def judged(self) -> bool:
        """Whether any comparison has a verdict."""
        return any(row.verdict is not Verdict.NONE for row in self.rows)

    @property
    def counts(self) -> Counter[Verdict]:
        """How many comparisons have which verdict."""
        return Counter(row.verdict for row in self.rows)


def gates_of(results: Results) -> tuple[Gate, ...]:
    """The sweep's gating metrics; IOPS and p99 where it names none."""
    if results.sweep.gates:
        return results.sweep.gates
    return tuple(
        Gate(name, METRICS[name].higher_is_better, METRICS[name].margin)
        for name in ("iops", "lat_p99")
    )


def compare(readings: Readings) -> Comparisons:
    """Judge each cell that isn't at the reference against the one that is and else equals it."""
    axis = focus_axis(readings.results.sweep.axes)
    if axis is None:
        return Comparisons(None, "", False, ())
    base, is_default = reference(axis)
    return Comparisons(axis, base, is_default, judge(observe(readings, axis, base)))


def observe(readings: Readings, axis: Axis, base: str) -> list[Observed]:
    """What :func:`compare` judges."""
    results = readings.results
    fault = standing.within(results)
    found = []
    for gate in gates_of(results):
        for cell, partner in _pairs(results, axis, base):
            if gate.role is Role.NEIGHBOUR and not results.workload(cell.workload).interference:
                continue
            if fault is None:
                found.append(paired(readings, cell, partner, gate))
            else:
                found.append(Observed(cell, partner, gate, why=fault[0], reason=fault[1]))
    return found


def others(cell: Cell, axis: Axis) -> tuple[tuple[str, str], ...]:
    """The cell's values on every other axis."""
    return tuple((name, text) for name, text in cell.values.items() if name != axis.name)


def _pairs(results: Results, axis: Axis, base: str) -> Iterator[tuple[Cell, Cell]]:
    """Each planned cell away from the reference, and its partner at it."""
    at_base = {
        (cell.workload, others(cell, axis)): cell
        for cell in results.cells
        if cell.values.get(axis.name) == base
    }
    for cell in results.cells:
        partner = at_base.get((cell.workload, others(cell, axis)))
        if partner is None or cell.values.get(axis.name) == base:
            continue
        if cell.skipped is None and partner.skipped is None:
            yield cell, partner
