"""A case that was measured: its figure, its bar, and what follows."""

from dataclasses import dataclass, field

OK, OPEN, MISSED, NO_BAR = "ok", "open", "MISSED", "-"

NOISY = 0.05
"""An A/A spread above this makes a met bar say little; the line then says so."""


@dataclass(frozen=True)
class Case:
    """One line of a report.

    Where there is an interval it decides: a bar is missed when the whole of it is on the wrong
    side, and open when only the figure is. Counted figures have none; there `slack` is what a bar
    may be missed by.
    """

    name: str
    figure: float
    """A ratio to the baseline, or (memory) a difference in MiB."""
    spread: float
    bar: float | None
    at_least: bool
    slack: float = 0.0
    note: str = ""
    unit: str = ""
    aa_spread: float | None = None
    cpu_ratio: float | None = None
    interval: tuple[float, float] | None = None
    said: str = ""
    """The harness's verdict against the baseline: regressed, improved, equivalent, ..."""
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
        if self._met(self.figure):
            return OK
        reach = self.interval or (self.figure, self.figure)
        return OPEN if self._met(reach[1] if self.at_least else reach[0]) else MISSED

    def _met(self, figure: float) -> bool:
        assert self.limit is not None
        return figure >= self.limit if self.at_least else figure <= self.limit
