"""The model's values as JSON and back, by their type annotations.

Strict where it protects data: a missing field without a default and a value of another shape are
errors; a field that this release doesn't know is ignored, because a store may have been written by
a later release of the same schema.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Decoder = Callable[[Any], Any]


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
    decoder: Decoder = _decoder(typing.cast(Any, kind))
    return typing.cast(T, decoder(raw))


@cache
def _decoder(kind: Any) -> Decoder:
    """What reads a value of `kind`. Made once for each: a store has tens of thousands of runs."""
    if kind is Any:
        return lambda raw: raw
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _union(kind)
    if origin is tuple:
        return _list(_decoder(typing.get_args(kind)[0]))
    if origin is not None:  # Mapping[K, V]
        return _mapping(_decoder(typing.get_args(kind)[1]))
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind)
    if kind is Path or issubclass(kind, StrEnum):
        return typing.cast(Decoder, kind)
    return _scalar(kind)


def _scalar(kind: Any) -> Decoder:
    def decode(raw: Any) -> Any:
        if type(raw) is kind:
            return raw
        if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
            return float(raw)
        if not isinstance(raw, kind) or (isinstance(raw, bool) and kind is not bool):
            raise ValueError(f"{kind.__name__} was expected, not {raw!r}")
        return raw

    return decode


def _list(item: Decoder) -> Decoder:
    def decode(raw: Any) -> Any:
        if not isinstance(raw, list):
            raise ValueError(f"a list was expected, not {raw!r}")
        return tuple([item(one) for one in raw])

    return decode


def _mapping(item: Decoder) -> Decoder:
    def decode(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise ValueError(f"an object was expected, not {raw!r}")
        return {key: item(one) for key, one in raw.items()}

    return decode


def _union(kind: Any) -> Decoder:
    """Only ``X | None`` occurs in the model."""
    other = _decoder(next(one for one in typing.get_args(kind) if one is not types.NoneType))
    return lambda raw: None if raw is None else other(raw)


def _dataclass(kind: Any) -> Decoder:
    fields: dict[str, Decoder] = {}

    def decode(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise ValueError(f"{kind.__name__}: an object was expected, not {raw!r}")
        if not fields:  # not before: a dataclass may hold others of its kind
            hints = typing.get_type_hints(kind)
            fields.update((one.name, _decoder(hints[one.name])) for one in dataclasses.fields(kind))
        values = {name: read(raw[name]) for name, read in fields.items() if name in raw}
        try:
            return kind(**values)
        except TypeError as error:
            raise ValueError(f"{kind.__name__}: {error}") from error

    return decode
