"""The order of runs: randomised complete blocks, each replayed in reverse.

Within a block every cell runs once in a random order and once in that order reversed, so a linear
drift of the machine (heat, wear, a neighbour waking up) adds the same to every cell: for two cells
that is ABBA. Order matters more than the number of runs: at 2 % drift, all of A before all of B
declares a change that isn't there in a third of the cases, ABBA in 2 of 100.

All randomness comes from one seed that is stored, so a plan can be drawn again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sluice.model import Block, Cell, Leg, Run

RUN_OVERHEAD_S = 0.4
"""First guess at what a run costs beyond ramp and runtime: fio's start and end (about 0.35 s) and
the harness's own part (0.03 s). Replaced by what is measured once a run has ended."""


@dataclass(frozen=True, slots=True)
class Item:
    """One planned run."""

    order: int
    block: Block
    leg: Leg
    cell: str


def draw(cells: Sequence[Cell], blocks: int, seed: int) -> tuple[Block, ...]:
    """Draw the blocks. A block depends on the seed and its own number only, so adding blocks
    leaves the earlier ones as they were."""
    names = [cell.id for cell in cells if cell.skipped is None]
    drawn = []
    for index in range(blocks):
        source = random.Random(f"{seed}/{index}")
        order = list(names)
        source.shuffle(order)
        drawn.append(Block(index, tuple(order), source.randrange(1, 2**31)))
    return tuple(drawn)


def items(blocks: Iterable[Block]) -> Iterator[Item]:
    """Every run in the order in which it is to be made."""
    order = 0
    for block in blocks:
        for leg in Leg:
            cells = block.order if leg is Leg.FORWARD else reversed(block.order)
            for cell in cells:
                yield Item(order, block, leg, cell)
                order += 1


def remaining(
    blocks: Iterable[Block], ended: Iterable[Run], again: frozenset[str] = frozenset()
) -> list[Item]:
    """What is still to be run. A run that ended with a status in `again` is made once more."""
    done = {run.order for run in ended if run.status not in again}
    return [item for item in items(blocks) if item.order not in done]


class Eta:
    """Time to go, from the durations of this session's runs."""

    def __init__(self, first_guess_s: float) -> None:
        self._guess_s = first_guess_s
        self._sum_s = 0.0
        self._count = 0

    def note(self, duration_s: float) -> None:
        """A run took that long, all told."""
        self._sum_s += duration_s
        self._count += 1

    def seconds(self, runs_left: int) -> float:
        """Seconds that the remaining runs will take."""
        each = self._sum_s / self._count if self._count else self._guess_s
        return each * runs_left
