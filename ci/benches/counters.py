"""The two counters of what an I/O costs: instructions and io_uring_enter calls."""

from typing import Any

from . import callgrind, enters
from .job import Job
from .per_io_counts import Counter
from .step import FIO_S, VALGRIND_S


def _instructions(job: Job) -> tuple[float, dict[str, Any]]:
    counts = callgrind.count(job)
    return counts.instructions, {
        "main_thread": counts.main_instructions,
        "warnings": counts.warnings,
    }


def _enters(job: Job) -> tuple[float, dict[str, Any]]:
    return enters.count(job), {}


INSTRUCTIONS = Counter(
    name="instructions",
    tool="valgrind",
    unit="instructions",
    count=_instructions,
    expected_s=lambda ios: VALGRIND_S + ios / 15000,
    least_slack=0.0,
)

ENTERS = Counter(
    name="enters",
    tool="strace",
    unit="io_uring_enter",
    count=_enters,
    expected_s=lambda ios: FIO_S + ios / 5000,
    least_slack=0.01,
)
"""One call in a hundred I/Os is a matter of timing, even if the repeats agree."""
