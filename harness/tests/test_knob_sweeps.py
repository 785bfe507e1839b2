"""A sweep over knobs of the kernel: cells that can't be have their reason, and a killed harness
leaves nothing behind that the next start doesn't mend."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker
from harnessing import again, run, session
from knobbing import DISK, QUEUE, FakeKernel
from test_cli import inside, one_line, sluice

from sluice import cli, knobbed, store, sweep
from sluice.errors import NothingRan, SluiceError
from sluice.executor import Order, Outcome
from sluice.fiocli import Fio
from sluice.knobs import session as sessions
from sluice.knobs.kernel import Kernel
from sluice.knobs.session import Disk
from sluice.mock import MockExecutor
from sluice.model import Status
from sluice.report.troubles import troubles
from sluice.runner import Session

KNOBS = SWEEP.replace(
    "iodepth = [1, 8]",
    '"queue/scheduler" = ["none", "bfq"]\n"queue/nr_requests" = [1, 64, 256]\n'
    '[options]\n"sysctl:vm.swappiness" = 1',
)


@pytest.fixture()
def faked(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    """The kernel of files in place of the real one."""
    monkeypatch.setattr(knobbed, "Kernel", lambda: kernel)
    monkeypatch.setattr(sessions, "disk_of", lambda _: DISK)
    return kernel


@pytest.fixture()
def fio(fake_fio: Callable[[str], str]) -> str:
    return fake_fio("")


def test_a_plan_says_what_the_knobs_are_and_which_cells_cant_be(
    make_sweep: SweepMaker, fio: str, faked: FakeKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_sweep(KNOBS.replace('"bfq"', '"kyber"'))
    said = inside(capsys, "plan", path, "--fio", fio).stdout
    assert (
        "axis       queue/scheduler = none, kyber (knob of the kernel, nominal, now none)" in said
    )
    assert "knob       sysctl:vm.swappiness = 1 in every cell" in said
    assert (
        "skipped    solo/queue/scheduler=kyber,queue/nr_requests=64: queue/scheduler of sdx: the "
        "kernel has no 'kyber' (it has none, mq-deadline, bfq)"
    ) in said
    assert "runs       3 cells" in said
    assert faked.log == []
    said = inside(capsys, "plan", path, "--fio", fio, "--try-knobs").stdout
    assert "queue/nr_requests of sdx: set to 1, the kernel made it 4" in said
    assert "runs       2 cells" in said
    assert faked.read(Path("/proc/sys/vm/swappiness")) == "60"


def test_a_run_has_what_the_knobs_read_and_leaves_them_as_they_were(
    make_sweep: SweepMaker,
    fio: str,
    faked: FakeKernel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = faked.state()
    done = inside(capsys, "run", make_sweep(KNOBS), "--fio", fio)
    assert done.returncode == 0, done.stderr
    assert faked.state() == before
    results = store.load(tmp_path / "store")
    assert results.complete
    skipped = [cell for cell in results.cells if cell.skipped]
    assert len(skipped) == 2
    assert all("the kernel made it 4" in str(cell.skipped) for cell in skipped)
    assert results.axis("queue/scheduler").default == "none"
    for one in results.runs:
        cell = results.cell(one.cell)
        assert one.knobs == {**cell.values, "sysctl:vm.swappiness": "1"}
        assert "nr_requests" not in (one.folder / "job.fio").read_text()
    assert "settings, " in done.stderr  # what it cost
    told = troubles(results)
    assert [(one.kind, one.count) for one in told] == [("skipped", "2 cells")]
    assert "the kernel made it 4" in told[0].words


def test_nothing_left_to_run_is_said(
    make_sweep: SweepMaker, fio: str, faked: FakeKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_sweep(KNOBS.replace('["none", "bfq"]', '["kyber"]'))
    said = one_line(inside(capsys, "run", path, "--fio", fio), NothingRan.exit_code)
    assert "every cell is skipped: queue/scheduler of sdx: the kernel has no 'kyber'" in said


def made_by(make_sweep: SweepMaker, fio: str, tmp_path: Path) -> Session:
    text = KNOBS.replace("[1, 64, 256]", "[64]")
    return session(make_sweep(text), fio, tmp_path / "store")


def test_a_knob_that_vanishes_fails_its_runs_and_the_sweep_goes_on(
    make_sweep: SweepMaker, fio: str, faked: FakeKernel, tmp_path: Path
) -> None:
    made = made_by(make_sweep, fio, tmp_path)

    def script(order: Order) -> Outcome | None:
        if len(executor.orders) == 2:
            faked.at(QUEUE / "nr_requests").unlink()
        if len(executor.orders) == 4:
            faked._put(QUEUE / "nr_requests", "64")
        return None

    executor = MockExecutor(script=script)
    results = run(again(made, executor))
    assert results.complete
    words = [one.reason for one in results.runs if one.status is Status.FAILED]
    assert words and all(word == "queue/nr_requests of sdx has vanished" for word in words)


def test_a_value_that_is_taken_no_more_skips_its_runs(
    make_sweep: SweepMaker,
    fio: str,
    faked: FakeKernel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = made_by(make_sweep, fio, tmp_path)
    real = faked._choose

    def choose(text: str) -> None:
        if text == "bfq":
            raise OSError(22, "Invalid argument")
        real(text)

    monkeypatch.setattr(faked, "_choose", choose)
    results = run(made)
    skipped = [one for one in results.runs if one.status is Status.SKIPPED]
    assert {one.cell for one in skipped} == {"solo/queue/scheduler=bfq,queue/nr_requests=64"}
    assert "the kernel refuses bfq (Invalid argument)" in skipped[0].reason
    assert results.complete


def test_somebody_elses_hand_on_a_knob_fails_the_run(
    make_sweep: SweepMaker, fio: str, faked: FakeKernel, tmp_path: Path
) -> None:
    made = made_by(make_sweep, fio, tmp_path)

    def script(order: Order) -> Outcome | None:
        if len(executor.orders) == 3:
            faked._put(QUEUE / "nr_requests", "7")
        return None

    executor = MockExecutor(script=script)
    results = run(again(made, executor))
    failed = [one for one in results.runs if one.status is Status.FAILED]
    assert [one.order for one in failed] == [2]
    assert "was set to 64 and is 7 after the run: somebody else changed it" in failed[0].reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"queue/scheduler!" = ["none"]', "is no knob: write queue/NAME"),
        ('"sysctl:kernel.core_pattern" = ["|x"]', "of sysctls a sweep may set"),
        ('"cgroup:io.max" = { values = ["max"], jobs = "neighbour" }', "holds for all of them"),
        ('"queue/scheduler" = ["none", "none"]', "stands there twice"),
    ],
)
def test_a_wrong_knob_is_one_line(make_sweep: SweepMaker, fio: str, text: str, words: str) -> None:
    with pytest.raises(SluiceError) as caught:
        sweep.load(make_sweep(SWEEP.replace("iodepth = [1, 8]", text)), Fio(fio))
    assert words in str(caught.value)


def test_a_control_group_that_cant_be_is_a_reason(
    make_sweep: SweepMaker, fio: str, faked: FakeKernel, capsys: pytest.CaptureFixture[str]
) -> None:
    faked._put(Path("/sys/fs/cgroup/cgroup.controllers"), "hugetlb")
    path = make_sweep(SWEEP.replace("iodepth = [1, 8]", '"cgroup:io.max" = ["max"]\niodepth = [1]'))
    said = inside(capsys, "plan", path, "--fio", fio)
    assert "cgroup:io.max: the kernel has no controller 'io' in /sys/fs/cgroup (it has hugetlb" in (
        said.stdout
    )


@pytest.fixture()
def on_loop(make_sweep: SweepMaker, loop: Disk) -> Path:
    """A sweep over the scheduler of a real device, which it only reads."""
    if not Kernel().writable(Path("/sys/block", loop.name, "queue/scheduler")):
        pytest.skip("this user may not set knobs")
    text = SWEEP.replace("[target]", f'[target]\npath = "/dev/{loop.name}"')
    return make_sweep(
        text.replace("iodepth = [1, 8]", '"queue/nr_requests" = [32, 64]').replace(
            "blocks = 2", "blocks = 20"
        )
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_real_knob_is_put_back_however_the_harness_ends(
    on_loop: Path, loop: Disk, fake_fio: Callable[[str], str], number: signal.Signals
) -> None:
    knob = Path("/sys/block", loop.name, "queue/nr_requests")
    before = knob.read_text()
    fio = fake_fio("time.sleep(0.1)\nsay(output)")
    child = subprocess.Popen(
        [sys.executable, "-m", "sluice", "run", on_loop, "--fio", fio],
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 60
    while knob.read_text() == before:
        assert child.poll() is None and time.monotonic() < limit
        time.sleep(0.005)
    os.kill(child.pid, number)
    child.communicate(timeout=60)
    if number is not signal.SIGKILL:
        assert knob.read_text() == before
        return
    listed = sluice("list")  # any verb
    assert knob.read_text() == before
    assert f"queue/nr_requests of {loop.name} is {before.strip()} again" in listed.stderr
    assert f"process {child.pid} was killed before it did that" in listed.stderr
    assert sluice("restore").stdout == "nothing to put back\n"


def test_a_real_control_group_holds_fio_and_is_removed(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from sluice.knobs import group

    place = group.root(Kernel())
    controllers = Kernel().read(place / "cgroup.controllers").split() if place else []
    candidates = {"memory": "memory.high", "pids": "pids.max", "hugetlb": "hugetlb.2MB.max"}
    usable = [name for name in candidates if name in controllers]
    if not usable or place is None or group.why_not(Kernel(), usable[:1]):
        pytest.skip("no control group (v2) with a limit can be made here")
    seen = tmp_path / "seen"
    fio = fake_fio(f"open({str(seen)!r}, 'w').write(open('/proc/self/cgroup').read())\nsay(output)")
    axis = f'"cgroup:{candidates[usable[0]]}" = ["max"]'
    before = Kernel().names(place), Kernel().read(place / "cgroup.subtree_control")
    path = make_sweep(SWEEP.replace("iodepth = [1, 8]", axis).replace("blocks = 2", "blocks = 1"))
    done = inside(capsys, "run", path, "--fio", fio)
    if done.returncode:
        pytest.skip(f"this kernel gives no such group: {done.stderr.strip()}")
    assert "/sluice-" in seen.read_text()
    assert (Kernel().names(place), Kernel().read(place / "cgroup.subtree_control")) == before


def test_what_cant_be_put_back_doesnt_stop_a_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "knobs-1-x.jsonl").write_text(
        '{"boot": "", "process": 1}\n'
        '{"kind": "value", "path": "/proc/sys/kernel/ostype", "text": "Plan 9", "label": "os"}\n'
    )
    assert cli.main(["list"]) == 0
    assert "os is Linux, not Plan 9 as before" in capsys.readouterr().err
    assert cli.main(["restore"]) == 1
