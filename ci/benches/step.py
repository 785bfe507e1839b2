"""A section of a bench: steps, planned before the first runs for the ETA, then cases to judge."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .verdict import Case

FIO_S = 0.35
"""What starting and ending one fio takes, for the plan's estimate."""
VALGRIND_S = 3.0
"""The same under valgrind."""


@dataclass(frozen=True)
class Step:
    what: str
    expected_s: float
    action: Callable[[], None]


class Section(Protocol):
    name: str
    tools: tuple[str, ...]
    """What must be installed beside fio."""

    def steps(self) -> list[Step]:
        """What has to run, in order."""

    def cases(self) -> list[Case]:
        """What came out, once every step has run."""

    def notes(self) -> list[str]:
        """Lines for under the table."""

    def raw(self) -> list[dict]:
        """Every value that was read."""
