"""A sweep, checked against the engine and fio and resolved into cells: ready to be planned.

Everything that can be known to be wrong before a run is found here, so that nobody's night of
measuring ends at a spelling mistake in the last cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sluice import builds, cells, describe, jobfile, paths, permitted, published, sweepfile
from sluice.axes import Options
from sluice.builds import Build
from sluice.describe import Table
from sluice.errors import SluiceError, near
from sluice.fiocli import Fio
from sluice.jobfile import JobFile
from sluice.model import Axis, Cell, Role, SweepInfo, Workload
from sluice.sweepspec import SweepFile, WorkloadSpec

_OPEN_LOOP = ("rate_iops", "rate")


@dataclass(frozen=True, slots=True)
class Sweep:
    """What `compose` and `plan` need."""

    file: SweepFile
    info: SweepInfo
    cells: tuple[Cell, ...]
    options: Options
    engine_argument: str
    """What stands behind ``ioengine=``."""
    own_engine: bool
    """Whether it is this project's engine."""
    stats_option: str | None
    """The engine's option that names a file for its statistics."""
    axes_by_name: dict[str, Axis]
    builds: Mapping[str, Build] = field(default_factory=dict)
    """Of a sweep whose engine is an axis: by its value; else empty."""

    def build_of(self, cell: Cell) -> Build:
        """What runs a cell."""
        usual = Build(self.engine_argument, self.own_engine)
        return self.builds.get(cell.values.get(builds.AXIS, ""), usual)


def load(path: Path, fio: Fio, table: Table | None = None) -> Sweep:
    """Read, check and resolve a sweep. `table` overrides the built engine's (tests)."""
    file = sweepfile.read(path)
    if file.fio:
        fio.require(file.fio)
    engine_argument, own = resolve_engine(file.engine, fio, str(path))
    found = builds.asked(engines_of(file, fio), fio)
    own = own or any(build.own for build in found.values())
    if own and table is None:
        table = describe.load()
    if own and table and table.fio_release not in (None, fio.version):
        raise SluiceError(
            f"{path}: the engine is built for fio {table.fio_release}, {fio.program} is "
            f"{fio.version}: build it again (ci/setup), or name the other fio with --fio"
        )
    options = Options(fio, table if own else None, file.engine)
    for name, text in file.options.items():
        options.check(name, text, f"{path}: options.{name}")
    axes = tuple(builds.axis(one) if one.engines else options.axis(one) for one in file.axes)
    for axis in axes:
        if axis.name in file.options or axis.name in file.knobs:
            raise SluiceError(
                f"{path}: '{axis.name}' is both an axis and an option: delete one of the two"
            )
    paced = dict.fromkeys((axis.name for axis in axes if axis.role is not Role.NEIGHBOUR), "")
    paced |= file.options
    workloads = tuple(_workload(spec, paced, str(path)) for spec in file.workloads)
    if all(axis.role is Role.NEIGHBOUR for axis in axes) and not any(
        workload.interference for workload in workloads
    ):
        raise SluiceError(
            f"{path}: every axis is for the neighbour, but no workload has one: "
            "add neighbour = to a workload"
        )
    info = SweepInfo(
        name=file.name,
        question=file.question,
        engine=" or ".join(found) or file.engine,
        axes=axes,
        workloads=workloads,
        gates=file.gates,
        blocks=file.blocks,
        auto_blocks=file.auto_blocks,
        runtime_s=file.runtime_s,
        ramp_s=file.ramp_s,
        latency=file.latency,
        timeline=file.timeline,
        precondition=file.precondition,
        steady=file.steady,
        knobs=file.knobs,
        toml_text=file.text,
        published=published.load(file.published, axes, workloads) if file.published else None,
    )
    return Sweep(
        file,
        info,
        cells.lay(file, axes),
        options,
        engine_argument,
        own,
        table.stats_option if own and table else None,
        {axis.name: axis for axis in axes},
        found,
    )


def engines_of(file: SweepFile, fio: Fio, must_exist: bool = True) -> dict[str, Build]:
    """The engines of a sweep that has several, by the value of its axis; else none."""

    def find(engine: str) -> tuple[str, bool]:
        if not must_exist and engine.startswith(builds.EXTERNAL):
            return engine, False
        return resolve_engine(engine, fio, str(file.path))

    spec = next((one for one in file.axes if one.engines), None)
    return builds.resolve(spec, find) if spec else {}


def resolve_engine(engine: str, fio: Fio, where: str) -> tuple[str, bool]:
    """What stands behind ``ioengine=``, and whether it is this project's engine."""
    if engine == "sluice":
        return f"external:{paths.plugin()}", True
    if engine.startswith("external:"):
        library = Path(engine.removeprefix("external:"))
        if not library.is_file():
            raise SluiceError(
                f"{where}: engine = '{engine}': no such file: build it, or use an absolute path"
            )
        return engine, library.name == "sluice.so"
    if engine in permitted.ENGINES_REFUSED:
        raise SluiceError(
            f"{where}: engine = '{engine}': {permitted.ENGINES_REFUSED[engine]}: use another engine"
        )
    if engine not in fio.engines:
        raise SluiceError(
            f"{where}: fio {fio.version} has no engine '{engine}'"
            f"{near(engine, ['sluice', *sorted(fio.engines)])}"
        )
    return engine, False


def _workload(spec: WorkloadSpec, set_by_sweep: dict[str, str], where: str) -> Workload:
    job = jobfile.read(spec.job).flattened()
    roles = {section.name: Role.MEASURED for section in job.jobs}
    if len(roles) < len(job.jobs):
        raise SluiceError(
            f"{spec.job}: two jobs of one name: name them apart, so that each has its own figures"
        )
    if spec.neighbour:
        for section in jobfile.read(spec.neighbour).flattened().jobs:
            if section.name in roles:
                raise SluiceError(
                    f"{where}: workload '{spec.name}': job '{section.name}' is in "
                    f"{spec.job.name} and in {spec.neighbour.name}: rename one"
                )
            roles[section.name] = Role.NEIGHBOUR
            job.sections.append(section)
    arrivals = _arrivals(job, roles, set_by_sweep)
    return Workload(spec.name, job.render(), roles, spec.title, bool(arrivals), arrivals)


def _arrivals(job: JobFile, roles: dict[str, Role], set_by_sweep: dict[str, str]) -> str:
    """How the arrivals of the measured jobs are spaced, when they are paced rather than driven by
    the jobs' own completions; else empty. `set_by_sweep`: option -> value, '' where it varies."""
    options: dict[str, str] = {}
    for section in job.jobs:
        if roles[section.name] is Role.MEASURED:
            options |= section.options
    options |= set_by_sweep
    if options.keys().isdisjoint(_OPEN_LOOP):
        return ""
    return options.get("rate_process", "linear") or "varied"
