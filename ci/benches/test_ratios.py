import random

import pytest

from benches.ratios import median_interval, percentile, ratio, spread


def test_ratio_is_of_pairs_not_of_sums():
    # The machine is three times faster in one block; the pairs don't care.
    found = ratio([99, 297, 99], [100, 300, 100])
    assert found.median == pytest.approx(0.99)
    assert found.spread == pytest.approx(0)


def test_one_wild_pair_moves_neither_median_nor_spread_much():
    found = ratio([100] * 8 + [1000], [100] * 9)
    assert found.median == 1
    assert found.spread == 0


def test_percentile_is_numpys_default():
    assert percentile([4, 1, 3, 2], 0.5) == 2.5
    assert percentile([1, 2, 3], 1) == 3
    assert percentile([5], 0.16) == 5


def test_spread_is_a_sigma_of_gaussians():
    draw = random.Random(1)
    assert spread([draw.gauss(1, 0.02) for _ in range(20000)]) == pytest.approx(0.02, rel=0.03)


@pytest.mark.parametrize("count, skipped", [(5, 0), (6, 0), (9, 1), (12, 2), (20, 5)])
def test_median_interval_is_the_binomial_table(count, skipped):
    assert median_interval(list(range(count))) == (skipped, count - 1 - skipped)


def test_unequal_sides_are_a_bug():
    with pytest.raises(ValueError):
        ratio([1, 2], [1])
