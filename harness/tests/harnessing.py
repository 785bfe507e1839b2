"""A campaign made by hand and by the mock executor: for the tests of store and runner."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sluice import prepare, runner, sweep
from sluice.compose import Placement
from sluice.executor import Executor
from sluice.fiocli import Fio
from sluice.mock import MockExecutor
from sluice.model import Environment, Leg, Results, Role, Run, Sample, Status
from sluice.progress import PlainProgress
from sluice.runner import Session
from sluice.store import Store
from sluice.target import DataFolder


class Quiet(PlainProgress):
    """Progress that keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.runs: list[Run] = []
        self.etas: list[float] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def ended(self, run: Run, done: int, total: int, eta_s: float) -> None:
        self.runs.append(run)
        self.etas.append(eta_s)


def session(
    path: Path, fio: str, store: Path, executor: Executor | None = None, seed: int = 1
) -> Session:
    """A new campaign of the sweep, ready to be run with the mock executor."""
    program = Fio(fio)
    loaded = sweep.load(path, program)
    data = DataFolder(store.parent / "data")
    placement = prepare.place(loaded, data)
    header = prepare.header(loaded, placement, data, loaded.file.blocks, seed, "sluice run small")
    root = Store(store)
    campaign = root.create(loaded.info.name, header)
    return Session(root, campaign, loaded, placement, executor or MockExecutor(), environment)


def again(
    old: Session, executor: Executor | None = None, retry: frozenset[str] = frozenset()
) -> Session:
    """Another session on the same campaign."""
    return dataclasses.replace(old, executor=executor or MockExecutor(), retry=retry)


def environment(when: str) -> Environment:
    """A machine that never changes."""
    return Environment(when, 1.0, {"fio.version": "3.33"})


def run(made: Session) -> Results:
    """Run it quietly."""
    return runner.run(made, Quiet())


def a_run(name: str = "00000-aa", order: int = 0, **changes: object) -> Run:
    """A run with figures, to be stored by hand."""
    values = {"iops": 5.0, "ios": 10.0}
    samples = (Sample("measured", Role.MEASURED, True, "all", values),)
    made = Run(name, "solo/iodepth=1", 0, Leg.FORWARD, order, 1, Status.OK, samples=samples)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def placement(folder: Path) -> Placement:
    """A file of the harness's own."""
    return Placement(folder / "small.dat", True, "1M")
