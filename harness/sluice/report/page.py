"""All that a report says, before it becomes HTML or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.aa.record import Record
from sluice.model import METRICS, Results, Status
from sluice.readings import Readings
from sluice.report.answer import Answer, answer, comparison_table, sort_by_effect
from sluice.report.calibration import calibration
from sluice.report.charts import Chart, Group, response_groups
from sluice.report.digits import figure
from sluice.report.elsewhere import published_group
from sluice.report.facts import Fact, environment_table, header, notices
from sluice.report.forest import forest
from sluice.report.heatmap import heat_maps
from sluice.report.kept import Kept
from sluice.report.layout import choose
from sluice.report.looks import Tally, tally
from sluice.report.nines import nines
from sluice.report.openloop import hockey_sticks
from sluice.report.runorder import run_order
from sluice.report.starvation import starvation
from sluice.report.steady import steady_group
from sluice.report.tables import Table
from sluice.report.tail import slowest
from sluice.report.troubles import Trouble, troubles
from sluice.report.within import within
from sluice.stats import Comparison
from sluice.verdicts.family import Comparisons, compare

__all__ = ["MAX_RUNS", "Page", "build"]

OPEN = 4
"""Charts of verdicts that are shown at once."""
MAX_RUNS = 2500
"""Of the table of single runs in the page; more are in results.csv, as all are."""


@dataclass(frozen=True, slots=True)
class Page:
    """The parts of a report, in the order in which it shows them."""

    campaign: str
    question: str
    answer: Answer
    notices: tuple[str, ...]
    facts: tuple[Fact, ...]
    comparisons: Comparisons
    ratios: Table
    """Every comparison, in the order of the sweep."""
    worst: Table
    """The same, worst first."""
    groups: tuple[Group, ...]
    verdicts: Group | None
    """Every comparison: the forest, and the maps of ratios."""
    tally: tuple[Tally, ...]
    published: Group | None
    absent: tuple[str, ...]
    """Parts that have no chart, and why, a line each."""
    troubles: tuple[Trouble, ...]
    run_order: Chart | None
    runs: Table | None
    """None when there are too many to list."""
    slowest: Table | None
    """The slowest single I/Os."""
    environment: Table
    command: str
    sweep_file: str
    jobs: tuple[tuple[str, str], ...]
    """Name of the workload and its fio job."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Every figure."""
        groups = [one for one in (self.verdicts, *self.groups, self.published) if one is not None]
        charts = [chart for group in groups for chart in group.charts]
        return (*charts, *([self.run_order] if self.run_order else []))


def build(results: Results, sessions: Sequence[Record] = ()) -> Page:
    """Compute and draw everything. `sessions`: what `sluice aa` measured on that machine."""
    readings = Readings(results)
    found = compare(readings)
    has_axis = bool(results.sweep.axes)
    parts = tuple(_groups(readings)) if has_axis and readings.ok_runs else ()
    worst = sort_by_effect(found.rows)
    return Page(
        campaign=results.campaign,
        question=results.sweep.question,
        answer=answer(readings, found),
        notices=notices(results),
        facts=(*header(readings), *calibration(sessions)),
        comparisons=found,
        ratios=comparison_table(found, found.rows),
        worst=comparison_table(found, worst),
        groups=tuple(part for part in parts if part.charts),
        absent=tuple(
            f"{part.title}: {why}" for part in parts if not part.charts for why in part.missing
        ),
        verdicts=_verdicts(results, found, worst),
        tally=tally(found.rows),
        published=published_group(readings) if has_axis else None,
        troubles=troubles(results),
        run_order=run_order(readings) if readings.ok_runs else None,
        runs=_runs(results) if len(results.runs) <= MAX_RUNS else None,
        slowest=slowest(results),
        environment=environment_table(results),
        command=results.command,
        sweep_file=results.sweep.toml_text,
        jobs=tuple((load.name, load.job_text) for load in results.sweep.workloads),
    )


def _verdicts(results: Results, found: Comparisons, worst: Sequence[Comparison]) -> Group | None:
    """The forest and the maps; None without a single ratio."""
    rows = list(forest(worst, comparison_table(found, worst)))
    maps = list(heat_maps(results, found))
    charts = (*rows[:1], *maps, *rows[1:])  # what has most to say first, the rest folded
    lead = (
        "Each cell against the default at the same place. Down and orange is worse, up and blue is "
        "better, whatever the metric; a change inside the grey margin wouldn't matter."
    )
    return Group("Verdicts", lead, charts, min(1 + len(maps), OPEN)) if charts else None


def _groups(readings: Readings) -> Iterator[Group]:
    """Every part with charts, in the order of the page: what came out, then what lies below it."""
    kept = Kept(readings.results)
    yield from response_groups(readings, choose(readings.results.sweep.axes))
    for group in (
        hockey_sticks(readings),
        nines(readings, kept),
        starvation(readings, kept),
        within(readings, kept),
        steady_group(readings.results),
    ):
        if group is not None:
            yield group


def _runs(results: Results) -> Table:
    """One row a run, in the order in which they ran."""
    metrics = ("iops", "cpu_us", "lat_p50", "lat_p99", "lat_p999")
    axes = [axis.name for axis in results.sweep.axes]
    rows = []
    for run in results.runs:
        cell = results.cell(run.cell)
        ok = run.status is Status.OK
        rows.append(
            (
                str(run.order),
                cell.workload,
                *(cell.values.get(name, "") for name in axes),
                str(run.block + 1),
                run.leg.value,
                run.status.value,
                *(figure(name, run.value(name) if ok else None, 4) for name in metrics),
            )
        )
    head = (
        "position",
        "workload",
        *axes,
        "block",
        "leg",
        "status",
        *(METRICS[name].label for name in metrics),
    )
    return Table(
        head,
        tuple(rows),
        frozenset(range(1, 5 + len(axes))),
        "Measured jobs only; results.csv has the rest.",
    )
