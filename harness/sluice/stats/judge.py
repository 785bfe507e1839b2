"""From log ratios to verdicts, for a whole family at once.

The correction for many comparisons runs over all gates together, because a reader looks at all of
them and acts on whichever is red.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sluice.stats.comparison import LEVEL, Comparison, Observed, Verdict, Why
from sluice.stats.estimation import estimate
from sluice.stats.power import blocks_for_equivalence, smallest_change
from sluice.stats.selection import select

__all__ = ["judge"]


def judge(observed: Sequence[Observed], level: float = LEVEL) -> tuple[Comparison, ...]:
    """A comparison for each of `observed`, in the same order. `level`: see :data:`LEVEL`."""
    reasons = [_unfit(one) for one in observed]
    fit = [one for one, reason in zip(observed, reasons, strict=True) if reason is None]
    judged = iter(_family(fit, level) if fit else ())
    return tuple(
        next(judged) if reason is None else _without(one, *reason)
        for one, reason in zip(observed, reasons, strict=True)
    )


def _sides(one: Observed) -> list[tuple[float, ...]]:
    return [one.logs] if one.base_logs is None else [one.logs, one.base_logs]


def _blocks(one: Observed) -> int:
    return min(len(side) for side in _sides(one))


def _unfit(one: Observed) -> tuple[Why, str] | None:
    """Why it can't be judged; None when it can."""
    if one.why is not None:
        return one.why, one.reason
    if not _blocks(one):
        return Why.NOT_MEASURED, "one side has no figure"
    if not all(math.isfinite(value) for side in _sides(one) for value in side):
        return Why.NOT_FINITE, "a figure is NaN or infinite"
    if _blocks(one) == 1:
        return Why.ONE_BLOCK, "one block has no spread: take more blocks"
    return None


def _without(one: Observed, why: Why, reason: str) -> Comparison:
    """No verdict. A single block still has a ratio; it is shown, and nothing is made of it."""
    ratio = None
    if why is Why.ONE_BLOCK and _blocks(one):
        base = 0.0 if one.base_logs is None else float(np.mean(one.base_logs))
        ratio = _exp(float(np.mean(one.logs)) - base)
    return Comparison(
        one.cell,
        one.base,
        one.gate,
        Verdict.NONE,
        ratio,
        blocks=_blocks(one),
        why=why,
        reason=reason,
        paired=one.paired,
    )


def _family(members: list[Observed], level: float) -> list[Comparison]:
    estimates, deviation = estimate(members)
    chosen = select(estimates, level)
    half = chosen.half_widths(estimates)
    higher = np.array([member.gate.higher_is_better for member in members])
    worse_margin = np.where(higher, -estimates.low_margin, estimates.high_margin)
    smallest = smallest_change(estimates.error, estimates.df, chosen.alpha_changed, worse_margin)
    nearest = np.minimum(-estimates.low_margin, estimates.high_margin)
    found = []
    for index, member in enumerate(members):
        centre, reach = float(estimates.mean[index]), float(half[index])
        ratio, low, high = _exp(centre), _exp(centre - reach), _exp(centre + reach)
        verdict = _verdict(member, ratio, low, high, bool(chosen.changed[index]))
        change, needed = float(smallest[index]), None
        if verdict is Verdict.INCONCLUSIVE:
            needed = blocks_for_equivalence(
                float(deviation[index]),
                float(chosen.alpha_equivalent[index]),
                float(nearest[index]),
            )
        found.append(
            Comparison(
                member.cell,
                member.base,
                member.gate,
                verdict,
                ratio,
                low,
                high,
                confidence=1.0 - float(chosen.alpha[index]),
                p=float(chosen.p[index]),
                q=float(chosen.q[index]),
                mde=-math.expm1(-change) if member.gate.higher_is_better else _exp(change) - 1.0,
                blocks=_blocks(member),
                needed=needed,
                paired=member.paired,
            )
        )
    return found


def _verdict(member: Observed, ratio: float, low: float, high: float, changed: bool) -> Verdict:
    """Read off the very figures that are printed, so that no rounding sets them at odds."""
    margin = member.gate.margin
    if changed and (low > 1.0 or high < 1.0):
        better = (ratio > 1.0) == member.gate.higher_is_better
        return Verdict.IMPROVED if better else Verdict.REGRESSED
    if low >= 1.0 - margin and high <= 1.0 + margin:
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE


def _exp(log: float) -> float:
    """e^log, infinite instead of an error: the interval of two blocks can reach anywhere."""
    return math.exp(log) if log < 700.0 else math.inf
