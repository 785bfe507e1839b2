"""fio's logs of a run: what is asked for, what is kept, and how it is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker
from hypothesis import given
from hypothesis import strategies as st
from report_kept import archive

from sluice import cli, fiologs, histogram, store, sweep, timeline
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.model import Role
from sluice.prepare import place
from sluice.report.kept import Kept
from sluice.runner import make_order
from sluice.target import DataFolder
from sluice.timeline import Kind

LOGS = {
    "timeline-1000ms_bw.1.log": "1000, 2048, 0, 4096, 0, 0x0000\n2001, 1024, 0, 4096, 0, 0x0000\n"
    "4000, 512, 0, 4096, 0, 0x0000\n4003, 9, 0, 4096, 0, 0x0000\n",
    "timeline-1000ms_bw.2.log": "1000, 1024, 1, 4096, 0, 0x0000\n1000, 1024, 0, 4096, 0, 0x0000\n",
}


def test_a_window_that_another_job_has_is_a_gap_and_one_that_nobody_has_is_not(
    tmp_path: Path,
) -> None:
    archive(tmp_path, LOGS)
    found = timeline.read(tmp_path, 5.0)
    assert found is not None
    one, two = found.jobs
    assert found.windows == 4  # behind the last line nothing is known
    assert [one.rate(number) / 1024 for number in range(1, 5)] == [2048, 1024, 512, 512]
    assert one.gap_s == 0.0
    assert [two.rate(number) / 1024 for number in range(1, 5)] == [2048, 0, 0, 0]
    assert two.gap_s == 3.0


def test_a_lone_jobs_gap_shows_in_its_histograms_only(tmp_path: Path) -> None:
    alone = {name: text for name, text in LOGS.items() if ".1." in name}
    archive(tmp_path, alone)
    found = timeline.read(tmp_path, 5.0)
    assert found is not None
    assert found.jobs[0].gap_s is None
    rows = "".join(f"{moment}, 0, 4096, 1, 0\n" for moment in (1000, 2000, 3700, 3701, 4000))
    archive(tmp_path, {**alone, "timeline-1000ms_clat_hist.1.log": rows})
    found = timeline.read(tmp_path, 5.0, latencies=False)
    assert found is not None
    assert found.jobs[0].gap_s == pytest.approx(0.7)


@given(st.integers(0, 20 * 64))
def test_a_merged_bin_holds_what_fios_bins_of_it_hold(index: int) -> None:
    """fio's own plat_idx_to_val gives the middle of a bin; four of them make one of the log's."""
    low, _ = fiologs._edges(4 * index)
    _, high = fiologs._edges(4 * index + 3)
    assert low <= fiologs._midpoint(index) <= high
    assert high - low <= max(4, low * 4 / 64)


def test_histograms_of_a_window_add_up_after_a_gap(tmp_path: Path) -> None:
    row = ", ".join(["0"] * 20 + ["7"] + ["0"] * 20)
    text = f"1000, 0, 4096, {row}\n3500, 0, 4096, {row}\n3500, 0, 4096, {row}\n"
    archive(tmp_path, {**LOGS, "timeline-1000ms_clat_hist.1.log": text})
    found = timeline.read(tmp_path, 5.0)
    assert found is not None
    windows = found.jobs[0].latencies["read"]
    assert {number: sum(bins.values()) for number, bins in windows.items()} == {1: 7, 4: 14}
    assert found.jobs[0].gap_s == pytest.approx(1.5)
    without = timeline.read(tmp_path, 5.0, latencies=False)
    assert without is not None
    assert without.jobs[0].latencies == {}


@pytest.mark.parametrize("damage", [b"", b"no archive", None])
def test_damaged_logs_are_no_logs(tmp_path: Path, damage: bytes | None) -> None:
    if damage is None:
        archive(tmp_path, {"timeline-1000ms_bw.1.log": "1000, many, 0\n"})
    else:
        (tmp_path / timeline.ARCHIVE).write_bytes(damage)
    assert timeline.read(tmp_path, 5.0) is None


def test_short_runs_are_not_cut_into_windows() -> None:
    assert timeline.window(0.5) is None
    assert timeline.window(1.0) == 0.25
    assert timeline.window(10.0) == 1.0
    assert timeline.window(600.0) == 1.0
    assert timeline.options(Kind.LATENCY, 0.5) == {}
    assert "write_hist_log" not in timeline.options(Kind.RATE, 60.0)


def order_text(path: Path, fio: str, tmp_path: Path) -> str:
    loaded = sweep.load(path, Fio(fio))
    placement = place(loaded, DataFolder(tmp_path / "data"))
    return make_order(loaded, placement, loaded.cells[0], 1, tmp_path, "").job_text


def test_a_sweep_says_what_it_keeps(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    longer = SWEEP.replace('"200ms"', '"60s"')
    fio = fake_fio("")
    assert "write_bw_log=timeline-1000ms" in order_text(make_sweep(longer), fio, tmp_path)
    text = order_text(make_sweep('timeline = "latency"\n' + longer), fio, tmp_path)
    assert "log_hist_msec=1000" in text
    assert "_log" not in order_text(make_sweep('timeline = "none"\n' + longer), fio, tmp_path)
    with pytest.raises(SluiceError, match=r"timeline.*'all'.*none, rate, latency"):
        sweep.load(make_sweep('timeline = "all"\n' + longer), Fio(fio))


def test_a_job_with_logs_of_its_own_keeps_them(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    job = "[reader]\nrw=randread\nwrite_lat_log=mine\n"
    path = make_sweep(SWEEP.replace('"200ms"', '"60s"'), job=job)
    text = order_text(path, fake_fio(""), tmp_path)
    assert "write_lat_log=mine" in text
    assert "write_bw_log" not in text


@pytest.mark.fio
@pytest.mark.skipif(shutil.which("fio") is None, reason="no fio here")
def test_the_windows_of_a_real_run_add_up_to_its_figures(make_sweep: SweepMaker) -> None:
    text = 'timeline = "latency"\n' + SWEEP
    replace = {'"200ms"': '"1500ms"', "[1, 8]": "[8]", "blocks = 2": "blocks = 1"}
    job = "[reader]\nrw=randread\nbs=4k\nnumjobs=2\nthinktime=200us\n"
    assert cli.main(["run", str(make_sweep(text, job=job, replace=replace))]) == 0
    results = store.load(Path(os.environ["SLUICE_STORE"]))
    for run in results.runs:
        assert not list(run.folder.glob("*.log"))
        kept = Kept(results)
        jobs = list(kept.logs(run, Role.MEASURED, latencies=True))
        assert len(jobs) == 2
        for sample, log in jobs:
            rates = [log.rate(number) for number in range(1, 6)]
            assert sum(rates) / len(rates) == pytest.approx(sample.values["bw"], rel=0.25)
            merged = histogram.merge(log.latencies["read"].values())
            assert 0.6 * sample.values["ios"] <= sum(merged.values()) <= sample.values["ios"]
            middle = histogram.quantiles(merged, [0.5])[0]
            assert middle == pytest.approx(sample.values["lat_p50"], rel=0.1)
