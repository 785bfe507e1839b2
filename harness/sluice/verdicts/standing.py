"""What rules out every verdict on a campaign: another machine halfway, or a device not settled."""

from __future__ import annotations

from collections.abc import Iterable

from sluice import fingerprint
from sluice.model import Results
from sluice.stats import Why

__all__ = ["Fault", "between", "within"]

Fault = tuple[Why, str]
"""The code, and the same in a clause for a reader."""
_NAMED = 4
"""Differences that one line names."""


def within(results: Results) -> Fault | None:
    """Why no two cells of the campaign can be compared; None when they can."""
    hard = [one for one in fingerprint.within(results) if one.hard]
    if hard:
        return Why.NOT_COMPARABLE, f"while {results.campaign} ran, {_listed(hard)}"
    if results.transient:
        return Why.TRANSIENT, f"{results.campaign}: {results.transient}"
    return None


def between(a: Results, b: Results, declared: Iterable[str]) -> Fault | None:
    """The same for cells of two campaigns. `declared` are the keys that are meant to differ."""
    hard = [one for one in fingerprint.between(a, b, declared) if one.hard]
    if hard:
        return Why.NOT_COMPARABLE, f"between {a.campaign} and {b.campaign}, {_listed(hard)}"
    return within(a) or within(b)


def _listed(found: list[fingerprint.Difference]) -> str:
    more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(one.text for one in found[:_NAMED]) + more
