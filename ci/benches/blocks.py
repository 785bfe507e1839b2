"""In which order arms run.

One block holds every arm once, and every other block is the mirror of the one before it (ABBA), so
that a drift of the machine favours nobody. A pair is two arms of one block with the same seed. Arms
that are compared are neighbours: with `all, base, again, off` each of all/base, again/base (the A/A
pair) and off/again are one run apart, and so their noise is alike.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    block: int
    arm: str
    seed: int


def abba(arms: list[str], blocks: int, seed: int) -> Iterator[Slot]:
    """The runs in order: block by block, arms forward and backward in turn, one seed a block."""
    seeds = random.Random(seed)
    for block in range(blocks):
        block_seed = seeds.randrange(1, 1 << 31)
        for arm in arms if block % 2 == 0 else arms[::-1]:
            yield Slot(block, arm, block_seed)
