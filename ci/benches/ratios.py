"""Ratios of interleaved pairs, judged by the harness's own statistics (harness/STATISTICS.md)."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "harness"))

from sluice.model import Cell, Gate
from sluice.stats import Comparison, Observed, judge

MARGIN = 0.03
"""Relative change of IOPS that would matter."""


@dataclass(frozen=True)
class Pairs:
    """One case: figures of two arms, pair by pair (a pair is a block)."""

    name: str
    above: Sequence[float]
    below: Sequence[float]

    @property
    def logs(self) -> tuple[float, ...]:
        return tuple(math.log(a / b) for a, b in zip(self.above, self.below, strict=True))


def judged(
    cases: Sequence[Pairs], higher_is_better: bool = True, margin: float = MARGIN
) -> dict[str, Comparison]:
    """All cases of a bench as one family: ratio, interval and verdict of each, by name."""
    gate = Gate("iops", higher_is_better, margin)
    family = [
        # Every case has pairs of its own, also of the baseline.
        Observed(
            Cell(case.name, "bench", {}), Cell(f"{case.name}/base", "bench", {}), gate, case.logs
        )
        for case in cases
    ]
    return {found.cell.id: found for found in judge(family)}


def mean_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Geometric mean of the pairs' ratios, for what is shown and not judged."""
    logs = Pairs("", above, below).logs
    return math.exp(sum(logs) / len(logs))


def percentile(values: Sequence[float], fraction: float) -> float:
    """Linear between the order statistics, as numpy's default."""
    ordered = sorted(values)
    at = fraction * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def spread(values: Sequence[float]) -> float:
    """Half the distance of the 16th and the 84th percentile: one sigma if they were Gaussian, and
    deaf to a wild run."""
    return (percentile(values, 0.84) - percentile(values, 0.16)) / 2
