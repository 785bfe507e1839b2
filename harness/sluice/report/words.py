"""Small helpers for text."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["clean", "plural", "slug", "utc"]

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


def plural(count: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def slug(text: str) -> str:
    """Letters, digits and hyphens only: for file names and for ids of elements. Texts that differ
    can give the same."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def clean(text: str) -> str:
    """Without the control characters that no XML may hold; a program's output can have any."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def utc(moment: float) -> str:
    """Seconds since the epoch as a date and time of day, UTC; empty for 0 or what is no date."""
    if moment <= 0:
        return ""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, OSError, ValueError):
        return ""
