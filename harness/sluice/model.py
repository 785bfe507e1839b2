"""What a sweep is and what it produced: the one vocabulary of the harness.

Everything here is a frozen value without behaviour beyond look-ups. `sweep` and `plan` build the
first half, `executor` and `fiojson` the runs, `store` writes and loads them, and `report` reads
:class:`Results` and nothing else.

Units, everywhere: latency in nanoseconds, bandwidth in bytes a second, CPU in microseconds an I/O,
durations in seconds, moments in seconds since the epoch (UTC). An option's value is always the text
that fio is given, because that text is what a reader can repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from sluice.conditions import Precondition, SteadyRule, Step
from sluice.metrics import METRICS, Metric, percentile_supported

__all__ = [
    "ARM",
    "METRICS",
    "Axis",
    "Block",
    "Cell",
    "Environment",
    "Gate",
    "Leg",
    "Metric",
    "Precondition",
    "Published",
    "PublishedPoint",
    "Results",
    "Role",
    "Run",
    "Sample",
    "Status",
    "SteadyRule",
    "Step",
    "SweepInfo",
    "Target",
    "Value",
    "Workload",
    "percentile_supported",
]


ARM = "arm"
"""Name and scope of the axis of an A/A sweep, which sets nothing."""


class Status(StrEnum):
    """How a run ended."""

    OK = "ok"
    FAILED = "failed"
    """fio or the harness failed; :attr:`Run.reason` has fio's own words."""
    TIMEOUT = "timeout"
    """fio outlived its bound; its whole process tree was killed."""
    SKIPPED = "skipped"
    """Planned, never started: a knob didn't take the cell's value; :attr:`Run.reason` says which.
    Cells that the plan rules out have :attr:`Cell.skipped` instead, and no runs."""


class Leg(StrEnum):
    """A block holds every cell twice: in a random order, then in that order reversed, so that a
    linear drift cancels between two cells (ABBA when there are two)."""

    FORWARD = "forward"
    REVERSE = "reverse"


class Role(StrEnum):
    """What a fio job is in a workload."""

    MEASURED = "measured"
    """The job that the question is about."""
    NEIGHBOUR = "neighbour"
    """A job that is there to disturb the measured one (interference workloads only)."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an axis."""

    text: str
    """As fio is given it, e.g. ``all`` or ``16M``. Unique within its axis."""
    number: float | None = None
    """In the axis's unit (sizes in bytes, times in nanoseconds); None on a nominal axis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One option that the sweep varies."""

    name: str
    """The option's name in fio's grammar, e.g. ``bypass`` or ``iodepth``; of a knob of the kernel
    the name in `sluice.knobs`' grammar, e.g. ``queue/scheduler`` or ``sysctl:vm.swappiness``."""
    values: tuple[Value, ...]
    """In the order of the sweep file; at least one."""
    scope: str
    """``engine`` (a tunable of the engine), ``fio`` (an option of fio), ``knob`` (of the
    kernel), ``build`` (which engine) or :data:`ARM` (nothing)."""
    numeric: bool
    """False: nominal, so charts use categories and never join the values with a line."""
    unit: str = ""
    """``bytes``, ``ns``, ``I/Os`` ... or empty."""
    default: str | None = None
    """Text of the default as the engine's table or fio states it, of a knob what it was before the
    sweep; None when unknown. It need not be among :attr:`values`; when it is, charts ring it."""
    help: str = ""
    """One line: what the option does."""
    role: Role | None = None
    """The jobs that get the value; None: all of them."""

    def value(self, text: str) -> Value:
        """The value whose text is `text`; KeyError when the axis has no such value."""
        for value in self.values:
            if value.text == text:
                return value
        raise KeyError(text)

    def is_default(self, text: str) -> bool:
        """Whether `text` names the default, compared as a number where the axis is numeric."""
        return self.default is not None and self.default == text


@dataclass(frozen=True, slots=True)
class Workload:
    """One way to load the target: the question's job alone, or with a neighbour."""

    name: str
    """``solo``, ``interference``, or what the sweep file calls it."""
    job_text: str
    """The fio job before the axes are applied."""
    roles: Mapping[str, Role]
    """fio job name -> role, for every job in :attr:`job_text`."""
    title: str = ""
    """One line for a chart's heading."""
    open_loop: bool = False
    """True when the arrivals don't wait for completions (``rate_iops`` and the like). A chart
    must say which one it shows."""
    arrivals: str = ""
    """How the arrivals of an open loop are spaced: fio's ``rate_process``, ``linear`` or
    ``poisson``. Empty: closed loop, or not recorded."""

    @property
    def interference(self) -> bool:
        """Whether a neighbour runs beside the measured job."""
        return Role.NEIGHBOUR in self.roles.values()


@dataclass(frozen=True, slots=True)
class Gate:
    """A metric that decides, and the change that would matter in practice."""

    metric: str
    """Key of :data:`sluice.metrics.METRICS`."""
    higher_is_better: bool
    margin: float
    """Relative, e.g. 0.03: a smaller change is no change to the user."""
    role: Role = Role.MEASURED
    """Whose samples decide."""


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """A figure that somebody else published, placed on an axis of this sweep."""

    series: str
    """Which of the table's set-ups it is: one line of a chart."""
    value: str
    """Text of the axis value it belongs to (need not be among the axis's values)."""
    number: float | None
    """The value as a number on a numeric axis, else None."""
    y: float
    """In the unit of :attr:`Published.metric`."""


@dataclass(frozen=True, slots=True)
class Published:
    """A table of published figures. Other machines: compare shapes and ratios, never levels."""

    table: str
    """Path of the CSV as the sweep file names it."""
    source: str
    """Whose figures they are, for the caption."""
    axis: str
    metric: str
    """Key of :data:`sluice.metrics.METRICS`."""
    workload: str
    """Name of the workload beside which the figures belong."""
    points: tuple[PublishedPoint, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What the jobs read and write."""

    path: str
    """The file, the folder of files, or the device."""
    kind: str
    """``file`` (the harness's own) or ``external`` (named with ``--destructive`` or read only)."""
    size: str
    """As fio is given it."""
    filesystem: str = ""
    device: str = ""
    """The block device below, as the kernel names it; empty when unknown."""


@dataclass(frozen=True, slots=True)
class SweepInfo:
    """The sweep file, checked and resolved."""

    name: str
    """Slug: the sweep file's name without its suffix."""
    question: str
    """One sentence that ends in a question mark."""
    engine: str
    """fio's ``ioengine=`` as given, e.g. ``sluice`` or ``io_uring``."""
    axes: tuple[Axis, ...]
    workloads: tuple[Workload, ...]
    gates: tuple[Gate, ...]
    blocks: int
    """Those of the sweep itself, without the ones that measured a value again."""
    runtime_s: float
    ramp_s: float
    latency: str = "clat"
    """The latency of every ``lat_*`` metric: ``clat`` (from hand-over to completion) or ``lat``
    (from creation of the I/O)."""
    published: Published | None = None
    precondition: Precondition | None = None
    """What was to be done to the target first; None: nothing."""
    steady: SteadyRule | None = None
    """The gate before the runs of each session; None: none, so nobody knows."""
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Knobs of the kernel that are the same in every cell -> text."""
    timeline: str = "none"
    """What is kept of the inside of a run: a `timeline.Kind`."""
    auto_blocks: bool = False
    """The number of blocks is chosen from the spread of the first ones."""
    toml_text: str = ""
    """The sweep file, byte for byte."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A workload under one value of every axis. A row of dots in a chart."""

    id: str
    """Stable and unique in the sweep, e.g. ``solo/bypass=all,iodepth=4``."""
    workload: str
    values: Mapping[str, str]
    """Axis name -> text of its value, in the order of the axes."""
    skipped: str | None = None
    """Why no run of this cell was planned; None when it was."""


@dataclass(frozen=True, slots=True)
class Block:
    """One randomised complete block: every planned cell once forward, once reversed."""

    index: int
    """From 0."""
    order: tuple[str, ...]
    """Cell ids of the forward leg; the reverse leg is this backwards."""
    randseed: int
    """fio's ``randseed``, the same for every run of the block: all cells see the same offsets."""
    stage: str = ""
    """Empty: the sweep's own. Else which later stage it belongs to, with some of the cells only,
    e.g. ``confirm-1``."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Figures of one fio job, or of all jobs of a role, in one run and one direction."""

    name: str
    """fio's job name; of a role's sum: the role's name."""
    role: Role
    total: bool
    """True: the sum over all jobs of the role. Rates add, latencies come from merged bins, CPU
    and switches are divided by all I/Os."""
    direction: str
    """``read``, ``write``, ``trim`` or ``all``."""
    values: Mapping[str, float]
    """Metric name -> value. A missing key was not measured (no completion, latency off): it is
    never 0 by default."""
    index: int = 0
    """Number of the job among those of the same name (``numjobs=``); 0 for a sum."""


@dataclass(frozen=True, slots=True)
class Run:
    """One fio process."""

    id: str
    """Unique; also the name of its folder."""
    cell: str
    """:attr:`Cell.id`."""
    block: int
    leg: Leg
    order: int
    """Position in the whole plan, from 0. With :attr:`started_at` it shows drift."""
    randseed: int
    status: Status
    reason: str = ""
    """Empty when ok; else fio's own words, or the harness's."""
    started_at: float = 0.0
    """Wall clock, UTC: for people. May jump; never subtract two of them."""
    duration_s: float = 0.0
    """The whole run, by the monotonic clock."""
    fio_s: float = 0.0
    """fio's part of :attr:`duration_s`; the rest is the harness's own cost."""
    samples: tuple[Sample, ...] = ()
    engine_stats: Mapping[str, Any] | None = None
    """The engine's ``stats=`` JSON as written; None with other engines."""
    warnings: tuple[str, ...] = ()
    """What fio said although it ended well, e.g. that it fell back from polling."""
    command: tuple[str, ...] = ()
    """The command line that ran; its job file is in :attr:`folder`."""
    knobs: Mapping[str, str] = field(default_factory=dict)
    """Knob of the kernel -> what it read right before the run."""
    folder: Path = field(default_factory=Path)
    """Holds job.fio, fio.json.gz, stderr.txt, stats.json and run.json."""

    def sample(self, role: Role = Role.MEASURED, direction: str = "all") -> Sample | None:
        """The sum over all jobs of `role`, or None when there is none (failed, or no such I/O)."""
        for sample in self.samples:
            if sample.total and sample.role is role and sample.direction == direction:
                return sample
        return None

    def value(
        self, metric: str, role: Role = Role.MEASURED, direction: str = "all"
    ) -> float | None:
        """One figure, or None: not measured, or a percentile that too few I/Os support (see
        :func:`sluice.metrics.percentile_supported`). Ask :meth:`sample` for the bare figure."""
        sample = self.sample(role, direction)
        if sample is None or not percentile_supported(metric, sample.values.get("ios", 0.0)):
            return None
        return sample.values.get(metric)

    def jobs(self, role: Role = Role.MEASURED, direction: str = "all") -> tuple[Sample, ...]:
        """The jobs of `role` one by one, for fairness between them."""
        return tuple(
            sample
            for sample in self.samples
            if not sample.total and sample.role is role and sample.direction == direction
        )


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine at one moment."""

    when: str
    """``before`` or ``after`` a session of runs; a sweep that was resumed has several sessions."""
    taken_at: float
    values: Mapping[str, str]
    """Dotted key -> text, e.g. ``cpu.model``, ``kernel.release``, ``fio.version``,
    ``engine.commit``, ``machine.virtual``. A key that couldn't be read is absent."""


@dataclass(frozen=True, slots=True)
class Results:
    """All of one sweep, as loaded from a store. The only input of a report."""

    schema: int
    campaign: str
    """Unique name of this execution of the sweep; also its folder's name."""
    folder: Path
    sweep: SweepInfo
    target: Target
    cells: tuple[Cell, ...]
    """Skipped ones too."""
    blocks: tuple[Block, ...]
    seed: int
    """From which every order and every randseed was drawn."""
    runs: tuple[Run, ...]
    """In plan order; only those that have ended. A run that failed and was tried again on resume
    appears once for each attempt."""
    environments: tuple[Environment, ...]
    command: str
    """Shell command that repeats the sweep."""
    created_at: float
    planned_runs: int
    preparation: tuple[Step, ...] = ()
    """What was done to the target before the runs, in order, over all sessions."""

    @property
    def transient(self) -> str:
        """Why the target wasn't shown to be in a steady state, in one line; then the runs bear no
        verdict. Empty: every session passed its gate, or the sweep has none."""
        if self.sweep.steady is None or not self.runs:
            return ""
        gates = [step for step in self.preparation if step.kind == "gate"]
        if not gates:
            return "no session of this campaign got through its steady-state gate"
        return next((gate.reason for gate in gates if not gate.steady), "")

    def cell(self, cell_id: str) -> Cell:
        """The cell of that id; KeyError when there is none."""
        for cell in self.cells:
            if cell.id == cell_id:
                return cell
        raise KeyError(cell_id)

    def axis(self, name: str) -> Axis:
        """The axis of that name; KeyError when there is none."""
        for axis in self.sweep.axes:
            if axis.name == name:
                return axis
        raise KeyError(name)

    def workload(self, name: str) -> Workload:
        """The workload of that name; KeyError when there is none."""
        for workload in self.sweep.workloads:
            if workload.name == name:
                return workload
        raise KeyError(name)

    def runs_of(self, cell_id: str, status: Status | None = Status.OK) -> Iterator[Run]:
        """Runs of a cell in plan order, by default only those that ended well."""
        return (
            run
            for run in self.runs
            if run.cell == cell_id and (status is None or run.status is status)
        )

    @property
    def complete(self) -> bool:
        """Whether every planned run has ended in some way."""
        ended = {run.order for run in self.runs}
        return len(ended) >= self.planned_runs
