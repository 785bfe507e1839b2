"""SNIA's rule for a steady state: over the last rounds a metric neither varies nor drifts much."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.conditions import SteadyRule


@dataclass(frozen=True, slots=True)
class Window:
    """The last rounds, judged."""

    range: float
    """Largest minus smallest, relative to the mean."""
    slope: float
    """Rise or fall of the least-squares line from the first round to the last, relative to the
    mean; without sign."""
    steady: bool


def judge(rule: SteadyRule, values: Sequence[float]) -> Window | None:
    """The window that ends with the last of `values`; None while there are too few. A mean that
    isn't positive is never steady: nothing was measured."""
    if len(values) < rule.rounds:
        return None
    last = values[-rule.rounds :]
    mean = statistics.fmean(last)
    if not all(map(math.isfinite, last)) or mean <= 0:
        return Window(math.inf, math.inf, False)
    spread = (max(last) - min(last)) / mean
    per_round = statistics.linear_regression(range(rule.rounds), last).slope
    slope = abs(per_round) * (rule.rounds - 1) / mean
    # A value on the limit is within it; binary fractions must not decide that.
    tiny = 1e-9
    steady = spread <= rule.range + tiny and slope <= rule.slope + tiny
    return Window(spread, slope, steady)


def not_reached(rule: SteadyRule, values: Sequence[float], last: Window | None) -> str:
    """Why the target is transient, in one line."""
    if last is None:
        return f"{rule.metric} wasn't steady: {len(values)} rounds, {rule.rounds} are needed"
    return (
        f"{rule.metric} wasn't steady after {len(values)} rounds: in the last {rule.rounds} its "
        f"range was {_percent(last.range)} of the mean (at most {_percent(rule.range)}) and its "
        f"slope {_percent(last.slope)} (at most {_percent(rule.slope)})"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
