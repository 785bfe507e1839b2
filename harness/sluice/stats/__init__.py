"""Verdicts on ratios: what a change did, how sure that is, and what could not have been seen.

    judged = judge(observed)      # one family: every gating cell of a report at once

`Observed` is what was measured of one cell against another in one metric, a log ratio for each
block; `Comparison` is what follows from it. ``harness/STATISTICS.md`` has the method, its proofs
and its measured error rates.

    judge         from logs to verdicts
    selection     which to call, at which level         power       what could have been seen
    estimation    means and standard errors             moderation  variances that lend each other
    comparison    the vocabulary

Nothing here reads files, knows runs, or draws random numbers.
"""

from __future__ import annotations

from sluice.stats.comparison import LEVEL, Comparison, Observed, Verdict, Why
from sluice.stats.judge import judge

__all__ = ["LEVEL", "Comparison", "Observed", "Verdict", "Why", "judge"]
