"""results.csv: one row for each run and metric, as spreadsheets, R and pandas like it.

A run that failed has one row with an empty metric, so that it is counted and not lost. A
percentile that too few I/Os support keeps its figure and says ``no`` under `supported`: here, and
only here, the reader decides.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from sluice.model import METRICS, Results, Run, Status, percentile_supported
from sluice.report.words import clean

__all__ = ["csv_text"]

_HEAD = (
    "campaign",
    "run",
    "order",
    "block",
    "leg",
    "workload",
    "cell",
    "status",
    "role",
    "direction",
    "metric",
    "value",
    "unit",
    "supported",
    "reason",
)


def csv_text(results: Results) -> str:
    """The table with its header line. Columns named ``axis:NAME`` hold the cell's values."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    axes = [axis.name for axis in results.sweep.axes]
    writer.writerow((*_HEAD, *(f"axis:{name}" for name in axes)))
    for run in results.runs:
        cell = results.cell(run.cell)
        tail = [cell.values.get(name, "") for name in axes]
        head = (
            results.campaign,
            run.id,
            run.order,
            run.block,
            run.leg.value,
            cell.workload,
            cell.id,
            run.status.value,
        )
        for row in _rows(run):
            writer.writerow((*head, *row, *tail))
    return out.getvalue()


def _rows(run: Run) -> Iterator[tuple[str, ...]]:
    if run.status is not Status.OK:
        yield ("", "", "", "", "", "", clean(run.reason))
        return
    for sample in run.samples:
        if not sample.total:
            continue
        ios = sample.values.get("ios", 0.0)
        for name, value in sample.values.items():
            unit = METRICS[name].unit if name in METRICS else ""
            supported = "yes" if percentile_supported(name, ios) else "no"
            yield (
                sample.role.value,
                sample.direction,
                name,
                repr(float(value)),
                unit,
                supported,
                "",
            )
