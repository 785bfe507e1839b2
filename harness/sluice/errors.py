"""Errors that a user is meant to read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SluiceError(Exception):
    """A one-line message that names the culprit and says what to do about it.

    The command line prints it without a traceback and exits with :attr:`exit_code`. Anything else
    that escapes is a bug of the harness and keeps its traceback.
    """

    exit_code = 1
    """1 tool error; 2 to 5 are reserved for verdicts (regressed, inconclusive, not comparable,
    nothing ran), so that a script can tell a slow build from a broken harness."""


class NothingRan(SluiceError):
    """Every run of a sweep failed or was skipped: there is nothing to report."""

    exit_code = 5


def near(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?``, or the whole list when it is short, or nothing."""
    names = list(known)
    matches = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if matches:
        return f"; did you mean '{matches[0]}'?"
    if 0 < len(names) <= 16:
        return f"; known: {', '.join(names)}"
    return ""
