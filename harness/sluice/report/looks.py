"""How verdicts look: one colour, one mark and one sign each, the same in every chart and table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sluice.report.theme import LIGHT, SERIES
from sluice.stats import Comparison, Verdict

__all__ = ["LOOKS", "Look", "Tally", "tally"]


@dataclass(frozen=True, slots=True)
class Look:
    """What tells a verdict at a glance, with or without colour."""

    colour: str
    marker: str
    """matplotlib's."""
    filled: bool
    sign: str
    """In text."""


LOOKS: dict[Verdict, Look] = {
    Verdict.REGRESSED: Look(SERIES[1], "v", True, "\N{BLACK DOWN-POINTING TRIANGLE}"),
    Verdict.IMPROVED: Look(SERIES[0], "^", True, "\N{BLACK UP-POINTING TRIANGLE}"),
    Verdict.EQUIVALENT: Look(SERIES[2], "s", True, "="),
    Verdict.INCONCLUSIVE: Look(LIGHT["line"], "o", False, "?"),
    Verdict.NONE: Look(LIGHT["line"], "x", True, "\N{EN DASH}"),
}
"""Gravest first. Down is worse and up is better, whatever the metric."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many comparisons have a verdict; for the head of the page."""

    verdict: str
    sign: str
    role: str
    """Name of the verdict in the style sheet."""
    count: int


def tally(rows: Iterable[Comparison]) -> tuple[Tally, ...]:
    """Every verdict with its count, gravest first; none without comparisons. What has no verdict
    is counted only where there is some."""
    count = Counter(row.verdict for row in rows)
    if not count:
        return ()
    return tuple(
        Tally(verdict.value, look.sign, verdict.name.lower(), count[verdict])
        for verdict, look in LOOKS.items()
        if verdict is not Verdict.NONE or count[verdict]
    )
