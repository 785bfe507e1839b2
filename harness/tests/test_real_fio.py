"""With the fio that is installed: what the harness believes about it is true."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker

from sluice import cli, fiojson, process, store
from sluice.campaign import fio_output
from sluice.executor import FioExecutor, Order
from sluice.fiocli import Fio
from sluice.model import Cell, Results, Role, Status

pytestmark = [
    pytest.mark.fio,
    pytest.mark.skipif(shutil.which("fio") is None, reason="no fio here"),
]


def run(path: Path, *flags: str) -> Results:
    assert cli.main(["run", str(path), *flags]) == 0
    return store.load(Path(os.environ["SLUICE_STORE"]))


def test_a_sweep_on_a_real_file(make_sweep: SweepMaker, tmp_path: Path) -> None:
    text = SWEEP + "[workloads.solo]\n[workloads.beside]\nneighbour = 'neighbour.fio'\n"
    replace = {'"null"': '"psync"', "blocks = 2": "blocks = 1", "[1, 8]": "[1]"}
    results = run(make_sweep(text, replace=replace))
    assert results.complete
    assert {one.status for one in results.runs} == {Status.OK}, [one.reason for one in results.runs]
    assert (tmp_path / "data" / "small-1M.dat").stat().st_blocks * 512 >= 2**20  # no holes
    for one in results.runs:
        reader = one.sample()
        assert reader is not None
        assert reader.values["ios"] > 0
        assert 0 < reader.values["lat_p50"] <= reader.values["lat_p99"] <= reader.values["lat_max"]
        assert reader.values["bw"] == pytest.approx(4096 * reader.values["iops"], rel=0.01)
        assert (one.sample(Role.NEIGHBOUR) is not None) == one.cell.startswith("beside")
        assert (
            0 < one.duration_s - one.fio_s < 0.3
        )  # the harness's own cost, as the issue bounds it
        document = fiojson.split(fio_output(one)).last
        assert document is not None
        assert document["global options"]["randseed"] == str(one.randseed)


def test_percentiles_are_those_that_fio_prints(make_sweep: SweepMaker) -> None:
    results = run(make_sweep(replace={"[1, 8]": "[8]", "blocks = 2": "blocks = 1"}))
    one = results.runs[0]
    sample = one.sample()
    document = fiojson.split(fio_output(one)).last
    assert sample is not None
    assert document is not None
    printed = document["jobs"][0]["read"]["clat_ns"]["percentile"]
    assert sample.values["lat_p50"] == printed["50.000000"]
    assert sample.values["lat_p99"] == printed["99.000000"]
    assert sample.values["lat_p999"] == printed["99.900000"]


def test_latency_may_be_the_whole_of_it(make_sweep: SweepMaker) -> None:
    """``lat`` counts from the creation of an I/O, so it can't be less than ``clat``."""
    text = 'latency = "lat"\n' + SWEEP
    results = run(make_sweep(text, replace={"[1, 8]": "[8]", "blocks = 2": "blocks = 1"}))
    one = results.runs[0]
    document = fiojson.split(fio_output(one)).last
    assert document is not None
    read = document["jobs"][0]["read"]
    sample = one.sample()
    assert sample is not None
    assert sample.values["lat_mean"] == pytest.approx(read["lat_ns"]["mean"])
    assert sample.values["lat_mean"] >= read["clat_ns"]["mean"]
    assert sample.values["lat_p99"] == read["lat_ns"]["percentile"]["99.000000"]


def test_the_same_seed_gives_the_same_offsets(tmp_path: Path) -> None:
    """What pairs the cells of a block. With its default randrepeat=1 fio 3.33 ignores the seed."""
    traces = []
    for number, seed in enumerate((5, 5, 6)):
        folder = tmp_path / str(number)
        folder.mkdir()
        job = (
            f"[reader]\nioengine=null\nrw=randread\nsize=1M\nrandrepeat=0\nrandseed={seed}\n"
            "write_iolog=trace\nfilename=x\n"
        )
        order = Order(Cell("c", "solo", {}), job, folder, {}, "clat", 20, "t/seed", True)
        assert FioExecutor(Fio()).run(order).status is Status.OK
        lines = (folder / "trace").read_text().splitlines()
        traces.append([line.split()[-3:] for line in lines if " read " in line])
    assert traces[0]
    assert traces[0] == traces[1] != traces[2]


def test_fios_own_words_are_kept(make_sweep: SweepMaker) -> None:
    """An error that only shows when the job runs: the file is smaller than one block."""
    job = "[reader]\nrw=randread\nbs=2M\n"
    results_code = cli.main(["run", str(make_sweep(job=job, replace={"blocks = 2": "blocks = 1"}))])
    assert results_code == 5
    results = store.load(Path(os.environ["SLUICE_STORE"]))
    assert {one.status for one in results.runs} == {Status.FAILED}
    assert results.complete
    assert "fio" in results.runs[0].reason or "block" in results.runs[0].reason


def test_fio_refuses_before_anything_runs(
    make_sweep: SweepMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", str(make_sweep(replace={"[1, 8]": "[-5]"}))]) == 1
    assert "fio refuses solo/iodepth=-5: iodepth: min value out of range" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_timeout_kills_forked_jobs(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    job = (
        "[global]\nioengine=null\nsize=1M\nrw=read\ntime_based\nruntime=60\nfilename=x\n"
        "[a]\n[b]\nnumjobs=3\n"
    )
    order = Order(Cell("c", "solo", {}), job, folder, {}, "clat", 1.0, "t/real-timeout", True)
    begin = time.monotonic()
    outcome = FioExecutor(Fio()).run(order)
    assert outcome.status is Status.TIMEOUT
    assert time.monotonic() - begin < 10
    assert process.marked("t/real-timeout") == []


def test_options_are_asked_of_fio() -> None:
    fio = Fio()
    depth = fio.option("iodepth")
    assert depth is not None
    assert depth.numeric
    assert depth.default == "1"
    assert fio.option("nonsense_option") is None
    assert "null" in fio.engines
    block_size = fio.option("bs")
    assert block_size is not None
    assert "blocksize" in block_size.aliases


def test_files_for_each_job_are_laid_out(make_sweep: SweepMaker, tmp_path: Path) -> None:
    replace = {
        'size = "1M"': 'size = "1M"\nfiles = "each"',
        '"null"': '"psync"',
        "[1, 8]": "[1]",
        "blocks = 2": "blocks = 1",
    }
    job = "[reader]\nrw=randread\nnumjobs=2\n[writer]\nrw=write\n"
    results = run(make_sweep(job=job, replace=replace))
    assert results.complete
    files = sorted(path.name for path in (tmp_path / "data" / "small-1M").iterdir())
    assert files == ["reader.0.0", "reader.1.0", "writer.0.0"]
    assert len(results.runs[0].jobs()) == 3


def test_a_job_with_a_folder_of_somebodys_leaves_it_alone(
    make_sweep: SweepMaker, tmp_path: Path
) -> None:
    """fio's opendir adds every file below a folder, and would overwrite them all."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis").write_bytes(b"thesis" * 1000)
    replace = {'"null"': '"psync"', "[1, 8]": "[1]", "blocks = 2": "blocks = 1"}
    job = f"[writer]\nrw=write\nbs=4k\nopendir={home}\n"
    assert run(make_sweep(job=job, replace=replace)).complete
    assert (home / "thesis").read_bytes() == b"thesis" * 1000
