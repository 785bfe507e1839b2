"""From block values to means with moderated standard errors, on the log scale.

The unit of replication is the block, so a value here is a block's. Variances are moderated within a
gate (one metric of one role), since only there do the cells scatter alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sluice.metrics import METRICS
from sluice.model import Gate
from sluice.stats.comparison import Observed
from sluice.stats.moderation import moderate
from sluice.stats.selection import Estimates

__all__ = ["estimate"]

Array = npt.NDArray[np.float64]

_EXACT = 1e-6
"""No block's figure is more exact than that: figures have about so many digits."""
_BIN = 1.0 / 64.0
"""Relative width of fio's widest latency bins: a percentile is one of their midpoints."""


def estimate(members: Sequence[Observed]) -> tuple[Estimates, Array]:
    """Estimates of a family, and the standard deviation of what one block tells of each member.
    Every member has two blocks or more on every side."""
    count = len(members)
    mean, squared, df, block = (np.zeros(count) for _ in range(4))
    alike: dict[tuple[Gate, bool], list[int]] = {}
    for index, member in enumerate(members):
        alike.setdefault((replace(member.gate, margin=0.0), member.paired), []).append(index)
    for (gate, paired), indices in alike.items():
        at = np.array(indices)
        group = [members[index] for index in indices]
        found = _paired(gate, group) if paired else _apart(gate, group)
        mean[at], squared[at], df[at], block[at] = found
    margins = np.array([member.gate.margin for member in members])
    low = np.full(count, -math.inf)
    low[margins < 1.0] = np.log1p(-margins[margins < 1.0])
    return Estimates(mean, np.sqrt(squared), df, low, np.log1p(margins)), np.sqrt(block)


@dataclass(frozen=True, slots=True)
class _Side:
    """Block values of one side of some comparisons."""

    mean: Array
    variance: Array
    blocks: Array


def _paired(gate: Gate, members: list[Observed]) -> tuple[Array, Array, Array, Array]:
    """Mean, squared standard error, degrees of freedom, variance of a block."""
    side = _side([member.logs for member in members])
    floor = 2.0 * _floor(gate)  # a ratio has the errors of both
    bases = [member.base.id for member in members]
    variance, df = moderate(np.maximum(side.variance, floor), side.blocks - 1.0, bases)
    return side.mean, variance / side.blocks, df, variance


def _apart(gate: Gate, members: list[Observed]) -> tuple[Array, Array, Array, Array]:
    """The same of sides with blocks of their own, whose variances may differ: Welch's sum, with
    Satterthwaite's degrees of freedom."""
    side = _side([values for member in members for values in (member.logs, member.base_logs or ())])
    own = side.blocks - 1.0
    variance, df = moderate(np.maximum(side.variance, _floor(gate)), own, range(len(own)))
    squared = variance / side.blocks
    total = squared[::2] + squared[1::2]
    welch = total**2 / (squared[::2] ** 2 / df[::2] + squared[1::2] ** 2 / df[1::2])
    welch = np.minimum(welch, np.sum(own))  # no sum knows more than all its parts
    return side.mean[::2] - side.mean[1::2], total, welch, variance[::2] + variance[1::2]


def _side(values: Sequence[tuple[float, ...]]) -> _Side:
    """Mean and variance of each; those of one length are taken together."""
    mean, variance = np.zeros(len(values)), np.zeros(len(values))
    lengths = np.array([len(one) for one in values], dtype=float)
    for length in np.unique(lengths):
        at = np.flatnonzero(lengths == length)
        table = np.array([values[index] for index in at])
        mean[at] = table.mean(axis=1)
        variance[at] = table.var(axis=1, ddof=1)
    return _Side(mean, variance, lengths)


def _floor(gate: Gate) -> float:
    """Least variance of a log figure. Percentiles are midpoints of bins, so equal ones don't mean
    equal latencies: they get what an error that is uniform within a bin has."""
    metric = METRICS.get(gate.metric)
    binned = metric is not None and metric.quantile is not None
    return (_BIN**2 / 12.0) if binned else _EXACT**2
