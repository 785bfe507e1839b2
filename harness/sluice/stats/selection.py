"""Which cells of a family to call changed or equivalent, and at which level each interval stands.

A cell is a candidate for "changed" when its estimate is beyond the margin; the others have p = 1.
Benjamini-Hochberg on these p-values calls R of m cells changed, each with p <= R * level / m. An
interval of confidence 1 - R * level / m then excludes "no change" for exactly these candidates, and
is the one that Benjamini and Yekutieli (2005) ask for: of R intervals that were picked like that,
an expected share of at most `level` misses the truth. Equivalence goes the same way, with two
one-sided tests at half the level each, so that its interval lies within the margin.

A cell that is neither has the wider of the two intervals.

Y. Benjamini, D. Yekutieli, "False discovery rate-adjusted multiple confidence intervals for
selected parameters", Journal of the American Statistical Association 100 (2005), 71-81.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

__all__ = ["Estimates", "Selection", "select"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimates:
    """A family on the log scale: arrays of one length, an entry a cell."""

    mean: Array
    error: Array
    """Standard error, > 0."""
    df: Array
    low_margin: Array
    """< 0; minus infinity where a fall by any amount is within the margin."""
    high_margin: Array
    """> 0."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What was decided, an entry a cell."""

    p: Array
    q: Array
    changed: npt.NDArray[np.bool_]
    equivalent: npt.NDArray[np.bool_]
    alpha: Array
    """1 - the confidence of each interval."""
    alpha_changed: Array
    """The level at which p is or would be called changed; for a cell that isn't, as if it were one
    more than were called."""
    alpha_equivalent: Array
    """The same for equivalence: twice what each of the two one-sided tests gets."""

    def half_widths(self, of: Estimates) -> Array:
        """Half the length of each interval on the log scale."""
        quantile: Array = stdtrit(of.df, 1.0 - self.alpha / 2.0)
        return quantile * of.error


def select(of: Estimates, level: float) -> Selection:
    """Decide for a whole family at once."""
    count = len(of.mean)
    p: Array = 2.0 * stdtr(of.df, -np.abs(of.mean) / of.error)
    beyond = (of.mean > of.high_margin) | (of.mean < of.low_margin)
    changed, q = _benjamini_hochberg(np.where(beyond, p, 1.0), level)
    outside = np.maximum(
        stdtr(of.df, (of.mean - of.high_margin) / of.error),
        stdtr(of.df, (of.low_margin - of.mean) / of.error),
    )
    equivalent, _ = _benjamini_hochberg(outside, level / 2.0)
    each = level / count if count else level
    calls, same = int(np.count_nonzero(changed)), int(np.count_nonzero(equivalent))
    alpha_changed, alpha_equivalent = max(calls, 1) * each, max(same, 1) * each
    alpha = np.where(
        changed,
        alpha_changed,
        np.where(equivalent, alpha_equivalent, min(alpha_changed, alpha_equivalent)),
    )
    return Selection(
        p,
        q,
        changed,
        equivalent,
        alpha,
        np.where(changed, alpha_changed, min((calls + 1) * each, level)),
        np.where(equivalent, alpha_equivalent, min((same + 1) * each, level)),
    )


def _benjamini_hochberg(p: Array, level: float) -> tuple[npt.NDArray[np.bool_], Array]:
    """Which are rejected at false discovery rate `level`, and the adjusted p-values."""
    if not len(p):
        return np.zeros(0, dtype=bool), p
    from statsmodels.stats.multitest import multipletests  # a second to import: only when needed

    rejected, adjusted, _, _ = multipletests(p, alpha=level, method="fdr_bh")
    return rejected, adjusted
