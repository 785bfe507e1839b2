"""Running a plan: failures are kept, trouble ends it cleanly, and it goes on where it stopped."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import SweepMaker
from harnessing import Quiet, again, run, session

from sluice import runner, store
from sluice.errors import SluiceError
from sluice.executor import Order, Outcome
from sluice.mock import MockExecutor
from sluice.model import Status
from sluice.runner import Session


@pytest.fixture()
def made(make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path) -> Session:
    """A campaign of eight runs, none made yet."""
    return session(make_sweep(), fake_fio(""), tmp_path / "store")


def failing(*orders: int, status: Status = Status.FAILED) -> MockExecutor:
    """An executor whose runs at these positions fail."""

    def script(order: Order) -> Outcome | None:
        if int(order.folder.name.split("-")[0]) in orders:
            return Outcome(
                status, "fio: pid=7, err=22/file:x.c:1, func=io_u error, error=Invalid argument"
            )
        return None

    return MockExecutor(script=script)


def test_every_planned_run_is_made_in_order(made: Session) -> None:
    executor = MockExecutor()
    results = run(again(made, executor))
    assert results.complete
    planned = [cell for block in results.blocks for cell in (*block.order, *reversed(block.order))]
    assert [order.cell.id for order in executor.orders] == planned
    seeds = {run.block: run.randseed for run in results.runs}
    assert seeds == {block.index: block.randseed for block in results.blocks}


def test_a_failed_run_is_kept_with_fios_words_and_the_sweep_goes_on(made: Session) -> None:
    results = run(again(made, failing(2, 5)))
    assert results.complete
    bad = [one for one in results.runs if one.status is Status.FAILED]
    assert [one.order for one in bad] == [2, 5]
    assert "error=Invalid argument" in bad[0].reason
    assert store.load(made.campaign.folder).runs == results.runs


def test_failed_runs_are_retried_only_when_asked(made: Session) -> None:
    run(again(made, failing(2)))
    assert len(run(again(made)).runs) == 8
    results = run(again(made, retry=frozenset({Status.FAILED})))
    assert [one.status for one in results.runs if one.order == 2] == [Status.FAILED, Status.OK]


def test_progress_tells_an_eta_that_shrinks(made: Session) -> None:
    progress = Quiet()
    runner.run(made, progress)
    assert len(progress.runs) == 8
    assert progress.etas[-1] == 0.0
    assert progress.lines[0].startswith("0 of 8 runs done, about ")


def breaking(error: Callable[[], BaseException], at: int) -> MockExecutor:
    def script(order: Order) -> Outcome | None:
        if int(order.folder.name.split("-")[0]) == at:
            raise error()
        return None

    return MockExecutor(script=script)


def test_a_full_disk_ends_it_and_what_is_done_stays_usable(made: Session) -> None:
    full = breaking(lambda: OSError(errno.ENOSPC, "No space left on device"), 3)
    with pytest.raises(SluiceError) as caught:
        run(again(made, full))
    assert (
        "the disk is full; 3 runs are kept: free space, then `sluice run --resume small-0001`"
        in str(caught.value)
    )
    assert len(store.load(made.campaign.folder).runs) == 3
    assert run(again(made)).complete


@pytest.fixture()
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 400 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if mount.returncode:
        pytest.skip("no right to mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_really_full_disk(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], small_disk: Path
) -> None:
    path = make_sweep(replace={"blocks = 2": "blocks = 50"})
    made = session(path, fake_fio(""), small_disk / "store")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 150_000)
    with pytest.raises(SluiceError, match="the disk is full"):
        run(made)
    kept = store.load(made.campaign.folder).runs
    assert 0 < len(kept) < 200
    assert all(one.status is Status.OK for one in kept)
    ballast.unlink()
    with pytest.raises(SluiceError, match=r"the disk is full; \d+ runs are kept"):
        run(again(made))
    assert len(store.load(made.campaign.folder).runs) > len(kept)


def test_a_folder_deleted_under_it_is_said_and_not_made_again(made: Session) -> None:
    def script(order: Order) -> Outcome | None:
        if len(executor.orders) == 3:
            shutil.rmtree(made.campaign.folder)
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return None

    executor = MockExecutor(script=script)
    with pytest.raises(SluiceError, match="was deleted while its sweep was running"):
        run(again(made, executor))
    assert not made.campaign.folder.exists()


def test_a_folder_deleted_between_runs_is_said_too(
    made: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runner._one

    def one(*arguments: object) -> object:
        outcome = real(*arguments)  # type: ignore[arg-type]
        shutil.rmtree(made.campaign.folder)
        return outcome

    monkeypatch.setattr(runner, "_one", one)
    with pytest.raises(SluiceError, match="was deleted while its sweep was running"):
        run(made)
    assert not made.campaign.folder.exists()


def test_a_folder_deleted_before_the_first_run_is_said(made: Session) -> None:
    """While the test files were laid out."""
    shutil.rmtree(made.campaign.folder)
    with pytest.raises(SluiceError, match="was deleted while its sweep was running"):
        run(made)
    assert not made.campaign.folder.exists()


def test_a_store_that_is_read_only_is_said(made: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run(again(made, failing(2)))

    def refuse(path: object, *_: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SluiceError, match=r"/lock: Read-only file system; 8 runs are kept: mend"):
        run(again(made))


def test_a_clock_that_jumps_costs_nothing_but_a_warning(
    made: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = itertools.count(1_000_000.0, -5000.0)
    monkeypatch.setattr(time, "time", lambda: next(wall))
    results = run(made)
    assert [one.order for one in results.runs] == list(range(8))
    assert all(0 <= one.duration_s < 60 for one in results.runs)
    assert all("the wall clock was set by -50" in one.warnings[0] for one in results.runs)


def test_ctrl_c_keeps_what_is_done(made: Session) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(again(made, breaking(KeyboardInterrupt, 4)))
    assert len(store.load(made.campaign.folder).runs) == 4
    assert [one.when for one in made.campaign.environments()] == ["before", "after"]
    assert run(again(made)).complete


def test_nothing_left_to_do_does_nothing(made: Session) -> None:
    run(made)
    executor = MockExecutor()
    assert run(again(made, executor)).complete
    assert executor.orders == []
    assert len(made.campaign.environments()) == 2


def test_the_harness_is_cheap(made: Session) -> None:
    """The bound is 0.3 s a run beyond fio's own time; most of it would be flushing files."""
    begin = time.monotonic()
    results = run(made)
    own = time.monotonic() - begin - sum(one.fio_s for one in results.runs)
    assert own / len(results.runs) < 0.3
    assert os.path.getsize(results.runs[0].folder / "run.json") < 20_000
