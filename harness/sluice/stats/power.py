"""What a sweep could have seen, and how many blocks would have seen more."""

from __future__ import annotations

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


def blocks_for_equivalence(deviation: Array, alpha: Array, margin: Array) -> list[int | None]:
    """Blocks at which a cell whose block ratios have the standard `deviation` (log scale) is called
    equivalent with probability :data:`POWER` if nothing changed, its two one-sided tests having
    `alpha` / 2 each. None: more than :data:`MOST_BLOCKS`."""
    blocks = np.arange(2, MOST_BLOCKS + 1)
    # The estimate may miss 0 on either side, so each gets half of what power leaves.
    spare = stdtrit(blocks - 1, (1.0 + POWER) / 2.0)
    reach = {
        level: (stdtrit(blocks - 1, 1.0 - level / 2.0) + spare) / np.sqrt(blocks)
        for level in np.unique(alpha)
    }
    found: list[int | None] = []
    for one, level, limit in zip(deviation, alpha, margin, strict=True):
        # The reach falls with every block, so the first that is enough is found by bisection.
        index = int(np.searchsorted(-one * reach[level], -limit))
        found.append(int(blocks[index]) if index < len(blocks) else None)
    return found
