"""Figures of runs as log ratios, block by block; or the reason why there are none.

Interleaved sides are compared leg by leg: what drifts through the session cancels between the two
legs of a block, whose log ratios are averaged first. Sides with blocks of their own give the mean
of the logs of each block.

A cell whose figure is missing in some run has none at all. Leaving out just that run would keep the
good ones, and call their mean the cell's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean

from sluice.metrics import METRICS, MIN_IOS_BEYOND
from sluice.model import Cell, Gate, Leg, Role
from sluice.readings import Key, Readings
from sluice.stats import Observed, Why
from sluice.verdicts.standing import Fault

__all__ = ["apart", "paired"]

Legs = Mapping[tuple[int, Leg], float]


def paired(readings: Readings, cell: Cell, base: Cell, gate: Gate) -> Observed:
    """A cell against another of the same blocks."""
    key = Key(gate.metric, gate.role)
    fault = _fault(readings, cell, key) or _fault(readings, base, key)
    if fault:
        return Observed(cell, base, gate, why=fault[0], reason=fault[1])
    below = _by_leg(readings, base, key)
    logs: dict[int, list[float]] = {}
    for (block, leg), value in _by_leg(readings, cell, key).items():
        if (block, leg) in below:
            logs.setdefault(block, []).append(math.log(value / below[block, leg]))
    if not logs:
        reason = f"{cell.id} and {base.id} ended well in no leg of a block together"
        return Observed(cell, base, gate, why=Why.NOT_MEASURED, reason=reason)
    return Observed(cell, base, gate, tuple(fmean(logs[block]) for block in sorted(logs)))


def apart(
    readings: Readings, cell: Cell, base_readings: Readings, base: Cell, gate: Gate
) -> Observed:
    """A cell against another of other blocks: of another campaign."""
    key = Key(gate.metric, gate.role)
    fault = _fault(readings, cell, key) or _fault(base_readings, base, key)
    if fault:
        return Observed(cell, base, gate, base_logs=(), why=fault[0], reason=fault[1])
    return Observed(
        cell, base, gate, _by_block(readings, cell, key), _by_block(base_readings, base, key)
    )


def _by_block(readings: Readings, cell: Cell, key: Key) -> tuple[float, ...]:
    logs: dict[int, list[float]] = {}
    for (block, _), value in _by_leg(readings, cell, key).items():
        logs.setdefault(block, []).append(math.log(value))
    return tuple(fmean(logs[block]) for block in sorted(logs))


def _by_leg(readings: Readings, cell: Cell, key: Key) -> Legs:
    """The cell's figures; of several attempts at one leg the last that ended well."""
    return {(one.run.block, one.run.leg): one.value for one in readings.of(cell.id, key)}


def _fault(readings: Readings, cell: Cell, key: Key) -> Fault | None:
    """Why a cell has no figure that could be judged."""
    name = METRICS[key.metric].label if key.metric in METRICS else key.metric
    if key.role is Role.NEIGHBOUR:
        name += " of the neighbour"
    if not readings.completed(cell.id):
        said = readings.failure(cell.id)
        return Why.NOT_MEASURED, f"{cell.id}: no run ended well" + (f": {said}" if said else "")
    thin = readings.unsupported(cell.id, key)
    if thin:
        return Why.FEW_IOS, (
            f"{cell.id}: in {thin} of {readings.completed(cell.id)} runs fewer than "
            f"{MIN_IOS_BEYOND} I/Os lie beyond its {name}: take a longer runtime"
        )
    values = [one.value for one in readings.of(cell.id, key)]
    if any(not math.isfinite(value) for value in values):
        return Why.NOT_FINITE, f"{cell.id}: its {name} is NaN or infinite in some run"
    if any(value <= 0.0 for value in values):
        return Why.NO_COMPLETIONS, f"{cell.id}: its {name} is 0 in some run, so it has no ratio"
    if len(values) < readings.completed(cell.id):
        missing = readings.completed(cell.id) - len(values)
        why = Why.NO_COMPLETIONS if _idle(readings, cell, key) else Why.NOT_MEASURED
        return why, f"{cell.id}: {missing} of its runs have no {name}"
    return None


def _idle(readings: Readings, cell: Cell, key: Key) -> bool:
    """Whether those that the figure is of completed nothing in some run."""
    done = readings.of(cell.id, Key("ios", key.role, key.direction))
    return any(one.value <= 0.0 for one in done)
