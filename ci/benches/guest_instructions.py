"""Instructions for an I/O on null_blk under the virtual clock: user space and kernel together.

(I(2N) - I(N)) / N, as with callgrind, but of the whole machine: with one nanosecond an instruction
the guest's busy time is its instructions. Each repeat is a guest that was perturbed (tick phase,
seed, layout), so the spread is that of layout; the first one is booted twice and must repeat.
"""

import statistics
from functools import partial
from pathlib import Path

from sluice.vm.kernels import Kernel
from sluice.vm.machine import Clock, Machine
from sluice.vm.measured import Counted
from sluice.vm.nullblk import parse

from . import guests
from .group import Group
from .job import Job
from .settings import Settings
from .sides import BASE
from .step import Step
from .verdict import Case

REPEAT = "repeat/two-boots"


class GuestInstructions:
    """Every arm of every group, N and 2N I/Os, in `repeats` guests."""

    name = "instructions"
    tools = guests.TOOLS

    def __init__(
        self, settings: Settings, kernel: Kernel, library: Path | None, groups: list[Group]
    ):
        self._settings = settings
        self._kernel = kernel
        self._library = library
        self._groups = groups
        self._ios = settings.capped(settings.counted_ios)
        self._found: list[dict[str, Counted]] = []
        self._again: dict[str, Counted] = {}

    def steps(self) -> list[Step]:
        if not self._groups:
            return []
        runs = sum(2 * (1 + len(group.arms)) for group in self._groups)
        expected_s = 12 + runs * (2.0 + self._ios / 12000)
        repeats = [
            Step(
                f"virtual clock, replica {number + 1}/{self._settings.repeats}",
                expected_s,
                partial(self._run, number),
            )
            for number in range(self._settings.repeats)
        ]
        return [*repeats, Step("virtual clock, replica 1 once more", expected_s, self._repeat)]

    def _run(self, number: int) -> None:
        self._found.append(self._guest(number))

    def _repeat(self) -> None:
        self._again = self._guest(0)

    def _guest(self, number: int) -> dict[str, Counted]:
        jobs: list[tuple[str, Job]] = [
            (f"{group.case_name(arm)}/{ios}", self._settings.counted(group.sides[arm], load, ios))
            for group in self._groups
            for load in (group.workload,)
            for arm in (BASE, *group.arms)
            for ios in (self._ios, 2 * self._ios)
        ]
        mib = str(self._settings.size >> 20)
        machine = Machine(clock=Clock.VIRTUAL, null_blk=(parse(f"size={mib}"),))
        return guests.run(machine.replica(number), self._kernel, self._library, jobs).counted

    def cases(self) -> list[Case]:
        if not self._groups:
            return []
        cases = [self._case(group, arm) for group in self._groups for arm in group.arms]
        unlike = sum(self._again[name] != count for name, count in self._found[0].items())
        note = f"{len(self._again) - unlike} of {len(self._again)} counts equal to the last digit"
        return [*cases, Case(REPEAT, unlike, 0, 0, at_least=False, unit="unlike", note=note)]

    def _case(self, group: Group, arm: str) -> Case:
        base, side = (
            [self._per_io(group, name, one) for one in self._found] for name in (BASE, arm)
        )
        pairs = [a / b for a, b in zip(side, base, strict=True)]
        return Case(
            group.case_name(arm),
            statistics.median(pairs),
            (max(pairs) - min(pairs)) / 2,
            group.bars.get(arm),
            at_least=False,
            interval=(min(pairs), max(pairs)),
            note=f"{statistics.median(base):.0f} -> {statistics.median(side):.0f} instructions",
            details={"base": base, "side": side, "n": self._ios},
        )

    def _per_io(self, group: Group, arm: str, counts: dict[str, Counted]) -> float:
        once, twice = (counts[f"{group.case_name(arm)}/{n}"] for n in (self._ios, 2 * self._ios))
        return (twice.instructions - once.instructions) / (twice.ios - once.ios)

    def notes(self) -> list[str]:
        return []

    def raw(self) -> list[dict]:
        counts = [*self._found, self._again]
        return [{name: vars_of(count) for name, count in one.items()} for one in counts]


def vars_of(count: Counted) -> dict[str, int]:
    return {
        "instructions": count.instructions,
        "virtual_ns": count.virtual_ns,
        "ios": count.ios,
    }
