"""A target is filled, then measured in rounds until they agree; or it is said that they don't."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker
from harnessing import Quiet, run, session
from hypothesis import given
from hypothesis import strategies as st

from sluice import runner, store, sweep
from sluice.compose import Placement
from sluice.conditioning import driver, fill, gate, purge
from sluice.conditions import Precondition, SteadyRule
from sluice.errors import SluiceError
from sluice.executor import Order, Outcome
from sluice.fiocli import Fio
from sluice.knobs.session import Disk
from sluice.mock import MockExecutor
from sluice.model import Results, Role, Sample, Status
from sluice.runner import Session
from sluice.target import DataFolder

RULE = SteadyRule(round_s=0.1)


def test_rounds_that_agree_are_steady() -> None:
    assert gate.judge(RULE, [100.0] * 4) is None
    window = gate.judge(RULE, [1.0, 9.0, 100, 101, 99, 100, 100])
    assert window is not None and window.steady
    assert window.range == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("values", "steady"),
    [
        ([90, 110, 90, 110, 100], True),  # range exactly 20 %, hardly any slope
        ([89.9, 110, 90, 110, 100], False),  # a little more
        ([95, 97.5, 100, 102.5, 105], True),  # slope exactly 10 %
        ([94.9, 97.5, 100, 102.5, 105], False),
        ([105, 102.5, 100, 97.5, 95], True),  # falling counts as rising
        ([106, 102.5, 100, 97.5, 94], False),
        ([0, 0, 0, 0, 0], False),
        ([100, 100, float("nan"), 100, 100], False),
    ],
)
def test_the_limits_are_snias_and_belong_to_the_steady(values: list[float], steady: bool) -> None:
    window = gate.judge(RULE, values)
    assert window is not None and window.steady is steady


@given(
    st.lists(st.floats(1, 1e6), min_size=5, max_size=5),
    st.floats(1e-3, 1e3),
)
def test_the_judgement_is_of_shape_not_of_scale(values: list[float], factor: float) -> None:
    one = gate.judge(RULE, values)
    other = gate.judge(RULE, [value * factor for value in values])
    assert one is not None and other is not None
    assert one.range == pytest.approx(other.range, rel=1e-6, abs=1e-9)
    # The same slope by the textbook's sum of products, over rounds centred at their middle.
    mean = sum(values) / 5
    slope = sum((x - 2) * y for x, y in enumerate(values)) / 10
    assert one.slope == pytest.approx(abs(slope) * 4 / mean, rel=1e-6, abs=1e-9)


GATED = SWEEP + '\n[steady]\nround = "100ms"\ncap = 8\n'


class Rounds(MockExecutor):
    """Rounds with the figures given, then runs like the mock's."""

    def __init__(self, *values: float) -> None:
        super().__init__()
        self.values = list(values)

    def run(self, order: Order) -> Outcome:
        if order.folder.parent.name == "prepare":
            assert order.timeout_s >= 60
            self.orders.append(order)
            made = {"ios": 1e4, "iops": self.values.pop(0)}
            sample = Sample("measured", Role.MEASURED, True, "all", made)
            return Outcome(Status.OK, samples=(sample,))
        return super().run(order)


def gated(made: Session, executor: MockExecutor, fresh: bool = False) -> Session:
    fio = Fio(str(made.store.root.parent / "fake-fio"))
    condition = driver.Conditioner(fio, DataFolder(made.placement.path.parent), fresh)
    return dataclasses.replace(made, executor=executor, condition=condition)


@pytest.fixture()
def made(make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path) -> Session:
    return session(make_sweep(GATED), fake_fio(""), tmp_path / "store")


def test_runs_begin_once_the_rounds_agree(made: Session) -> None:
    executor = Rounds(50, 60, 100, 101, 99, 100, 100, 7)
    results = run(gated(made, executor))
    rounds = [step for step in results.preparation if step.kind == "round"]
    assert [step.value for step in rounds] == [50, 60, 100, 101, 99, 100, 100]
    assert [step.range is None for step in rounds] == [True] * 4 + [False] * 3
    assert (results.preparation[-1].kind, results.preparation[-1].steady) == ("gate", True)
    assert results.transient == ""
    assert results.complete
    assert [order.folder.parent.name for order in executor.orders[:8]] == ["prepare"] * 7 + ["runs"]
    assert store.load(results.folder).preparation == results.preparation


def test_rounds_that_never_agree_make_the_results_transient(made: Session) -> None:
    progress = Quiet()
    results = runner.run(gated(made, Rounds(10, 20, 30, 40, 50, 60, 70, 80)), progress)
    assert results.complete  # measured all the same
    assert "iops wasn't steady after 8 rounds: in the last 5 its range was 66.7 %" in (
        results.transient
    )
    assert any("the runs bear no verdict" in line for line in progress.lines)
    told = [line for line in progress.lines if "at most 8" in line]
    assert "(at most 0 s to go)" in told[-1]


def test_a_round_that_fails_is_said_and_ends_the_gate(made: Session) -> None:
    def script(order: Order) -> Outcome | None:
        if order.folder.parent.name == "prepare":
            return Outcome(Status.FAILED, "fio: pid=7, err=5/file:x.c:1, error=I/O error")
        return None

    results = run(gated(made, MockExecutor(script=script)))
    assert results.transient.startswith("round 1 of the gate: fio: pid=7")


def test_a_metric_that_isnt_measured_cant_be_steady(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    path = make_sweep(GATED + 'metric = "lat_p999"\n')
    made = session(path, fake_fio(""), tmp_path / "store")
    results = run(gated(made, Rounds(1, 2)))
    assert "lat_p999 wasn't measured" in results.transient


def test_every_session_passes_its_own_gate(made: Session) -> None:
    first = Rounds(100, 100, 100, 100, 100)

    def stop(order: Order) -> Outcome | None:
        if order.folder.name.startswith("00003"):
            raise KeyboardInterrupt
        return None

    first.script = stop
    with pytest.raises(KeyboardInterrupt):
        run(gated(made, first))
    results = run(gated(made, Rounds(1, 2, 3, 4, 5, 6, 7, 8)))
    gates = [step for step in results.preparation if step.kind == "gate"]
    assert [(step.session, step.steady) for step in gates] == [(0, True), (1, False)]
    assert results.complete and results.transient


def test_a_gate_that_was_interrupted_begins_anew(made: Session) -> None:
    """Rounds before and after a pause don't make one window."""

    class Stops(Rounds):
        def run(self, order: Order) -> Outcome:
            if not self.values:
                raise KeyboardInterrupt
            return super().run(order)

    with pytest.raises(KeyboardInterrupt):
        run(gated(made, Stops(100, 100, 100)))
    halfway = store.load(made.campaign.folder)
    assert [step.value for step in halfway.preparation] == [100, 100, 100]
    assert halfway.transient == ""  # no run was made
    results = run(gated(made, Rounds(50, 50, 50, 50, 50)))
    assert [step.session for step in results.preparation] == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert results.transient == ""


def test_without_a_gate_nobody_claims_anything(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    results = run(session(make_sweep(), fake_fio(""), tmp_path / "store"))
    assert (results.transient, results.preparation) == ("", ())
    lacking = dataclasses.replace(
        results, sweep=dataclasses.replace(results.sweep, steady=SteadyRule())
    )
    assert "no session of this campaign got through" in lacking.transient


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[steady]\nmetric = 'iop'", "no metric 'iop'; did you mean 'iops'?"),
        ("[steady]\nrounds = 30\ncap = 20", "cap = 20: must be a whole number from 30"),
        ("[steady]\nround = 0", "round = 0: must be more than 0"),
        ("[steady]\nrange = -1", "range = -1: must be a number of at least 0"),
        ("[steady]\nfoo = 1", "unknown key 'foo'"),
        ("[steady]\nworkload = 'x'", "must be one of solo"),
        ("[precondition]\npurge = 'rm'", 'must be true, false, "discard" or "format"'),
        ("[precondition]\nseq_fill = -1", "seq_fill = -1: must be a whole number from 0"),
        ("[precondition]\nrandom = '1'", "random = 1: must be from 512 to 64M"),
        ("[precondition]\nrandom = 'x'", "'x' is no number"),
        ("[precondition]\nrandom_fill = 2", "random_fill without random"),
    ],
)
def test_a_wrong_key_is_one_line(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], text: str, words: str
) -> None:
    with pytest.raises(SluiceError) as caught:
        sweep.load(make_sweep(f"{SWEEP}\n{text}\n"), Fio(fake_fio("")))
    assert words in str(caught.value)


@given(
    st.integers(1, 100 << 30),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_a_fill_covers_everything_as_often_as_asked(size: int, seq: int, random: int) -> None:
    wanted = Precondition("", seq, "4k" if random else "", random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fill, "_size", lambda _: size)
        parts = list(fill.slices(wanted, Placement(Path("/x"), True, None)))
    for kind, times in (("seq_fill", seq), ("random", random)):
        own = [one for one in parts if one.kind == kind]
        assert sum(one.size for one in own) == times * size
        assert [one.index for one in own] == list(range(len(own)))
        assert len(own) <= times * fill.SLICES
        at = 0
        for one in own:
            assert one.offset == at
            at = (at + one.size) % size
    assert parts == sorted(parts, key=lambda one: (one.kind != "seq_fill", one.index))


FILLED = SWEEP + "\n[precondition]\npurge = true\nseq_fill = 2\nrandom = '4k'\n"


def filled(made: Session, stop_at: int | None, fio: str, fresh: bool = False) -> Results:
    """Run it; with `stop_at`, interrupted before that slice."""
    count = 0
    real = fill.run

    def counted(*arguments: object) -> None:
        nonlocal count
        count += 1
        if count == stop_at:
            raise KeyboardInterrupt
        real(*arguments)  # type: ignore[arg-type]

    condition = driver.Conditioner(Fio(fio), DataFolder(made.placement.path.parent), fresh)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fill, "run", counted)
        patch.setattr(fill, "SLICE_BYTES", 256 << 10)
        patch.setattr(fill, "_slice_size", lambda _: 256 << 10)
        return run(dataclasses.replace(made, condition=condition))


def kinds(results: Results) -> list[tuple[str, int, int]]:
    return [(step.kind, step.index, step.session) for step in results.preparation]


@pytest.fixture()
def to_fill(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> tuple[Session, str]:
    fio = fake_fio("")
    made = session(make_sweep(FILLED), fio, tmp_path / "store")
    DataFolder(tmp_path / "data").acquire()
    made.placement.path.write_bytes(bytes(1 << 20))
    return made, fio


def test_what_was_filled_before_an_interruption_isnt_filled_again(
    to_fill: tuple[Session, str],
) -> None:
    made, fio = to_fill
    with pytest.raises(KeyboardInterrupt):
        filled(made, 6, fio)
    results = filled(made, None, fio)
    assert results.complete
    assert kinds(results) == [
        ("purge", 0, 0),
        *(("seq_fill", index, 0) for index in range(5)),
        *(("seq_fill", index, 1) for index in range(5, 8)),
        *(("random", index, 1) for index in range(4)),
    ]
    jobs = sorted((made.campaign.folder / "prepare").glob("*random/job.fio"))
    assert "rw=randwrite" in jobs[0].read_text()
    assert results.transient == ""


def test_own_files_that_had_to_be_made_anew_are_filled_anew(
    to_fill: tuple[Session, str],
) -> None:
    made, fio = to_fill
    with pytest.raises(KeyboardInterrupt):
        filled(made, 3, fio)
    results = filled(made, None, fio, fresh=True)
    assert [kind for kind, _, number in kinds(results) if number == 1] == [
        "layout",
        "purge",
        *["seq_fill"] * 8,
        *["random"] * 4,
    ]


def test_what_isnt_ours_takes_its_name_said(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"thesis" * 1000)
    text = FILLED.replace("[target]", f'[target]\npath = "{precious}"')
    placement = Placement(precious, True, "1M")
    data = DataFolder(tmp_path / "data")
    loaded = sweep.load(make_sweep(text), Fio(fake_fio("")))
    with pytest.raises(SluiceError, match="is a file of yours: only devices and the harness's"):
        driver.check(loaded, placement, data, [str(precious)])
    loaded = sweep.load(make_sweep(text.replace("purge = true\n", "")), Fio(fake_fio("")))
    with pytest.raises(SluiceError, match=f"--destructive {precious}"):
        driver.check(loaded, placement, data, [])
    driver.check(loaded, placement, data, [str(precious)])
    assert precious.read_bytes() == b"thesis" * 1000


def test_a_device_in_memory_has_nothing_to_be_filled(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    """Else the report would claim a state that nobody measured in."""
    loaded = sweep.load(make_sweep(FILLED), Fio(fake_fio("")))
    file = dataclasses.replace(loaded.file, options={"device": "model"})
    loaded = dataclasses.replace(loaded, file=file, own_engine=True)
    with pytest.raises(SluiceError, match="device=model keeps nothing in the target"):
        driver.check(loaded, Placement(tmp_path / "x", True, "1M"), DataFolder(tmp_path), [])


@pytest.fixture()
def device(loop: Disk) -> Iterator[Path]:
    node = Path("/dev", loop.name)
    node.write_bytes(os.urandom(16 << 20))
    yield node


def test_a_device_is_purged_only_by_its_name_and_when_nobody_uses_it(
    device: Path, make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    placement = Placement(device, True, "1M")
    loaded = sweep.load(
        make_sweep(FILLED.replace("[target]", f'[target]\npath = "{device}"')), Fio(fake_fio(""))
    )
    with pytest.raises(SluiceError, match=f"--destructive {device}"):
        driver.check(loaded, placement, DataFolder(tmp_path / "data"), [])
    driver.check(loaded, placement, DataFolder(tmp_path / "data"), [str(device)])
    with pytest.raises(SluiceError, match="is no NVMe namespace: write purge = true"):
        purge.check(Precondition("format"), device)
    held = os.open(device, os.O_RDONLY | os.O_EXCL)
    with pytest.raises(SluiceError, match="has claimed"):
        purge.device(Precondition("discard"), device)
    os.close(held)
    assert device.read_bytes() != bytes(16 << 20)
    purge.device(Precondition("discard"), device)
    assert device.read_bytes() == bytes(16 << 20)


@pytest.mark.fio
def test_a_real_device_is_filled_and_reaches_its_gate_or_says_not(
    device: Path, make_sweep: SweepMaker, tmp_path: Path
) -> None:
    text = FILLED.replace("blocks = 2", "blocks = 1").replace("random = '4k'", "random = '64k'")
    text = text.replace("[target]", f'[target]\npath = "{device}"').replace("null", "psync")
    text += '[steady]\nround = "100ms"\nrounds = 3\ncap = 4\n'
    command = ["-m", "sluice", "run", make_sweep(text), "--destructive", device]
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = store.load(tmp_path / "store")
    assert [kind for kind, _, _ in kinds(results)][:4] == [
        "purge",
        "seq_fill",
        "seq_fill",
        "random",
    ]
    assert device.read_bytes() != bytes(16 << 20)
    assert bool(results.transient) is not results.preparation[-1].steady
    assert results.environments[0].values["precondition.class"] == ("purge, seq x2, 64k random x1")
