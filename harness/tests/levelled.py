"""Campaigns whose figures are what a test wants them to be."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harnessing import Quiet, session

from sluice import runner
from sluice.executor import JOB, Order, Outcome
from sluice.model import Cell, Environment, Results, Role, Sample, Status

Level = Callable[[Cell, Order], float]


def flat(_cell: Cell, _order: Order) -> float:
    """Every cell alike."""
    return 1.0


@dataclass
class Levels:
    """An executor whose cells run at the levels that it is told."""

    level: Level = flat
    noise: float = 0.005
    seed: int = 1
    values: Mapping[str, float] = field(default_factory=dict)
    """Figures that replace those of every run, e.g. NaN."""
    fail: Callable[[Order], str] = lambda order: ""
    """Why a run fails; empty: it doesn't."""

    def run(self, order: Order) -> Outcome:
        """See `executor.Executor`."""
        (order.folder / JOB).write_text(order.job_text, encoding="utf-8")
        reason = self.fail(order)
        if reason:
            return Outcome(Status.FAILED, reason)
        chance = random.Random(f"{self.seed}/{order.folder.name.partition('-')[0]}")
        level = self.level(order.cell, order) * chance.lognormvariate(0.0, self.noise)
        figures = {
            "ios": 1e6,
            "iops": 1e4 * level,
            "bw": 4e7 * level,
            "errors": 0.0,
            "lat_p99": 1e6 / level * chance.lognormvariate(0.0, self.noise),
            "cpu_us": 4.0 * chance.lognormvariate(0.0, self.noise),
            **self.values,
        }
        sample = Sample("measured", Role.MEASURED, True, "all", figures)
        return Outcome(Status.OK, samples=(sample,), command=("fio", JOB))


def campaign(
    path: Path,
    fio: str,
    store: Path,
    executor: Levels,
    facts: Mapping[str, str] | None = None,
    seed: int = 1,
) -> Results:
    """Run a sweep with made-up figures, on a machine of these facts."""
    made = session(path, fio, store, executor, seed)
    values = {"fio.version": "3.33", "machine.id": "one", **(facts or {})}
    object.__setattr__(made, "environment", lambda when: Environment(when, 1.0, values))
    return runner.run(made, Quiet())
