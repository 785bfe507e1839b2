"""IOPS of arms in interleaved pairs, and the CPU that each I/O took."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from . import blocks, fio, ratios
from .fio import FioRun
from .group import Group
from .job import Arm, Workload
from .ratios import Comparison
from .settings import Settings
from .sides import AGAIN, ALL, BASE, OFF, TUNED
from .step import FIO_S, Step
from .verdict import Case

ORDER = (TUNED, ALL, BASE, AGAIN, OFF)
"""Neighbours are compared (see blocks.py); the tuned arm, which has no bar, stands outside."""
AGAINST = {ALL: BASE, OFF: AGAIN, TUNED: BASE}
STARTUPS = 3


class PairedIops:
    """Block by block over all groups, so that a bad minute of the machine hits each a little."""

    name = "iops"
    tools: tuple[str, ...] = ()

    def __init__(
        self,
        settings: Settings,
        groups: list[Group],
        order: Sequence[str] = ORDER,
        against: Mapping[str, str] = AGAINST,
    ):
        self._settings = settings
        self._groups = groups
        self._all_arms = order
        self._against = against
        self._runs: dict[tuple[Group, str], list[FioRun]] = {}
        self._startups_cpu_s: dict[str, list[float]] = {}
        self._log: list[dict] = []

    def steps(self) -> list[Step]:
        return self._startup_steps() + self._pair_steps()

    def _startup_steps(self) -> list[Step]:
        """What a run of one I/O takes, by arm: its CPU is taken off that of the timed runs."""
        arms = {
            group.sides[arm].label: group.sides[arm]
            for group in self._groups
            for arm in self._order(group)
        }
        return [
            Step(f"start-up of {label}", FIO_S, partial(self._start, arm))
            for _ in range(1 if self._settings.quick else STARTUPS)
            for label, arm in arms.items()
        ]

    def _start(self, arm: Arm) -> None:
        run = fio.run(self._settings.counted(arm, Workload("randread", 1), ios=1))
        self._startups_cpu_s.setdefault(arm.label, []).append(run.process_cpu_s)

    def _pair_steps(self) -> list[Step]:
        pairs, seed = self._settings.pairs, self._settings.seed
        slots = [
            (group, slot)
            for index, group in enumerate(self._groups)
            for slot in blocks.abba(self._order(group), pairs, seed + index)
        ]
        slots.sort(key=lambda each: each[1].block)
        return [
            Step(
                f"{group.case_name(slot.arm)} pair {slot.block + 1}/{pairs}",
                self._settings.seconds + FIO_S,
                partial(self._run, group, slot),
            )
            for group, slot in slots
        ]

    def _run(self, group: Group, slot: blocks.Slot) -> None:
        arm = group.sides[slot.arm]
        run = fio.run(self._settings.timed(arm, group.workload, slot.seed))
        self._runs.setdefault((group, slot.arm), []).append(run)
        self._log.append(
            {
                "order": len(self._log),
                "case": group.case_name(slot.arm),
                "engine": arm.label,
                "pair": slot.block,
                "seed": slot.seed,
                **asdict(run),
            }
        )

    def cases(self) -> list[Case]:
        """All ratios of IOPS are one family, the A/A pairs with them."""
        pairs = [
            ratios.Pairs(
                group.case_name(arm), *self._iops(group, arm, self._against.get(arm, BASE))
            )
            for group in self._groups
            for arm in (*group.arms, AGAIN)
        ]
        found = ratios.judged(pairs)
        return [self._case(group, arm, found) for group in self._groups for arm in group.arms]

    def _case(self, group: Group, arm: str, found: dict[str, Comparison]) -> Case:
        below = self._against[arm]
        one, noise = found[group.case_name(arm)], found[group.case_name(AGAIN)]
        pairs = [a / b for a, b in zip(*self._iops(group, arm, below), strict=True)]
        alike = [a / b for a, b in zip(*self._iops(group, AGAIN, BASE), strict=True)]
        cpu = ratios.mean_ratio(*self._values(group, arm, below, self._cpu_per_io))
        before, after = (
            ratios.percentile([run.iops for run in self._runs[group, side]], 0.5)
            for side in (below, arm)
        )
        return Case(
            group.case_name(arm),
            one.ratio if one.ratio is not None else math.nan,
            ratios.spread(pairs),
            group.bars.get(arm),
            at_least=True,
            aa_spread=ratios.spread(alike),
            cpu_ratio=cpu,
            interval=one.interval,
            said=one.verdict.value,
            note=f"{before:.0f} -> {after:.0f} IOPS",
            details={"pairs": pairs, "aa": alike, "judged": shown(one), "aa_judged": shown(noise)},
        )

    def _iops(self, group: Group, above: str, below: str) -> tuple[list[float], list[float]]:
        return self._values(group, above, below, lambda run, _: run.iops)

    def _values(
        self, group: Group, above: str, below: str, value: Callable[[FioRun, Arm], float]
    ) -> tuple[list[float], list[float]]:
        upper, lower = (
            [value(run, group.sides[arm]) for run in self._runs[group, arm]]
            for arm in (above, below)
        )
        return upper, lower

    def _cpu_per_io(self, run: FioRun, arm: Arm) -> float:
        startup = ratios.percentile(self._startups_cpu_s[arm.label], 0.5)
        return max(run.process_cpu_s - startup, 1e-9) / run.ios

    def _order(self, group: Group) -> list[str]:
        return order(group, self._all_arms)

    def notes(self) -> list[str]:
        return []

    def raw(self) -> list[dict]:
        return [{"startups_cpu_s": self._startups_cpu_s}, *self._log]


def shown(one: Comparison) -> dict[str, Any]:
    """What is stored of a comparison."""
    return {
        "ratio": one.ratio,
        "interval": one.interval,
        "confidence": one.confidence,
        "p": one.p,
        "q": one.q,
        "smallest_change_seen": one.mde,
        "verdict": one.verdict.value,
        "reason": one.reason,
    }


def order(group: Group, arms: Sequence[str] = ORDER) -> list[str]:
    """Those of `arms` that the group has, the A/A pair always."""
    return [arm for arm in arms if arm in (*group.arms, BASE, AGAIN)]
