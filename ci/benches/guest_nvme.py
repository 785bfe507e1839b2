"""IOPS on a guest's emulated NVMe, by interrupt and polled. A pair is a boot."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

from sluice.vm.kernels import Kernel
from sluice.vm.machine import Machine

from . import blocks, guests, ratios
from .group import Group
from .job import Arm, Job
from .paired_iops import AGAINST, order
from .settings import Settings
from .sides import AGAIN, BASE
from .step import Step
from .verdict import Case

BOOT_BAR_S = 5.0
BOOT = "boot/first-io"
CMD = "cmd"
"""fio's passthrough engine, on the character device; reported without a bar."""


class GuestIops:
    """Every arm of every group in each of `pairs` boots, forward and backward in turn (ABBA)."""

    name = "nvme"
    tools = guests.TOOLS

    def __init__(
        self, settings: Settings, kernel: Kernel, library: Path | None, groups: list[Group],
        cmd: dict[str, Arm], notes: list[str],
    ):  # fmt: skip
        self._settings = settings
        self._kernel = kernel
        self._library = library
        self._groups = groups
        self._cmd = cmd
        self._notes = notes
        self._iops: dict[str, list[float]] = {}
        self._boots: list[float] = []

    def steps(self) -> list[Step]:
        runs = sum(len(order(group)) for group in self._groups)
        expected_s = 8 + runs * (self._settings.seconds + 1.0)
        return [
            Step(
                f"NVMe guest {pair + 1}/{self._settings.pairs}",
                expected_s,
                partial(self._run, pair),
            )
            for pair in range(self._settings.pairs if self._groups else 0)
        ]

    def _run(self, pair: int) -> None:
        jobs: list[tuple[str, Job]] = []
        for index, group in enumerate(self._groups):
            slots = blocks.abba(order(group), pair + 1, self._settings.seed + index)
            for slot in (one for one in slots if one.block == pair):
                arm = group.sides[slot.arm]
                job = self._settings.timed(arm, group.workload, slot.seed)
                jobs.append((group.case_name(slot.arm), job))
            if group.prefix in self._cmd:
                job = self._settings.timed(self._cmd[group.prefix], group.workload, pair + 1)
                passed = replace(job, path=Path("/dev/ng0n1"))
                jobs.append((group.case_name(CMD), passed))
        machine = Machine(nvme=1, nvme_mib=self._settings.size >> 20, poll_queues=1)
        ran = guests.run(machine, self._kernel, self._library, jobs)
        self._boots.append(ran.first_io_s)
        for name, iops in ran.iops.items():
            self._iops.setdefault(name, []).append(iops)

    def cases(self) -> list[Case]:
        if not self._groups:
            return []
        pairs = [
            ratios.Pairs(group.case_name(arm), self._of(group, arm), self._of(group, below))
            for group in self._groups
            for arm, below in self._compared(group)
        ]
        found = ratios.judged(pairs)
        cases = [
            self._case(group, arm, below, found)
            for group in self._groups
            for arm, below in self._compared(group)
            if arm != AGAIN
        ]
        boot = ratios.percentile(self._boots, 0.5)
        half = (max(self._boots) - min(self._boots)) / 2
        return [*cases, Case(BOOT, boot, half, BOOT_BAR_S, at_least=False, unit="s")]

    def _compared(self, group: Group) -> list[tuple[str, str]]:
        """The arms and what each is held against, the A/A pair with them."""
        arms = [(arm, AGAINST[arm]) for arm in group.arms]
        passed = [(CMD, BASE)] if group.prefix in self._cmd else []
        return [*arms, *passed, (AGAIN, BASE)]

    def _case(self, group: Group, arm: str, below: str, found: dict) -> Case:
        one = found[group.case_name(arm)]
        values = [a / b for a, b in zip(self._of(group, arm), self._of(group, below), strict=True)]
        alike = [a / b for a, b in zip(self._of(group, AGAIN), self._of(group, BASE), strict=True)]
        before, after = (ratios.percentile(self._of(group, side), 0.5) for side in (below, arm))
        return Case(
            group.case_name(arm),
            one.ratio if one.ratio is not None else math.nan,
            ratios.spread(values),
            group.bars.get(arm),
            at_least=True,
            slack=ratios.spread(alike),
            aa_spread=ratios.spread(alike),
            interval=one.interval,
            said=one.verdict.value,
            note=f"{before:.0f} -> {after:.0f} IOPS",
            details={"pairs": values, "aa": alike},
        )

    def _of(self, group: Group, arm: str) -> list[float]:
        return self._iops[group.case_name(arm)]

    def notes(self) -> list[str]:
        return self._notes

    def raw(self) -> list[dict]:
        return [{"iops": self._iops, "first_io_s": self._boots}]
