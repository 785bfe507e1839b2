"""What the runs of a sweep left behind beside their figures: latency bins and timelines.

Both lie in the run's folder and are read only for the charts that show single runs; each file is
read once. A run without them (another machine's copy, an older harness) just has none.
"""

from __future__ import annotations

from collections.abc import Iterator

from sluice import files, fiojson, histogram, timeline
from sluice.executor import OUTPUT
from sluice.fiologs import JobLog
from sluice.histogram import Bins
from sluice.model import Results, Role, Run, Sample
from sluice.timeline import Timeline

__all__ = ["Kept", "jobs_in_order"]


class Kept:
    """Reads what runs left in their folders, and remembers it."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._bins: dict[tuple[str, Role, str], Bins] = {}
        self._timelines: dict[tuple[str, bool], Timeline | None] = {}

    def bins(self, run: Run, role: Role, direction: str) -> Bins:
        """The merged latency histogram of a role's jobs; empty when it isn't there."""
        key = (run.id, role, direction)
        if key not in self._bins:
            self._read_bins(run)
        return self._bins.get(key, {})

    def timeline(self, run: Run, *, latencies: bool = False) -> Timeline | None:
        """The inside of a run; None when it was not logged."""
        key = (run.id, latencies)
        if key not in self._timelines:
            runtime_s = self._results.sweep.runtime_s
            self._timelines[key] = timeline.read(run.folder, runtime_s, latencies=latencies)
        return self._timelines[key]

    def logs(
        self, run: Run, role: Role, *, latencies: bool = False
    ) -> Iterator[tuple[Sample, JobLog]]:
        """Each job of a role that has figures, with its logs."""
        found = self.timeline(run, latencies=latencies)
        if found is not None:
            for sample, log in zip(jobs_in_order(run), found.jobs, strict=False):
                if sample.role is role:
                    yield sample, log

    def _read_bins(self, run: Run) -> None:
        workload = self._results.workload(self._results.cell(run.cell).workload)
        try:
            document = fiojson.split(files.read_text(run.folder / OUTPUT)).last
        except (OSError, EOFError):
            document = None
        for role in Role:
            parts = []
            for direction in fiojson.DIRECTIONS if document is not None else ():
                found = fiojson.latency_bins(
                    document or {}, workload.roles, role, direction, self._results.sweep.latency
                )
                self._bins[run.id, role, direction] = found
                parts.append(found)
            self._bins[run.id, role, "all"] = histogram.merge(parts)


def jobs_in_order(run: Run) -> list[Sample]:
    """The jobs of a run in the order in which fio has them."""
    return [sample for sample in run.samples if not sample.total and sample.direction == "all"]
