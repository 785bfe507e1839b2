"""`sluice compare`, `gate`, `ack`, `confirm` as a user meets them: exit codes and one line each."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import SweepMaker
from levelled import Levels, campaign
from test_cli import inside, one_line

from sluice import plan, store
from sluice.campaign import Campaign
from sluice.executor import Order
from sluice.model import Cell, Results

FakeFio = Callable[[str], str]
TODAY = datetime.now(UTC).date()


def deep(factor: float) -> Callable[[Cell, Order], float]:
    """iodepth=8 runs at `factor` of iodepth=1, the default."""
    return lambda cell, _: factor if cell.values["iodepth"] == "8" else 1.0


class Bench:
    """A store, and campaigns in it."""

    def __init__(self, make_sweep: SweepMaker, fio: str, root: Path) -> None:
        self._make, self.fio, self.root = make_sweep, fio, root

    def sweep(self, blocks: str = "6", name: str = "small") -> Path:
        return self._make(name=name, replace={"blocks = 2": f"blocks = {blocks}"})

    def run(self, executor: Levels | None = None, blocks: str = "6", **facts: str) -> Results:
        return campaign(self.sweep(blocks), self.fio, self.root, executor or Levels(), facts)


@pytest.fixture()
def bench(make_sweep: SweepMaker, fake_fio: FakeFio, tmp_path: Path) -> Bench:
    return Bench(make_sweep, fake_fio(""), tmp_path / "store")


GATE: dict[str, tuple[Levels, int, str]] = {
    "fine": (Levels(), 0, "fine: 0 improved, 3 equivalent"),
    "improved": (Levels(deep(1.3)), 0, "fine: 2 improved, 1 equivalent"),
    "regressed": (Levels(deep(0.8)), 2, "regressed: 2 of 3"),
    "inconclusive": (Levels(noise=0.2), 3, "inconclusive: "),
    "zero": (Levels(values={"iops": 0.0}), 3, "IOPS is 0 in some run, so it has no ratio"),
    "too few I/Os": (Levels(values={"ios": 900.0}), 3, "fewer than 100 I/Os lie beyond its p99"),
}


@pytest.mark.parametrize("case", GATE)
def test_the_exit_code_is_the_verdict(
    bench: Bench, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    executor, code, text = GATE[case]
    bench.run(executor)
    done = inside(capsys, "gate")
    assert done.returncode == code, done.stdout + done.stderr
    assert text in done.stdout.splitlines()[-1]
    assert done.stderr == ""


def test_a_figure_that_is_no_number_rules_out_its_cell_and_no_other(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """This harness writes none, but a store may come from elsewhere."""
    results = bench.run(Levels(deep(0.8)))
    file = results.runs[0].folder / "run.json"
    file.write_text(re.sub(r'"cpu_us": [0-9.]+', '"cpu_us": NaN', file.read_text()))
    (bench.root / "index-v1.sqlite").unlink()
    done = inside(capsys, "gate")
    assert done.returncode == 2
    assert "regressed: 2 of 3" in done.stdout
    assert re.search(r"CPU per I/O .*no verdict: not a finite number", done.stdout)


def test_one_block_is_no_verdict_and_says_so(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(Levels(deep(0.5)), blocks="1")
    done = inside(capsys, "gate")
    assert done.returncode == 3
    assert "one block has no spread: take more blocks" in done.stdout


@pytest.mark.parametrize(
    ("level", "noise", "fail_on", "code"),
    [
        (0.8, 0.005, "regressed", 2),
        (0.8, 0.005, "never", 0),
        (1.0, 0.2, "inconclusive", 3),
        (1.0, 0.2, "regressed", 0),
        (1.0, 0.2, "never", 0),
    ],
)
def test_fail_on(
    bench: Bench,
    capsys: pytest.CaptureFixture[str],
    level: float,
    noise: float,
    fail_on: str,
    code: int,
) -> None:
    bench.run(Levels(deep(level), noise))
    assert inside(capsys, "gate", "--fail-on", fail_on).returncode == code


def test_an_arm_that_never_ran_is_not_fine(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(Levels(fail=lambda order: "no such option" if "=8" in order.cell.id else ""))
    done = inside(capsys, "gate")
    assert done.returncode == 5
    assert "nothing ran: solo/iodepth=8: no run ended well: no such option" in done.stdout


def test_half_written_runs_dont_count_and_are_said(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    results = bench.run()
    for run in results.runs[-3:]:
        (run.folder / "run.json").unlink()
    done = inside(capsys, "gate")
    assert done.returncode == 0
    assert "note: small-0001 is not complete" in done.stdout


def test_a_damaged_run_is_a_tool_error_of_one_line(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    results = bench.run()
    (bench.root / "index-v1.sqlite").unlink()
    (results.runs[0].folder / "run.json").write_text('{"schema": 1, "id"')
    assert "run.json: can't be read" in one_line(inside(capsys, "gate"))


def test_wrong_use_is_not_mistaken_for_a_regression(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        inside(capsys, "gate", "--fail-on", "sometimes")
    assert caught.value.code == 1


def test_nothing_to_gate_is_5(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no results in it" in one_line(inside(capsys, "gate"), 5)


OTHER = {
    "another machine": {"machine.id": "two"},
    "another fio": {"fio.version": "3.35"},
}


@pytest.mark.parametrize("case", OTHER)
def test_what_isnt_comparable_is_named(
    bench: Bench, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    bench.run()
    bench.run(Levels(lambda *_: 0.5), **OTHER[case])
    ((key, value),) = OTHER[case].items()
    for words in (["compare", "1", "2"], ["gate", "2", "--against", "1"]):
        done = inside(capsys, *words)
        assert done.returncode == 4, done.stdout
        assert key in done.stdout
        assert f"now is {value}" in done.stdout
    assert inside(capsys, "compare", "1", "2", "--vary", key).returncode == 0
    assert inside(capsys, "gate", "2", "--against", "1", "--vary", key).returncode == 2
    assert inside(capsys, "gate", "2", "--against", "1", "--fail-on", "never").returncode == 0


def test_two_campaigns_are_compared_with_blocks_of_their_own_and_a_warning(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(Levels(seed=1))
    bench.run(Levels(lambda *_: 0.8, seed=2))
    done = inside(capsys, "compare", "1", "2")
    assert done.returncode == 0
    assert "small-0002 over small-0001, with blocks of their own" in done.stdout
    assert "note: not interleaved: each campaign has blocks of its own" in done.stdout
    assert len(re.findall(r"IOPS .* regressed", done.stdout)) == 2
    assert inside(capsys, "gate", "2", "--against", "1").returncode == 2
    assert inside(capsys, "gate", "1", "--against", "2").returncode == 0


def test_two_arms_of_one_campaign_are_compared_within_blocks(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blocks differ by far more than the arms do, which only pairing survives."""

    def level(cell: Cell, order: Order) -> float:
        block = int(order.folder.name.partition("-")[0]) // 4
        return deep(0.9)(cell, order) * 1.3 ** (block % 3)

    bench.run(Levels(level))
    done = inside(capsys, "compare", "small:iodepth=1", ":iodepth=8")
    assert done.returncode == 0
    assert "small-0001:iodepth=8 over small-0001:iodepth=1, within each block" in done.stdout
    assert "not interleaved" not in done.stdout
    assert re.search(r"IOPS .* regressed", done.stdout)
    bench.run(Levels(level, seed=2))
    done = inside(capsys, "compare", "small-0001:iodepth=1", "small-0002:iodepth=8")
    assert not re.search(r"IOPS .* regressed", done.stdout)


ARMS = {
    "same": (["small", "small"], "both sides are the same"),
    "no axis": (["small:iodpeth=1", ":iodepth=8"], "no axis 'iodpeth'; did you mean 'iodepth'?"),
    "no value": (["small:iodepth=1", ":iodepth=9"], "iodepth has no value '9'"),
    "no campaign": ([":iodepth=1", "small:iodepth=8"], "of which campaign?"),
    "no pair": (["small:iodepth=1", ":iodepth"], "no campaign ':iodepth'"),
    "open": (["small:iodepth=1", "small"], "which iodepth is meant?"),
}


@pytest.mark.parametrize("case", ARMS)
def test_an_arm_that_isnt_clear_is_one_line(
    bench: Bench, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    bench.run(blocks="2")
    words, text = ARMS[case]
    assert text in one_line(inside(capsys, "compare", *words))


def ack(capsys: pytest.CaptureFixture[str], file: Path, **changes: str) -> None:
    flags = {
        "cell": "solo/*",
        "metric": "*",
        "reason": 'known since "1.4", \\ accepted',
        "until": str(TODAY),
        **changes,
    }
    words = [word for name, value in flags.items() for word in (f"--{name}", value)]
    done = inside(capsys, "ack", *words, "--acks", file)
    assert done.returncode == 0, done.stderr


def test_a_known_difference_doesnt_fail_a_gate_until_it_runs_out(
    bench: Bench, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bench.run(Levels(deep(0.8)))
    file = tmp_path / "repository" / "acks.toml"
    ack(capsys, file, metric="iops")
    done = inside(capsys, "gate", "--acks", file)
    assert done.returncode == 2  # p99 regressed too
    ack(capsys, file, metric="lat_*", sweep="sm*")
    done = inside(capsys, "gate", "--acks", file)
    assert done.returncode == 0
    assert "2 acknowledged" in done.stdout
    assert f'acknowledged until {TODAY}: solo/iodepth=8 iops: known since "1.4"' in done.stdout
    assert 'known since "1.4", \\ accepted' in inside(capsys, "ack", "--acks", file).stdout
    gone = TODAY - timedelta(days=1)
    file.write_text(file.read_text().replace(str(TODAY), str(gone)))
    done = inside(capsys, "gate", "--acks", file)
    assert done.returncode == 2
    assert f"ran out on {gone}: solo/iodepth=8 iops" in done.stdout
    assert "(ran out)" in inside(capsys, "ack", "--acks", file).stdout


BAD_ACKS = {
    "date": (["--until", "soon"], "write a date as YYYY-MM-DD"),
    "over": (["--until", "2020-01-01"], "is over already"),
    "missing": (["--cell", "x"], "takes --cell, --metric, --reason and --until together"),
}


@pytest.mark.parametrize("case", BAD_ACKS)
def test_a_bad_acknowledgement_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, case: str
) -> None:
    words, text = BAD_ACKS[case]
    full = ["--cell", "x", "--metric", "y", "--reason", "z"] if case != "missing" else []
    file = tmp_path / "acks.toml"
    assert text in one_line(inside(capsys, "ack", *full, *words, "--acks", file))
    assert not file.exists()


def test_a_damaged_ack_file_is_one_line(
    bench: Bench, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bench.run(blocks="2")
    file = tmp_path / "acks.toml"
    file.write_text('[[ack]]\ncell = "x"\nmetric = "y"\nreason = "z"\nuntil = "2027-01-01"\n')
    assert "until must be a date without quotes" in one_line(inside(capsys, "gate", "--acks", file))


def confirmable(bench: Bench, fake_fio: FakeFio, fresh_iops: int) -> str:
    """A fio that is faster at depth 8; in the second half of its life at another speed."""
    return fake_fio(
        f"""
        import glob
        deep = "iodepth=8" in job
        number = int(os.path.basename(os.getcwd()).partition("-")[0])
        level = ({fresh_iops} if number >= 24 else 1200) if deep else 1000
        say(output, ios=20 * level + number % 3)
        """
    )


def test_what_looked_best_is_measured_again_and_recommended(
    bench: Bench, fake_fio: FakeFio, capsys: pytest.CaptureFixture[str]
) -> None:
    fio = confirmable(bench, fake_fio, 1100)
    inside(capsys, "run", bench.sweep(), "--fio", fio)
    done = inside(capsys, "confirm", "--fio", fio, "--blocks", "3")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()[-1]
    assert "Set iodepth=8: in 3 fresh blocks, which had no part in choosing it" in said
    assert "x1.100" in said  # what the fresh blocks say, and not the 1.2 that it was chosen for
    results = store.load(bench.root)
    assert results.complete
    assert [block.stage for block in results.blocks] == [""] * 6 + ["confirm-1"] * 3
    assert inside(capsys, "confirm", "--fio", fio).stdout.splitlines()[-1] == said
    assert len(store.load(bench.root).blocks) == 9


def test_what_doesnt_hold_in_fresh_blocks_is_withdrawn(
    bench: Bench, fake_fio: FakeFio, capsys: pytest.CaptureFixture[str]
) -> None:
    fio = confirmable(bench, fake_fio, 1000)
    inside(capsys, "run", bench.sweep(), "--fio", fio)
    done = inside(capsys, "confirm", "--fio", fio)
    assert "looked best, but in 6 fresh blocks no setting improved" in done.stdout
    assert "leave iodepth=1" in done.stdout


def test_a_confirmation_that_was_cut_short_goes_on(
    bench: Bench, fake_fio: FakeFio, capsys: pytest.CaptureFixture[str]
) -> None:
    fio = confirmable(bench, fake_fio, 1100)
    inside(capsys, "run", bench.sweep(), "--fio", fio)
    inside(capsys, "confirm", "--fio", fio, "--blocks", "3")
    folder = bench.root / "small-0001"
    for run in sorted((folder / "runs").iterdir())[-5:]:
        shutil.rmtree(run)
    assert inside(capsys, "run", "--resume", "--fio", fio).returncode == 0
    assert len(Campaign(folder).finished()) == 24 + 12
    for run in sorted((folder / "runs").iterdir())[-5:]:
        shutil.rmtree(run)
    done = inside(capsys, "confirm", "--fio", fio)
    assert "Set iodepth=8" in done.stdout
    assert len(Campaign(folder).finished()) == 24 + 12


def test_a_default_within_the_margin_of_the_best_is_left(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.run(Levels(deep(1.01)))
    done = inside(capsys, "confirm")
    assert done.returncode == 0
    assert "The default is within the margin of the best: leave iodepth=1." in done.stdout
    assert len(store.load(bench.root).blocks) == 6


def test_nothing_is_confirmed_before_all_is_measured(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    results = bench.run(Levels(deep(1.3)))
    shutil.rmtree(results.runs[-1].folder)
    assert "is not complete, so what looks best may change" in one_line(inside(capsys, "confirm"))


def wavering(fake_fio: FakeFio, percent: int) -> str:
    """A fio whose runs scatter by up to so many percent, and never drift."""
    return fake_fio(
        f"""
        number = int(os.path.basename(os.getcwd()).partition("-")[0])
        say(output, ios=20000 + 2 * {percent} * (number * 37 % 101))
        """
    )


def test_a_pilot_chooses_the_number_of_blocks_and_its_blocks_count(
    bench: Bench, fake_fio: FakeFio, capsys: pytest.CaptureFixture[str]
) -> None:
    fio = wavering(fake_fio, 8)
    done = inside(capsys, "run", bench.sweep('"auto"'), "--fio", fio, "--seed", 3)
    assert done.returncode == 0, done.stderr
    results = store.load(bench.root)
    count = len(results.blocks)
    assert 5 < count <= 40
    assert f"small-0001: {count} blocks by the spread of the first 5" in done.stderr
    assert results.complete
    assert results.sweep.blocks == count
    assert results.blocks == plan.draw(results.cells, count, 3)  # as if drawn at once
    assert {run.block for run in results.runs} == set(range(count))


def test_a_quiet_pilot_is_enough_and_a_number_overrides_it(
    bench: Bench, fake_fio: FakeFio, capsys: pytest.CaptureFixture[str]
) -> None:
    fio = wavering(fake_fio, 0)
    inside(capsys, "run", bench.sweep('"auto"'), "--fio", fio)
    assert len(store.load(bench.root).blocks) == 5
    inside(capsys, "run", bench.sweep('"auto"'), "--fio", fio, "--blocks", 2)
    assert len(store.load(bench.root).blocks) == 2
    assert "no unfinished campaign" in one_line(inside(capsys, "run", "--resume", "--fio", fio))


def test_a_harness_that_ended_before_it_chose_chooses_on_resume(
    bench: Bench, fake_fio: FakeFio, capsys: pytest.CaptureFixture[str]
) -> None:
    fio = wavering(fake_fio, 0)
    inside(capsys, "run", bench.sweep('"auto"'), "--fio", fio)
    shutil.rmtree(bench.root / "small-0001" / "blocks")
    done = inside(capsys, "run", "--resume", "--fio", fio)
    assert done.returncode == 0, done.stderr
    assert "5 blocks by the spread of the first 5" in done.stderr
