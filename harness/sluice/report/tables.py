"""Tables under charts: the same figures in digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluice.metrics import MIN_IOS_BEYOND
from sluice.model import METRICS, Cell, Role
from sluice.readings import Key, Readings
from sluice.report.digits import DASH, interval
from sluice.report.estimate import mean_of
from sluice.report.words import plural

__all__ = ["Table", "column", "response_table", "too_few"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int]
    """Columns that hold words and stand at the left; the others hold figures."""
    note: str = ""


def column(key: Key) -> str:
    """Heading of the column for `key`."""
    label = METRICS[key.metric].label if key.metric in METRICS else key.metric
    label += "" if key.direction == "all" else f", {key.direction}s"
    return label + (" (neighbour)" if key.role is Role.NEIGHBOUR else "")


def too_few(readings: Readings, cells: Sequence[Cell], keys: Sequence[Key]) -> str:
    """Which percentiles are left out where, as a sentence; empty when none is."""
    found = []
    for key in keys:
        thin = sum(readings.unsupported(cell.id, key) > 0 for cell in cells)
        if thin:
            found.append(f"{column(key)} in {thin} of {plural(len(cells), 'cell')}")
    if not found:
        return ""
    return (
        f"Left out: {', '.join(found)}, because fewer than {MIN_IOS_BEYOND} I/Os of some run lie "
        "beyond it."
    )


def response_table(readings: Readings, cells: Sequence[Cell], keys: Sequence[Key]) -> Table:
    """A row for each cell: how often it ran, and each figure's mean with its interval."""
    axes = [axis.name for axis in readings.results.sweep.axes]
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        estimates = [mean_of(readings, cell.id, key) for key in keys]
        best = max((e for e in estimates if e is not None), key=lambda e: e.runs, default=None)
        count = f"{best.runs} / {best.blocks}" if best else "0"
        rows.append(
            (
                *(cell.values.get(name, DASH) for name in axes),
                count,
                *(
                    interval(key.metric, estimate)
                    for key, estimate in zip(keys, estimates, strict=True)
                ),
            )
        )
    note = f"Mean over blocks with its 95 % t interval. {too_few(readings, cells, keys)}".strip()
    return Table(
        (*axes, "runs / blocks", *(column(key) for key in keys)),
        tuple(rows),
        frozenset(range(len(axes))),
        note,
    )
