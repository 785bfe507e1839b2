"""From verdicts to an exit code, with known differences left out.

    0  nothing is worse, and nothing that is could hide: every cell equivalent or improved
    2  regressed
    3  inconclusive: some cell has no clear verdict
    4  not comparable
    5  nothing ran, so there is nothing to judge

(1 is an error of the tool or of its use.) The gravest wins; a regression is one whatever the others
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from sluice.stats import Comparison, Verdict, Why
from sluice.verdicts.acks import Ack, covers
from sluice.verdicts.exits import (
    FINE,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOTHING_RAN,
    REGRESSED,
    FailOn,
)

__all__ = ["Gated", "decide"]


@dataclass(frozen=True, slots=True)
class Gated:
    """What a gate decided."""

    code: int
    text: str
    """One line."""
    acknowledged: tuple[tuple[Comparison, Ack], ...]
    """Left out, each with the acknowledgement that holds."""
    expired: tuple[tuple[Comparison, Ack], ...]
    """Counted again: the acknowledgement has run out."""


def decide(
    rows: Sequence[Comparison], sweep: str, acks: Iterable[Ack], today: date, fail_on: FailOn
) -> Gated:
    """Judge a family for a script."""
    acks = tuple(acks)
    known, expired, counted = [], [], []
    for row in rows:
        found = covers(acks, sweep, row) if row.verdict in _TO_ACKNOWLEDGE else []
        holding = next((ack for ack in found if ack.holds(today)), None)
        if holding:
            known.append((row, holding))
            continue
        if found:
            expired.append((row, found[-1]))
        counted.append(row)
    code, text = _judged(counted)
    if code in _EXCUSED[fail_on]:
        code = FINE
    if known:
        text += f"; {len(known)} acknowledged"
    return Gated(code, text, tuple(known), tuple(expired))


_TO_ACKNOWLEDGE = (Verdict.REGRESSED, Verdict.INCONCLUSIVE)
_EXCUSED: dict[FailOn, tuple[int, ...]] = {
    FailOn.INCONCLUSIVE: (),
    FailOn.REGRESSED: (INCONCLUSIVE,),
    FailOn.NEVER: (REGRESSED, INCONCLUSIVE, NOT_COMPARABLE),
}


def _judged(rows: Sequence[Comparison]) -> tuple[int, str]:
    regressed = [row for row in rows if row.verdict is Verdict.REGRESSED]
    without = [row for row in rows if row.verdict is Verdict.NONE]
    if regressed:
        return REGRESSED, f"regressed: {len(regressed)} of {len(rows)}"
    apart = [row for row in without if row.why is Why.NOT_COMPARABLE]
    if apart:
        return NOT_COMPARABLE, f"not comparable: {apart[0].reason}"
    if rows and len(without) == len(rows) and all(row.why is Why.NOT_MEASURED for row in rows):
        return NOTHING_RAN, f"nothing ran: {rows[0].reason}"
    unclear = [row for row in rows if row.verdict is Verdict.INCONCLUSIVE]
    if unclear or without:
        parts = [f"{len(unclear)} of {len(rows)}"] if unclear else []
        if without:
            parts.append(f"{len(without)} without a verdict ({without[0].reason})")
        return INCONCLUSIVE, f"inconclusive: {', '.join(parts)}"
    better = sum(row.verdict is Verdict.IMPROVED for row in rows)
    return FINE, f"fine: {better} improved, {len(rows) - better} equivalent"
