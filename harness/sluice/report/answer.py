"""The answer to a sweep's question, in words that its verdicts carry and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sluice.model import METRICS, Cell, Gate, Role
from sluice.readings import Readings
from sluice.report.digits import DASH, percent, ratio
from sluice.report.estimate import Estimate
from sluice.report.tables import Table
from sluice.report.words import plural
from sluice.stats import LEVEL, Comparison, Verdict
from sluice.verdicts.family import Comparisons, gates_of
from sluice.verdicts.recommend import advise

__all__ = [
    "Answer",
    "answer",
    "comparison_table",
    "metric_name",
    "sort_by_effect",
    "verdict_table",
    "where",
]

_FEW = 3
"""Up to so many comparisons of a metric are named one by one."""
_SOUND = 5
"""Blocks from which on an interval is mostly the noise's width: Student's factor for 95 % is 12.7
with two blocks, 4.3 with three, 2.8 with five, 2.0 with many."""

_COLUMNS = (
    "Seen: the smallest change for the worse that would have been called in 80 of 100 such sweeps. "
    "q: the probability of so large a difference by chance, corrected for the number of "
    "comparisons; 1 where the estimate is within the margin."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a report says first."""

    lead: str
    """One sentence."""
    points: tuple[str, ...]
    """One for each gating metric: counts, and the largest ratio with its interval; then what to
    set."""
    basis: str
    """How the verdicts were made, and how far they reach."""


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
        return Answer(
            f"No verdict on any difference from {base}: {_why(found)}.", (), _state(readings)
        )
    points = []
    clauses = []
    for gate in gates_of(results):
        rows = [row for row in found.rows if row.gate == gate]
        if rows:
            clauses.append(_clause(gate, rows))
            points.append(_point(gate, rows))
    points.append(advise(results, found).text)
    several = len(found.axis.values) > 2
    lead = f"{'Each value compared' if several else 'Compared'} with {base}: "
    basis = [_method(found.rows), _state(readings)]
    fewest = min(row.blocks for row in found.rows if row.verdict is not Verdict.NONE)
    if fewest < _SOUND:
        some = f"Some ratios rest on {plural(fewest, 'block')} only"
        basis.insert(1, f"{some}, which gives wide intervals: take {_SOUND} or more to decide.")
    return Answer(lead + "; ".join(clauses) + ".", tuple(points), " ".join(basis))


def comparison_table(found: Comparisons, rows: Sequence[Comparison]) -> Table:
    """Each ratio to the reference with its interval and what follows from it."""
    return verdict_table(rows, f"Ratio to {found.axis.name}={found.base}." if found.axis else "")


def verdict_table(rows: Sequence[Comparison], note: str) -> Table:
    """The same of any comparisons; `note` says of what to what the ratios are."""
    axes = list(rows[0].cell.values) if rows else []
    body = tuple(
        (
            row.cell.workload,
            *row.cell.values.values(),
            metric_name(row.gate),
            ratio(_estimate(row)),
            f"\N{PLUS-MINUS SIGN}{percent(row.margin)}",
            DASH if row.mde is None else percent(row.mde),
            DASH if row.q is None else _probability(row.q),
            str(row.blocks),
            row.verdict.value + _aside(row),
        )
        for row in rows
    )
    figures = ("ratio [interval]", "margin", "seen", "q", "blocks")
    return Table(
        ("workload", *axes, "metric", *figures, "verdict"),
        body,
        frozenset((*range(2 + len(axes)), 7 + len(axes))),
        f"{note} {_COLUMNS}".strip(),
    )


def sort_by_effect(rows: Sequence[Comparison]) -> list[Comparison]:
    """The worst first: by how much the ratio is on the wrong side; what has none comes last."""

    def harm(row: Comparison) -> float:
        if row.ratio is None or row.ratio <= 0.0:
            return float("inf")
        return row.ratio if row.gate.higher_is_better else 1.0 / row.ratio

    return sorted(rows, key=harm)


def metric_name(gate: Gate) -> str:
    """The gate's metric as a reader knows it."""
    name = METRICS[gate.metric].label if gate.metric in METRICS else gate.metric
    return name + (" of the neighbour" if gate.role is Role.NEIGHBOUR else "")


def where(cell: Cell) -> str:
    """The cell as a reader would type it."""
    return ", ".join([cell.workload, *(f"{name}={text}" for name, text in cell.values.items())])


def _estimate(row: Comparison) -> Estimate | None:
    if row.ratio is None:
        return None
    return Estimate(row.ratio, row.low, row.high, row.blocks, row.blocks)


def _probability(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.2g}"


def _aside(row: Comparison) -> str:
    """What a reader needs beside the bare verdict."""
    if row.verdict is Verdict.NONE:
        return f": {row.why.value}" if row.why else ""
    if row.verdict is Verdict.INCONCLUSIVE:
        return f": {plural(row.needed, 'block')} would tell" if row.needed else ": too noisy"
    return ""


def _why(found: Comparisons) -> str:
    """The commonest reason why nothing has a verdict; in full when it is everybody's."""
    reasons = Counter(row.reason or (row.why.value if row.why else "") for row in found.rows)
    (reason, count), *rest = reasons.most_common()
    return reason if not rest else f"{reason} ({count} of {len(found.rows)}; the rest in the table)"


def _method(rows: Sequence[Comparison]) -> str:
    """How the verdicts were made, and what could not have been seen."""
    judged = [row for row in rows if row.verdict is not Verdict.NONE]
    level = percent(LEVEL)
    family = "One comparison" if len(judged) == 1 else f"All {len(judged):,} comparisons together"
    text = (
        f"{family}: of the changes called, at most {level} are expected to be false, and if "
        f"nothing changed any is called in at most {level} of such sweeps (log ratios within a "
        "block, moderated t, Benjamini-Hochberg, intervals adjusted for the selection). "
        "Equivalent: the whole interval is within the margin. Inconclusive: neither could be "
        "shown; more blocks narrow it."
    )
    seen = [row.mde for row in judged if row.mde is not None]
    if seen:
        text += (
            " The smallest change for the worse that would have been seen is "
            f"{percent(median(seen))} in the middle of the cells, {percent(max(seen))} at most."
        )
    return text


def _clause(gate: Gate, rows: Sequence[Comparison]) -> str:
    """``IOPS regressed in 1, improved in 2 and is inconclusive in 1 of 4 comparisons``."""
    count = Counter(row.verdict for row in rows)
    parts = [f"{_VERBS[verdict]} in {count[verdict]}" for verdict in _VERBS if count[verdict]]
    listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    return f"{metric_name(gate)} {listed} of {plural(len(rows), 'comparison')}"


_VERBS = {
    Verdict.REGRESSED: "regressed",
    Verdict.IMPROVED: "improved",
    Verdict.EQUIVALENT: "stayed within the margin",
    Verdict.INCONCLUSIVE: "is inconclusive",
    Verdict.NONE: "has no verdict",
}


def _point(gate: Gate, rows: Sequence[Comparison]) -> str:
    """Counts of verdicts, and the largest ratios."""
    head = f"{metric_name(gate)} (margin {percent(gate.margin)}): "
    if len(rows) <= _FEW:
        return head + "; ".join(_single(row) for row in rows) + "."
    count = Counter(row.verdict for row in rows)
    text = head + ", ".join(f"{count[one]} {one.value}" for one in Verdict if count[one]) + "."
    shown = sorted((row for row in rows if row.ratio is not None), key=lambda row: row.ratio or 0.0)
    if shown:
        text += (
            f" From {ratio(_estimate(shown[0]))} at {where(shown[0].cell)} to "
            f"{ratio(_estimate(shown[-1]))} at {where(shown[-1].cell)}."
        )
    return text


def _single(row: Comparison) -> str:
    figure = f" {ratio(_estimate(row))}" if row.ratio is not None else ""
    return f"{where(row.cell)}{figure}, {row.verdict.value}{_aside(row)}"


def _state(readings: Readings) -> str:
    """How complete the data is; every answer ends with it."""
    text = (
        f"{plural(readings.ok_runs, 'run')} of {readings.planned_runs:,} planned ended well, in "
        f"{plural(readings.ok_blocks, 'block')}."
    )
    if readings.bad_runs:
        text += f" {plural(readings.bad_runs, 'attempt')} failed."
    return text
