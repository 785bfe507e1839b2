"""`sluice aa`: a sweep against itself, over and over; and the rates that reports print."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker
from report_synthetic import results
from report_synthetic import sweep as synthetic

from sluice import cli, commands, sweep
from sluice.aa import arms, record
from sluice.aa import cli as aa_cli
from sluice.aa import session as sessions
from sluice.aa.record import Called, Kind, Outcome, Record
from sluice.errors import NothingRan, SluiceError
from sluice.executor import Order
from sluice.executor import Outcome as Ended
from sluice.fiocli import Fio
from sluice.mock import MockExecutor
from sluice.model import ARM, Environment, Role, Sample, Status
from sluice.prepare import place
from sluice.runner import make_order
from sluice.store import Store
from sluice.target import DataFolder
from sluice.verdicts.focus import focus_axis

SIX = SWEEP.replace("blocks = 2", "blocks = 6") + "[workloads.solo]\n"
GATE = '[[gate]]\nmetric = "iops"\n'
MACHINE = {"machine.id": "m", "cpu.model": "c", "kernel.release": "k"}


def noisy(order: Order) -> Ended:
    """IOPS with 2 % of log-normal noise of the run's own; 5 % less at depth 8, where that is
    what is compared."""
    chance = random.Random(f"{order.folder.name}/{order.cell.id}")
    slower = 0.95 if order.cell.values == {"iodepth": "8"} else 1.0
    iops = 1e4 * slower * math.exp(chance.gauss(0.0, 0.02))
    sample = Sample("measured", Role.MEASURED, True, "all", {"iops": iops, "ios": 1e6})
    return Ended(Status.OK, "", 0.1, (sample,))


@dataclasses.dataclass
class Runner:
    """The verb `run`, with figures made up. Its `stop`-th run of fio is interrupted."""

    program: str
    calls: list[list[str]] = dataclasses.field(default_factory=list)
    stop: int = -1

    def __call__(self, words: Sequence[str]) -> int:
        self.calls.append(list(words))
        try:
            return cli._run([*words, "--fio", self.program])
        except KeyboardInterrupt:
            return 130

    def script(self, order: Order) -> Ended:
        self.stop -= 1
        if self.stop == 0:
            raise KeyboardInterrupt
        return noisy(order)


@pytest.fixture()
def runner(fake_fio: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    made = Runner(fake_fio(""))
    executor = MockExecutor(script=made.script)
    monkeypatch.setattr(commands, "FioExecutor", lambda fio: executor)
    return made


def test_both_arms_are_the_same_job(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    loaded = sweep.load(make_sweep(SIX), Fio(fake_fio("")))
    doubled = arms.doubled(loaded)
    assert len(doubled.cells) == 2 * len(loaded.cells)
    assert len({cell.id for cell in doubled.cells}) == len(doubled.cells)
    focus = focus_axis(doubled.info.axes)
    assert focus is not None
    assert focus.name == ARM
    placement = place(doubled, DataFolder(tmp_path / "data"))
    a, b = (
        make_order(doubled, placement, cell, 1, tmp_path, "").job_text
        for cell in doubled.cells
        if cell.values["iodepth"] == "8"
    )
    assert a == b
    with pytest.raises(SluiceError, match="axis named 'arm'"):
        arms.doubled(doubled)


def test_a_session_counts_false_verdicts_and_survives_an_interruption(
    make_sweep: SweepMaker, runner: Runner, tmp_path: Path
) -> None:
    path = make_sweep(SIX + GATE)
    begun = sessions.begin(tmp_path / "store", Kind.AA, str(path), 3)
    said: list[str] = []
    runner.stop = 60  # of 48 runs a report
    assert sessions.go_on(begun, runner, ["--aa"], said.append) == 130
    found = sessions.find(tmp_path / "store", "")
    assert found.folder == begun.folder
    assert found.reports == 1
    done = sessions.go_on(found, runner, ["--aa"], said.append)
    assert isinstance(done, Record)
    assert done.reports == 3
    assert [words[0] for words in runner.calls] == [*2 * [str(path)], "--resume", str(path)]
    assert [outcome.judged for outcome in done.outcomes] == [2, 2, 2]
    assert done.cells == 4
    assert done.blocks == 6
    assert done.hits == 0
    assert record.load(done.folder) == done
    assert sessions.judge_again(done) == done
    assert "report 3 of 3" in said[-1]
    assert Store(tmp_path / "store").campaigns() == []  # they don't crowd the store's list


def test_an_injected_change_is_found(
    make_sweep: SweepMaker, runner: Runner, tmp_path: Path
) -> None:
    path = make_sweep(SIX.replace("blocks = 6", "blocks = 10") + GATE)
    begun = sessions.begin(tmp_path / "store", Kind.INJECTED, str(path), 1)
    done = sessions.go_on(begun, runner, [], lambda _: None)
    assert isinstance(done, Record)
    assert done.hits == 1
    (outcome,) = done.outcomes
    assert outcome.called[0].verdict == "regressed"
    assert outcome.called[0].ratio == pytest.approx(0.95, abs=0.02)


def a_record(kind: Kind = Kind.AA, false: int = 1, reports: int = 20, **changes: object) -> Record:
    call = Called("solo/arm=b", "iops", "regressed", 0.9, 0.85, 0.95)
    outcomes = tuple(
        Outcome(f"c-{n:04d}", 30, 30, (call,) if n < false else ()) for n in range(reports)
    )
    made = Record(1, kind, "jobs/aa-model.toml", 20, 5, 20, 1.8e9, MACHINE, "", outcomes)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def test_a_rate_belongs_to_a_machine(tmp_path: Path) -> None:
    here = dataclasses.replace(
        results(synthetic(blocks=2)), environments=(Environment("", 1.0, MACHINE),)
    )
    assert record.calibrated(tmp_path, here) == []
    for number, changes in enumerate(
        (
            {},
            {"created_at": 1.9e9},
            {"machine": {**MACHINE, "cpu.model": "other"}, "created_at": 2e9},
            {"outcomes": (), "created_at": 2e9},
            {"kind": Kind.INJECTED},
        )
    ):
        folder = tmp_path / record.FOLDER / f"s-{number}"
        folder.mkdir(parents=True)
        record.save(a_record(folder=folder, **changes))
    (tmp_path / record.FOLDER / "s-0" / "x").mkdir()
    (tmp_path / record.FOLDER / "s-4" / "aa.json").write_text("damage", encoding="utf-8")
    found = record.calibrated(tmp_path, here)
    assert [one.created_at for one in found] == [1.9e9]


def test_a_bound_is_no_smaller_than_the_rate() -> None:
    assert record.upper_bound(0, 20) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert record.upper_bound(20, 20) == 1.0
    assert 3 / 20 < record.upper_bound(3, 20) < 0.4
    assert aa_cli.rate(a_record(false=0)).startswith("0 of 20 reports")
    assert "found in 19 of 20" in aa_cli.rate(a_record(Kind.INJECTED, 19))


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    assert cli.main(["aa", "--list", "--store", str(store)]) == 0
    assert "no A/A session" in capsys.readouterr().out
    folder = store / record.FOLDER / "aa-x-0001"
    folder.mkdir(parents=True)
    record.save(a_record(folder=folder))
    assert cli.main(["aa", "--list", "--store", str(store)]) == 0
    assert "20/20" in capsys.readouterr().out
    assert cli.main(["aa", "--resume", "y", "--store", str(store)]) == 1
    assert "no session 'y'" in capsys.readouterr().err
    assert cli.main(["aa", "--reports", "0", "--store", str(store)]) == 1
    assert cli.main(["aa", "no-such-sweep", "--store", str(store)]) == 1
    assert "no such sweep file" in capsys.readouterr().err


def test_nothing_judged_is_said(tmp_path: Path) -> None:
    nothing = a_record(outcomes=(Outcome("c-0001", 30, 0, ()),), folder=tmp_path)
    with pytest.raises(NothingRan, match="no comparison has a verdict"):
        aa_cli._conclude(nothing)


def test_the_command_is_kept() -> None:
    words = ["run", "x.toml", "--aa", "--blocks", "3"]
    assert commands.command_line(cli.parser().parse_args(words)).endswith("--blocks 3 --aa")
