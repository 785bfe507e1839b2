"""results.json: everything a report was made from, and its ratios, for programs.

The schema's number rises when a key changes its meaning or goes away; new keys don't raise it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

from sluice.aa.record import Record
from sluice.model import Results, Run
from sluice.stats import LEVEL
from sluice.verdicts.family import Comparisons

__all__ = ["SCHEMA", "charts_of", "json_text"]

SCHEMA = 2
_KIND = "sluice-report"


def charts_of(path: Path) -> tuple[str, ...]:
    """Names of the SVG files that the report of `path` (a results.json) wrote; none if it isn't a
    report's. Only bare names, so that no document can name a file elsewhere."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        names = document["charts"] if document["kind"] == _KIND else []
        return tuple(
            name
            for name in names
            if isinstance(name, str) and re.fullmatch(r"[a-z0-9-]+\.svg", name)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def json_text(
    results: Results,
    found: Comparisons,
    charts: tuple[str, ...] = (),
    sessions: Sequence[Record] = (),
) -> str:
    """The document. Folders are relative to the campaign's, so that it says nothing of the
    machine's layout beyond what the sweep itself names."""
    body = {
        field.name: getattr(results, field.name)
        for field in dataclasses.fields(results)
        if field.name not in ("schema", "folder")
    }
    document = {
        "kind": _KIND,
        "schema": SCHEMA,
        "store_schema": results.schema,
        "units": "latency ns, bandwidth B/s, CPU us for each I/O, durations s, "
        "moments s since the epoch",
        "charts": list(charts),
        "comparison": {
            "axis": found.axis.name if found.axis else None,
            "base": found.base,
            "base_is_default": found.base_is_default,
            "level": LEVEL,
            "rows": [
                {
                    "workload": row.cell.workload,
                    "cell": row.cell.id,
                    "base": row.base.id,
                    "metric": row.gate.metric,
                    "role": row.gate.role,
                    "margin": row.margin,
                    "verdict": row.verdict,
                    "ratio": row.ratio,
                    "low": row.low,
                    "high": row.high,
                    "confidence": row.confidence,
                    "p": row.p,
                    "q": row.q,
                    "smallest_change_seen": row.mde,
                    "blocks": row.blocks,
                    "blocks_needed": row.needed,
                    "paired": row.paired,
                    "why": row.why,
                    "reason": row.reason,
                }
                for row in found.rows
            ],
        },
        "known_answers": [
            {
                "kind": one.kind,
                "sweep": PurePath(one.sweep).stem,
                "cells": one.cells,
                "blocks": one.blocks,
                "reports": one.reports,
                "hits": one.hits,
                "created_at": one.created_at,
            }
            for one in sessions
        ],
        **body,
    }
    del document["runs"]
    text = json.dumps(_plain(document, results.folder), indent=1, allow_nan=False)
    # A run a line: as easy to read, and ten times as fast to write as with every figure on a line.
    lines = ",\n".join(_line(run, results.folder) for run in results.runs)
    return f'{text[:-2]},\n "runs": [\n{lines}\n ]\n}}\n'


def _line(run: Run, root: PurePath) -> str:
    def other(value: Any) -> Any:
        if isinstance(value, PurePath):
            return _plain(value, root)
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}

    try:
        return json.dumps(run, default=other, allow_nan=False)
    except ValueError:  # not-a-number somewhere
        return json.dumps(_plain(run, root), allow_nan=False)


def _plain(value: Any, root: PurePath) -> Any:
    """Only what JSON has; not-a-number and infinity become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name), root)
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, PurePath):
        return str(value.relative_to(root) if value.is_relative_to(root) else value.name)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, root) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, root) for item in value]
    return value
