"""Judging paired ratios by order statistics: no run is thrown away, and none rules."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """The ratios of some pairs.

    `spread` is half the distance of the 16th and the 84th percentile of the pairs' ratios: what one
    pair scatters, one sigma if it were Gaussian, and deaf to a wild run. `low` and `high` are order
    statistics that hold the true median with at least 95 % (or the extremes, below six pairs).
    """

    median: float
    spread: float
    low: float
    high: float
    pairs: tuple[float, ...]


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Ratio:
    pairs = [a / b for a, b in zip(numerators, denominators, strict=True)]
    low, high = median_interval(pairs)
    return Ratio(statistics.median(pairs), spread(pairs), low, high, tuple(pairs))


def percentile(values: Sequence[float], fraction: float) -> float:
    """Linear between the order statistics, as numpy's default."""
    ordered = sorted(values)
    at = fraction * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def spread(values: Sequence[float]) -> float:
    return (percentile(values, 0.84) - percentile(values, 0.16)) / 2


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """The tightest symmetric pair of order statistics that covers the median so often."""
    ordered = sorted(values)
    count = len(ordered)
    best = 0
    for skip in range((count + 1) // 2):
        outside = 2 * sum(math.comb(count, k) for k in range(skip + 1)) / 2**count
        if 1 - outside < confidence:
            break
        best = skip
    return ordered[best], ordered[count - 1 - best]
