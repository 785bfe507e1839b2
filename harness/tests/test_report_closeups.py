"""The charts that look into single runs: tails, timelines, fairness, load, steady state."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_kept import CLONES, archive, furnish, spread
from report_loads import CARRIES, gated, open_loop
from report_synthetic import BYPASS, DEPTH, INTERFERENCE, SOLO, blemished, results, sweep

from sluice import timeline
from sluice.metrics import MIN_IOS_BEYOND
from sluice.model import Results, Role
from sluice.readings import Readings
from sluice.report.charts import Group
from sluice.report.closeups import MAX_CLOSE
from sluice.report.fairness import fared
from sluice.report.kept import Kept
from sluice.report.nines import nines, tail, thinned
from sluice.report.openloop import achieved, hockey_sticks
from sluice.report.starvation import starvation
from sluice.report.steady import steady_group
from sluice.report.within import within


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Results:
    info = sweep((BYPASS,), (SOLO, INTERFERENCE), blocks=2)
    return furnish(results(info), tmp_path_factory.mktemp("runs"))


def drawn(group: Group | None) -> Group:
    assert group is not None
    return group


def test_every_chart_is_described_and_summed_up(whole: Results) -> None:
    readings, kept = Readings(whole), Kept(whole)
    groups = (
        nines(readings, kept),
        within(readings, kept),
        starvation(readings, kept),
        hockey_sticks(Readings(open_loop())),
        steady_group(gated()),
    )
    for group in groups:
        assert drawn(group).charts
        for chart in drawn(group).charts:
            assert chart.title
            assert chart.desc
            assert chart.summary
            assert chart.table.rows
            assert all(len(row) == len(chart.table.head) for row in chart.table.rows)
            assert re.search(r"(?:fill|stroke)[:=]\"?\s*#", chart.drawing.inline) is None


@given(st.integers(0, 10**7), st.floats(0.05, 1.5))
def test_a_tail_ends_where_too_few_ios_lie_beyond(count: int, sigma: float) -> None:
    bins = spread(1e5, sigma, count)
    curve = tail(bins)
    total = sum(bins.values())
    assert all(share * total >= MIN_IOS_BEYOND - 1e-6 for _, share in curve)
    for (x, y), (later, lower) in itertools.pairwise(curve):
        assert x < later
        assert y > lower
    few = thinned(curve, 300.0, 250.0, (3.0, 5.0))
    assert set(few) <= set(curve)
    assert few[:1] == curve[:1]
    assert few[-1:] == curve[-1:]


def test_the_tail_of_all_runs_is_their_sum(whole: Results) -> None:
    kept = Kept(whole)
    group = drawn(nines(Readings(whole), kept))
    chart = next(chart for chart in group.charts if "-solo-" in chart.name)
    total = sum(
        sum(kept.bins(run, Role.MEASURED, "read").values())
        for run in whole.runs_of("solo/bypass=all")
    )
    row = next(row for row in chart.table.rows if row[0] == "bypass=all")
    assert row[1] == f"{total:,}"


def test_a_large_sweep_shows_a_few_close_ups_with_the_largest_effect(tmp_path: Path) -> None:
    big = results(sweep((BYPASS, DEPTH), (SOLO, INTERFERENCE), blocks=2))
    apart = [
        replace(run, samples=tuple(_slowed(sample) for sample in run.samples))
        if run.cell == "solo/bypass=all,iodepth=16"
        else run
        for run in big.runs
    ]
    group = drawn(nines(*_both(furnish(replace(big, runs=tuple(apart)), tmp_path))))
    assert len(group.charts) == MAX_CLOSE
    assert any("iodepth-16" in chart.name and "solo" in chart.name for chart in group.charts)
    assert group.missing and "6 others" in group.missing[0]


def _slowed(sample):  # type: ignore[no-untyped-def]
    return replace(sample, values={**sample.values, "lat_p99": 5 * sample.values["lat_p99"]})


def _both(whole: Results) -> tuple[Readings, Kept]:
    return Readings(whole), Kept(whole)


def test_what_the_runs_did_not_keep_is_said_and_not_drawn(tmp_path: Path) -> None:
    bare = results(sweep((BYPASS,), (SOLO,), blocks=2))
    for group in (nines(*_both(bare)), within(*_both(bare)), starvation(*_both(bare))):
        assert drawn(group).charts == ()
        assert drawn(group).missing
    short = replace(bare, sweep=replace(bare.sweep, runtime_s=0.25, timeline="rate"))
    assert "too short" in drawn(within(*_both(short))).missing[0]
    rates = furnish(bare, tmp_path, latency=False)
    chart = drawn(within(*_both(rates))).charts[0]
    assert "p99 latency" not in chart.drawing.inline
    assert 'timeline = "latency"' in chart.caption


def test_the_ramp_is_shaded_and_the_neighbour_has_a_panel(whole: Results) -> None:
    alone, beside = drawn(within(*_both(whole))).charts
    assert "f-shade" in alone.drawing.inline
    assert "Bandwidth of the neighbour" in beside.drawing.inline
    assert "Bandwidth of the neighbour" not in alone.drawing.inline
    still = replace(whole, sweep=replace(whole.sweep, ramp_s=0.0))
    assert "f-shade" not in drawn(within(*_both(still))).charts[0].drawing.inline


def test_the_clone_that_starves_is_found(whole: Results) -> None:
    readings, kept = _both(whole)
    jobs = fared(readings, kept, whole.cell("interference/bypass=off"))
    assert [job.name for job in jobs] == ["victim 1", "victim 2", "victim 3"]
    starved, others = jobs[-1], jobs[:-1]
    assert starved.gap_s == pytest.approx(2.0)  # two windows of a second
    assert starved.least == 0.0
    assert all(other.gap_s == 0.0 and (other.least or 0) > 0.9 for other in others)
    assert starved.jain is not None
    assert starved.jain < 0.95
    alone = fared(readings, kept, whole.cell("solo/bypass=off"))
    assert all((job.jain or 0) > 0.99 for job in alone)
    assert len(alone) == CLONES


def test_starvation_is_set_against_the_same_job_alone(whole: Results) -> None:
    group = drawn(starvation(*_both(whole)))
    (chart,) = group.charts
    rows = [row for row in chart.table.rows if row[0] == "off" and row[1] == "beside"]
    times = [float(row[4].lstrip("\N{MULTIPLICATION SIGN}")) for row in rows]
    assert times[-1] == pytest.approx(1.8 * times[0], rel=0.05)
    assert "victim 3" in chart.summary


def test_a_point_that_fell_short_is_masked_and_said() -> None:
    whole = open_loop()
    (chart,) = drawn(hockey_sticks(Readings(whole))).charts
    for row in chart.table.rows:
        value = row[0].removeprefix("bypass=").removesuffix(" (default)")
        short = float(row[1]) > CARRIES[value] / 0.97
        assert (row[5] == "masked") == short, row
        assert (row[4] == "\N{EN DASH}") == short
    assert "24,000 (91.9" in chart.caption
    assert "Poisson arrivals" in chart.caption


def test_the_target_is_each_jobs_and_each_directions() -> None:
    whole = open_loop()
    run = next(run for run in whole.runs if run.cell == "solo/bypass=off,rate_iops=4000")
    figures = {**run.jobs()[0].values, "iops": 3900.0}
    half = {**figures, "iops": 1950.0}
    jobs = [
        replace(run.jobs()[0], direction=direction, index=index, values=values)
        for index in (0, 1)
        for direction, values in (("read", figures), ("write", half), ("all", figures))
    ]
    assert achieved(replace(run, samples=tuple(jobs)), 4000.0) == pytest.approx(0.975)


def test_a_closed_loop_has_no_hockey_stick() -> None:
    assert hockey_sticks(Readings(blemished())) is None


def test_the_gate_shows_its_window_and_its_judgement() -> None:
    (chart,) = drawn(steady_group(gated())).charts
    assert "steady after 9 rounds" in chart.summary
    assert "f-shade" in chart.drawing.inline
    (failed,) = drawn(steady_group(gated(steady=False))).charts
    assert "transient: slope 12 %" in failed.summary
    assert steady_group(blemished()) is None


def test_a_run_whose_log_ends_early_is_drawn_too(whole: Results, tmp_path: Path) -> None:
    run = next(whole.runs_of("solo/bypass=off"))
    found = timeline.read(run.folder, whole.sweep.runtime_s)
    assert found is not None
    archive(tmp_path, {"timeline-1000ms_bw.1.log": "1000, 2048, 0, 4096, 0, 0x0000\n"})
    runs = tuple(replace(one, folder=tmp_path) if one.id == run.id else one for one in whole.runs)
    chart = drawn(within(*_both(replace(whole, runs=runs)))).charts[0]
    row = next(row for row in chart.table.rows if row[:2] == ("Bandwidth", "bypass=off (default)"))
    assert row[2] == "4"
