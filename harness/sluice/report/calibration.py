"""What is known of the harness on the report's machine: false alarms, and changes that it finds."""

from __future__ import annotations

from collections.abc import Sequence

from sluice.aa.record import Kind, Record, upper_bound
from sluice.report.digits import percent
from sluice.report.facts import Fact
from sluice.report.words import plural, utc

__all__ = ["calibration"]


def calibration(sessions: Sequence[Record]) -> tuple[Fact, ...]:
    """A line for the false alarms, measured or not, and one for the injected change if there is
    one. `sessions` are of the report's machine."""
    alarms = next((one for one in sessions if one.kind is Kind.AA), None)
    found = next((one for one in sessions if one.kind is Kind.INJECTED), None)
    text = "not measured yet on this machine: run sluice aa"
    if alarms is not None:
        most = percent(round(upper_bound(alarms.hits, alarms.reports), 2))
        text = (
            f"{alarms.hits} of {plural(alarms.reports, 'report')} of identical arms called a "
            f"change: {percent(alarms.hits / alarms.reports)}, at most {most} with 95 % "
            f"confidence. {_how(alarms)}"
        )
    facts = [Fact("False alarms", text)]
    if found is not None:
        facts.append(
            Fact(
                "Injected change",
                f"found in {found.hits} of {plural(found.reports, 'report')}. {_how(found)}",
            )
        )
    return tuple(facts)


def _how(one: Record) -> str:
    day = utc(one.created_at).partition(" ")[0]
    sweep = one.sweep.rpartition("/")[2].removesuffix(".toml")
    return f"(sweep {sweep}, {plural(one.cells, 'cell')}, {plural(one.blocks, 'block')}, {day})"
