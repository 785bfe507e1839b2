"""fio's grammar for sizes, times and plain numbers, and how a person reads them.

Rules of fio 3 with its default ``kb_base=1024``: ``k m g t p`` are powers of 1024 with or without
a trailing ``b`` or ``ib``. Times take ``d h m s ms us ns``; a bare time is in seconds unless the
option says otherwise.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z]*)")
_SIZE = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_TIME_NS = {
    "ns": 1,
    "us": 10**3,
    "usec": 10**3,
    "ms": 10**6,
    "msec": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}


def parse_size(text: str) -> float:
    """Bytes of e.g. ``64``, ``4k``, ``16M``, ``1GiB``. ValueError when it is no size."""
    number, suffix = _split(text)
    suffix = suffix.lower()
    if len(suffix) > 1:
        suffix = suffix.removesuffix("b").removesuffix("i")
    if suffix not in _SIZE:
        raise ValueError(f"'{text}' is no size: use a number and k, M, G or T")
    return number * _SIZE[suffix]


def parse_time_ns(text: str, bare: str = "s") -> float:
    """Nanoseconds of e.g. ``10s``, ``500ms``; a number alone counts in `bare`. ValueError when it
    is no time."""
    number, suffix = _split(text)
    suffix = suffix.lower() or bare
    if suffix not in _TIME_NS:
        raise ValueError(f"'{text}' is no time: use a number and ns, us, ms, s, m or h")
    return number * _TIME_NS[suffix]


def parse_seconds(text: str) -> float:
    """Seconds of a time as fio writes it."""
    return parse_time_ns(text) / 1e9


def parse_number(text: str) -> float:
    """A number without any suffix. ValueError when it is none."""
    number, suffix = _split(text)
    if suffix:
        raise ValueError(f"'{text}' is no plain number")
    return number


def show_seconds(seconds: float) -> str:
    """``45 s``, ``2 min 05 s``, ``3 h 10 min``: for progress, not for data."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _split(text: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is no number")
    return float(match[1]), match[2]
