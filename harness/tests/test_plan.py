"""Plans: complete, balanced, repeatable, and resumable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice import plan
from sluice.model import Cell, Leg, Run, Status

cells_of = st.integers(1, 12).map(
    lambda count: [Cell(f"c{number}", "solo", {}) for number in range(count)]
)
seeds = st.integers(0, 2**31)


@given(cells_of, st.integers(1, 6), seeds)
def test_every_block_holds_every_cell_once_each_way(
    cells: list[Cell], blocks: int, seed: int
) -> None:
    drawn = plan.draw(cells, blocks, seed)
    items = list(plan.items(drawn))
    assert [item.order for item in items] == list(range(2 * blocks * len(cells)))
    for block in drawn:
        forward = [one.cell for one in items if one.block is block and one.leg is Leg.FORWARD]
        reverse = [one.cell for one in items if one.block is block and one.leg is Leg.REVERSE]
        assert sorted(forward) == sorted(cell.id for cell in cells)
        assert reverse == forward[::-1]


@given(cells_of, st.integers(1, 6), seeds)
def test_a_linear_drift_cancels_within_each_block(
    cells: list[Cell], blocks: int, seed: int
) -> None:
    """The positions of a cell's two runs add up to the same for every cell of a block."""
    items = list(plan.items(plan.draw(cells, blocks, seed)))
    for block in range(blocks):
        sums: dict[str, int] = {}
        for item in items:
            if item.block.index == block:
                sums[item.cell] = sums.get(item.cell, 0) + item.order
        assert len(set(sums.values())) == 1


@given(cells_of, st.integers(1, 5), seeds)
def test_a_seed_draws_the_same_plan_and_more_blocks_leave_the_first_alone(
    cells: list[Cell], blocks: int, seed: int
) -> None:
    assert plan.draw(cells, blocks, seed) == plan.draw(cells, blocks, seed)
    assert plan.draw(cells, blocks + 1, seed)[:blocks] == plan.draw(cells, blocks, seed)


def test_blocks_differ() -> None:
    cells = [Cell(f"c{number}", "solo", {}) for number in range(20)]
    first, second = plan.draw(cells, 2, 1)
    assert first.order != second.order
    assert first.randseed != second.randseed


def test_skipped_cells_arent_planned() -> None:
    cells = [Cell("a", "solo", {}), Cell("b", "solo", {}, skipped="no device")]
    assert plan.draw(cells, 1, 0)[0].order == ("a",)


def ended(order: int, status: Status = Status.OK) -> Run:
    return Run(str(order), "c0", 0, Leg.FORWARD, order, 1, status)


@given(cells_of, st.sets(st.integers(0, 23)))
def test_what_has_ended_isnt_run_again(cells: list[Cell], done: set[int]) -> None:
    blocks = plan.draw(cells, 1, 5)
    left = plan.remaining(blocks, [ended(order) for order in done])
    everything = {item.order for item in plan.items(blocks)}
    assert {item.order for item in left} == everything - done


def test_failed_runs_are_made_again_when_asked() -> None:
    blocks = plan.draw([Cell("c0", "solo", {})], 1, 0)
    runs = [ended(0), ended(1, Status.FAILED)]
    assert plan.remaining(blocks, runs) == []
    again = plan.remaining(blocks, runs, frozenset({Status.FAILED}))
    assert [item.order for item in again] == [1]


def test_the_eta_follows_what_was_measured() -> None:
    eta = plan.Eta(10.0)
    assert eta.seconds(3) == 30.0
    eta.note(2.0)
    eta.note(4.0)
    assert eta.seconds(3) == pytest.approx(9.0)
