"""What comes with the project: its sweeps load, and its documents tell the truth."""

from __future__ import annotations

import argparse
import re
import shutil
import sqlite3
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SweepMaker
from harnessing import run, session

from sluice import index, paths, prepare, sweep, sweepfile
from sluice.fiocli import Fio
from sluice.metrics import METRICS
from sluice.target import DataFolder

ROOT = Path(__file__).parents[2]
SWEEPS = sorted((ROOT / "jobs" / "sweeps").glob("*.toml"))
GRAMMAR = (ROOT / "jobs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", SWEEPS, ids=[path.stem for path in SWEEPS])
def test_a_sweep_is_well_formed_and_has_a_neighbour(path: Path) -> None:
    file = sweepfile.read(path)
    assert file.question.endswith("?")
    assert any(workload.neighbour for workload in file.workloads)


@pytest.mark.fio
@pytest.mark.skipif(shutil.which("fio") is None, reason="no fio here")
@pytest.mark.parametrize("path", SWEEPS, ids=[path.stem for path in SWEEPS])
def test_a_sweep_is_one_that_fio_and_the_engine_take(path: Path, tmp_path: Path) -> None:
    if sweepfile.read(path).engine == "sluice" and not paths.describe_tool().exists():
        pytest.skip("the engine isn't built")
    fio, data = Fio(), DataFolder(tmp_path / "data")
    loaded = sweep.load(path, fio)
    prepare.check_cells(loaded, prepare.place(loaded, data), data, fio, [])


def test_the_example_of_the_grammar_is_a_sweep() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GRAMMAR, re.DOTALL)
    file = sweepfile.parse(ROOT / "jobs" / "sweeps" / "x.toml", example, tomllib.loads(example))
    assert file.workloads[0].job.is_file()
    assert file.workloads[1].neighbour is not None
    assert file.workloads[1].neighbour.is_file()


def test_the_other_examples_are_keys_that_are_known() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", GRAMMAR, re.DOTALL)
    pieces = re.findall(r"^((?:    .*\n)+)", GRAMMAR, re.MULTILINE)
    axes = next(piece for piece in pieces if "[axes]" in piece)
    skip = next(piece for piece in pieces if "[[skip]]" in piece)
    text = re.sub(r"\[axes\]\n(?:.+\n)+", re.sub("^    ", "", axes, flags=re.MULTILINE), example)
    sweepfile.parse(Path("x.toml"), text, tomllib.loads(text))
    more = example + re.sub("^    ", "", skip, flags=re.MULTILINE).replace("device", "iodepth")
    assert sweepfile.parse(Path("x.toml"), more, tomllib.loads(more)).skips


def test_every_metric_is_documented() -> None:
    row = next(line for line in GRAMMAR.splitlines() if line.startswith("| `metric`"))
    assert set(re.findall(r"`(\w+)`", row)) - {"metric"} == set(METRICS) - {"ios", "errors"}


def test_the_documented_query_works(
    make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    text = (ROOT / "harness" / "README.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"(SELECT .*?);", text, re.DOTALL)
    made = session(make_sweep(), fake_fio(""), tmp_path / "store")
    run(made)
    with sqlite3.connect(tmp_path / "store" / index.NAME) as database:
        rows = database.execute(query.replace("demo-0003", "small-0001")).fetchall()
    database.close()
    assert len(rows) == 8


def test_every_documented_verb_exists(capsys: pytest.CaptureFixture[str]) -> None:
    from sluice.cli import parser

    text = (ROOT / "harness" / "README.md").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^    sluice (\w+)", text, re.MULTILINE))
    (known,) = (a.choices for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert verbs == set(known)
    for verb in verbs:
        with pytest.raises(SystemExit):
            parser().parse_args([verb, "--help"])
    assert capsys.readouterr().out
