"""Blocks that are added to a campaign after it began.

Two occasions: the number of blocks was left open (``blocks = "auto"``) and the first ones have
shown how large the noise is, or the value that looked best is measured again (`recommend`).

The number is chosen from the pilot's *spread* alone and never from its effect, and once. Whoever
looks at the effect and goes on until it is significant finds an effect always; the spread of a
Gaussian says nothing about its mean, so choosing by it leaves the error rates alone. The pilot's
blocks count like all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sluice import plan
from sluice.campaign import Campaign
from sluice.errors import SluiceError
from sluice.model import Block, Results
from sluice.readings import Readings
from sluice.stats import LEVEL, Observed
from sluice.stats.estimation import estimate
from sluice.stats.power import MOST_BLOCKS, blocks_for_equivalence
from sluice.store import Store
from sluice.verdicts.family import observe
from sluice.verdicts.focus import focus_axis, reference
from sluice.verdicts.recommend import CONFIRM, Advice, cells_of

__all__ = ["MOST", "begin_confirmation", "blocks_for", "blocks_from_pilot", "settle"]

MOST = 40
"""Blocks that ``blocks = "auto"`` takes at most, pilot included; more only when they are asked for
by number."""
_SHARE = 0.8
"""Of the comparisons; the noisiest few would else set the number for all."""


def settle(store: Store, campaign: Campaign) -> str:
    """The pilot of a campaign is through: choose the number of blocks and add what is missing.
    What was chosen, in one line."""
    results = store.load(campaign)
    have, count = len(results.blocks), blocks_from_pilot(results)
    campaign.add_blocks(
        plan.draw(results.cells, count, results.seed)[have:],
        f"{campaign.name}: a pilot of {have} blocks, {count} in all by its spread",
    )
    return f"{campaign.name}: {count} blocks by the spread of the first {have}"


def blocks_from_pilot(results: Results) -> int:
    """The blocks that a campaign's own first ones ask for."""
    axis = focus_axis(results.sweep.axes)
    if axis is None:
        return len(results.blocks)
    seen = observe(Readings(results), axis, reference(axis)[0])
    return blocks_for(seen, len(results.blocks))


def blocks_for(pilot: Sequence[Observed], have: int) -> int:
    """Blocks at which four of five comparisons would be called equivalent, in 80 of 100 sweeps, if
    nothing changed; at least the `have` that the pilot had, at most :data:`MOST`."""
    members = [one for one in pilot if one.why is None and len(one.logs) > 1]
    if not members:
        return have
    estimates, deviation = estimate(members)
    needed = sorted(
        blocks_for_equivalence(float(spread), LEVEL, min(-float(low), float(high))) or MOST_BLOCKS
        for spread, low, high in zip(
            deviation, estimates.low_margin, estimates.high_margin, strict=True
        )
    )
    return max(have, min(needed[math.ceil(_SHARE * len(needed)) - 1], MOST))


def begin_confirmation(store: Store, results: Results, advice: Advice, blocks: int | None) -> str:
    """Plan fresh blocks for the value that was proposed; the name of their stage. They hold its
    cells and the default's, in all settings."""
    if not results.complete:
        raise SluiceError(f"{results.campaign}: is not complete")
    axis = results.axis(advice.axis)
    cells = cells_of(results, advice, reference(axis)[0])
    stages = {block.stage for block in results.blocks if block.stage.startswith(CONFIRM)}
    name = f"{CONFIRM}-{len(stages) + 1}"
    first = len(results.blocks)
    own = sum(not block.stage for block in results.blocks)
    drawn = plan.draw(cells, first + (blocks or own), results.seed)[first:]
    fresh = tuple(Block(one.index, one.order, one.randseed, name) for one in drawn)
    campaign = store.find(results.campaign)
    with campaign.locked():
        campaign.add_blocks(fresh, advice.text)
    return name
