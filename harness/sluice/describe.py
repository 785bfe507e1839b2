"""The engine's own tables of tunables and statistics, as ``sluice-describe`` prints them.

The harness knows no option of the engine by heart: names, types, defaults and bounds come from this
document, whose form is
``{"schema": 1, "release": "fio-3.33", "tunables": [{"name", "type", "default", "min", "max",
"values", "unit", "scope", "live", "help"}], "stats": [{"name", "kind", "unit", "help"}]}``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluice import paths
from sluice.errors import SluiceError, near
from sluice.units import parse_number, parse_size, parse_time_ns

SCHEMA = 1

STATS_OPTIONS = ("stats_json", "stats")
"""Names that the engine's option for its statistics has had; the only ones known here, because the
harness itself sets it."""

_NUMERIC = {"int", "size", "time", "float"}


@dataclass(frozen=True, slots=True)
class Tunable:
    """One option of the engine."""

    name: str
    type: str
    """``enum``, ``int``, ``bool``, ``size``, ``time`` or ``str``."""
    default: str = ""
    minimum: str | None = None
    maximum: str | None = None
    values: tuple[str, ...] = ()
    unit: str = ""
    help: str = ""
    scope: str = ""

    @property
    def numeric(self) -> bool:
        """Whether its values are points on a line rather than names."""
        return self.type in _NUMERIC

    def number(self, text: str) -> float:
        """`text` in the tunable's own unit. ValueError when it isn't of its type."""
        if self.type == "size":
            return parse_size(text)
        if self.type == "time":
            unit = self.unit or "ns"
            return parse_time_ns(text, bare=unit) / parse_time_ns("1", bare=unit)
        return parse_number(text)

    def check(self, text: str) -> None:
        """SluiceError when the engine would refuse `text`: names the tunable and what it takes."""
        if self.values:
            if text not in self.values:
                raise SluiceError(f"{self.name}={text}: no such value{near(text, self.values)}")
            return
        if self.type == "bool":
            if text not in ("0", "1"):
                raise SluiceError(f"{self.name}={text}: write 0 or 1")
            return
        if not self.numeric:
            return
        try:
            number = self.number(text)
        except ValueError as error:
            raise SluiceError(f"{self.name}: {error}") from error
        for bound, wrong in ((self.minimum, -1), (self.maximum, 1)):
            if bound is not None and (number - self.number(bound)) * wrong > 0:
                raise SluiceError(f"{self.name}={text}: outside {self._range()}")

    def _range(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.minimum is None:
            return f"its range: at most {self.maximum}{unit}"
        if self.maximum is None:
            return f"its range: at least {self.minimum}{unit}"
        return f"its range {self.minimum} to {self.maximum}{unit}"


@dataclass(frozen=True, slots=True)
class Table:
    """All tunables by name, and the whole document for whoever wants the rest of it."""

    tunables: Mapping[str, Tunable] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fio_release(self) -> str | None:
        """The fio that the engine was built for, e.g. ``3.33``; None when it doesn't say."""
        release = self.document.get("release")
        return release.removeprefix("fio-") if isinstance(release, str) else None

    @property
    def stats_option(self) -> str | None:
        """The option that names the file for the engine's statistics; None: it has none."""
        return next((name for name in STATS_OPTIONS if name in self.tunables), None)


def parse(text: str, origin: str) -> Table:
    """Read the document. SluiceError names `origin`."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise SluiceError(f"{origin}: no JSON ({error}); build it again: ci/setup") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise SluiceError(
            f"{origin}: schema {schema}, this harness reads {SCHEMA}: "
            "build engine and harness from one commit (ci/setup)"
        )
    rows = document.get("tunables")
    if not isinstance(rows, list):
        raise SluiceError(f"{origin}: no list of tunables: build it again (ci/setup)")
    tunables = [_tunable(row) for row in rows if isinstance(row, dict) and "name" in row]
    return Table({tunable.name: tunable for tunable in tunables}, document)


def load(source: Path | None = None) -> Table:
    """The table of the built engine. `source` may also be a JSON file (tests, other machines)."""
    source = source or paths.describe_tool()
    if not source.exists():
        raise SluiceError(f"{source}: not built: run ci/setup, or give the sweep another engine=")
    if source.suffix == ".json":
        return parse(source.read_text(encoding="utf-8"), str(source))
    try:
        done = subprocess.run([source], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SluiceError(f"{source}: doesn't run ({error}): build it again (ci/setup)") from error
    return parse(done.stdout, str(source))


def _tunable(row: Mapping[str, Any]) -> Tunable:
    return Tunable(
        name=str(row["name"]),
        type=str(row.get("type", "str")),
        default=_text(row.get("default")) or "",
        minimum=_text(row.get("min")),
        maximum=_text(row.get("max")),
        values=_names(row.get("values")),
        unit=str(row.get("unit") or ""),
        help=str(row.get("help") or ""),
        scope=str(row.get("scope") or ""),
    )


def _names(values: Any) -> tuple[str, ...]:
    """Values of an enum, each a text or ``{"name", "help"}``."""
    if not isinstance(values, list):
        return ()
    return tuple(
        str(one["name"] if isinstance(one, dict) and "name" in one else one) for one in values
    )


def _text(value: Any) -> str | None:
    """A JSON scalar as fio would be given it."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)
