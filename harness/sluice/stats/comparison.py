"""What is compared and what is said of it: the vocabulary of verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sluice.model import Cell, Gate

__all__ = ["LEVEL", "Comparison", "Observed", "Verdict", "Why"]

LEVEL = 0.05
"""Bound on the expected share of false ones among the changes that one report calls, and on the
chance that it calls any when nothing changed. 1 - LEVEL is the least confidence of an interval."""


class Verdict(StrEnum):
    """What is said of one cell in one metric."""

    REGRESSED = "regressed"
    """Worse: the interval excludes "no change", and the estimate is beyond the margin."""
    IMPROVED = "improved"
    """The mirror of it."""
    EQUIVALENT = "equivalent"
    """The whole interval lies within the margin: whatever changed doesn't matter."""
    INCONCLUSIVE = "inconclusive"
    """Neither could be shown; :attr:`Comparison.needed` says what it would take."""
    NONE = "no verdict"
    """Not judged at all; :attr:`Comparison.why` says why."""


class Why(StrEnum):
    """Why a cell has no verdict."""

    ONE_BLOCK = "one block"
    """A single block has no spread, so nothing tells a change from noise."""
    TRANSIENT = "transient"
    """The device had not reached its steady state."""
    NOT_COMPARABLE = "not comparable"
    """The two sides differ in more than what was to be compared."""
    FEW_IOS = "too few I/Os"
    """Of a percentile: fewer than 100 I/Os of some run lie beyond it."""
    NOT_FINITE = "not a finite number"
    """A figure is NaN or infinite."""
    NO_COMPLETIONS = "no completions"
    """A side completed nothing, or its figure is 0, which has no ratio."""
    NOT_MEASURED = "not measured"
    """A side has no run that ended well, or none with this figure."""


@dataclass(frozen=True, slots=True)
class Observed:
    """One cell against another in one metric, as measured."""

    cell: Cell
    base: Cell
    gate: Gate
    logs: tuple[float, ...] = ()
    """Natural logarithms, one a block: of the ratio cell / base where the two were interleaved (the
    legs of a block averaged), of the cell's own figure where they were not."""
    base_logs: tuple[float, ...] | None = None
    """None: interleaved. Else the base's own figures, one a block."""
    why: Why | None = None
    """Why there is nothing to judge, when that is known beforehand."""
    reason: str = ""
    """The same for a reader, in a clause."""

    @property
    def paired(self) -> bool:
        """Whether both sides were measured in the same blocks."""
        return self.base_logs is None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One cell against another in one metric, judged within its family.

    Numbers are None where there is no verdict. Ratios are cell / base and relative: 1.03 is 3 %
    more. An interval never contradicts its verdict.
    """

    cell: Cell
    base: Cell
    gate: Gate
    verdict: Verdict
    ratio: float | None = None
    """Geometric mean over blocks. May be there without a verdict (one block)."""
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    """Of this interval alone, adjusted so that of all intervals of cells with a verdict of the
    same kind at most :data:`LEVEL` are expected to miss the truth."""
    p: float | None = None
    """Of "no change", two-sided, not corrected."""
    q: float | None = None
    """Corrected over the family (Benjamini-Hochberg): called changed when at most LEVEL. 1 where
    the estimate is within the margin, for then no change is claimed."""
    mde: float | None = None
    """Smallest relative change for the worse that would have been called regressed in 80 of 100
    such sweeps, at the level that this family's correction leaves to the cell. 1.0 at most where
    more is better: nothing falls by more than all."""
    blocks: int = 0
    """That both sides share; of sides that were not interleaved, the smaller count."""
    needed: int | None = None
    """Of an inconclusive cell: blocks at which it would be called equivalent in 80 of 100 sweeps
    if nothing changed, going by the spread seen. None: not within 1,000."""
    why: Why | None = None
    reason: str = ""
    paired: bool = True

    @property
    def margin(self) -> float:
        """Relative change that would matter."""
        return self.gate.margin

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the ratio's interval, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def worse(self) -> bool | None:
        """Whether the estimate is on the wrong side of 1; None without one."""
        if self.ratio is None or self.ratio == 1.0:
            return None
        return (self.ratio < 1.0) == self.gate.higher_is_better
