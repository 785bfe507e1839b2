"""Who starves when an aggressor is there: the measured jobs with and without their neighbour.

A sum over jobs hides the one that waits, so everything here is job by job: p99 against the same job
alone, its worst window against a fair share, its longest stretch without a completion, and Jain's
index of the clones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D

from sluice.model import Axis, Cell, Results, Workload
from sluice.readings import Readings
from sluice.report.canvas import Canvas, Panel
from sluice.report.charts import Chart, Group
from sluice.report.closeups import MAX_CLOSE
from sluice.report.digits import DASH, TIMES, figure
from sluice.report.fairness import Fared, fared, partner
from sluice.report.kept import Kept
from sluice.report.layout import Facet, axis_label, facets_by
from sluice.report.scales import Ticks, XScale, linear_ticks, ratio_ticks, x_scale
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import LIGHT, MARKERS, SERIES
from sluice.report.words import plural, slug
from sluice.verdicts.focus import focus_axis

__all__ = ["starvation"]

TITLE = "Starvation"
ON, OFF = 1, 0
"""Styles: beside the aggressor, alone."""
MAX_JOBS = 8
"""Of a cell in the data table; of more, the worst, the middle and the best."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One value of the axis in question: the jobs beside the aggressor, and alone."""

    value: str
    beside: tuple[Fared, ...]
    alone: tuple[Fared, ...]

    def times(self, job: Fared) -> float | None:
        """p99 of a job over its own when alone."""
        other = next((one for one in self.alone if one.job == job.job), None)
        if other is None or not job.p99 or not other.p99:
            return None
        return job.p99 / other.p99


def starvation(readings: Readings, kept: Kept) -> Group | None:
    """A chart for each workload with a neighbour; None where nothing competes."""
    results = readings.results
    focus = focus_axis(results.sweep.axes)
    disturbed = [load for load in results.sweep.workloads if load.interference]
    if focus is None:
        return None
    if not disturbed:
        why = "no workload has a neighbour, so nothing competes with the measured jobs."
        return Group(TITLE, "", (), missing=(why,))
    rest = [axis for axis in results.sweep.axes if axis is not focus and len(axis.values) > 1]
    places = [(load, facet) for load in disturbed for facet in facets_by(None, rest)]
    charts: list[Chart] = []
    while places and len(charts) < MAX_CLOSE:
        chart = _chart(readings, kept, focus, *places.pop(0))
        if chart is not None:
            charts.append(chart)
    lead = (
        "The measured jobs one by one, with the aggressor and without. A share is fair at 1: the "
        "worst window of a job among its clones (fio's numjobs), or of a job without clones "
        "against its own mean."
    )
    missing = []
    if not charts:
        missing.append("no job beside a neighbour was measured.")
    elif places:
        missing.append(
            f"The first {MAX_CLOSE} combinations are shown, {plural(len(places), 'other')} left "
            "out; results.json has every job of every run."
        )
    return Group(TITLE, lead, tuple(charts), 2, tuple(missing))


def _chart(
    readings: Readings, kept: Kept, focus: Axis, workload: Workload, facet: Facet
) -> Chart | None:
    places = _places(readings, kept, focus, workload, facet)
    jobs = [job for place in places for job in (*place.beside, *place.alone)]
    if not any(place.beside for place in places):
        return None
    scale = x_scale(focus)
    times = [t for place in places for job in place.beside if (t := place.times(job)) is not None]
    panels: list[tuple[str, Panel]] = []
    if times:
        ticks = ratio_ticks(min(*times, 1.0), max(*times, 1.0))
        panels.append(("times", Panel("p99 latency, times that alone", 120.0, ticks, log=True)))
    for what, title in (
        ("least", "Worst window, share of the fair one"),
        ("jain", "Jain's index of the clones"),
        ("gap_s", "Longest gap without a completion, at least, s"),
    ):
        values = [value for job in jobs if (value := getattr(job, what)) is not None]
        if values and (what != "gap_s" or max(values) > 0):
            panels.append((what, Panel(title, 90.0, _ticks(what, max(values)))))
    if not panels:
        return None
    where = ", ".join(filter(None, (workload.name, facet.title)))
    name = slug(f"starvation-{workload.name}-{facet.title}")
    along = axis_label(focus) + (f" ({scale.note})" if scale.note else "")
    canvas = Canvas(name, [panel for _, panel in panels], _legend(places), along, list(scale.ticks))
    canvas.x_axis(scale)
    for axes, (what, _) in zip(canvas.axes, panels, strict=True):
        if what in ("times", "least", "jain"):
            axes.axhline(1.0, color=LIGHT["line"], linewidth=0.8)
        _dots(axes, what, places, scale)
    title = f"{TITLE}: {where}"
    desc = (
        f"{'; '.join(panel.title for _, panel in panels)}; against {axis_label(focus)}, {where}. "
        "The data table has every job."
    )
    return Chart(
        name,
        title,
        f"{where}: {workload.title}" if workload.title else where,
        desc,
        _caption(kept, jobs, partner(readings, workload)),
        finish(canvas.svg(), name, title, desc, {}),
        _table(focus, places),
        _summary(focus, places),
    )


def _places(
    readings: Readings, kept: Kept, focus: Axis, workload: Workload, facet: Facet
) -> list[_Place]:
    alone = partner(readings, workload)
    found = []
    for value in focus.values:
        wanted = {**dict(facet.fixed), focus.name: value.text}
        cells = {
            load.name: cell
            for load in (workload, alone)
            if load is not None and (cell := _cell(readings.results, load.name, wanted))
        }
        with_it, without = (
            fared(readings, kept, cells[load.name]) if load and load.name in cells else ()
            for load in (workload, alone)
        )
        found.append(_Place(value.text, with_it, without))
    return found


def _cell(results: Results, workload: str, wanted: dict[str, str]) -> Cell | None:
    return next(
        (
            cell
            for cell in results.cells
            if cell.workload == workload
            and all(cell.values.get(name) == text for name, text in wanted.items())
        ),
        None,
    )


def _dots(axes: object, what: str, places: Sequence[_Place], scale: XScale) -> None:
    """A dot a job: alone at the left, beside the aggressor at the right."""
    reach = 0.16 * scale.step
    for style, shift in ((OFF, -reach), (ON, reach)):
        points = []
        for place in places:
            jobs = place.beside if style == ON else place.alone
            if what == "times":
                values = [place.times(job) if style == ON else None for job in jobs]
            elif what == "jain":  # one for all clones
                values = [job.jain for job in jobs if job.job[1] == 0]
            else:
                values = [getattr(job, what) for job in jobs]
            shown = sorted(value for value in values if value is not None)
            for index, value in enumerate(shown):
                spread = (index + 0.5) / len(shown) - 0.5
                points.append((scale.at[place.value] + shift + spread * reach, value))
        axes.plot(  # type: ignore[attr-defined]
            [x for x, _ in points],
            [y for _, y in points],
            linestyle="none",
            marker=MARKERS[style],
            markersize=5.5,
            markeredgewidth=0.0,
            color=SERIES[style],
            clip_on=False,
        )


def _ticks(what: str, highest: float) -> Ticks:
    if what == "gap_s":
        return linear_ticks("gap_s", highest, goal=2)
    high = max(1.1, highest * 1.06)
    at = (0.0, 0.5, 1.0)
    return Ticks(0.0, high, at, tuple(f"{value:g}" for value in at))


def _legend(places: Sequence[_Place]) -> list[Line2D]:
    names = {ON: "beside the aggressor", OFF: "alone"}
    return [
        Line2D(
            [], [], color=SERIES[style], marker=MARKERS[style], markersize=6.0, linestyle="none",
            label=names[style],
        )
        for style in ((OFF, ON) if any(place.alone for place in places) else (ON,))
    ]  # fmt: skip


def _caption(kept: Kept, jobs: Sequence[Fared], alone: Workload | None) -> str:
    parts = []
    if alone is None:
        parts.append("No workload has the same jobs alone, so p99 has nothing to be set against.")
    if all(job.least is None for job in jobs):
        parts.append("The runs kept no timeline, so windows and gaps are not known.")
    elif all(job.gap_s is None for job in jobs):
        parts.append('Gaps of a lone job show with timeline = "latency" only.')
    elif not any(job.gap_s for job in jobs):
        parts.append("No gap between completions shows.")
    if all(job.clones < 2 for job in jobs):
        parts.append("No job has clones, so there is no Jain index.")
    return " ".join(parts)


def _table(focus: Axis, places: Sequence[_Place]) -> Table:
    rows = []
    for place in places:
        for which, jobs in (("alone", place.alone), ("beside", place.beside)):
            for job in _some(jobs):
                times = place.times(job) if which == "beside" else None
                rows.append(
                    (
                        place.value,
                        which,
                        job.name,
                        figure("lat_p99", job.p99),
                        DASH if times is None else f"{TIMES}{times:.3g}",
                        DASH if job.least is None else f"{job.least:.2f}",
                        DASH if job.gap_s is None else f"{job.gap_s:.3g} s",
                        DASH if job.jain is None else f"{job.jain:.3f}",
                    )
                )
    head = (focus.name, "aggressor", "job", "p99", f"{TIMES} alone", "worst window", "gap", "Jain")
    return Table(
        head,
        tuple(rows),
        frozenset((0, 1, 2)),
        f"At most {MAX_JOBS} jobs of a cell; of more, the worst, the middle and the best by p99.",
    )


def _some(jobs: Sequence[Fared]) -> list[Fared]:
    if len(jobs) <= MAX_JOBS:
        return list(jobs)
    ordered = sorted(jobs, key=lambda job: job.p99 or 0.0, reverse=True)
    return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]


def _summary(focus: Axis, places: Sequence[_Place]) -> str:
    """The worst job at each end of the range of values."""
    found = [
        (t, place.value, job.name)
        for place in places
        for job in place.beside
        if (t := place.times(job)) is not None
    ]
    if not found:
        shares = [
            (job.least, place.value, job.name)
            for place in places
            for job in place.beside
            if job.least is not None
        ]
        text = "No p99 of a job can be set against the same job alone."
        if shares:
            least, value, name = min(shares)
            text += f" The worst window is {least:.2f} of the fair share ({focus.name}={value}, "
            text += f"job {name})."
        return text
    worst, best = max(found), min(found)
    text = f"p99 beside the aggressor is {TIMES}{worst[0]:.3g} that alone at worst "
    text += f"({focus.name}={worst[1]}, job {worst[2]})"
    if best[1:] != worst[1:]:
        text += f", {TIMES}{best[0]:.3g} at best ({focus.name}={best[1]}, job {best[2]})"
    return text + "."
