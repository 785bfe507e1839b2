"""The rounds of the steady-state gate: what came before the first run, and why it was let through.

The rule is SNIA's: in the last rounds the largest and smallest differ by at most 20 % of their
mean, and the line fitted through them rises or falls by at most 10 % of it.
"""

from __future__ import annotations

from sluice.model import METRICS, Results, Step
from sluice.report.canvas import Canvas, Panel
from sluice.report.charts import Chart, Group, y_ticks
from sluice.report.digits import DASH, figure, percent
from sluice.report.svg import finish
from sluice.report.tables import Table
from sluice.report.theme import LIGHT, MARKERS, SERIES
from sluice.report.words import plural

__all__ = ["steady_group"]

TITLE = "Steady state"


def steady_group(results: Results) -> Group | None:
    """A chart for each session that had a gate; None for a sweep without one."""
    rule = results.sweep.steady
    if rule is None:
        return None
    sessions = sorted({step.session for step in results.preparation if step.kind == "round"})
    charts = tuple(chart for number in sessions if (chart := _chart(results, number)) is not None)
    lead = (
        f"Rounds before the first run, until {rule.rounds} in a row agree: range at most "
        f"{percent(rule.range)} of their mean (the dashed limits), slope at most "
        f"{percent(rule.slope)}; given up after {rule.cap}."
    )
    missing = () if charts else ("no session got to a round of its gate.",)
    return Group(TITLE, lead, charts, missing=missing)


def _chart(results: Results, session: int) -> Chart | None:
    rule = results.sweep.steady
    rounds = [
        step
        for step in results.preparation
        if step.session == session and step.kind == "round" and step.value is not None
    ]
    if rule is None or not rounds:
        return None
    values = [step.value or 0.0 for step in rounds]
    window = values[-rule.rounds :]
    mean = sum(window) / len(window)
    low, high = mean * (1 - rule.range / 2), mean * (1 + rule.range / 2)
    label = METRICS[rule.metric].label
    ticks = y_ticks(rule.metric, min(*values, low), max(*values, high))
    numbers = [step.index + 1 for step in rounds]
    marks = numbers[:: max(1, len(numbers) // 8)]
    name = f"steady-{session + 1}"
    canvas = Canvas(
        name,
        [Panel(f"{label} of each round", 150.0, ticks, log=rule.metric.startswith("lat_"))],
        (),
        "round (shaded: the window that was judged)",
        [str(mark) for mark in marks],
    )
    axes = canvas.axes[0]
    canvas.x_ticks(marks, [str(mark) for mark in marks])
    axes.set_xlim(numbers[0] - 0.6, numbers[-1] + 0.6)
    ends = (numbers[-len(window)] - 0.5, numbers[-1] + 0.5)
    axes.axvspan(*ends, color=LIGHT["shade"], linewidth=0.0, zorder=0.5)
    for limit in (low, high):
        axes.plot(ends, (limit, limit), color=LIGHT["soft"], linewidth=1.0, linestyle="dashed")
    axes.plot(
        numbers,
        values,
        color=SERIES[0],
        marker=MARKERS[0],
        markersize=5.0,
        linewidth=1.4,
        markeredgewidth=0.0,
        clip_on=False,
    )
    gate = _gate(results, session)
    verdict = "no judgement was kept"
    if gate is not None:
        verdict = "steady" if gate.steady else f"transient: {gate.reason}"
    where = f"session {session + 1}"
    desc = f"{label} of {plural(len(rounds), 'round')} before the runs of {where}: {verdict}."
    return Chart(
        name,
        f"{TITLE}: {where}",
        where,
        desc,
        "",
        finish(canvas.svg(), name, f"{TITLE}: {where}", desc, {}),
        _table(rule.metric, label, rounds),
        f"{where.capitalize()}: {verdict} after {plural(len(rounds), 'round')}.",
    )


def _gate(results: Results, session: int) -> Step | None:
    return next((s for s in results.preparation if s.session == session and s.kind == "gate"), None)


def _table(metric: str, label: str, rounds: list[Step]) -> Table:
    rows = tuple(
        (
            str(step.index + 1),
            figure(metric, step.value),
            DASH if step.range is None else percent(step.range),
            DASH if step.slope is None else percent(step.slope),
        )
        for step in rounds
    )
    note = "Range and slope of the window that ends there, relative to its mean."
    return Table(("round", label, "range", "slope"), rows, frozenset(), note)
