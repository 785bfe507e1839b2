import random

import pytest

from benches.ratios import Pairs, judged, mean_ratio, percentile, spread


def test_ratio_is_of_pairs_not_of_sums():
    # The machine is three times faster in one block; the pairs don't care.
    found = judged([Pairs("x", [90, 270.5, 89.9], [100, 300, 100])])["x"]
    assert found.ratio == pytest.approx(0.9, abs=0.002)
    assert found.verdict.value == "regressed"
    assert mean_ratio([99, 297, 99], [100, 300, 100]) == pytest.approx(0.99)


def test_cases_are_judged_as_one_family():
    draw = random.Random(2)

    def case(name, level):
        values = [100 * draw.lognormvariate(0, 0.02) for _ in range(9)]
        return Pairs(name, [level * value for value in values], [100] * 9)

    found = judged([case("slow", 0.85), *(case(str(index), 1.0) for index in range(30))])
    assert found["slow"].verdict.value == "regressed"
    assert found["slow"].confidence == pytest.approx(1 - 0.05 / 31)
    assert all(one.verdict.value != "regressed" for name, one in found.items() if name != "slow")


def test_one_pair_has_no_interval():
    found = judged([Pairs("x", [90], [100])])["x"]
    assert found.interval is None
    assert found.ratio == pytest.approx(0.9)


def test_percentile_is_numpys_default():
    assert percentile([4, 1, 3, 2], 0.5) == 2.5
    assert percentile([1, 2, 3], 1) == 3
    assert percentile([5], 0.16) == 5


def test_spread_is_a_sigma_of_gaussians():
    draw = random.Random(1)
    assert spread([draw.gauss(1, 0.02) for _ in range(20000)]) == pytest.approx(0.02, rel=0.03)


def test_unequal_sides_are_a_bug():
    with pytest.raises(ValueError):
        mean_ratio([1, 2], [1])
