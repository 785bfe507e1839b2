"""How the measured jobs fare beside an aggressor, job by job: figures, no drawing.

*Clones* are the jobs that fio makes of one section with ``numjobs``; only among them does "a fair
share" mean something. Nothing here comes from grouped output, in which fio sums what single jobs
had at their worst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from sluice.fiojson import jain
from sluice.fiologs import JobLog
from sluice.metrics import percentile_supported
from sluice.model import Cell, Role, Run, Workload
from sluice.readings import Readings
from sluice.report.kept import Kept

__all__ = ["Fared", "fared", "partner"]

Job = tuple[str, int]
"""fio's job name and the number of the clone."""


@dataclass(frozen=True, slots=True)
class Fared:
    """One job in one cell, over all its runs. None: not measured."""

    job: Job
    clones: int
    p99: float | None
    """Mean over the runs, in ns; None where too few I/Os of some run lie beyond."""
    least: float | None
    """The worst window's share of what the clones did, times their number: 1 is fair. Of a job
    without clones the worst window over its own mean. Median of the runs."""
    gap_s: float | None
    """The longest stretch without a completion, of all runs, is at least so long; 0: none that
    shows. None: not known."""
    jain: float | None
    """Jain's index of the clones' I/Os, 1 when they are equal and 1/n when one has all; mean of
    the runs. None without clones."""

    @property
    def name(self) -> str:
        """As a reader tells the jobs apart."""
        return f"{self.job[0]} {self.job[1] + 1}" if self.clones > 1 else self.job[0]


@dataclass(frozen=True, slots=True)
class _Watched:
    """A job in the windows of one run; the fields are those of :class:`Fared`."""

    job: Job
    least: float | None
    gap_s: float | None


def partner(readings: Readings, workload: Workload) -> Workload | None:
    """The workload without a neighbour that has the same measured jobs."""
    mine = _measured(workload)
    return next(
        (
            other
            for other in readings.results.sweep.workloads
            if not other.interference and _measured(other) == mine
        ),
        None,
    )


def fared(readings: Readings, kept: Kept, cell: Cell) -> tuple[Fared, ...]:
    """Every measured job of a cell."""
    runs = list(readings.results.runs_of(cell.id))
    names: dict[Job, list[tuple[Run, float | None]]] = {}
    for run in runs:
        for sample in run.jobs(Role.MEASURED):
            known = percentile_supported("lat_p99", sample.values.get("ios", 0.0))
            value = sample.values.get("lat_p99") if known else None
            names.setdefault((sample.name, sample.index), []).append((run, value))
    clones = {name: sum(other == name for other, _ in names) for name, _ in names}
    watched = [one for run in runs for one in _watched(kept, run)]
    found = []
    for job, figures in names.items():
        p99 = [value for _, value in figures if value is not None]
        mine = [one for one in watched if one.job == job]
        shares = [one.least for one in mine if one.least is not None]
        found.append(
            Fared(
                job,
                clones[job[0]],
                fmean(p99) if p99 and len(p99) == len(figures) else None,
                median(shares) if shares else None,
                max((one.gap_s for one in mine if one.gap_s is not None), default=None),
                _jain(runs, job[0]) if clones[job[0]] > 1 else None,
            )
        )
    return tuple(found)


def _watched(kept: Kept, run: Run) -> Iterator[_Watched]:
    """Each measured job of a run that was logged."""
    timeline = kept.timeline(run)
    if timeline is None or timeline.windows < 1:
        return
    logs = list(kept.logs(run, Role.MEASURED))
    numbers = range(1, timeline.windows + 1)
    for sample, log in logs:
        own = [log.rate(number) for number in numbers]
        clones = [other for one, other in logs if one.name == sample.name]
        job = (sample.name, sample.index)
        yield _Watched(job, _least(own, clones), log.gap_s)


def _least(own: list[float], clones: list[JobLog]) -> float | None:
    if len(clones) < 2:
        mean = fmean(own)
        return min(own) / mean if mean > 0 else None
    shares = []
    for number, rate in enumerate(own, 1):
        total = sum(log.rate(number) for log in clones)
        if total > 0:
            shares.append(rate / total * len(clones))
    return min(shares) if shares else None


def _jain(runs: Sequence[Run], name: str) -> float | None:
    found = []
    for run in runs:
        jobs = [job for job in run.jobs(Role.MEASURED) if job.name == name]
        values = [job.values.get("iops", 0.0) for job in jobs]
        if values and max(values) > 0:
            found.append(jain(values))
    return fmean(found) if found else None


def _measured(workload: Workload) -> set[str]:
    return {name for name, role in workload.roles.items() if role is Role.MEASURED}
