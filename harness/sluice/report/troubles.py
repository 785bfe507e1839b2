"""What didn't run, and why: skipped cells, failed runs, warnings, missing runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sluice.model import Results, Status
from sluice.report.words import plural

__all__ = ["Trouble", "troubles"]

MAX_WORDS = 4000
"""Of one message; the whole of it is in the run's folder."""
MAX_PLACES = 12


@dataclass(frozen=True, slots=True)
class Trouble:
    """One reason, and everything that it befell."""

    kind: str
    """``failed``, ``timed out``, ``skipped``, ``missing`` or ``with a warning``."""
    count: str
    places: tuple[str, ...]
    """Cells (of runs: with the run's folder), as many as are useful."""
    words: str
    """fio's own, or the harness's."""


_NAMES = {Status.FAILED: "failed", Status.TIMEOUT: "timed out", Status.SKIPPED: "skipped"}


def troubles(results: Results) -> tuple[Trouble, ...]:
    """Everything that a reader must know is not in the charts, gravest first."""
    found = list(_runs(results))
    by_reason: dict[str, list[str]] = {}
    for cell in results.cells:
        if cell.skipped is not None:
            by_reason.setdefault(cell.skipped, []).append(cell.id)
    found += [
        Trouble("skipped", plural(len(cells), "cell"), _few(cells), _words(reason))
        for reason, cells in by_reason.items()
    ]
    missing = results.planned_runs - len({run.order for run in results.runs})
    if missing > 0:
        found.append(
            Trouble(
                "missing",
                plural(missing, "run"),
                (),
                "The sweep ended before these; resuming it runs them.",
            )
        )
    warned: dict[str, list[str]] = {}
    for run in results.runs:
        for warning in dict.fromkeys(run.warnings):
            warned.setdefault(warning, []).append(run.cell)
    found += [
        Trouble(
            "with a warning",
            plural(len(cells), "run"),
            _few(list(dict.fromkeys(cells))),
            _words(text),
        )
        for text, cells in warned.items()
    ]
    return tuple(found)


def _runs(results: Results) -> Iterator[Trouble]:
    """Failed and timed-out attempts, those with the same words together."""
    groups: dict[tuple[Status, str], list[str]] = {}
    for run in results.runs:
        if run.status is not Status.OK:
            groups.setdefault((run.status, run.reason), []).append(f"{run.cell} (run {run.id})")
    for status in (Status.FAILED, Status.TIMEOUT, Status.SKIPPED):
        for (kind, reason), places in groups.items():
            if kind is status:
                yield Trouble(
                    _NAMES[status],
                    plural(len(places), "run"),
                    _few(places),
                    _words(reason) or "no reason was recorded",
                )


def _few(places: list[str]) -> tuple[str, ...]:
    more = len(places) - MAX_PLACES
    return (*places[:MAX_PLACES], *([f"and {more} more"] if more > 0 else []))


def _words(text: str) -> str:
    """The message, cut in the middle when it is very long: its ends say most."""
    text = text.strip()
    if len(text) <= MAX_WORDS:
        return text
    half = MAX_WORDS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
