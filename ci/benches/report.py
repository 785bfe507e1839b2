"""What is printed, one line a case, and what is stored."""

import json
from dataclasses import asdict
from pathlib import Path

from .verdict import MISSED, OPEN, Case

COLUMNS = ("case", "figure", "interval", "said", "A/A spread", "CPU per I/O", "bar", "verdict", "")


def table(cases: list[Case]) -> str:
    rows = [COLUMNS, *(_row(case) for case in cases)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _row(case: Case) -> tuple[str, ...]:
    figure = f"{case.figure:+.2f} {case.unit}" if case.unit else f"{case.figure:.3f}"
    sign = ">=" if case.at_least else "<="
    return (
        case.name,
        figure,
        _reach(case),
        case.said,
        "" if case.aa_spread is None else f"±{case.aa_spread:.3f}",
        "" if case.cpu_ratio is None else f"{case.cpu_ratio:.3f}",
        "" if case.limit is None else f"{sign} {case.limit:.3f}",
        case.verdict + (" (noisy)" if case.noisy else ""),
        case.note,
    )


def _reach(case: Case) -> str:
    if case.interval is None:
        return f"±{case.spread:.3f}"
    return "[{:.3f}, {:.3f}]".format(*case.interval)


def summary(cases: list[Case]) -> str:
    barred = [case for case in cases if case.limit is not None]
    missed = sum(case.verdict == MISSED for case in barred)
    undecided = sum(case.verdict == OPEN for case in barred)
    noisy = sum(case.noisy for case in barred)
    text = f"{len(barred) - missed - undecided} of {len(barred)} bars met"
    if undecided:
        text += f", {undecided} open: below the bar by less than the noise"
    if noisy:
        text += f"; {noisy} in noise so loud (A/A spread over 5 %) that a met bar says little"
    return text


def stored(path: Path, head: dict, cases: list[Case], raw: dict) -> None:
    document = {
        "schema": 1,
        **head,
        "cases": [
            {**asdict(case), "limit": case.limit, "verdict": case.verdict, "noisy": case.noisy}
            for case in cases
        ],
        "raw": raw,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
