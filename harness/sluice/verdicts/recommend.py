"""Which value to set: what one campaign proposes, and what fresh blocks say of it.

The first [[gate]] is what is to gain; the others, and every setting (workload and values of the
other axes), must not pay for it. The best of many looks better than it is, because it was picked
for its luck too; so a value is only proposed here, and recommended once it has been measured again
in blocks that had no part in the choice (`sluice confirm`). Then the size that is stated comes from
those blocks alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from sluice.model import Axis, Cell, Gate, Results
from sluice.readings import Readings
from sluice.stats import Comparison, Verdict, judge
from sluice.verdicts.family import Comparisons, compare, gates_of, observe

__all__ = ["CONFIRM", "Advice", "Kind", "advise", "cells_of", "confirmed"]

CONFIRM = "confirm"
"""Stages of this name, with a number behind it, measure a proposed value again."""


class Kind(StrEnum):
    """What follows for somebody who has to set a value."""

    NOTHING = "nothing"
    """There is no verdict to go by."""
    LEAVE = "leave"
    """Leave the default."""
    PROPOSED = "proposed"
    """A value looks better; it has to be measured again."""
    RECOMMENDED = "recommended"
    """It was, and still is."""
    WITHDRAWN = "withdrawn"
    """It was, and isn't."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to set, and why."""

    kind: Kind
    text: str
    """One sentence or two."""
    axis: str = ""
    value: str = ""
    """Of a proposal and what became of it."""


def advise(results: Results, overall: Comparisons | None = None) -> Advice:
    """What the campaign says by now: of its newest confirmation that has blocks, else of its own
    blocks. `overall`: the comparisons of these, where the caller has them."""
    overall = overall or compare(Readings(results))
    stages = {block.stage for block in results.blocks if block.stage.startswith(CONFIRM)}
    for stage in sorted(stages, key=lambda name: int(name.partition("-")[2]), reverse=True):
        found = confirmed(results, stage, overall)
        if found is not None:
            return found
    return _propose(overall, gates_of(results)[0])


def cells_of(results: Results, advice: Advice, base: str) -> tuple[Cell, ...]:
    """The cells that measure a proposal again: of its value and of the default, in all settings."""
    return tuple(
        cell
        for cell in results.cells
        if cell.skipped is None and cell.values.get(advice.axis) in (advice.value, base)
    )


def confirmed(results: Results, stage: str, overall: Comparisons) -> Advice | None:
    """What the fresh blocks of a stage say of the value that they measured; None when they can't
    yet."""
    readings = Readings(results, stage)
    cells = {cell for block in results.blocks if block.stage == stage for cell in block.order}
    if overall.axis is None or not cells or readings.ok_blocks < 2:
        return None
    axis, base = overall.axis, overall.base
    (value,) = {results.cell(cell).values[axis.name] for cell in cells} - {base}
    rows = judge(
        [one for one in observe(readings, axis, base) if one.cell.values[axis.name] == value]
    )
    name, gate = f"{axis.name}={value}", gates_of(results)[0]
    fresh = f"in {readings.ok_blocks} fresh blocks"
    worse = [row for row in rows if row.verdict is Verdict.REGRESSED]
    if worse:
        text = f"{name} looked best, but {fresh} {_told(worse[0])}: leave {axis.name}={base}."
        return Advice(Kind.WITHDRAWN, text, axis.name, value)
    better = [row for row in rows if row.gate == gate and row.verdict is Verdict.IMPROVED]
    if not better:
        text = (
            f"{name} looked best, but {fresh} no setting improved in {gate.metric}: "
            f"leave {axis.name}={base}."
        )
        return Advice(Kind.WITHDRAWN, text, axis.name, value)
    best = max(better, key=_gain)
    text = (
        f"Set {name}: {fresh}, which had no part in choosing it, {gate.metric} improved in "
        f"{len(better)} of {sum(row.gate == gate for row in rows)} settings and nothing regressed; "
        f"{_told(best)} at best."
    )
    return Advice(Kind.RECOMMENDED, text, axis.name, value)


def _propose(found: Comparisons, gate: Gate) -> Advice:
    axis = found.axis
    if axis is None or not found.judged:
        return Advice(Kind.NOTHING, "No verdict to go by.")
    default = f"{axis.name}={found.base}"
    values = _by_value(found, axis)
    sound = {
        value: rows
        for value, rows in values.items()
        if not any(row.verdict is Verdict.REGRESSED for row in rows)
        and any(row.verdict is Verdict.IMPROVED and row.gate == gate for row in rows)
    }
    if sound:
        best = max(sound, key=lambda value: _mean_gain(sound[value], gate))
        better = [
            row for row in sound[best] if row.gate == gate and row.verdict is Verdict.IMPROVED
        ]
        text = (
            f"{axis.name}={best} looks best: {gate.metric} improved in {len(better)} settings and "
            "nothing regressed. Measure it again before you set it, for the best of many looks "
            "better than it is: `sluice confirm`."
        )
        return Advice(Kind.PROPOSED, text, axis.name, best)
    gains = [_mean_gain(rows, gate) for rows in values.values()]
    if any(row.verdict is Verdict.IMPROVED for rows in values.values() for row in rows):
        text = f"No value is better without being worse elsewhere: leave {default}."
    elif max((gain for gain in gains if gain is not None), default=0.0) <= math.log1p(gate.margin):
        text = f"The default is within the margin of the best: leave {default}."
    else:
        text = f"No value was shown to be better than the default: leave {default}."
    return Advice(Kind.LEAVE, text, axis.name)


def _by_value(found: Comparisons, axis: Axis) -> dict[str, list[Comparison]]:
    values: dict[str, list[Comparison]] = {}
    for row in found.rows:
        values.setdefault(row.cell.values[axis.name], []).append(row)
    return values


def _gain(row: Comparison) -> float:
    """Log ratio, positive when better."""
    if row.ratio is None or row.ratio <= 0.0:
        return -math.inf
    return math.log(row.ratio) * (1.0 if row.gate.higher_is_better else -1.0)


def _mean_gain(rows: Sequence[Comparison], gate: Gate) -> float:
    gains = [_gain(row) for row in rows if row.gate == gate and row.ratio]
    return fmean(gains) if gains else -math.inf


def _told(row: Comparison) -> str:
    interval = f" [{row.low:.3f}, {row.high:.3f}]" if row.interval else ""
    return f"{row.cell.id} {row.verdict.value} in {row.gate.metric}, x{row.ratio:.3f}{interval}"
