"""Variances that lend each other strength: the empirical Bayes estimate of Smyth (2004).

With few blocks a cell's own variance is a lottery: some cells look exact by luck, and those are the
false alarms. All cells of one metric were measured by the same machine, so their true variances are
taken to come from one distribution (scaled inverse chi-squared: `Prior`), which is fitted to the
logarithms of the observed ones. A cell's variance is then the mean of its own and of the prior's,
each weighted by its degrees of freedom.

G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004), 3;
section 6.2 for the fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, polygamma

__all__ = ["CAUTION", "Prior", "fit", "moderate"]

Array = npt.NDArray[np.float64]

CAUTION = 1.0
"""Standard errors; see :func:`fit`."""
FEWEST = 4
"""Cells; fewer say next to nothing about how unlike cells are, so each keeps its own variance."""


@dataclass(frozen=True, slots=True)
class Prior:
    """Where the true variances of a metric's cells come from."""

    df: float
    """What the prior weighs, in degrees of freedom: the more alike the cells are, the more. 0 when
    there are too few to tell."""
    variance: float


def fit(variances: Array, df: Array) -> Prior:
    """The prior that fits the observed `variances`, each with `df` >= 1 degrees of freedom.

    What the logarithms vary beyond chance says how unlike the cells are. With few cells or blocks
    that excess is itself uncertain, and taking it too small would pass noise off as precision, so
    it is taken one standard error larger than estimated."""
    usable = variances > 0.0  # the logarithm of 0 would rule the fit
    count = np.count_nonzero(usable)
    if count < FEWEST:
        return Prior(0.0, 0.0)
    variances, half = variances[usable], df[usable] / 2.0
    logs = np.log(variances) - digamma(half) + np.log(half)
    seen, chance = float(np.var(logs, ddof=1)), float(np.mean(polygamma(1, half)))
    fourth = float(np.mean(polygamma(3, half)))  # cumulant of a log chi-squared variable
    error = math.sqrt(2.0 * max(seen, chance) ** 2 / (count - 1) + fourth / count)
    excess = max(seen - chance, 0.0) + CAUTION * error
    prior_df = 2.0 * _trigamma_inverse(excess)
    centre = float(np.mean(logs) + digamma(prior_df / 2.0)) - math.log(prior_df / 2.0)
    return Prior(prior_df, math.exp(centre))


def moderate(variances: Array, df: Array, sources: Sequence[object]) -> tuple[Array, Array]:
    """Each cell's moderated variance, and its degrees of freedom: its own and the prior's, but no
    more than the data have from which the prior was learnt. Cells with an equal entry in `sources`
    are compared with one and the same other, share its noise, and count as one of them there."""
    prior = fit(variances, df)
    if prior.df == 0.0:
        return variances.copy(), df.copy()
    moderated = (prior.df * prior.variance + df * variances) / (prior.df + df)
    apart: dict[object, float] = {}
    for source, own in zip(sources, df.tolist(), strict=True):
        apart[source] = max(own, apart.get(source, 0.0))
    return moderated, np.clip(prior.df + df, df, max(sum(apart.values()), float(np.max(df))))


def _trigamma_inverse(value: float) -> float:
    """The y at which trigamma(y) = `value` > 0, by Newton's method on 1 / trigamma, which is
    convex and nearly linear, so that it converges from any start of this kind."""
    if value > 1e7:
        return 1.0 / math.sqrt(value)
    if value < 1e-6:
        return 1.0 / value
    y = 0.5 + 1.0 / value
    for _ in range(50):
        trigamma = float(polygamma(1, y))
        step = trigamma * (1.0 - trigamma / value) / float(polygamma(2, y))
        y += step
        if abs(step) < 1e-9 * y:
            break
    return y
