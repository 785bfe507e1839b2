import argparse
import json
import stat
from pathlib import Path

import pytest

from benches import bench_aa, bench_injected, known_answers
from benches.errors import BenchError


def call(verdict: str) -> dict:
    return {"cell": "c", "metric": "iops", "verdict": verdict}


def document(kind: str, verdicts: list[list[str]]) -> dict:
    outcomes = [{"judged": 30, "called": [call(one) for one in some]} for some in verdicts]
    return {"kind": kind, "outcomes": outcomes}


def test_bars_are_those_of_twenty_reports_and_scale():
    assert bench_aa.BAR.limit(20) == 3
    assert bench_injected.BAR.limit(20) == 18
    assert bench_aa.BAR.limit(2) == 0
    assert bench_injected.BAR.limit(2) == 2
    assert not bench_aa.BAR.met(4, 20)
    assert not bench_injected.BAR.met(17, 20)


def test_any_change_between_identical_arms_is_false_but_an_improvement_finds_nothing():
    some: list[list[str]] = [["regressed", "improved"], ["improved"], []]
    assert known_answers.counted(document("aa", some)) == (2, 3, 90)
    assert known_answers.counted(document("injected", some)) == (1, 3, 90)


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    known_answers.add_arguments(parser)
    return parser.parse_args(words)


@pytest.fixture()
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in that keeps its words and says where the session is."""
    program = tmp_path / "sluice"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/words\n[ -e {tmp_path}/fail ] && exit 1\n'
        f'echo "{tmp_path}: 1 of 2 reports"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(known_answers, "HARNESS", program)
    return tmp_path


def test_the_count_decides_the_exit_status(harness: Path, capsys: pytest.CaptureFixture[str]):
    found = document("injected", [*18 * [["regressed"]], [], []])
    (harness / "aa.json").write_text(json.dumps(found))
    assert bench_injected.run(parsed("--reports", "20", "--blocks", "4")) == 0
    assert (harness / "words").read_text().split() == [
        *("aa", "--injected", "--reports", "20", "--blocks", "4"),
    ]
    assert "ok: 18 of 20 reports that found the slower arm (at least 18)" in capsys.readouterr().out
    false = document("aa", [["improved"] if number < 4 else [] for number in range(20)])
    (harness / "aa.json").write_text(json.dumps(false))
    assert bench_aa.run(parsed("--quick")) == 2
    assert "MISSED: 4 of 20" in capsys.readouterr().out
    (harness / "fail").touch()
    with pytest.raises(BenchError, match="ended with 1"):
        bench_aa.run(parsed())
