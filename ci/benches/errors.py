"""What a user is meant to read."""


class BenchError(Exception):
    """One line that names the culprit; ci/bench prints it without a traceback and exits 1."""
