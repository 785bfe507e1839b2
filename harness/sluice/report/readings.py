"""The figures of a sweep, as the parts of a report know them."""

from __future__ import annotations

from sluice.readings import Key, Reading, Readings

__all__ = ["Key", "Reading", "Readings"]
