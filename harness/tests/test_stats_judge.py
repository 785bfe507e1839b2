"""Verdicts on families of ratios: what is called, what is not, and that the interval agrees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct, t, ttest_1samp, ttest_ind
from simulated import families

from sluice.model import Cell, Gate
from sluice.stats import LEVEL, Comparison, Observed, Verdict, Why, judge
from sluice.stats.power import POWER

IOPS = Gate("iops", True, 0.03)
P99 = Gate("lat_p99", False, 0.10)
A, B = Cell("solo/x=1", "solo", {"x": "1"}), Cell("solo/x=0", "solo", {"x": "0"})


def observed(
    logs: Sequence[float], gate: Gate = IOPS, base: Sequence[float] | None = None
) -> Observed:
    return Observed(A, B, gate, tuple(logs), None if base is None else tuple(base))


def one(logs: Sequence[float], gate: Gate = IOPS) -> Comparison:
    return judge([observed(logs, gate)])[0]


def around(centre: float, spread: float = 0.002, blocks: int = 10) -> list[float]:
    """Values whose mean is the log of `centre`."""
    return [math.log(centre) + spread * ((-1) ** index) for index in range(blocks)]


@pytest.mark.parametrize(
    ("ratio", "gate", "expected"),
    [
        (0.90, IOPS, Verdict.REGRESSED),
        (1.10, IOPS, Verdict.IMPROVED),
        (1.30, P99, Verdict.REGRESSED),
        (0.70, P99, Verdict.IMPROVED),
        (1.001, IOPS, Verdict.EQUIVALENT),
        (0.95, P99, Verdict.EQUIVALENT),  # surely faster, and by less than what matters
    ],
)
def test_clear_cases(ratio: float, gate: Gate, expected: Verdict) -> None:
    assert one(around(ratio), gate).verdict is expected


def test_a_change_that_is_significant_but_maybe_small_is_inconclusive() -> None:
    found = one(around(0.98, spread=0.02))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.p is not None
    assert found.p < LEVEL
    assert found.needed is not None


def test_one_cell_is_students_t() -> None:
    values = [0.01, -0.02, 0.015, 0.003]
    found = one(values)
    expected = ttest_1samp(values, 0.0)
    assert found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert found.interval == pytest.approx((math.exp(low), math.exp(high)))
    assert found.confidence == pytest.approx(0.95)


def test_sides_that_were_not_interleaved_get_a_two_sample_t() -> None:
    above, below = [0.10, 0.12, 0.14, 0.16], [0.00, 0.02, 0.04, 0.06]
    found = judge([observed(above, base=below)])[0]
    assert not found.paired
    assert found.blocks == 4
    assert found.ratio == pytest.approx(math.exp(0.10))
    assert found.p == pytest.approx(ttest_ind(above, below).pvalue)


def test_a_common_jump_between_blocks_counts_only_where_blocks_are_apart() -> None:
    """What interleaving buys: here each block is faster than the one before."""
    above = [0.05 + 0.03 * block for block in range(6)]
    below = [0.03 * block for block in range(6)]
    paired = [a - b for a, b in zip(above, below, strict=True)]
    assert one(paired).verdict is Verdict.IMPROVED
    assert judge([observed(above, base=below)])[0].verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("logs", "base", "why"),
    [
        ([0.1], None, Why.ONE_BLOCK),
        ([], None, Why.NOT_MEASURED),
        ([0.1, math.nan], None, Why.NOT_FINITE),
        ([0.1, -math.inf], None, Why.NOT_FINITE),
        ([0.1, 0.2], [0.1], Why.ONE_BLOCK),
        ([0.1, 0.2], [0.1, math.inf], Why.NOT_FINITE),
    ],
)
def test_what_cant_be_judged_says_why(
    logs: list[float], base: list[float] | None, why: Why
) -> None:
    found = judge([observed(logs, base=base), observed(around(0.9))])
    assert found[0].verdict is Verdict.NONE
    assert found[0].why is why
    assert found[0].reason
    assert found[0].interval is None
    assert found[1].verdict is Verdict.REGRESSED  # the others are none the worse for it


def test_one_block_shows_its_ratio_and_nothing_else() -> None:
    found = one([math.log(0.5)])
    assert found.ratio == pytest.approx(0.5)
    assert (found.p, found.q, found.mde, found.interval) == (None, None, None, None)


def test_a_reason_that_is_known_beforehand_is_kept() -> None:
    given = Observed(A, B, IOPS, tuple(around(0.5)), None, Why.TRANSIENT, "not steady")
    found = judge([given])[0]
    assert (found.verdict, found.why, found.reason) == (Verdict.NONE, Why.TRANSIENT, "not steady")


def test_figures_without_any_spread_are_judged_by_their_resolution() -> None:
    assert one([0.0] * 5).verdict is Verdict.EQUIVALENT
    assert one([math.log(0.9)] * 5).verdict is Verdict.REGRESSED
    # Percentiles are bins: five equal ones are not five exact ones.
    same = one([math.log(1.02)] * 3, P99)
    assert same.low is not None
    assert same.low < 1.02 * (1 - 1 / 128)


def test_the_order_of_the_family_doesnt_matter() -> None:
    rng = np.random.default_rng(5)
    given = [observed(rng.normal(0.0, 0.03, 6) - 0.02 * (i % 4)) for i in range(30)]
    forward, backward = judge(given), judge(given[::-1])
    for a, b in zip(forward, backward[::-1], strict=True):
        assert a.verdict is b.verdict
        assert a.p == pytest.approx(b.p)
        assert a.interval == pytest.approx(b.interval)


def test_swapping_sides_mirrors_p_and_interval() -> None:
    rng = np.random.default_rng(6)
    logs = [rng.normal(-0.02, 0.02, 8) for _ in range(20)]
    there = judge([observed(one) for one in logs])
    back = judge([observed(-one) for one in logs])
    for a, b in zip(there, back, strict=True):
        assert a.ratio is not None
        assert b.ratio is not None
        assert a.p == pytest.approx(b.p)
        assert a.ratio * b.ratio == pytest.approx(1.0)


def test_more_cells_make_a_change_harder_to_call() -> None:
    rng = np.random.default_rng(7)
    null = [observed(rng.normal(0.0, 0.02, 10)) for _ in range(200)]
    found = judge([observed(around(0.96, 0.03)), *null])[0]
    assert found.p is not None
    assert found.q == pytest.approx(201 * found.p)
    assert found.confidence == pytest.approx(1 - LEVEL / 201)


def test_the_smallest_change_is_what_80_of_100_sweeps_would_see() -> None:
    """For one cell it is Student's t: its power at the printed change is POWER."""
    values = [0.03, -0.03, 0.02, -0.02, 0.01, -0.01]
    found = one(values, Gate("iops", True, 0.001))
    assert found.mde is not None
    shift = -math.log1p(-found.mde) / (np.std(values, ddof=1) / math.sqrt(6))
    power = 1.0 - nct.cdf(t.ppf(1 - LEVEL / 2, 5), 5, shift)
    assert power == pytest.approx(POWER, abs=0.002)


def test_nothing_smaller_than_the_margin_is_claimed_to_be_seen() -> None:
    found = one(around(1.0, 1e-5))
    assert found.mde is not None
    assert found.mde >= IOPS.margin


def consistent(found: Comparison) -> None:
    """No interval contradicts its verdict."""
    if found.verdict is Verdict.NONE:
        assert found.interval is None
        assert found.why is not None
        return
    assert found.ratio is not None
    assert found.low is not None
    assert found.high is not None
    assert found.confidence is not None
    assert found.confidence >= 1.0 - LEVEL - 1e-12
    assert found.low <= found.ratio <= found.high
    margin = found.margin
    inside = found.low >= 1.0 - margin and found.high <= 1.0 + margin
    excludes = found.low > 1.0 or found.high < 1.0
    beyond = not 1.0 - margin <= found.ratio <= 1.0 + margin
    match found.verdict:
        case Verdict.REGRESSED | Verdict.IMPROVED:
            assert excludes
            assert beyond
            assert found.q is not None
            assert found.q <= LEVEL
            assert found.worse is (found.verdict is Verdict.REGRESSED)
        case Verdict.EQUIVALENT:
            assert inside
        case Verdict.INCONCLUSIVE:
            assert not inside
            assert not (excludes and beyond)


figures = st.integers(-3000, 3000).map(lambda value: value / 1000)
sides = st.lists(figures, min_size=0, max_size=6)
gates = st.sampled_from([IOPS, P99, Gate("bw", True, 0.0), Gate("ctx", False, 1.5)])


@settings(max_examples=150)
@given(st.lists(st.tuples(sides, st.none() | sides, gates), max_size=8))
def test_no_interval_contradicts_its_verdict(
    family: list[tuple[list[float], list[float] | None, Gate]],
) -> None:
    for found in judge([observed(logs, gate, base) for logs, base, gate in family]):
        consistent(found)


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 150),
    st.integers(2, 12),
    st.floats(0.0, 0.2),
    st.floats(1e-4, 0.2),
)
def test_no_interval_contradicts_its_verdict_in_families_like_real_ones(
    seed: int, cells: int, blocks: int, effect: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    centre = effect * rng.integers(-1, 2, (1, cells, 1))
    deviation = spread * np.exp(rng.normal(0.0, 0.5, (1, cells, 1)))
    (family,) = families(rng.normal(centre, deviation, (1, cells, blocks)))
    for found in judge(family):
        consistent(found)
