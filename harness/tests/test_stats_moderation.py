"""Variances that lend each other strength, against what is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import polygamma

from sluice.stats.moderation import _trigamma_inverse, fit, moderate


@pytest.mark.parametrize("y", [1e-3, 0.05, 0.5, 1.0, 3.7, 40.0, 1e4, 1e8])
def test_the_inverse_of_trigamma_inverts_it(y: float) -> None:
    assert _trigamma_inverse(float(polygamma(1, y))) == pytest.approx(y, rel=1e-5)


@pytest.mark.parametrize(("prior_df", "df"), [(4.0, 4), (10.0, 9), (3.0, 2)])
def test_the_prior_that_variances_came_from_is_found(prior_df: float, df: int) -> None:
    rng = np.random.default_rng(11)
    true = prior_df * 0.02**2 / rng.chisquare(prior_df, 40_000)
    seen = true * rng.chisquare(df, 40_000) / df
    found = fit(seen, np.full(40_000, float(df)))
    assert found.df == pytest.approx(prior_df, rel=0.08)
    assert found.variance == pytest.approx(0.02**2, rel=0.03)


def test_few_cells_are_not_taken_for_alike() -> None:
    """Ten cells of one variance: their prior weighs something, and far from everything."""
    rng = np.random.default_rng(13)
    for _ in range(20):
        found = fit(rng.chisquare(4, 10) / 4, np.full(10, 4.0))
        assert 0.5 < found.df < 20.0


def test_too_few_cells_keep_their_own() -> None:
    found, df = moderate(np.array([2.0, 1.0, 7.0]), np.array([4.0, 4.0, 4.0]), "abc")
    assert found.tolist() == [2.0, 1.0, 7.0]
    assert df.tolist() == [4.0, 4.0, 4.0]


def test_cells_that_share_a_base_share_its_degrees_of_freedom() -> None:
    """All ratios have the noise of the one base in them, so they agree without being right."""
    variances, df = np.full(50, 1.0), np.full(50, 4.0)
    _, apart = moderate(variances, df, range(50))
    _, shared = moderate(variances, df, ["base"] * 50)
    assert np.all(apart > 12.0)
    assert shared == pytest.approx(np.full(50, 4.0))


def test_a_cell_moves_towards_the_others_and_not_past_them() -> None:
    rng = np.random.default_rng(12)
    variances = 0.02**2 * np.exp(rng.normal(0.0, 1.0, 60)) * rng.chisquare(4, 60) / 4
    found, df = moderate(variances, np.full(60, 4.0), range(60))
    prior = fit(variances, np.full(60, 4.0))
    low, high = np.minimum(variances, prior.variance), np.maximum(variances, prior.variance)
    assert np.all((low <= found) & (found <= high))
    assert np.all((df > 4.0) & (df <= 240.0))
