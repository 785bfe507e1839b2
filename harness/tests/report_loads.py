"""An invented open-loop sweep, and one that went through a steady-state gate."""

from __future__ import annotations

import random
from dataclasses import replace

from report_synthetic import BYPASS, SOLO, results, sweep

from sluice.conditions import SteadyRule, Step
from sluice.model import Axis, Results, Role, Sample, Value

RATES = (4000, 8000, 16000, 24000, 32000, 40000)
RATE = Axis("rate_iops", tuple(Value(str(n), float(n)) for n in RATES), "fio", True)
CARRIES = {"off": 22000.0, "direct": 30000.0, "hybrid": 33000.0, "all": 41000.0}
"""IOPS that each value carries before it falls short."""


def open_loop() -> Results:
    """p99 rises as the load nears what a value carries, as a queue's does."""
    load = replace(SOLO, open_loop=True, arrivals="poisson")
    whole = results(sweep((BYPASS, RATE), (load,)))
    chance = random.Random(1)
    runs = []
    for run in whole.runs:
        values = whole.cell(run.cell).values
        target, most = float(values["rate_iops"]), CARRIES[values["bypass"]]
        iops = min(target, most) * chance.lognormvariate(0.0, 0.004)
        busy = min(iops / most, 0.985)
        p99 = 9e4 * (1.0 + 0.6 / (1.0 - busy)) * chance.lognormvariate(0.0, 0.05)
        bare = run.samples[0]
        figures = {**bare.values, "iops": iops, "lat_p99": p99, "lat_p50": p99 / 3}
        jobs = (Sample("victim", Role.MEASURED, False, d, figures) for d in ("read", "all"))
        runs.append(replace(run, samples=(replace(bare, values=figures), *jobs)))
    return replace(whole, runs=tuple(runs))


def gated(*, steady: bool = True) -> Results:
    """A session whose rounds fell and then agreed, or didn't."""
    figures = (61e3, 52e3, 47e3, 44e3, 42.5e3, 41.8e3, 41.5e3, 41.3e3, 41.1e3)
    rounds = tuple(
        Step("round", 0, i, 0.0, 10.0, value, 0.2 if i > 3 else None, 0.05 if i > 3 else None)
        for i, value in enumerate(figures)
    )
    why = "" if steady else "slope 12 % after 25 rounds"
    gate = Step("gate", 0, 0, steady=steady, reason=why)
    whole = results(sweep(blocks=2))
    return replace(
        whole, preparation=(*rounds, gate), sweep=replace(whole.sweep, steady=SteadyRule())
    )
