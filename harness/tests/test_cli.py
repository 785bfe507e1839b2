"""The command line as a user meets it: as a process, with one line for each error."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker

from sluice import cli, process, store
from sluice.campaign import Campaign
from sluice.model import Status

SLOW = "time.sleep(0.2)\nsay(output)"


def sluice(*arguments: object, **how: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sluice", *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,  # type: ignore
        check=False,
        **how,
    )


def inside(
    capsys: pytest.CaptureFixture[str], *arguments: object
) -> subprocess.CompletedProcess[str]:
    """The same without a process: for the many cases that need none."""
    words = [str(one) for one in arguments]
    before = signal.getsignal(signal.SIGTERM)
    code = cli.main(words)
    signal.signal(signal.SIGTERM, before)
    said = capsys.readouterr()
    return subprocess.CompletedProcess(words, code, said.out, said.err)


def one_line(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    """The error: nothing but one line on stderr."""
    assert done.returncode == code, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("sluice: ")
    return lines[0]


def test_run_then_list(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    done = sluice("run", make_sweep(), "--fio", fake_fio(""))
    assert done.returncode == 0, done.stderr
    assert "8 runs ok" in done.stdout
    assert "report: sluice report small-0001" in done.stdout
    assert re.search(r"0 of 8 runs done, about \d+ s to go", done.stderr)
    assert "\x1b" not in done.stderr  # plain when not a terminal
    listed = sluice("list")
    assert "small-0001" in listed.stdout
    assert "8/8" in listed.stdout
    results = store.load(tmp_path / "store")
    assert results.complete
    assert "--seed" not in results.command


def test_a_sweep_can_be_repeated_by_its_command(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags = ["--fio", fake_fio(""), "--seed", 7, "--blocks", 1]
    inside(capsys, "run", make_sweep(), *flags)
    first = store.load(tmp_path / "store")
    assert "--blocks 1 --seed 7 --fio" in first.command
    inside(capsys, *first.command.split()[1:])
    second = store.load(tmp_path / "store")
    assert second.campaign == "small-0002"
    assert second.blocks == first.blocks


@pytest.mark.parametrize("verb", [["plan"], ["run", "--dry-run"]])
def test_planning_writes_nothing(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    verb: list[str],
) -> None:
    done = inside(capsys, *verb, make_sweep(), "--fio", fake_fio(""), "--order")
    assert done.returncode == 0, done.stderr
    assert "2 cells x 2 blocks x 2 (forward and reversed) = 8, about " in done.stdout
    assert len(re.findall(r"block \d (?:forward|reverse)", done.stdout)) == 8
    assert ("The first run's job file" in done.stdout) == ("--dry-run" in verb)
    assert not (tmp_path / "store").exists()
    assert not (tmp_path / "data").exists()


ERRORS = {
    "sweep": (["plan", "nowhere"], "nowhere: no such sweep file; those of the project: "),
    "fio": (["plan", "SWEEP", "--fio", "no-such-fio"], "no program 'no-such-fio' on PATH"),
    "nothing to resume": (["run", "--resume"], "no unfinished campaign"),
    "resume what": (["run", "--resume", "x"], "no campaign 'x'"),
    "neither": (["run"], "name a sweep, or a campaign with --resume"),
    "both": (["run", "SWEEP", "--resume", "x"], "name a sweep, or a campaign with --resume"),
    "report of nothing": (["report"], "no results in it: run a sweep first"),
    "report of what": (["report", "x"], "no campaign 'x'"),
    "destructive": (
        ["plan", "SWEEP", "--fio", "FIO", "--destructive", "/dev/nope"],
        "--destructive /dev/nope: doesn't exist",
    ),
    "data": (["run", "SWEEP", "--fio", "FIO", "--data", "/proc/x"], "can't hold test files"),
    "data of others": (["run", "SWEEP", "--fio", "FIO", "--data", "SWEEPS"], "no data folder"),
    "store": (["run", "SWEEP", "--fio", "FIO", "--store", "/proc/x"], "can't be written"),
}


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=list(ERRORS))
def test_an_error_is_one_line(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    path = make_sweep()
    names = {"SWEEP": str(path), "SWEEPS": str(path.parent), "FIO": fake_fio("")}
    assert message in one_line(inside(capsys, *(names.get(word, word) for word in arguments)))


def test_a_sweep_that_would_write_to_a_strangers_file_is_refused(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("thesis", encoding="utf-8")
    path = make_sweep(
        SWEEP + "[workloads.a]\nneighbour='neighbour.fio'\n",
        replace={'size = "1M"': f'path = "{precious}"\nsize = "4k"'},
    )
    line = one_line(inside(capsys, "run", path, "--fio", fake_fio("")))
    assert f"to lose its contents say --destructive {precious}" in line
    assert precious.read_text() == "thesis"
    assert not (tmp_path / "store").exists()


def test_too_little_room_for_the_test_files_is_said(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = inside(capsys, "run", make_sweep(replace={'"1M"': '"900T"'}), "--fio", fake_fio(""))
    assert done.returncode == 1
    assert "MiB free, the test files need 943718400 MiB" in done.stderr.splitlines()[-1]


def test_nothing_ran_has_its_own_code(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = inside(
        capsys,
        "run",
        make_sweep(),
        "--fio",
        fake_fio("print('fio: engine broke', file=sys.stderr); sys.exit(1)"),
    )
    assert done.returncode == 5
    assert "no run ended well" in done.stderr.splitlines()[-1]
    assert "8 not: " in done.stdout
    assert "fio: engine broke" in done.stdout
    assert {one.status for one in store.load(tmp_path / "store").runs} == {Status.FAILED}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_killed_sweep_goes_on_where_it_stopped(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path, how: signal.Signals
) -> None:
    fio = fake_fio(SLOW)
    command = [sys.executable, "-m", "sluice", "run", str(make_sweep()), "--fio", fio]
    harness = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runs = tmp_path / "store" / "small-0001" / "runs"
    mark = Campaign(runs.parent).mark
    limit = time.monotonic() + 60
    while len(list(runs.glob("*/run.json"))) < 2 or not process.marked(mark):
        assert time.monotonic() < limit
        time.sleep(0.02)
    harness.send_signal(how)
    code = harness.wait(30)
    assert code == (-9 if how is signal.SIGKILL else 130)
    if how is not signal.SIGKILL:
        assert process.marked(mark) == []
    kept = {path.parent.name for path in runs.glob("*/run.json")}
    assert 2 <= len(kept) < 8
    done = sluice("run", "--resume", "--fio", fio)
    assert done.returncode == 0, done.stderr
    results = store.load(tmp_path / "store")
    assert results.complete
    assert [one.order for one in results.runs] == list(range(8))
    assert kept <= {one.id for one in results.runs}
    assert len(list(runs.iterdir())) in (8, 9)  # the one that was cut short stays, uncounted


def test_a_new_sweep_isnt_measured_beside_what_a_killed_one_left(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    """kill -9 of the harness leaves fio; another campaign on the same files has to end it."""
    first = tmp_path / "store" / "small-0001"
    hang = (
        f"if {str(first)!r} in os.getcwd():\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(60)\nsay(output)"
    )
    fio = fake_fio(hang)
    command = [sys.executable, "-m", "sluice", "run", str(make_sweep()), "--fio", fio]
    harness = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mark, limit = Campaign(first).mark, time.monotonic() + 60
    while not process.marked(mark):
        assert time.monotonic() < limit
        time.sleep(0.02)
    harness.kill()
    harness.wait()
    assert process.marked(mark)
    done = sluice(*command[3:])
    left = process.marked(mark)
    process.kill_marked(mark)
    assert left == []
    assert done.returncode == 0, done.stderr
    assert store.load(tmp_path / "store").campaign == "small-0002"


def test_a_campaign_isnt_continued_by_another_fio(
    make_sweep: SweepMaker,
    fake_fio: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    inside(capsys, "run", make_sweep(), "--fio", fake_fio(""))
    victim = next((tmp_path / "store" / "small-0001" / "runs").glob("*/run.json"))
    victim.unlink()
    done = inside(capsys, "run", "--resume", "small", "--fio", fake_fio("", version="fio-3.39"))
    assert "fio.version was 3.33, now is 3.39: runs of both don't compare" in one_line(done)


def test_the_command_that_goes_on_says_all_that_it_takes(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run as it is printed, it finishes the campaign: same fio, data folder, and consent."""
    precious = tmp_path / "to be lost"
    precious.write_bytes(bytes(1 << 20))
    path = make_sweep(
        job="[reader]\nrw=randwrite\n", replace={'size = "1M"': f'path = "{precious}"\nsize="1M"'}
    )
    once = tmp_path / "once"
    fio = fake_fio(
        f"if not os.path.exists({str(once)!r}) and '/00003-' in os.getcwd():\n"
        f"    open({str(once)!r}, 'w').close()\n"
        "    os.kill(os.getppid(), signal.SIGINT)\n    time.sleep(20)\nsay(output)"
    )
    flags = ["--data", tmp_path / "my data", "--destructive", precious]
    done = inside(capsys, "run", path, "--fio", fio, *flags)
    assert done.returncode == 130
    (command,) = re.findall(r"go on with `sluice (.*)`", done.stderr)
    again = inside(capsys, *shlex.split(command))
    assert again.returncode == 0, again.stderr
    assert store.load(tmp_path / "store").complete


def test_two_sweeps_at_once_dont_share_a_test_file(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    go = tmp_path / "go"
    fio = fake_fio(
        f"while '/small-0001/' in os.getcwd() and not os.path.exists({str(go)!r}):\n"
        "    time.sleep(0.02)\nsay(output)"
    )
    command = [sys.executable, "-m", "sluice", "run", str(make_sweep()), "--fio", fio]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 60
    while not (tmp_path / "store" / "small-0001").exists():
        assert time.monotonic() < limit
        time.sleep(0.02)
    line = one_line(sluice(*command[3:]))
    assert "another sweep is running on these test files: wait for it, or name another" in line
    beside = sluice(*command[3:], "--data", tmp_path / "other")  # the store they may share
    assert beside.returncode == 0, beside.stderr
    go.touch()
    assert first.wait(60) == 0
    names = [path.name for path in (tmp_path / "store").glob("small-*")]
    assert sorted(names) == ["small-0001", "small-0002"]
    for name in names:
        assert store.load(tmp_path / "store" / name).complete


def test_a_deleted_results_folder_is_said(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    body = (
        "import shutil\nif os.path.basename(os.getcwd()).startswith('00003'):\n"
        "    os.chdir('/')\n"
        f"    shutil.rmtree({str(tmp_path / 'store')!r})\n"
        "else:\n    say(output)"
    )
    done = sluice("run", make_sweep(), "--fio", fake_fio(body))
    assert done.returncode == 1
    assert "was deleted while its sweep was running" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_store_of_a_newer_schema_is_listed_with_its_reason(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    inside(capsys, "run", make_sweep(), "--fio", fake_fio(""))
    header = tmp_path / "store" / "small-0001" / "campaign.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | {"schema": 2}))
    assert "schema 2, this harness reads up to 1" in inside(capsys, "list").stdout
    assert "schema 2" in one_line(inside(capsys, "report"))
    assert "schema 2" in one_line(inside(capsys, "run", "--resume", "small"))


def test_a_reader_that_goes_away_is_no_error() -> None:
    shell = f"{sys.executable} -m sluice list | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


def test_usage_is_shown_for_every_verb() -> None:
    for verb in ("plan", "run", "report", "doctor", "list"):
        done = sluice(verb, "--help")
        assert done.returncode == 0
        assert verb in done.stdout


def test_another_store_by_environment(tmp_path: Path) -> None:
    environment = {**os.environ, "SLUICE_STORE": str(tmp_path / "mine")}
    assert str(tmp_path / "mine") in sluice("list", env=environment).stdout


def test_a_sweep_measures_with_the_engine_it_began_with(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Somebody who builds while a sweep runs, or before it is resumed, changes nothing of it."""
    library = tmp_path / "build" / "other.so"
    library.parent.mkdir()
    library.write_bytes(b"first")
    path = make_sweep(replace={'"null"': f'"external:{library}"'})
    fio = fake_fio(f"open({str(library)!r}, 'wb').write(b'rebuilt')\nsay(output)")
    assert inside(capsys, "run", path, "--fio", fio).returncode == 0
    results = store.load(tmp_path / "store")
    (engine,) = (tmp_path / "store" / "engines").iterdir()
    assert engine.read_bytes() == b"first"
    assert all(
        f"ioengine=external:{engine}" in (one.folder / "job.fio").read_text()
        for one in results.runs
    )
    assert {one.values["engine.sha256"] for one in results.environments} == {engine.stem}
    (results.runs[-1].folder / "run.json").unlink()
    assert inside(capsys, "run", "--resume", "--fio", fio).returncode == 0
    assert store.load(tmp_path / "store").complete
