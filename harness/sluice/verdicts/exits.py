"""Exit codes of the verbs that judge."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["FINE", "INCONCLUSIVE", "NOTHING_RAN", "NOT_COMPARABLE", "REGRESSED", "FailOn"]

FINE, REGRESSED, INCONCLUSIVE, NOT_COMPARABLE, NOTHING_RAN = 0, 2, 3, 4, 5
"""1 is an error of the tool or of its use."""


class FailOn(StrEnum):
    """How much it takes for an exit code other than 0."""

    INCONCLUSIVE = "inconclusive"
    """The default: what can't be told isn't fine."""
    REGRESSED = "regressed"
    """An inconclusive cell is let through."""
    NEVER = "never"
    """Only an error of the tool, and nothing to judge."""
