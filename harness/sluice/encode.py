"""The model's values as JSON and back, by their type annotations.

Strict where it protects data: a missing field without a default and a value of another shape are
errors; a field that this release doesn't know is ignored, because a store may have been written by
a later release of the same schema.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """Plain lists, dicts and scalars of a model value."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return value


def from_json(kind: type[T], raw: Any) -> T:
    """A value of dataclass `kind`. ValueError says what doesn't fit."""
    return typing.cast(T, _decode(kind, raw))


def _decode(kind: Any, raw: Any) -> Any:
    if kind is Any:
        return raw
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(kind, raw)
    if origin is tuple:
        if not isinstance(raw, list):
            raise ValueError(f"a list was expected, not {raw!r}")
        return tuple(_decode(typing.get_args(kind)[0], one) for one in raw)
    if origin is not None:  # Mapping[K, V]
        if not isinstance(raw, dict):
            raise ValueError(f"an object was expected, not {raw!r}")
        value_kind = typing.get_args(kind)[1]
        return {key: _decode(value_kind, one) for key, one in raw.items()}
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, raw)
    if kind is Path:
        return Path(raw)
    if issubclass(kind, StrEnum):
        return kind(raw)
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if not isinstance(raw, kind) or (isinstance(raw, bool) and kind is not bool):
        raise ValueError(f"{kind.__name__} was expected, not {raw!r}")
    return raw


def _decode_union(kind: Any, raw: Any) -> Any:
    """Only ``X | None`` occurs in the model."""
    if raw is None:
        return None
    return _decode(next(one for one in typing.get_args(kind) if one is not types.NoneType), raw)


def _decode_dataclass(kind: Any, raw: Any) -> Any:
    if not isinstance(raw, dict):
        raise ValueError(f"{kind.__name__}: an object was expected, not {raw!r}")
    hints = _hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in raw:
            values[field.name] = _decode(hints[field.name], raw[field.name])
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)
