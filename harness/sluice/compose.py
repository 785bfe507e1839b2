"""The job file of one run: the workload, the sweep's options, the cell's values, the harness's own.

Order of precedence, last wins: the job file, ``[options]``, the axes, what the harness sets for
every run (engine, times, file, seed). The result is kept beside the figures, so a reader sees what
fio was given rather than how it came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sluice import builds, jobfile, permitted, timeline
from sluice.errors import SluiceError
from sluice.jobfile import GLOBAL, JobFile, Section
from sluice.model import ARM, Cell, Role, Workload
from sluice.sweep import Sweep


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the jobs' files are."""

    path: Path
    """The one file or device of all jobs, or the folder of a file for each."""
    shared: bool
    size: str | None
    """None: each job has its own ``size=``."""


def compose(
    sweep: Sweep, cell: Cell, placement: Placement, randseed: int, stats: Path | None = None
) -> JobFile:
    """The job of a cell. `stats` is where the engine shall write its statistics."""
    workload = next(one for one in sweep.info.workloads if one.name == cell.workload)
    job = jobfile.parse(workload.job_text, f"job of {workload.name}")
    common = Section(GLOBAL)
    for name, text in sweep.file.options.items():
        _set_everywhere(job, common, sweep.options.aliases(name), name, text)
    for name, text in cell.values.items():
        if sweep.axes_by_name[name].scope in ("knob", ARM, builds.SCOPE):
            continue  # the kernel's, nobody's, or done below
        role = sweep.axes_by_name[name].role
        aliases = sweep.options.aliases(name)
        if role is None:
            _set_everywhere(job, common, aliases, name, text)
        else:
            _set_for_role(job, workload, role, aliases, name, text)
    # Sums over jobs would hide which of them starved, so fio must not make them.
    job.remove("group_reporting")
    build = sweep.build_of(cell)
    own = {
        "ioengine": build.argument,
        "time_based": "1",
        "runtime": _fio_time(sweep.info.runtime_s),
        "ramp_time": _fio_time(sweep.info.ramp_s),
        # With fio's default of randrepeat=1 the seed is ignored (seen with 3.33).
        "randrepeat": "0",
        "randseed": str(randseed),
        f"{sweep.info.latency}_percentiles": "1",
    }
    if build.own:
        own["thread"] = "1"  # it turns threads on anyway, and says so in every run's output
    if stats is not None and sweep.stats_option and build.own:
        own[sweep.stats_option] = str(stats)
    if not timeline.foreign(name for one in (common, *job.sections) for name in one.options):
        own |= timeline.options(sweep.info.timeline, sweep.info.runtime_s)
    for name, text in own.items():
        _set_everywhere(job, common, sweep.options.aliases(name), name, text)
    _place(job, common, placement)
    job.sections.insert(0, common)
    return job


def _set_everywhere(
    job: JobFile, common: Section, aliases: tuple[str, ...], name: str, text: str
) -> None:
    job.remove(*aliases)
    common.options[name] = text


def _set_for_role(
    job: JobFile, workload: Workload, role: Role, aliases: tuple[str, ...], name: str, text: str
) -> None:
    for section in job.jobs:
        if workload.roles[section.name] is role:
            for alias in aliases:
                section.options.pop(alias, None)
            section.options[name] = text


def _place(job: JobFile, common: Section, placement: Placement) -> None:
    """The sweep decides where the data lies; what a job file says about it is dropped, so that a
    job from elsewhere can't reach somebody's data by accident."""
    job.remove(*permitted.PLACED)
    if placement.shared:
        common.options["filename"] = str(placement.path).replace(":", "\\:")
    else:
        common.options["directory"] = str(placement.path).replace(":", "\\:")
    if placement.size is not None:
        job.remove("size")
        common.options["size"] = placement.size
    for section in job.jobs:
        if (
            placement.size is None
            and "size" not in section.options
            and "filesize" not in section.options
        ):
            raise SluiceError(
                f"job '{section.name}': no size: add size = to the sweep's [target], or to the job"
            )


def _fio_time(seconds: float) -> str:
    """A time in fio's grammar without rounding away less than a second."""
    if seconds == int(seconds):
        return f"{int(seconds)}s"
    return f"{round(seconds * 1e6)}us"
