"""A case that was measured: its figure, its bar, and what follows."""

from dataclasses import dataclass, field

OK, MISSED, NO_BAR = "ok", "MISSED", "-"

NOISY = 0.05
"""An A/A spread above this makes a met bar say little; the line then says so."""


@dataclass(frozen=True)
class Case:
    """One line of a report. `slack` is what noise may excuse: a bar is missed only beyond it."""

    name: str
    figure: float
    """A ratio to the baseline, or (memory) a difference in MiB."""
    spread: float
    bar: float | None
    at_least: bool
    slack: float
    note: str = ""
    unit: str = ""
    aa_spread: float | None = None
    cpu_ratio: float | None = None
    details: dict = field(default_factory=dict)

    @property
    def limit(self) -> float | None:
        if self.bar is None:
            return None
        return self.bar - self.slack if self.at_least else self.bar + self.slack

    @property
    def noisy(self) -> bool:
        return self.bar is not None and self.aa_spread is not None and self.aa_spread > NOISY

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return NO_BAR
        met = self.figure >= self.limit if self.at_least else self.figure <= self.limit
        return OK if met else MISSED
