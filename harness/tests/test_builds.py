"""An axis of builds: two libraries, interleaved in one campaign and kept with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SweepMaker
from test_cli import inside, one_line

from sluice import env, paths, store
from sluice.fiocli import Fio

FakeFio = Callable[[str], str]


@pytest.fixture()
def libraries(tmp_path: Path) -> list[Path]:
    """Two builds of an engine, as far as a fake fio can tell."""
    found = []
    for name in ("old.so", "new.so"):
        path = tmp_path / "libraries" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"the contents of {name}")
        found.append(path)
    return found


def sweep(make_sweep: SweepMaker, axis: str, key: str = "") -> Path:
    changes = {"iodepth = [1, 8]": axis, 'engine = "null"\n': key}
    return make_sweep(replace=changes)


def of(libraries: list[Path]) -> str:
    return f"engine = {[f'external:{path}' for path in libraries]!r}"


def test_each_block_holds_both_builds_and_each_runs_its_own_copy(
    make_sweep: SweepMaker,
    fake_fio: FakeFio,
    tmp_path: Path,
    libraries: list[Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = inside(
        capsys, "run", sweep(make_sweep, of(libraries)), "--blocks", 3, "--fio", fake_fio("")
    )
    assert done.returncode == 0, done.stderr
    results = store.load(tmp_path / "store")
    assert [cell.id for cell in results.cells] == ["solo/engine=old.so", "solo/engine=new.so"]
    assert all(len(block.order) == 2 for block in results.blocks)
    for run in results.runs:
        name = results.cell(run.cell).values["engine"]
        digest = env.file_hash(tmp_path / "libraries" / name)
        job = (run.folder / "job.fio").read_text()
        assert f"ioengine=external:{tmp_path}/store/engines/{digest}.so" in job
        assert results.environments[0].values[f"engine.{name}.sha256"] == digest


def test_a_campaign_goes_on_with_the_builds_that_it_began_with(
    make_sweep: SweepMaker,
    fake_fio: FakeFio,
    tmp_path: Path,
    libraries: list[Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    fio = fake_fio("")
    inside(capsys, "run", sweep(make_sweep, of(libraries)), "--fio", fio)
    runs = sorted((tmp_path / "store" / "small-0001" / "runs").iterdir())
    before = {(run / "job.fio").read_text().replace(run.name, "") for run in runs}
    for run in runs[4:]:
        shutil.rmtree(run)
    libraries[0].unlink()
    libraries[1].write_text("built again")
    done = inside(capsys, "run", "--resume", "--fio", fio)
    assert done.returncode == 0, done.stderr
    runs = sorted((tmp_path / "store" / "small-0001" / "runs").iterdir())
    assert len(runs) == 8
    assert {(run / "job.fio").read_text().replace(run.name, "") for run in runs} == before


def test_the_first_build_is_what_the_other_is_compared_with(
    make_sweep: SweepMaker,
    fake_fio: FakeFio,
    libraries: list[Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    digest = env.file_hash(libraries[1])
    fio = fake_fio(f'say(output, ios=700 if "{digest}" in job else 1000)')
    axes = f"iodepth = [1, 8]\n{of(libraries)}"
    done = inside(capsys, "run", sweep(make_sweep, axes), "--blocks", 4, "--fio", fio)
    assert done.returncode == 0, done.stderr
    done = inside(capsys, "gate")
    assert done.returncode == 2
    assert done.stdout.count("regressed") >= 2
    assert "new.so" in done.stdout
    assert "old.so" not in done.stdout


def test_builds_can_be_named(
    make_sweep: SweepMaker,
    fake_fio: FakeFio,
    libraries: list[Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    old, new = libraries
    axis = f'engine = {{ values = {{ before = "external:{old}", after = "external:{new}" }} }}'
    done = inside(capsys, "plan", sweep(make_sweep, axis), "--fio", fake_fio(""))
    assert "axis       engine = before, after" in done.stdout
    assert "engine     before or after" in done.stdout


ERRORS = {
    "twice": ('engine = "null"\n', "'engine' is both a key and an axis"),
    "relative": ("engine = ['external:old.so', 'null']", "must be absolute"),
    "gone": ("engine = ['external:/nowhere/old.so', 'null']", "no such file"),
    "unknown": ("engine = ['nul', 'null']", "has no engine 'nul'; did you mean 'null'?"),
    "alike": ("engine = ['external:/a/x.so', 'external:/b/x.so']", "would both be called 'x.so'"),
    "empty": ("engine = []", "name two engines or builds"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_wrong_axis_is_one_line(
    make_sweep: SweepMaker, fake_fio: FakeFio, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    text, words = ERRORS[case]
    key = text if case == "twice" else ""
    axis = "engine = ['null', 'psync']" if case == "twice" else text
    done = inside(capsys, "plan", sweep(make_sweep, axis, key), "--fio", fake_fio(""))
    assert words in one_line(done)


@pytest.mark.fio()
@pytest.mark.engine()
def test_an_older_build_under_another_name_is_known_as_one(
    make_sweep: SweepMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not paths.plugin().is_file():
        pytest.skip("the engine isn't built (ci/setup)")
    copy = tmp_path / "old-build.so"
    shutil.copy(paths.plugin(), copy)
    axes = f'engine = ["external:{copy}", "sluice"]\nbypass = ["off", "all"]'
    path = make_sweep(replace={"iodepth = [1, 8]": axes, 'engine = "null"\n': ""})
    done = inside(capsys, "run", path, "--blocks", 1)
    assert done.returncode == 0, done.stderr
    results = store.load(tmp_path / "store")
    assert all(run.engine_stats for run in results.runs)
    assert all(not run.warnings for run in results.runs)
    assert Fio().version == results.environments[0].values["fio.version"]
