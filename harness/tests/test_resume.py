"""Going on: the plan is what counts, and one campaign's damage is no other's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SweepMaker
from test_cli import inside, one_line

from sluice import store
from sluice.campaign import Campaign


def test_a_run_that_was_made_twice_is_still_one_of_the_plan(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fio = fake_fio("")
    inside(capsys, "run", make_sweep(), "--fio", fio)
    runs = sorted((tmp_path / "store" / "small-0001" / "runs").iterdir())
    again = shutil.copytree(runs[2], runs[2].with_name(f"{runs[2].name[:6]}deadbeef"))
    text = (again / "run.json").read_text().replace(runs[2].name, again.name)
    (again / "run.json").write_text(text)
    shutil.rmtree(runs[5])
    assert "7/8" in inside(capsys, "list").stdout
    assert inside(capsys, "run", "--resume", "--fio", fio).returncode == 0
    assert Campaign(runs[0].parents[1]).finished() == set(range(8))


@pytest.mark.parametrize("damage", ['{"schema": 99}', "{", "[]"])
def test_a_campaign_that_cant_be_read_stops_none_of_the_others(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: str,
) -> None:
    fio = fake_fio("")
    for _ in range(2):
        inside(capsys, "run", make_sweep(), "--fio", fio)
    first, second = (tmp_path / "store" / f"small-000{number}" for number in (1, 2))
    (second / "campaign.json").write_text(damage)
    next((first / "runs").glob("*/run.json")).unlink()
    built = inside(capsys, "list", "--rebuild-index")
    assert "index built again: 7 runs" in built.stdout
    assert "left out: " + str(second / "campaign.json") in one_line(built, 0)
    resumed = inside(capsys, "run", "--resume", "--fio", fio)
    assert resumed.returncode == 0, resumed.stderr
    said = [line for line in resumed.stderr.splitlines() if line.startswith("sluice: ")]
    assert len(said) == 1
    assert "left out: " + str(second / "campaign.json") in said[0]
    assert store.load(first).complete
