"""The shape of a sweep file: what its author wrote, typed, before anything is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sluice.model import Gate, Precondition, Role, SteadyRule

_JOBS = {"measured": Role.MEASURED, "neighbour": Role.NEIGHBOUR, "all": None}
JOBS_CHOICES = tuple(_JOBS)
"""What ``jobs =`` of an axis may be."""


@dataclass(frozen=True, slots=True)
class AxisSpec:
    """One entry of ``[axes]``."""

    name: str
    values: tuple[str, ...]
    jobs: str | None
    """``measured``, ``neighbour``, ``all``; None: not said."""
    nominal: bool | None
    where: str
    engines: tuple[str, ...] = ()
    """Of the axis ``engine``: what each value stands for."""

    @property
    def role(self) -> Role | None:
        """The jobs it was said to be for; None: all, or not said."""
        return _JOBS[self.jobs] if self.jobs else None


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """One entry of ``[workloads]``."""

    name: str
    job: Path
    neighbour: Path | None
    title: str


@dataclass(frozen=True, slots=True)
class SkipSpec:
    """Cells that make no sense, and the author's reason."""

    when: dict[str, str]
    """Axis name or ``workload`` -> value; all must agree."""
    reason: str
    where: str


@dataclass(frozen=True, slots=True)
class PublishedSpec:
    """``[published]``: which columns of a CSV stand for what."""

    table: Path
    table_name: str
    source: str
    axis: str
    metric: str
    workload: str
    x: str | None
    y: str | None
    columns: dict[str, str]
    """Axis value -> column, for tables with a column for each value."""
    map: dict[str, str]
    """Text in column `x` -> axis value."""
    series: tuple[str, ...]
    where: dict[str, tuple[str, ...]]
    """Column -> texts of which a row must have one."""
    scale: float


@dataclass(frozen=True, slots=True)
class SweepFile:
    """The whole file."""

    path: Path
    text: str
    name: str
    question: str
    engine: str
    fio: str | None
    blocks: int
    runtime_s: float
    ramp_s: float
    timeout_s: float
    latency: str
    size: str | None
    files: str
    target: str | None
    options: dict[str, str]
    axes: tuple[AxisSpec, ...]
    workloads: tuple[WorkloadSpec, ...]
    gates: tuple[Gate, ...]
    skips: tuple[SkipSpec, ...] = ()
    published: PublishedSpec | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Those of ``[options]`` that are knobs of the kernel."""
    precondition: Precondition | None = None
    steady: SteadyRule | None = None
    timeline: str = "rate"
    """A `timeline.Kind`."""
    auto_blocks: bool = False
    """``blocks = "auto"``; then :attr:`blocks` are the pilot's."""
