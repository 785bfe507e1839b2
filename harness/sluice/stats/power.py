"""What a sweep could have seen, and how many blocks would have seen more."""

from __future__ import annotations

import bisect
import math

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtrinc, stdtrit

__all__ = ["MOST_BLOCKS", "POWER", "blocks_for_equivalence", "smallest_change"]

POWER = 0.8
"""Of 100 sweeps like this one so many would have seen the change."""
MOST_BLOCKS = 1000
"""More are not suggested."""

Array = npt.NDArray[np.float64]


def smallest_change(error: Array, df: Array, alpha: Array, margin: Array) -> Array:
    """Smallest change on the log scale that a two-sided test at `alpha` with standard error `error`
    finds with probability :data:`POWER`, its estimate being beyond `margin` (log scale) as well.

    The non-centrality of Student's t is solved for; both conditions are met with that probability
    when the harder one is, since both say that the estimate is large."""
    critical = stdtrit(df, 1.0 - alpha / 2.0)
    shift = nctdtrinc(df, 1.0 - POWER, critical)
    # Beyond some 1e5 degrees of freedom, or for a huge quantile, the solver gives up.
    usual = critical + stdtrit(df, POWER)
    shift = np.where(np.isfinite(shift) & (shift > 0.0), shift, usual)
    found: Array = np.maximum(shift * error, margin + stdtrit(df, POWER) * error)
    return found


def blocks_for_equivalence(deviation: float, alpha: float, margin: float) -> int | None:
    """Blocks at which a cell whose block ratios have the standard `deviation` (log scale) is called
    equivalent with probability :data:`POWER` if nothing changed, its two one-sided tests having
    `alpha` / 2 each. None: more than :data:`MOST_BLOCKS`."""

    def enough(blocks: int) -> bool:
        # The estimate may miss 0 on either side, so each gets half of what power leaves.
        reach = stdtrit(blocks - 1, 1.0 - alpha / 2.0) + stdtrit(blocks - 1, (1.0 + POWER) / 2.0)
        return float(deviation * reach) <= margin * math.sqrt(blocks)

    if not enough(MOST_BLOCKS):
        return None
    return bisect.bisect_left(range(MOST_BLOCKS), True, lo=2, key=enough)
