"""Figures of a sweep, looked up by cell: an index over :class:`sluice.model.Results`.

Reports and verdicts ask for the same figures many times over (dots, means, tables, ratios), and a
look-up in `Results` walks all runs. This index walks them once.

A campaign may have blocks of a later stage, in which a value that looked best was measured again.
They answer another question, so they are read apart: `Readings(results)` has the sweep's own blocks
only, `Readings(results, stage)` only those of that stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sluice.model import Results, Role, Run, Status

__all__ = ["Key", "Reading", "Readings"]


@dataclass(frozen=True, slots=True)
class Key:
    """Which figure of a run is meant."""

    metric: str
    role: Role = Role.MEASURED
    direction: str = "all"


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure of one run that ended well."""

    run: Run
    value: float


class Readings:
    """The figures of all runs that ended well. Doesn't change after construction."""

    def __init__(self, results: Results, stage: str = "") -> None:
        self.results = results
        self.stage = stage
        stages = {block.index: block.stage for block in results.blocks}
        self._runs: dict[str, list[Run]] = {cell.id: [] for cell in results.cells}
        self._failed: dict[str, str] = {}
        self._bad = 0
        for run in results.runs:
            if stages.get(run.block, "") != stage:
                continue
            if run.status is Status.OK:
                self._runs.setdefault(run.cell, []).append(run)
            else:
                self._failed[run.cell] = run.reason
                self._bad += 1
        self._cache: dict[tuple[str, Key], tuple[Reading, ...]] = {}

    def of(self, cell: str, key: Key) -> tuple[Reading, ...]:
        """The cell's figures in plan order. A run that didn't measure `key`, or whose percentile
        too few I/Os support, has none."""
        found = self._cache.get((cell, key))
        if found is None:
            pairs = (
                (run, run.value(key.metric, key.role, key.direction))
                for run in self._runs.get(cell, ())
            )
            found = tuple(Reading(run, value) for run, value in pairs if value is not None)
            self._cache[cell, key] = found
        return found

    def unsupported(self, cell: str, key: Key) -> int:
        """How many runs measured the percentile `key` over too few I/Os for it to be shown."""
        bare = 0
        for run in self._runs.get(cell, ()):
            sample = run.sample(key.role, key.direction)
            bare += sample is not None and key.metric in sample.values
        return bare - len(self.of(cell, key))

    def completed(self, cell: str) -> int:
        """How many of the cell's runs ended well."""
        return len(self._runs.get(cell, ()))

    def failure(self, cell: str) -> str:
        """Why the last run of the cell that failed did; empty when none failed."""
        return self._failed.get(cell, "")

    def directions(self, workload: str, role: Role = Role.MEASURED) -> tuple[str, ...]:
        """``read``, ``write``, ``trim``: those in which `role` completed I/O in the workload."""
        seen = {
            sample.direction
            for cell in self.results.cells
            if cell.workload == workload
            for run in self._runs.get(cell.id, ())
            for sample in run.samples
            if sample.total and sample.role is role and sample.values.get("ios", 0.0) > 0
        }
        return tuple(name for name in ("read", "write", "trim") if name in seen)

    @cached_property
    def ok_runs(self) -> int:
        """Number of runs that ended well."""
        return sum(len(runs) for runs in self._runs.values())

    @property
    def bad_runs(self) -> int:
        """Number of attempts that didn't end well."""
        return self._bad

    @cached_property
    def planned_runs(self) -> int:
        """Number of runs that this stage was to have."""
        results = self.results
        if all(not block.stage for block in results.blocks):
            return results.planned_runs
        return sum(2 * len(one.order) for one in results.blocks if one.stage == self.stage)

    @cached_property
    def ok_blocks(self) -> int:
        """Number of blocks with at least one run that ended well."""
        return len({run.block for runs in self._runs.values() for run in runs})
