"""The state in which a target is measured: what brings it there, and the gate that says so.

Part of the model's vocabulary. A fresh drive is faster than one in use, so a figure without its
state means little; SNIA's Performance Test Specification gives the steps (purge, fill, measure in
rounds until they agree) and the numbers that are the defaults here.
"""

from __future__ import annotations

from dataclasses import dataclass

WINDOW = 5
RANGE = 0.20
SLOPE = 0.10
CAP = 25
"""SNIA's: five rounds whose range is at most 20 % of their mean and whose fitted line rises or
falls by at most 10 % of it, within 25 rounds."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """``[precondition]`` of a sweep: what is done once, before the first run."""

    purge: str = ""
    """``discard`` (all blocks of a device; own files are made anew), ``format`` (NVMe), or
    empty."""
    seq_fill: int = 0
    """Times that the whole target is written from beginning to end."""
    random: str = ""
    """Block size of random writes over the whole target, as fio is given it; empty: none."""
    random_fill: int = 0
    """Times the target's size that they write."""

    @property
    def name(self) -> str:
        """The class by which two campaigns are told apart, e.g. ``purge, seq x2, 4k random x1``."""
        parts = [
            {"discard": "purge", "format": "format"}.get(self.purge, ""),
            f"seq x{self.seq_fill}" if self.seq_fill else "",
            f"{self.random} random x{self.random_fill}" if self.random else "",
        ]
        return ", ".join(filter(None, parts)) or "none"


@dataclass(frozen=True, slots=True)
class SteadyRule:
    """``[steady]`` of a sweep: rounds before the first run, until the last ones agree."""

    metric: str = "iops"
    """Key of :data:`sluice.metrics.METRICS`, of the measured jobs."""
    rounds: int = WINDOW
    """The window."""
    range: float = RANGE
    """Largest minus smallest in the window, relative to its mean: at most this."""
    slope: float = SLOPE
    """Rise or fall of the least-squares line across the window, relative to its mean: at most
    this."""
    cap: int = CAP
    """Rounds after which it is given up: the target is *transient*."""
    round_s: float = 0.0
    """Measured time of a round."""
    workload: str = ""
    """Whose job makes the rounds, in its first cell that isn't skipped; empty: the first."""

    @property
    def name(self) -> str:
        """As text, for two campaigns to be told apart by."""
        return (
            f"{self.metric}, {self.rounds} of {self.cap} rounds, range {100 * self.range:g} %, "
            f"slope {100 * self.slope:g} %"
        )


@dataclass(frozen=True, slots=True)
class Step:
    """Something that was done to the target before the runs of a session, and what came of it."""

    kind: str
    """``purge``, ``seq_fill``, ``random``, ``round``, or ``gate``: the last one, with the
    judgement."""
    session: int
    """From 0; a campaign that was resumed has several."""
    index: int
    """Number among its kind, from 0: the slice of a fill, the round of a session."""
    started_at: float = 0.0
    duration_s: float = 0.0
    value: float | None = None
    """Of a round: the metric."""
    range: float | None = None
    """Of a round that completes a window: its range relative to its mean."""
    slope: float | None = None
    """The same for the rise or fall of the fitted line."""
    steady: bool | None = None
    """Of the gate: whether it was reached."""
    reason: str = ""
    """Of a gate that wasn't: why, in one line."""
