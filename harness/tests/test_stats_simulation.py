"""What the verdicts are worth, measured on sweeps whose truth is known.

Every scenario is seeded and says its seed. The table that results stands in STATISTICS.md; a test
compares the two, and SLUICE_GOLDEN=write renews it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta
from simulated import GATE, QUIET, Machine, drawn, log_ratios

from sluice.model import Gate
from sluice.stats import LEVEL, Comparison, Observed, Verdict, judge
from sluice.verdicts.stages import MOST, blocks_for

PAGE = Path(__file__).parents[1] / "STATISTICS.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"

CHANGED = (Verdict.REGRESSED, Verdict.IMPROVED)
TEN = np.zeros((1, 1, 100))
TEN[..., :10] = np.log(0.95)
ONE = np.zeros((1, 1, 100))
ONE[..., 0] = np.log(0.95)
EDGE = np.zeros((1, 1, 100))
EDGE[..., :10] = np.log(1 - GATE.margin)
ALIKE = Machine(cv_spread=0.0)
UNLIKE = Machine(cv_spread=1.0)


@dataclass(frozen=True)
class Scenario:
    """What is drawn, and how often."""

    title: str
    seed: int
    sweeps: int
    family: Callable[[np.random.Generator, int], Iterator[list[Observed]]]
    effects: np.ndarray | None = None
    bound: float = 0.10
    """Of the share of sweeps with a false verdict, or of the share of false ones among those
    called; its upper confidence bound must stay below."""


def plain(**how: object) -> Callable[[np.random.Generator, int], Iterator[list[Observed]]]:
    return lambda rng, sweeps: drawn(rng, sweeps, **how)


def two_gates(rng: np.random.Generator, sweeps: int) -> Iterator[list[Observed]]:
    """Two metrics of 50 cells each, one nearly the mirror of the other, as IOPS and latency are."""
    latency = Gate("lat_mean", False, 0.05)
    for family in drawn(rng, sweeps, comparisons=50):
        mirrored = [
            replace(
                one,
                gate=latency,
                logs=tuple(-log + rng.normal(0.0, 0.005) for log in one.logs),
            )
            for one in family
        ]
        yield [*family, *mirrored]


def apart(rng: np.random.Generator, sweeps: int) -> Iterator[list[Observed]]:
    """Two campaigns that were not interleaved, on a machine that doesn't drift."""
    for family, other in zip(
        drawn(rng, sweeps, machine=QUIET), drawn(rng, sweeps, machine=QUIET), strict=True
    ):
        yield [
            replace(a, logs=a.logs, base_logs=b.logs) for a, b in zip(family, other, strict=True)
        ]


def piloted(rng: np.random.Generator, sweeps: int) -> Iterator[list[Observed]]:
    """Five blocks, then as many as their spread asks for."""
    for _ in range(sweeps):
        logs = log_ratios(rng, 1, blocks=MOST)
        (pilot,) = _families(logs[:, :, :5])
        yield next(iter(_families(logs[:, :, : blocks_for(pilot, 5)])))


def _families(logs: np.ndarray) -> Iterator[list[Observed]]:
    from simulated import families

    yield from families(logs)


SCENARIOS = {
    "null": Scenario("nothing changed, drift", 1, 1000, plain()),
    "quiet": Scenario("nothing changed, no drift", 2, 300, plain(machine=QUIET)),
    "shared": Scenario(
        "nothing changed, 100 values against one default", 3, 300, plain(shared_base=True)
    ),
    "five": Scenario("nothing changed, 5 blocks", 4, 300, plain(blocks=5)),
    "three": Scenario("nothing changed, 3 blocks", 5, 300, plain(blocks=3)),
    "unlike": Scenario(
        "nothing changed, CVs unlike by a factor of 2.7", 6, 300, plain(machine=UNLIKE), bound=0.12
    ),
    "few": Scenario("nothing changed, 5 cells", 7, 1000, plain(comparisons=5)),
    "gates": Scenario("nothing changed, two metrics of 50 cells, mirrored", 8, 300, two_gates),
    "apart": Scenario("nothing changed, two campaigns, no drift", 9, 300, apart),
    "pilot": Scenario("nothing changed, blocks = auto", 10, 200, piloted, bound=0.12),
    "ten": Scenario(
        "10 of 100 cells 5 % worse, CV 2 %", 11, 200, plain(machine=ALIKE, effects=TEN), TEN
    ),
    "one": Scenario(
        "1 of 100 cells 5 % worse, CV 2 %", 12, 300, plain(machine=ALIKE, effects=ONE), ONE
    ),
    "mixed": Scenario("10 of 100 cells 5 % worse, CVs unlike", 13, 200, plain(effects=TEN), TEN),
    "five-ten": Scenario(
        "10 of 100 cells 5 % worse, 5 blocks", 14, 200, plain(effects=TEN, blocks=5), TEN
    ),
    "edge": Scenario(
        "10 of 100 cells worse by just the margin", 15, 200, plain(effects=EDGE), EDGE
    ),
}


@dataclass(frozen=True)
class Measured:
    """What came of a scenario."""

    sweeps: int
    false_sweeps: int
    """Sweeps in which a cell without an effect was called changed."""
    power: float | None
    """Share of the changed cells that were called, in the right direction."""
    false_share: float
    """Mean over sweeps of the share of false ones among the cells called changed."""
    missed_share: float
    """The same for intervals that miss the truth, among cells called changed or equivalent."""
    equivalent: float
    """Share of the unchanged cells that were called equivalent."""
    false_equivalent: float | None
    """Share of the changed cells that were."""
    mde: float
    """Median over cells of the smallest change seen."""

    @property
    def upper(self) -> float:
        """95 % upper bound of the share of sweeps with a false verdict (Clopper-Pearson)."""
        if self.false_sweeps == self.sweeps:
            return 1.0
        return float(beta.ppf(0.95, self.false_sweeps + 1, self.sweeps - self.false_sweeps))


@cache
def measured(name: str) -> Measured:
    """Run a scenario."""
    scenario = SCENARIOS[name]
    print(f"{name}: seed {scenario.seed}, {scenario.sweeps} sweeps")
    false_sweeps, called, right, same, wrong_same = 0, 0, 0, 0, 0
    cells, changed = 0, 0
    shares, misses, seen = [], [], []
    for family in scenario.family(np.random.default_rng(scenario.seed), scenario.sweeps):
        found = judge(family)
        truth = [0.0] * len(found) if scenario.effects is None else scenario.effects[0, 0].tolist()
        false = [one for one, real in zip(found, truth, strict=True) if _called(one) and not real]
        false_sweeps += bool(false)
        called = sum(map(_called, found))
        shares.append(len(false) / max(1, called))
        told = [
            (one, real)
            for one, real in zip(found, truth, strict=True)
            if one.verdict is not Verdict.INCONCLUSIVE
        ]
        misses.append(sum(_missed(one, real) for one, real in told) / max(1, len(told)))
        seen += [one.mde for one in found if one.mde is not None]
        for one, real in zip(found, truth, strict=True):
            equivalent = one.verdict is Verdict.EQUIVALENT
            if real:
                changed += 1
                right += one.verdict is Verdict.REGRESSED
                wrong_same += equivalent
            else:
                cells += 1
                same += equivalent
    return Measured(
        scenario.sweeps,
        false_sweeps,
        right / changed if changed else None,
        float(np.mean(shares)),
        float(np.mean(misses)),
        same / cells,
        wrong_same / changed if changed else None,
        float(np.median(seen)),
    )


def _called(one: Comparison) -> bool:
    return one.verdict in CHANGED


def _missed(one: Comparison, real: float) -> bool:
    assert one.low is not None
    assert one.high is not None
    return not one.low <= np.exp(real) <= one.high


NULL = [name for name, one in SCENARIOS.items() if one.effects is None]
CHANGING = [name for name in SCENARIOS if name not in NULL]


@pytest.mark.parametrize("name", NULL)
def test_false_alarms_stay_below_one_sweep_in_ten(name: str) -> None:
    assert measured(name).upper <= SCENARIOS[name].bound


@pytest.mark.parametrize(("name", "least"), [("ten", 0.9), ("one", 0.9), ("mixed", 0.9)])
def test_a_change_of_5_percent_is_found(name: str, least: float) -> None:
    power = measured(name).power
    assert power is not None
    assert power >= least


@pytest.mark.parametrize(
    "name", [name for name, one in SCENARIOS.items() if one.effects is not None]
)
def test_few_of_the_changes_called_are_false(name: str) -> None:
    assert measured(name).false_share <= LEVEL


@pytest.mark.parametrize("name", SCENARIOS)
def test_few_intervals_of_cells_with_a_verdict_miss_the_truth(name: str) -> None:
    assert measured(name).missed_share <= LEVEL


def test_a_change_of_just_the_margin_is_rarely_called_equivalent() -> None:
    share = measured("edge").false_equivalent
    assert share is not None
    assert share <= LEVEL


def test_the_pilot_sees_the_spread_and_never_the_effect() -> None:
    rng = np.random.default_rng(21)
    (pilot,) = _families(log_ratios(rng, 1, blocks=5))
    moved = [
        replace(one, logs=tuple(log + 0.3 * index for log in one.logs))
        for index, one in enumerate(pilot)
    ]
    assert blocks_for(pilot, 5) == blocks_for(moved, 5)
    louder = [replace(one, logs=tuple(3.0 * log for log in one.logs)) for one in pilot]
    assert blocks_for(louder, 5) > blocks_for(pilot, 5)


def table() -> str:
    """The measured rates as Markdown."""
    lines = [
        "| truth | sweeps | with a false verdict | at most (95 %) | found | false among called | "
        "intervals that miss | called equivalent | seen (median) |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, scenario in SCENARIOS.items():
        got = measured(name)
        power = "" if got.power is None else f"{100 * got.power:.1f} %"
        lines.append(
            f"| {scenario.title} | {got.sweeps} | {100 * got.false_sweeps / got.sweeps:.1f} % | "
            f"{100 * got.upper:.1f} % | {power} | {100 * got.false_share:.1f} % | "
            f"{100 * got.missed_share:.1f} % | {100 * got.equivalent:.0f} % | "
            f"{100 * got.mde:.1f} % |"
        )
    return "\n".join(lines) + "\n"


def test_the_page_states_what_is_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    stated, _, tail = rest.partition(END)
    if os.environ.get("SLUICE_GOLDEN") == "write":
        PAGE.write_text(head + BEGIN + table() + END + tail, encoding="utf-8")
    else:
        assert stated == table()
