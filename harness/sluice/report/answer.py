"""The answer to a sweep's question, in words that its intervals carry and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sluice.model import METRICS, Cell, Gate, Role
from sluice.report.compare import Comparison, Comparisons, Finding, gates_of
from sluice.report.digits import percent, ratio
from sluice.report.estimate import LEVEL
from sluice.report.readings import Readings
from sluice.report.tables import Table
from sluice.report.words import plural

__all__ = ["Answer", "answer", "comparison_table", "sort_by_effect"]

_FEW = 3
"""Up to so many comparisons of a metric are named one by one."""
_SOUND = 5
"""Blocks from which on an interval is mostly the noise's width: Student's factor for 95 % is 12.7
with two blocks, 4.3 with three, 2.8 with five, 2.0 with many."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a report says first."""

    lead: str
    """One sentence."""
    points: tuple[str, ...]
    """One for each gating metric: counts, and the largest ratio with its interval."""
    basis: str
    """How the intervals were made, and how far they reach."""


def answer(readings: Readings, found: Comparisons) -> Answer:
    """The answer, or why there is none."""
    results = readings.results
    if readings.ok_runs == 0:
        return Answer("No answer: not one run ended well.", (), _state(readings))
    if found.axis is None or not found.rows:
        return Answer(
            "No comparison: the sweep holds one value, or none to compare it with.",
            (),
            _state(readings),
        )
    base = f"{found.axis.name}={found.base}"
    base += " (the default)" if found.base_is_default else " (the first value)"
    if not found.judged:
        many = (
            "no pair of cells was measured in two blocks"
            if readings.ok_blocks > 1
            else "one block was measured"
        )
        return Answer(
            f"No verdict: {many}, so no difference from {base} has an interval; "
            "the figures are single readings.",
            (),
            _state(readings),
        )
    points = []
    clauses = []
    for gate in gates_of(results):
        rows = [row for row in found.rows if row.gate == gate]
        if rows:
            clauses.append(_clause(gate, rows))
            points.append(_point(gate, rows))
    lead = f"Compared with {base}, " + "; ".join(clauses) + "."
    basis = [_method(len(found.rows)), _state(readings)]
    fewest = min(row.ratio.blocks for row in found.rows if row.ratio)
    if fewest < _SOUND:
        some = f"Some ratios rest on {plural(fewest, 'block')} only"
        basis.insert(1, f"{some}, which gives wide intervals: take {_SOUND} or more to decide.")
    return Answer(lead, tuple(points), " ".join(basis))


def comparison_table(found: Comparisons, rows: Sequence[Comparison]) -> Table:
    """Each ratio with its interval and what that says."""
    axes = list(rows[0].cell.values) if rows else []
    body = tuple(
        (
            row.cell.workload,
            *row.cell.values.values(),
            metric_name(row.gate),
            ratio(row.ratio),
            f"\N{PLUS-MINUS SIGN}{percent(row.gate.margin)}",
            row.finding.value + _which_way(row.gate, row.finding),
        )
        for row in rows
    )
    note = f"Ratio to {found.axis.name}={found.base}." if found.axis else ""
    return Table(
        ("workload", *axes, "metric", "ratio [interval]", "margin", "what it says"),
        body,
        frozenset((*range(2 + len(axes)), 4 + len(axes))),
        note,
    )


def sort_by_effect(rows: Sequence[Comparison]) -> list[Comparison]:
    """The worst first: by how much the ratio is on the wrong side; what has none comes last."""

    def harm(row: Comparison) -> float:
        if row.ratio is None or row.ratio.mean <= 0.0:
            return float("inf")
        return row.ratio.mean if row.gate.higher_is_better else 1.0 / row.ratio.mean

    return sorted(rows, key=harm)


def metric_name(gate: Gate) -> str:
    """The gate's metric as a reader knows it."""
    name = METRICS[gate.metric].label if gate.metric in METRICS else gate.metric
    return name + (" of the neighbour" if gate.role is Role.NEIGHBOUR else "")


def _method(count: int) -> str:
    """How the intervals of `count` comparisons were made."""
    which = "the one comparison" if count == 1 else f"all {count} comparisons together"
    return (
        f"Intervals are {percent(LEVEL)} for {which} (Student's t over the blocks, on log ratios "
        f"within a block{', Bonferroni' if count > 1 else ''}). Undecided: the interval is too "
        "wide to tell a change from none; more blocks narrow it."
    )


def _clause(gate: Gate, rows: Sequence[Comparison]) -> str:
    """``IOPS was higher by more than 3 % in 2 and undecided in 1 of 3 comparisons``."""
    count = Counter(row.finding for row in rows)
    up, down = count[Finding.HIGHER], count[Finding.LOWER]
    margin = percent(gate.margin)
    parts = []
    if up or down:
        way, other = ("higher", "lower") if up >= down else ("lower", "higher")
        parts.append(f"{way} by more than {margin} in {max(up, down)}")
        parts.append(f"{other} by more than that in {min(up, down) or 'none'}")
    parts += [
        f"{words} in {number}"
        for words, number in (
            ("higher by an unclear amount", count[Finding.ABOVE]),
            ("lower by an unclear amount", count[Finding.BELOW]),
            (f"within \N{PLUS-MINUS SIGN}{margin}", count[Finding.WITHIN]),
            ("undecided", count[Finding.OPEN]),
            ("without an interval", count[Finding.NO_INTERVAL]),
            ("without a figure", count[Finding.MISSING]),
        )
        if number
    ]
    listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    return f"{metric_name(gate)} was {listed} of {plural(len(rows), 'comparison')}"


def _point(gate: Gate, rows: Sequence[Comparison]) -> str:
    """Counts of what the intervals say, and the largest ratios."""
    shown = [row for row in rows if row.ratio is not None]
    if len(rows) <= _FEW:
        each = "; ".join(
            f"{where(row.cell)} {ratio(row.ratio)}, {row.finding.value}"
            + _which_way(gate, row.finding)
            for row in rows
        )
        return f"{metric_name(gate)} (margin {percent(gate.margin)}): {each}."
    count = Counter(row.finding for row in rows)
    counts = ", ".join(
        f"{count[finding]} {finding.value}" + _which_way(gate, finding)
        for finding in Finding
        if count[finding]
    )
    text = f"{metric_name(gate)} (margin {percent(gate.margin)}): {counts}."
    if shown:
        ordered = sorted(shown, key=lambda row: row.ratio.mean if row.ratio else 0.0)
        text += (
            f" From {ratio(ordered[0].ratio)} at {where(ordered[0].cell)} to "
            f"{ratio(ordered[-1].ratio)} at {where(ordered[-1].cell)}."
        )
    return text


def where(cell: Cell) -> str:
    """The cell as a reader would type it."""
    return ", ".join([cell.workload, *(f"{name}={text}" for name, text in cell.values.items())])


def _which_way(gate: Gate, finding: Finding) -> str:
    if finding in (Finding.HIGHER, Finding.ABOVE):
        return " (better)" if gate.higher_is_better else " (worse)"
    if finding in (Finding.LOWER, Finding.BELOW):
        return " (worse)" if gate.higher_is_better else " (better)"
    return ""


def _state(readings: Readings) -> str:
    """How complete the data is; every answer ends with it."""
    results = readings.results
    bad = len(results.runs) - readings.ok_runs
    text = (
        f"{plural(readings.ok_runs, 'run')} of {results.planned_runs:,} planned ended well, in "
        f"{plural(readings.ok_blocks, 'block')}."
    )
    if bad:
        text += f" {plural(bad, 'attempt')} failed."
    return text
