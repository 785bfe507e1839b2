"""What a job of a sweep may not have: options that reach beyond the file that the sweep names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import JOB, SWEEP, SweepMaker

from sluice import compose, jobfile, permitted, prepare, sweep, sweepfile
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.permitted import BUILT_IN
from sluice.target import DataFolder


def check(path: Path, fio: str, tmp_path: Path) -> sweep.Sweep:
    """What plan, run and resume check before anything is made."""
    program, data = Fio(fio), DataFolder(tmp_path / "own")
    loaded = sweep.load(path, program)
    prepare.check_cells(loaded, prepare.place(loaded, data), data, program, [])
    return loaded


@pytest.mark.parametrize("option", permitted.PLACED)
def test_a_jobs_own_idea_of_where_its_files_are_is_dropped(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path, option: str
) -> None:
    (tmp_path / "x").mkdir()
    job = f"[global]\n{option}={tmp_path}/x\n[reader]\nrw=write\n{option}={tmp_path}/x\n"
    loaded = check(make_sweep(job=job), fake_fio(""), tmp_path)
    placement = prepare.place(loaded, DataFolder(tmp_path / "own"))
    made = compose.compose(loaded, loaded.cells[0], placement, 1)
    assert f"{tmp_path}/x" not in made.render()


@pytest.mark.parametrize(
    "line",
    [
        "exec_prerun=touch x",
        "exec_postrun=touch x",
        "read_iolog=log",
        "replay_redirect=/dev/sda",
        "merge_blktrace_file=x",
        "profile=tiobench",
        "unlink=1",
        "unlink_each_loop=1",
        "fill_device=1",
        "fill_fs=1",
        "allow_mounted_write=1",
        "ioscheduler=none",
        "cgroup=x",
        "cgroup_weight=500",
        "mem=mmap:/elsewhere/x",
        "iomem=mmapshared:x",
        "write_iolog=/elsewhere/x",
        "write_bw_log=../x",
        "write_hist_log=/elsewhere/x",
        "uri=nbd://x",
        "program=/bin/rm",
        "option_of_a_later_fio=1",
        "description=${HOME}",
        "${EVIL}",
        "bs=$pagesize",
        "description=" + "x" * 5000,
    ],
)
@pytest.mark.parametrize("rw", ["write", "read"])
def test_an_option_that_reaches_elsewhere_is_refused(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path, rw: str, line: str
) -> None:
    """Also of a job that only reads: --readonly stops few of them."""
    path = make_sweep(job=f"[reader]\nrw={rw}\n{line}\n")
    with pytest.raises(SluiceError, match=r"job 'reader': [^\n]*\Z") as caught:
        check(path, fake_fio(""), tmp_path)
    assert line.split("=")[0] in str(caught.value)
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("where", ["options", "axes"])
@pytest.mark.parametrize("option", [*permitted.REFUSED, "opendir", "filename_format"])
def test_a_sweep_cant_set_them_either(make_sweep: SweepMaker, option: str, where: str) -> None:
    text = (
        SWEEP + f'[options]\n{option} = "/x"\n'
        if where == "options"
        else SWEEP.replace("iodepth", option)
    )
    with pytest.raises(SluiceError, match=f"{where}.*{option}"):
        sweepfile.read(make_sweep(text))


def test_a_value_that_fio_reads_otherwise_is_no_way_in(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    text = SWEEP + '[options]\ndirect = "0 # not 1"\n'
    with pytest.raises(SluiceError, match="fio reads ; # "):
        check(make_sweep(text), fake_fio(""), tmp_path)


@pytest.mark.parametrize("name", ["../../elsewhere/x", "global2", "globals"])
def test_the_name_of_a_job_is_no_way_in(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path, name: str
) -> None:
    """With files = "each" fio makes file names of it; what begins with global is [global] to it."""
    path = make_sweep(job=JOB.replace("reader", name))
    with pytest.raises(SluiceError, match=f"job '{name}': fio makes file names of it"):
        check(path, fake_fio(""), tmp_path)


@pytest.mark.parametrize("engine", sorted(permitted.ENGINES_REFUSED))
def test_an_engine_that_does_other_things_than_io_is_refused(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], engine: str
) -> None:
    path = make_sweep(replace={'"null"': f'"{engine}"'})
    with pytest.raises(SluiceError, match=f"engine = '{engine}': it .*: use another engine"):
        sweep.load(path, Fio(fake_fio("")))


def test_a_comment_behind_a_value_is_none_of_it() -> None:
    """fio cuts there, so the harness must look at what is left."""
    job = jobfile.parse("[a]\nslog=/elsewhere/x ; mine\nrw=write#read\n# c\n")
    assert job.jobs[0].options == {"slog": "/elsewhere/x", "rw": "write"}


@pytest.mark.parametrize("line", ["include other.fio", "include\tother.fio", "include=other.fio"])
def test_whatever_fio_takes_for_an_include_is_refused(line: str) -> None:
    with pytest.raises(SluiceError, match="include isn't supported"):
        jobfile.parse(f"[a]\n{line}\n")


def test_usual_options_are_taken(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    job = (
        "[reader]\nrw=randrw:8\nbssplit=4k/50:8k/50\nverify=crc32c\nrate_iops=100,200\nhipri=1\n"
        "write_lat_log\nwrite_iolog=trace\nmem=shmhuge\nbuffer_pattern=0xdeadbeef\n"
    )
    check(make_sweep(job=job), fake_fio(""), tmp_path)


def test_options_of_a_strangers_engine_are_taken() -> None:
    job = jobfile.parse("[a]\nrw=read\ntheirs=1\n")
    permitted.check(job, None)
    with pytest.raises(SluiceError, match="theirs=1: an option that the harness doesn't know"):
        permitted.check(job, BUILT_IN)
