"""Means, ratios and intervals of a report."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import fmean

import pytest
from report_synthetic import blemished, results, sweep

from sluice.model import Leg, Results, Status
from sluice.readings import Key, Readings
from sluice.report.estimate import mean_of, ratio_of, t_interval

IOPS = Key("iops")


def cut(whole: Results, blocks: int) -> Results:
    return replace(whole, runs=tuple(run for run in whole.runs if run.block < blocks))


def test_t_interval_is_the_textbooks() -> None:
    low, high = t_interval([4.0, 5.0, 6.0]) or (0.0, 0.0)
    assert (low, high) == pytest.approx((5 - 4.302653 / math.sqrt(3), 5 + 4.302653 / math.sqrt(3)))
    assert t_interval([4.0]) is None
    assert t_interval([]) is None


def test_t_interval_covers_what_it_promises() -> None:
    chance = random.Random(7)
    hits = 0
    for _ in range(2000):
        low, high = t_interval([chance.gauss(3.0, 1.0) for _ in range(3)]) or (9.0, 9.0)
        hits += low <= 3.0 <= high
    assert 0.935 <= hits / 2000 <= 0.965


def test_the_block_is_the_unit_and_not_the_run() -> None:
    readings = Readings(results(sweep(blocks=5)))
    estimate = mean_of(readings, "solo/bypass=all", IOPS)
    assert estimate is not None
    assert (estimate.blocks, estimate.runs) == (5, 10)
    assert estimate.interval is not None
    means = [
        fmean(r.value for r in readings.of("solo/bypass=all", IOPS) if r.run.block == block)
        for block in range(5)
    ]
    assert estimate.interval == t_interval(means)


def test_one_block_has_no_interval() -> None:
    readings = Readings(results(sweep(blocks=1)))
    estimate = mean_of(readings, "solo/bypass=all", IOPS)
    ratio = ratio_of(readings, "solo/bypass=all", "solo/bypass=off", IOPS)
    assert estimate is not None
    assert ratio is not None
    assert estimate.interval is None
    assert ratio.interval is None


def test_no_interval_reaches_below_zero() -> None:
    whole = results(sweep(blocks=2))
    chance = random.Random(3)
    runs = []
    for run in whole.runs:
        sample = run.samples[0]
        wild = {**sample.values, "iops": sample.values["iops"] * chance.uniform(0.1, 9.0)}
        runs.append(replace(run, samples=(replace(sample, values=wild),)))
    readings = Readings(replace(whole, runs=tuple(runs)))
    for cell in whole.cells:
        estimate = mean_of(readings, cell.id, IOPS)
        assert estimate is not None
        assert estimate.low is not None
        assert estimate.low >= 0.0


def test_drift_cancels_in_a_ratio() -> None:
    level = results(sweep(blocks=4))
    drifting = results(sweep(blocks=4), drift=0.2)
    pair = ("solo/bypass=all", "solo/bypass=off", IOPS)
    flat, steep = ratio_of(Readings(level), *pair), ratio_of(Readings(drifting), *pair)
    assert flat is not None
    assert steep is not None
    assert steep.mean == pytest.approx(flat.mean, rel=0.01)
    assert steep.low is not None
    assert flat.low is not None
    assert steep.low == pytest.approx(flat.low, rel=0.02)


def test_a_ratio_counts_only_legs_that_both_cells_completed() -> None:
    whole = results(sweep(blocks=3))
    runs = tuple(
        replace(run, status=Status.FAILED, reason="gone", samples=())
        if run.cell == "solo/bypass=all" and run.block == 1 and run.leg is Leg.FORWARD
        else run
        for run in whole.runs
    )
    ratio = ratio_of(
        Readings(replace(whole, runs=runs)), "solo/bypass=all", "solo/bypass=off", IOPS
    )
    assert ratio is not None
    assert (ratio.blocks, ratio.runs) == (3, 5)


def test_a_ratio_of_nothing_is_nothing() -> None:
    readings = Readings(blemished())
    base = "interference/bypass=off"
    assert ratio_of(readings, "interference/bypass=hybrid", base, IOPS) is None
    assert mean_of(readings, "interference/bypass=hybrid", IOPS) is None


def test_a_percentile_of_too_few_ios_is_left_out() -> None:
    readings = Readings(blemished())
    short = [
        cell.id for cell in readings.results.cells if readings.unsupported(cell.id, Key("lat_p999"))
    ]
    assert len(short) == 1
    assert readings.unsupported(short[0], Key("lat_p50")) == 0
    assert len(readings.of(short[0], Key("lat_p999"))) < len(readings.of(short[0], Key("lat_p99")))


def test_a_cell_has_no_percentile_if_one_run_supports_none() -> None:
    readings = Readings(blemished())
    cell, base = "solo/bypass=direct", "solo/bypass=off"
    assert readings.of(cell, Key("lat_p999"))
    assert mean_of(readings, cell, Key("lat_p999")) is None
    assert ratio_of(readings, cell, base, Key("lat_p999")) is None
    assert mean_of(readings, cell, Key("lat_p99")) is not None


def test_two_blocks_that_disagree_give_a_huge_interval_and_no_error() -> None:
    whole = cut(results(sweep(blocks=2)), 2)
    runs = tuple(
        replace(
            run,
            samples=(
                replace(
                    run.samples[0],
                    values={
                        "ios": 1e6,
                        "iops": 1e9 if run.block and run.cell.endswith("all") else 1.0,
                    },
                ),
            ),
        )
        for run in whole.runs
    )
    ratio = ratio_of(
        Readings(replace(whole, runs=runs)),
        "solo/bypass=all",
        "solo/bypass=off",
        IOPS,
        level=0.9999,
    )
    assert ratio is not None
    assert ratio.high == math.inf
