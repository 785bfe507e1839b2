"""Counted costs of an I/O, (X(2N) - X(N)) / N, beside the baseline's."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .group import Group
from .job import Job
from .settings import Settings
from .sides import BASE
from .step import Step
from .verdict import Case


@dataclass(frozen=True)
class Counter:
    """What is counted: `count` runs a job and says how much, and what else is worth keeping."""

    name: str
    tool: str
    unit: str
    count: Callable[[Job], tuple[float, dict[str, Any]]]
    expected_s: Callable[[int], float]
    least_slack: float
    """What a bar may be missed by even if the repeats agree, as a ratio."""


@dataclass(frozen=True)
class PerIo:
    """The median of the repeats' differences; the spread is half their range."""

    figure: float
    spread: float


def per_io(once: list[float], twice: list[float], ios: int) -> PerIo:
    repeats = [(b - a) / ios for a, b in zip(once, twice, strict=True)]
    return PerIo(statistics.median(repeats), (max(repeats) - min(repeats)) / 2)


class PerIoCounts:
    """Every arm of every group, N and 2N I/Os, `repeats` times."""

    def __init__(self, settings: Settings, counter: Counter, groups: list[Group], ios: int):
        self.name = counter.name
        self.tools: tuple[str, ...] = (counter.tool,)
        self._settings = settings
        self._counter = counter
        self._groups = groups
        self._ios = settings.capped(ios)
        self._found: dict[tuple[Group, str, int], list[float]] = {}
        self._log: list[dict] = []

    def steps(self) -> list[Step]:
        return [
            Step(
                f"{group.case_name(arm)} {ios} I/Os, {repeat + 1}/{self._settings.repeats}",
                self._counter.expected_s(ios),
                partial(self._run, group, arm, ios),
            )
            for repeat in range(self._settings.repeats)
            for group in self._groups
            for arm in (BASE, *group.arms)
            for ios in (self._ios, 2 * self._ios)
        ]

    def _run(self, group: Group, arm: str, ios: int) -> None:
        job = self._settings.counted(group.sides[arm], group.workload, ios)
        count, more = self._counter.count(job)
        self._found.setdefault((group, arm, ios), []).append(count)
        self._log.append(
            {
                "case": group.case_name(arm),
                "engine": job.arm.label,
                "ios": ios,
                "count": count,
                **more,
            }
        )

    def cases(self) -> list[Case]:
        return [self._case(group, arm) for group in self._groups for arm in group.arms]

    def _per_io(self, group: Group, arm: str) -> PerIo:
        once, twice = (self._found[group, arm, ios] for ios in (self._ios, 2 * self._ios))
        return per_io(once, twice, self._ios)

    def _case(self, group: Group, arm: str) -> Case:
        base, side = self._per_io(group, BASE), self._per_io(group, arm)
        scale = base.figure or 1.0
        spread = (side.spread + base.spread) / scale
        return Case(
            group.case_name(arm),
            side.figure / scale,
            spread,
            group.bars.get(arm),
            at_least=False,
            slack=max(self._counter.least_slack, spread),
            note=f"{base.figure:.6g} -> {side.figure:.6g} {self._counter.unit}",
            details={"base": vars(base), "side": vars(side), "n": self._ios},
        )

    def notes(self) -> list[str]:
        return []

    def raw(self) -> list[dict]:
        return self._log
