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
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, polygamma

__all__ = ["Prior", "fit", "moderate"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prior:
    """Where the true variances of a metric's cells come from."""

    df: float
    """What the prior weighs, in degrees of freedom: 0 when nothing can be lent (one cell),
    infinite when the cells differ no more than chance lets them."""
    variance: float


def fit(variances: Array, df: Array) -> Prior:
    """The prior that fits the observed `variances`, each with `df` >= 1 degrees of freedom."""
    usable = variances > 0.0  # the logarithm of 0 would rule the fit
    if np.count_nonzero(usable) < 2:
        return Prior(0.0, 0.0)
    variances, df = variances[usable], df[usable]
    half = df / 2.0
    logs = np.log(variances) - digamma(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - np.mean(polygamma(1, half)))
    if excess <= 0.0:
        return Prior(math.inf, float(np.sum(df * variances) / np.sum(df)))
    prior_df = 2.0 * _trigamma_inverse(excess)
    centre = float(np.mean(logs) + digamma(prior_df / 2.0)) - math.log(prior_df / 2.0)
    return Prior(prior_df, math.exp(centre))


def moderate(variances: Array, df: Array) -> tuple[Array, Array]:
    """Each cell's moderated variance, and its degrees of freedom: its own and the prior's, but no
    more than all cells together have, since the prior was learnt from them."""
    prior = fit(variances, df)
    if prior.df == 0.0:
        return variances.copy(), df.copy()
    if math.isinf(prior.df):
        moderated = np.full_like(variances, prior.variance)
    else:
        moderated = (prior.df * prior.variance + df * variances) / (prior.df + df)
    return moderated, np.minimum(prior.df + df, np.sum(df))


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
