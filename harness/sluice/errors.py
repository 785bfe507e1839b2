"""Errors that a user is meant to read."""


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
