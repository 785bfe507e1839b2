"""Two arms against each other: two campaigns, or two values of one that were interleaved in it.

An arm is written ``CAMPAIGN`` or ``CAMPAIGN:axis=value,axis=value``. Cells meet that are alike in
workload and in every value that neither arm names.

Arms of one campaign were measured in the same blocks, so they are compared within each block. Two
campaigns were not: each has blocks of its own, the spread from block to block counts in full, and
whatever changed between the two campaigns (heat, wear, a neighbour) looks like the change that is
asked about. Nothing in the figures can tell the two apart; only interleaving can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sluice import fingerprint
from sluice.errors import SluiceError, near
from sluice.model import Cell, Results, Role
from sluice.readings import Readings
from sluice.stats import Comparison, Observed, Why, judge
from sluice.verdicts import standing
from sluice.verdicts.family import gates_of
from sluice.verdicts.observe import apart, paired

__all__ = ["DRIFT", "Across", "Arm", "across"]

DRIFT = (
    "not interleaved: each campaign has blocks of its own, so a drift of the machine between the "
    "two looks like a change; to rule it out, measure both in one sweep"
)


@dataclass(frozen=True, slots=True)
class Arm:
    """One side."""

    results: Results
    values: Mapping[str, str]
    """Axis -> text of the value; empty: the whole campaign."""

    @property
    def name(self) -> str:
        """As a user writes it."""
        picked = ",".join(f"{axis}={text}" for axis, text in self.values.items())
        return self.results.campaign + (f":{picked}" if picked else "")


@dataclass(frozen=True, slots=True)
class Across:
    """What came of it."""

    old: Arm
    new: Arm
    rows: tuple[Comparison, ...]
    """Ratios are new / old."""
    paired: bool
    notes: tuple[str, ...]
    """What a reader has to know beside the verdicts, a sentence each."""


def across(old: Arm, new: Arm, declared: Iterable[str] = ()) -> Across:
    """Judge `new` against `old`. `declared`: keys of the environment that are meant to differ.

    SluiceError when the two have no cell in common, or an arm leaves open which cells are meant."""
    one = old.results.campaign == new.results.campaign and old.results.folder == new.results.folder
    if one and dict(old.values) == dict(new.values):
        raise SluiceError(
            f"{new.name}: both sides are the same: name two campaigns, or two values of one, e.g. "
            f"{new.results.campaign}:axis=value"
        )
    named = {**old.values, **new.values}
    before, after = _cells(old, named), _cells(new, named)
    shared = [key for key in after if key in before]
    if not shared:
        raise SluiceError(
            f"{new.name}: no cell in common with {old.name}: compare campaigns of one sweep, or "
            "name the values that differ, e.g. CAMPAIGN:bypass=all"
        )
    declared = tuple(declared)
    fault = _fault(old, new, one, declared)
    above = Readings(new.results)
    below = above if one else Readings(old.results)
    observed = []
    for gate in gates_of(new.results):
        for key in shared:
            cell, base = after[key], before[key]
            if gate.role is Role.NEIGHBOUR and not _disturbed(new.results, cell):
                continue
            if fault:
                observed.append(Observed(cell, base, gate, why=fault[0], reason=fault[1]))
            elif one:
                observed.append(paired(above, cell, base, gate))
            else:
                observed.append(apart(above, cell, below, base, gate))
    left = len(before) + len(after) - 2 * len(shared)
    notes = list(_notes(old, new, one, declared, left))
    return Across(old, new, judge(observed), one, tuple(notes))


def _cells(arm: Arm, named: Mapping[str, str]) -> dict[tuple[str, ...], Cell]:
    """The arm's cells by what is neither named nor theirs alone."""
    for axis in arm.values:
        known = [one.name for one in arm.results.sweep.axes]
        if axis not in known:
            raise SluiceError(f"{arm.name}: no axis '{axis}'{near(axis, known)}")
        texts = [value.text for value in arm.results.axis(axis).values]
        if arm.values[axis] not in texts:
            raise SluiceError(
                f"{arm.name}: {axis} has no value '{arm.values[axis]}'"
                f"{near(arm.values[axis], texts)}"
            )
    found: dict[tuple[str, ...], Cell] = {}
    for cell in arm.results.cells:
        if cell.skipped is not None:
            continue
        if any(cell.values.get(axis) != text for axis, text in arm.values.items()):
            continue
        rest = (f"{axis}={text}" for axis, text in cell.values.items() if axis not in named)
        key = (cell.workload, *sorted(rest))
        if key in found:
            open_axes = [axis for axis in named if axis not in arm.values and axis in cell.values]
            raise SluiceError(
                f"{arm.name}: which {', '.join(open_axes)} is meant? Name it on this side too"
            )
        found[key] = cell
    return found


def _fault(old: Arm, new: Arm, one: bool, declared: tuple[str, ...]) -> standing.Fault | None:
    if one:
        return standing.within(new.results)
    kinds = (old.results.sweep.latency, new.results.sweep.latency)
    if kinds[0] != kinds[1]:
        return Why.NOT_COMPARABLE, f"latency was {kinds[0]}, now is {kinds[1]}"
    return standing.between(old.results, new.results, declared)


def _disturbed(results: Results, cell: Cell) -> bool:
    return results.workload(cell.workload).interference


def _notes(old: Arm, new: Arm, one: bool, declared: tuple[str, ...], left: int) -> Iterable[str]:
    if not one:
        yield DRIFT
        soft = [
            each.text
            for each in fingerprint.between(old.results, new.results, declared)
            if not each.hard
        ]
        if soft:
            yield f"also different, judge for yourself: {'; '.join(soft)}"
    if left:
        yield f"{left} cells are on one side only"
    for arm in (old, new):
        if not arm.results.complete:
            yield f"{arm.results.campaign} is not complete"
