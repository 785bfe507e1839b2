"""Means, ratios and their intervals, from blocks.

The unit of replication is the block, not the run: the two legs of a block see the same offsets and
the same hour of the day, so they are averaged first, and Student's t is taken over the block means
with (blocks - 1) degrees of freedom. Percentile bootstrap is not used: at the few blocks of a
sweep its nominal 95 % interval covers 78 % (3 blocks) to 87 % (5 blocks).

A percentile that too few I/Os support in any run of a cell has no mean there. Leaving out just
those runs would keep the fast ones, which completed more I/Os, and call their mean the cell's.

A ratio is taken within a block and leg, on the log scale, then averaged over the legs: what drifts
through the session cancels between the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.special import stdtrit

from sluice.model import Leg
from sluice.readings import Key, Readings

__all__ = ["LEVEL", "Estimate", "mean_of", "ratio_of", "t_interval"]

LEVEL = 0.95
"""Of every interval in a report; where several are judged together, of all of them at once."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean (or a geometric mean of ratios) with its interval."""

    mean: float
    low: float | None
    """None with fewer than two blocks: one block carries no interval."""
    high: float | None
    blocks: int
    runs: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def t_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Student's t interval of the mean of independent `values`; None for fewer than two."""
    count = len(values)
    if count < 2:
        return None
    centre = fmean(values)
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * stdev(values) / math.sqrt(count)
    return centre - half, centre + half


def mean_of(readings: Readings, cell: str, key: Key) -> Estimate | None:
    """The mean over block means; None when nothing was measured, or not enough for a percentile.

    No metric can be negative, so an interval that would reach below 0 is cut there.
    """
    blocks: dict[int, list[float]] = {}
    found = readings.of(cell, key)
    for reading in found:
        blocks.setdefault(reading.run.block, []).append(reading.value)
    if not blocks or readings.unsupported(cell, key):
        return None
    means = [fmean(values) for values in blocks.values()]
    low, high = t_interval(means) or (None, None)
    return Estimate(
        fmean(means), None if low is None else max(0.0, low), high, len(blocks), len(found)
    )


def ratio_of(
    readings: Readings, cell: str, base: str, key: Key, level: float = LEVEL
) -> Estimate | None:
    """`cell` over `base`: geometric mean over blocks of the ratio within a block and leg.

    Only legs that both cells completed with a positive figure count; None when there is none.
    """
    if readings.unsupported(cell, key) or readings.unsupported(base, key):
        return None
    below = _by_leg(readings, base, key)
    logs: dict[int, list[float]] = {}
    for (block, leg), value in _by_leg(readings, cell, key).items():
        other = below.get((block, leg))
        if other is not None:
            logs.setdefault(block, []).append(math.log(value / other))
    if not logs:
        return None
    means = [fmean(values) for values in logs.values()]
    runs = sum(len(values) for values in logs.values())
    ends = t_interval(means, level)
    low, high = (_exp(ends[0]), _exp(ends[1])) if ends else (None, None)
    return Estimate(_exp(fmean(means)), low, high, len(logs), runs)


def _by_leg(readings: Readings, cell: str, key: Key) -> dict[tuple[int, Leg], float]:
    """The cell's positive figures; of several attempts at one leg the last that ended well."""
    return {
        (reading.run.block, reading.run.leg): reading.value
        for reading in readings.of(cell, key)
        if reading.value > 0.0
    }


def _exp(log: float) -> float:
    """e^log, infinite instead of an error for the huge intervals that two blocks can give."""
    return math.exp(log) if log < 700.0 else math.inf
