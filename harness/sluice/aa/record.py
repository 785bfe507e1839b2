"""What is kept of a session: one document beside the campaigns from which it was counted.

The campaigns are the truth; the document is what they came to when they were last judged, and can
be made again (``sluice aa --judge``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from scipy.special import betaincinv

from sluice import encode, files
from sluice.errors import SluiceError
from sluice.model import Environment, Results

__all__ = [
    "FOLDER",
    "Kind",
    "Outcome",
    "Record",
    "calibrated",
    "load",
    "records",
    "save",
    "upper_bound",
]

FOLDER = "aa"
"""In the store."""
DOCUMENT = "aa.json"
SCHEMA = 1
MACHINE = ("machine.id", "cpu.model", "cpu.mitigations", "kernel.release")
"""Keys of the environment by which a rate belongs to a machine. What is measured there (fio, the
engine, the device) may be another: the rate is the harness's, not theirs."""


class Kind(StrEnum):
    """What is known beforehand."""

    AA = "aa"
    """Nothing differs."""
    INJECTED = "injected"
    """One arm is slower."""


@dataclass(frozen=True, slots=True)
class Called:
    """A change that a report called."""

    cell: str
    metric: str
    verdict: str
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sweep and its report."""

    campaign: str
    comparisons: int
    judged: int
    """Those with a verdict."""
    called: tuple[Called, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A session."""

    schema: int
    kind: Kind
    sweep: str
    cells: int
    """Of one sweep, both arms counted."""
    blocks: int
    wanted: int
    """Reports that were asked for."""
    created_at: float
    machine: Mapping[str, str]
    target: str = ""
    outcomes: tuple[Outcome, ...] = ()
    folder: Path = field(default_factory=Path)

    @property
    def reports(self) -> int:
        """Reports that were made."""
        return len(self.outcomes)

    @property
    def hits(self) -> int:
        """A/A: reports with a false verdict. Injected: reports that found the slower arm."""
        if self.kind is Kind.AA:
            return sum(bool(one.called) for one in self.outcomes)
        return sum(any(call.verdict == "regressed" for call in one.called) for one in self.outcomes)

    def on(self, environment: Environment) -> bool:
        """Whether it was measured on that machine."""
        return all(self.machine.get(key, "") == environment.values.get(key, "") for key in MACHINE)


def upper_bound(hits: int, count: int, confidence: float = 0.95) -> float:
    """The largest rate that is compatible with so many hits (Clopper and Pearson, one-sided)."""
    if hits >= count:
        return 1.0
    return float(betaincinv(hits + 1, count - hits, confidence))


def save(record: Record) -> None:
    """Write the document into the session's folder."""
    document = encode.to_json(record)
    document.pop("folder")
    files.write_json(record.folder / DOCUMENT, document)


def load(folder: Path) -> Record:
    """A session's record. SluiceError when it is damaged or from a newer harness."""
    path = folder / DOCUMENT
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] > SCHEMA:
            raise SluiceError(f"{path}: schema {raw['schema']}: use the harness that wrote it")
        return encode.from_json(Record, {**raw, "folder": str(folder)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SluiceError(f"{path}: damaged: {error}: delete that folder") from error


def records(store: Path) -> list[Record]:
    """All sessions of a store that can be read, oldest first."""
    found = []
    for path in sorted((store / FOLDER).glob(f"*/{DOCUMENT}")):
        try:
            found.append(load(path.parent))
        except SluiceError:
            continue
    return sorted(found, key=lambda one: (one.created_at, one.folder.name))


def calibrated(store: Path, results: Results) -> list[Record]:
    """The newest session of each kind that made a report on the machine of the results."""
    if not results.environments:
        return []
    mine = [one for one in records(store) if one.reports and one.on(results.environments[0])]
    return [
        newest
        for kind in Kind
        if (newest := next((one for one in reversed(mine) if one.kind is kind), None))
    ]
