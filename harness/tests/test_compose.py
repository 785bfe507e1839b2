"""The job that fio is given: who wins over whom, and where the data lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker
from hypothesis import given
from hypothesis import strategies as st

from sluice import jobfile, sweep
from sluice.compose import Placement, compose
from sluice.describe import Table
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.jobfile import JobFile

FILE = Placement(Path("/data/small.dat"), True, "1M")


def composed(
    path: Path,
    fake_fio: Callable[[str], str],
    table: Table,
    cell: int = 0,
    placement: Placement = FILE,
) -> tuple[JobFile, str]:
    loaded = sweep.load(path, Fio(fake_fio("")), table)
    job = compose(loaded, loaded.cells[cell], placement, 77, Path("/run/stats.json"))
    return job, job.render()


def test_the_harness_decides_engine_times_file_and_seed(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], table: Table
) -> None:
    job_text = (
        "[global]\nioengine=libaio\nruntime=1000\ndirectory=/home\ngroup_reporting\n"
        "[reader]\nrw=read\nfilename=/dev/sda\nsize=9G\nrandseed=1\n"
    )
    job, text = composed(make_sweep(job=job_text), fake_fio, table)
    options = job.effective(job.jobs[0])
    assert options["ioengine"] == "null"
    assert options["runtime"] == "200000us"
    assert options["filename"] == "/data/small.dat"
    assert options["size"] == "1M"
    assert options["randseed"] == "77"
    assert options["randrepeat"] == "0"
    assert "/dev/sda" not in text
    assert "directory" not in text
    assert "group_reporting" not in text


def test_an_axis_wins_over_options_and_those_over_the_job(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], table: Table
) -> None:
    path = make_sweep(SWEEP + "[options]\ndirect = 0\n")
    job, _ = composed(path, fake_fio, table, cell=1)
    options = job.effective(job.jobs[0])
    assert options["iodepth"] == "8"
    assert options["direct"] == "0"
    assert options["bs"] == "4k"


def test_a_fio_axis_is_for_the_measured_job_and_a_leafs_tunable_for_all(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], table: Table
) -> None:
    text = SWEEP + "[workloads.both]\nneighbour = 'neighbour.fio'\n"
    path = make_sweep(
        text, replace={"iodepth = [1, 8]": "iodepth = [8]\nbypass = ['all']", '"null"': '"sluice"'}
    )
    job, _ = composed(path, fake_fio, table)
    reader, neighbour = (job.effective(one) for one in job.jobs)
    assert reader["iodepth"] == "8"
    assert "iodepth" not in neighbour
    assert reader["bypass"] == neighbour["bypass"] == "all"
    assert reader["stats_json"] == "/run/stats.json"
    assert reader["direct"] == "1"  # the job's [global] isn't the neighbour's
    assert "direct" not in neighbour


def test_an_axis_may_be_for_the_neighbour(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], table: Table
) -> None:
    text = SWEEP + "[workloads.both]\nneighbour = 'neighbour.fio'\n"
    axis = "iodepth = {values = [8], jobs = 'neighbour'}"
    job, _ = composed(make_sweep(text, replace={"iodepth = [1, 8]": axis}), fake_fio, table)
    reader, neighbour = (job.effective(one) for one in job.jobs)
    assert (reader["iodepth"], neighbour["iodepth"]) == ("4", "8")


def test_a_file_for_each_job(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], table: Table
) -> None:
    placement = Placement(Path("/data/each"), False, "1M")
    job, _ = composed(make_sweep(), fake_fio, table, placement=placement)
    options = job.effective(job.jobs[0])
    assert options["directory"] == "/data/each"
    assert "filename" not in options


def test_no_size_anywhere_is_said(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], table: Table
) -> None:
    with pytest.raises(SluiceError, match="job 'reader': no size: add size ="):
        composed(make_sweep(), fake_fio, table, placement=Placement(Path("/d"), True, None))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no job in it"),
        ("[global]\nrw=read\n", "no job in it"),
        ("rw=read\n[a]\n", "job:1: 'rw=read' stands before any section"),
        ("[a\n", "job:1: '\\[a' is no section"),
        ("[a]\ninclude other.fio\n", "job:2: include isn't supported"),
    ],
)
def test_a_job_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(SluiceError, match=message):
        jobfile.parse(text)


def test_globals_hold_for_what_follows() -> None:
    job = jobfile.parse("; c\n[global]\nbs=1k\n[a]\nrw=read\n[global]\nbs=2k\nx\n[b]\nbs = 4k\n")
    first, second = job.flattened().jobs
    assert first.options == {"bs": "1k", "rw": "read"}
    assert second.options == {"bs": "4k", "x": ""}


words = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda word: word != "include")
sections = st.lists(
    st.tuples(words, st.dictionaries(words, st.from_regex(r"[a-z0-9/:]{0,8}", fullmatch=True))),
    min_size=1,
    max_size=5,
)


@given(sections)
def test_what_is_written_is_read_again(parts: list[tuple[str, dict[str, str]]]) -> None:
    job = JobFile([jobfile.Section(name, options) for name, options in parts])
    if not job.jobs:
        return
    assert jobfile.parse(job.render()) == job
