"""Sweeps drawn from a model of a noisy, drifting machine, to measure what the verdicts are worth.

A run's figure is log-normal: its cell's level, times noise whose size is the cell's own (median
2 %, itself log-normal), times a drift of the machine that all cells share and that the order of
runs meets as a real plan would: randomised blocks, each replayed in reverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sluice.model import Cell, Gate
from sluice.stats import Observed

Array = npt.NDArray[np.float64]

GATE = Gate("iops", True, 0.03)
CHUNK = 50


@dataclass(frozen=True)
class Machine:
    """What disturbs."""

    median_cv: float = 0.02
    """Of single runs, across cells."""
    cv_spread: float = 0.5
    """Standard deviation of the logarithm of a cell's CV: 0.5 is a factor of 1.65."""
    slope: float = 0.04
    """Linear drift from the first run to the last, relative."""
    walk: float = 0.03
    """Standard deviation of a random walk's end, relative."""
    step: float = 0.02
    """A sudden change at a random moment, relative."""

    def drift(self, rng: np.random.Generator, sweeps: int, runs: int) -> Array:
        """Log drift of each run, in order of time."""
        time = np.linspace(0.0, 1.0, runs)
        walk = np.cumsum(rng.normal(0.0, self.walk / np.sqrt(runs), (sweeps, runs)), axis=1)
        step = self.step * (time >= rng.uniform(0.0, 1.0, (sweeps, 1)))
        return self.slope * time * rng.choice([-1.0, 1.0], (sweeps, 1)) + walk + step


QUIET = Machine(slope=0.0, walk=0.0, step=0.0)


def log_ratios(
    rng: np.random.Generator,
    sweeps: int,
    comparisons: int = 100,
    blocks: int = 10,
    machine: Machine = Machine(),  # noqa: B008  frozen
    effects: Array | None = None,
    shared_base: bool = False,
) -> Array:
    """[sweep, comparison, block]: log ratios, legs averaged. `effects`: true log change of each
    comparison; None: nothing changed. `shared_base`: all are compared with one cell."""
    bases = 1 if shared_base else comparisons
    cells = comparisons + bases
    shape = (sweeps, blocks, cells)
    runs = 2 * cells * blocks
    drift = machine.drift(rng, sweeps, runs)
    deviation = machine.median_cv * np.exp(rng.normal(0.0, machine.cv_spread, (sweeps, 1, cells)))
    place = np.argsort(rng.random(shape), axis=2)
    start = 2 * cells * np.arange(blocks)[None, :, None]
    total = np.zeros(shape)
    for position in (place, 2 * cells - 1 - place):
        at = (start + position).reshape(sweeps, -1)
        total += np.take_along_axis(drift, at, axis=1).reshape(shape)
        total += rng.normal(0.0, 1.0, shape) * deviation
    means = total / 2.0
    ratios = means[:, :, :comparisons] - means[:, :, comparisons:]
    if effects is not None:
        ratios = ratios + effects
    return np.moveaxis(ratios, 1, 2)


def families(logs: Array, gate: Gate = GATE, shared_base: bool = False) -> Iterator[list[Observed]]:
    """What `judge` takes, sweep by sweep."""
    names = [f"x={index}" for index in range(logs.shape[1])]
    cells = [Cell(f"solo/{name}", "solo", {"x": name}) for name in names]
    bases = [Cell("base" if shared_base else f"base/{name}", "solo", {}) for name in names]
    for sweep in logs.tolist():
        yield [
            Observed(cell, base, gate, tuple(values))
            for cell, base, values in zip(cells, bases, sweep, strict=True)
        ]


def drawn(rng: np.random.Generator, sweeps: int, **how: object) -> Iterator[list[Observed]]:
    """Families of so many sweeps; drawn in chunks, so that memory stays small."""
    for start in range(0, sweeps, CHUNK):
        logs = log_ratios(rng, min(CHUNK, sweeps - start), **how)  # type: ignore[arg-type]
        yield from families(logs, shared_base=bool(how.get("shared_base")))
