"""Known differences: what somebody looked at, and decided to live with until a date.

Kept in a TOML file that is meant to be committed::

    [[ack]]
    sweep = "*"
    cell = "interference/bypass=all,*"
    metric = "lat_p99"
    reason = "the writer wins since 1.4; the fix is planned"
    until = 2027-03-01

An acknowledged cell is shown with its verdict and its reason, but doesn't decide a gate. After its
date it decides again, and the gate says that the acknowledgement has run out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from sluice import files, toml
from sluice.errors import SluiceError
from sluice.model import Role
from sluice.stats import Comparison
from sluice.toml import Table

__all__ = ["Ack", "add", "covers", "name_of", "read"]

_HEAD = "# Known differences: see harness/README.md. `sluice ack` adds to this file.\n"


@dataclass(frozen=True, slots=True)
class Ack:
    """One known difference. Patterns are the shell's."""

    cell: str
    metric: str
    """Of a metric of the neighbour: with ``:neighbour`` behind it."""
    reason: str
    until: date
    """The last day on which it holds."""
    sweep: str = "*"

    def holds(self, today: date) -> bool:
        """Whether it hasn't run out."""
        return today <= self.until


def read(path: Path) -> tuple[Ack, ...]:
    """All of a file; none when there is no such file. SluiceError names what is wrong in it."""
    if not path.exists():
        return ()
    _, document = toml.read(path)
    table = Table(document, str(path))
    found = tuple(_ack(one) for one in table.tables("ack"))
    table.done()
    return found


def add(path: Path, ack: Ack) -> None:
    """Append one. OSError when the file can't be written."""
    text = path.read_text(encoding="utf-8") if path.exists() else _HEAD
    fields = {"sweep": ack.sweep, "cell": ack.cell, "metric": ack.metric, "reason": ack.reason}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    lines = ["", "[[ack]]", *lines, f"until = {ack.until.isoformat()}", ""]
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_bytes(path, (text.rstrip("\n") + "\n" + "\n".join(lines)).encode())


def covers(acks: Iterable[Ack], sweep: str, row: Comparison) -> list[Ack]:
    """Those that speak of this cell and metric, run out or not."""
    return [
        ack
        for ack in acks
        if fnmatchcase(sweep, ack.sweep)
        and fnmatchcase(row.cell.id, ack.cell)
        and fnmatchcase(name_of(row), ack.metric)
    ]


def name_of(row: Comparison) -> str:
    """The metric as a pattern meets it."""
    return row.gate.metric + (":neighbour" if row.gate.role is Role.NEIGHBOUR else "")


def _ack(one: Table) -> Ack:
    until = one.any("until")
    if not isinstance(until, date):
        raise SluiceError(f"{one.where}: until must be a date without quotes, e.g. 2027-03-01")
    ack = Ack(
        one.text("cell"), one.text("metric"), one.text("reason"), until, one.text("sweep", "*")
    )
    one.done()
    return ack
