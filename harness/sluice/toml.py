"""A TOML table read strictly: typed keys are taken out, and a key nobody took is an error."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sluice.errors import SluiceError, near


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The text and the document of a TOML file. SluiceError names the file and the place."""
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SluiceError(f"{path}: no UTF-8 text ({error.reason})") from error
    except tomllib.TOMLDecodeError as error:
        raise SluiceError(f"{path}: no TOML: {error}") from error
    except OSError as error:
        raise SluiceError(
            f"{path}: can't be read ({error.strerror}): `sluice list` names the "
            "sweeps that come with the project"
        ) from error


def scalar(value: Any, where: str) -> str:
    """A value as fio is given it. SluiceError when it is a table, a list or a date."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return repr(value)
    if isinstance(value, str) and value and "\n" not in value:
        return value
    raise SluiceError(
        f"{where}: {value!r} is no value for an option: "
        "write a number, true, false or a text of one line"
    )


class Table:
    """One table under the name that messages use for it, e.g. ``demo.toml: target``."""

    def __init__(self, raw: Any, where: str) -> None:
        if not isinstance(raw, Mapping):
            raise SluiceError(f"{where}: must be a table, not {raw!r}")
        self.where = where
        self._raw = dict(raw)
        self._known: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """A text; required when there is no default."""
        value = self._take(key, default)
        if not isinstance(value, str) or not value.strip() or "\n" in value.strip():
            raise SluiceError(f"{self.where}: {key} = {value!r}: must be a text of one line")
        return value.strip()

    def optional_text(self, key: str) -> str | None:
        """A text, or None when the key isn't there."""
        self._known.append(key)
        return self.text(key) if key in self._raw else None

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise SluiceError(
                f"{self.where}: {key} = {value!r}: must be a whole number from {low} to {high}"
            )
        return value

    def number(self, key: str, default: float) -> float:
        """A finite number of at least 0."""
        value = self._take(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 <= value < float("inf")
        ):
            raise SluiceError(f"{self.where}: {key} = {value!r}: must be a number of at least 0")
        return float(value)

    def choice(self, key: str, default: str, choices: tuple[str, ...]) -> str:
        """One of `choices`."""
        value = self.text(key, default)
        if value not in choices:
            raise SluiceError(
                f"{self.where}: {key} = '{value}': must be one of {', '.join(choices)}"
            )
        return value

    def any(self, key: str, default: Any = None) -> Any:
        """Whatever stands there."""
        self._known.append(key)
        return self._raw.pop(key, default)

    def table(self, key: str) -> Table:
        """A table; empty when the key isn't there."""
        return Table(self._take(key, {}), f"{self.where}: {key}")

    def tables(self, key: str) -> list[Table]:
        """An array of tables; empty when the key isn't there."""
        value = self._take(key, [])
        if not isinstance(value, list):
            raise SluiceError(f"{self.where}: {key}: write it as [[{key}]]")
        return [Table(one, f"{self.where}: {key} {number}") for number, one in enumerate(value, 1)]

    def texts(self, key: str) -> dict[str, str]:
        """A table of texts and numbers, each as fio is given it."""
        raw = self._take(key, {})
        if not isinstance(raw, Mapping):
            raise SluiceError(f"{self.where}: {key}: must be a table")
        return {
            str(name): scalar(value, f"{self.where}: {key}.{name}") for name, value in raw.items()
        }

    def rest(self) -> dict[str, Any]:
        """All keys that nobody took; they count as known from now on."""
        rest, self._raw = self._raw, {}
        return rest

    def done(self) -> None:
        """SluiceError when a key is left that nobody took."""
        for key in self._raw:
            raise SluiceError(f"{self.where}: unknown key '{key}'{near(key, self._known)}")

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        value = self._raw.pop(key, default)
        if value is None:
            raise SluiceError(f"{self.where}: '{key}' is missing: add it (see jobs/README.md)")
        return value
