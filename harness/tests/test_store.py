"""The store: what was kept is read back, whatever happened to harness, index or clock."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SweepMaker
from harnessing import a_run, again, run, session
from hypothesis import given
from hypothesis import strategies as st

from sluice import encode, files, index, migrate, store
from sluice.campaign import HEADER, fio_output
from sluice.errors import SluiceError
from sluice.model import Axis, Environment, Leg, Results, Role, Run, Sample, Status, Value
from sluice.runner import Session
from sluice.store import Store


@pytest.fixture()
def made(make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path) -> Session:
    """A finished campaign of eight runs."""
    one = session(make_sweep(), fake_fio(""), tmp_path / "store")
    run(one)
    return one


def test_what_was_run_is_read_back(made: Session) -> None:
    results = store.load(made.campaign.folder)
    assert results.campaign == "small-0001"
    assert results.complete
    assert [one.order for one in results.runs] == list(range(8))
    assert {one.status for one in results.runs} == {Status.OK}
    assert results.sweep == made.sweep.info
    assert results.cells == made.sweep.cells
    assert [one.when for one in results.environments] == ["before", "after"]
    assert all((one.folder / "job.fio").is_file() for one in results.runs)
    assert results.runs[0].value("iops") is not None
    assert store.load(made.store.root) == results  # a store means its newest campaign


def test_the_index_can_be_deleted_and_built_again(made: Session) -> None:
    before = store.load(made.campaign.folder)
    for path in made.store.root.glob("index*"):
        path.unlink()
    assert store.load(made.campaign.folder) == before
    assert made.store.rebuild_index() == 8
    assert store.load(made.campaign.folder) == before


def test_a_damaged_index_doesnt_matter(made: Session) -> None:
    before = store.load(made.campaign.folder)
    for path in made.store.root.glob("index*"):
        path.unlink()
    (made.store.root / index.NAME).write_bytes(b"not a database" * 100)
    assert store.load(made.campaign.folder) == before


def test_the_index_has_figures_for_sql(made: Session) -> None:
    with sqlite3.connect(made.store.root / index.NAME) as database:
        rows = database.execute(
            "SELECT count(*), min(value) FROM figures JOIN runs USING "
            "(campaign, run) WHERE metric='iops' AND role='measured' AND "
            "direction='all' AND status='ok'"
        ).fetchone()
    database.close()
    assert rows[0] == 8
    assert rows[1] > 0


def test_a_moved_store_still_reads(made: Session, tmp_path: Path) -> None:
    shutil.move(made.store.root, tmp_path / "elsewhere")
    results = store.load(tmp_path / "elsewhere")
    assert results.folder == tmp_path / "elsewhere" / "small-0001"
    assert all(one.folder.is_dir() for one in results.runs)


def test_a_run_that_was_cut_short_doesnt_count(made: Session) -> None:
    victim = made.campaign.folder / "runs" / made.campaign.run_names()[3]
    (victim / "run.json").rename(victim / ".run.json.part")
    results = store.load(made.campaign.folder)
    assert len(results.runs) == 7
    assert not results.complete
    assert run(again(made)).complete


def test_a_damaged_run_is_named(made: Session) -> None:
    name = made.campaign.run_names()[0]
    for path in made.store.root.glob("index*"):
        path.unlink()
    (made.campaign.folder / "runs" / name / "run.json").write_text('{"schema": 1, "id": 3}')
    with pytest.raises(SluiceError, match=f"{name}/run.json: damaged"):
        store.load(made.campaign.folder)


def rewrite(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_newer_schema_is_refused_and_left_alone(made: Session) -> None:
    path = made.campaign.folder / HEADER
    rewrite(path, schema=99)
    before = path.read_bytes()
    with pytest.raises(
        SluiceError, match=r"schema 99, this harness reads up to 1: use the harness"
    ):
        store.load(made.campaign.folder)
    with pytest.raises(SluiceError, match="schema 99"):
        run(again(made))
    assert path.read_bytes() == before


@pytest.mark.parametrize("schema", [None, "1", 0, True])
def test_no_schema_at_all_is_damage(made: Session, schema: object) -> None:
    rewrite(made.campaign.folder / HEADER, schema=schema)
    with pytest.raises(SluiceError, match="no schema version"):
        store.load(made.campaign.folder)


def test_an_older_document_is_upgraded_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(migrate.STEPS, 1, lambda kind, old: {**old, "colour": kind})
    monkeypatch.setitem(migrate.STEPS, 2, lambda kind, old: {**old, "color": old["colour"]})
    new = migrate.upgrade("run", {"schema": 1, "x": 5}, "here", current=3)
    assert new == {"schema": 3, "x": 5, "colour": "run", "color": "run"}


def test_fields_of_a_later_release_are_ignored(made: Session) -> None:
    rewrite(made.campaign.folder / HEADER, added_later=[1, 2])
    assert store.load(made.campaign.folder).complete


def test_an_empty_or_missing_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="no results in it: run a sweep first"):
        store.load(tmp_path / "nothing")


def test_campaigns_are_found_by_what_a_person_would_type(
    made: Session, make_sweep: SweepMaker, fake_fio: Callable[[str], str]
) -> None:
    second = session(make_sweep(), fake_fio(""), made.store.root)
    other = session(make_sweep(name="big"), fake_fio(""), made.store.root)
    root = made.store
    assert [one.name for one in root.campaigns()] == ["small-0001", "small-0002", "big-0003"]
    assert root.find("small").name == second.campaign.name
    assert root.find("2").name == "small-0002"
    assert root.find("big-0003").name == other.campaign.name
    with pytest.raises(SluiceError, match="no campaign 'smal-0001'; did you mean 'small-0001'"):
        root.find("smal-0001")


def test_the_newest_is_the_newest_whatever_the_clock_says(
    made: Session,
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.time", lambda: 1000.0)  # set back to 1970
    second = session(make_sweep(), fake_fio(""), made.store.root)
    run(second)
    assert store.load(made.store.root).campaign == "small-0002"


def test_two_harnesses_on_one_campaign_are_kept_apart(made: Session) -> None:
    with made.campaign.locked():
        code = (
            "from pathlib import Path\nfrom sluice.campaign import Campaign\n"
            f"Campaign(Path({str(made.campaign.folder)!r})).locked().__enter__()"
        )
        other = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
    assert "another harness is running this campaign" in other.stderr
    with made.campaign.locked():
        pass  # and the lock is free again


WRITER = """
import dataclasses, sys
from pathlib import Path
from sluice import campaign
from sluice.store import Store
sys.path.insert(0, {tests!r})
from harnessing import a_run
root = Store(Path({root!r}))
header = root.campaigns()[0].header()
made = root.create("par", header)
for order in range(20):
    folder = made.begin_run(order)
    run = made.end_run(a_run(folder.name, order, folder=folder))
    root.add_to_index(made, [run])
print(made.name)
"""


def test_concurrent_harnesses_in_one_store_lose_nothing(made: Session) -> None:
    code = WRITER.format(tests=str(Path(__file__).parent), root=str(made.store.root))
    writers = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    names = [writer.communicate(timeout=60)[0].strip() for writer in writers]
    assert all(writer.returncode == 0 for writer in writers)
    assert len(set(names)) == 4
    with index.Index(made.store.root) as found:
        assert [len(found.runs(name)) for name in names] == [20] * 4
    for name in names:
        assert len(store.load(made.store.root / name).runs) == 20


def test_fios_output_is_kept_whole(made: Session) -> None:
    folder = made.campaign.begin_run(9)
    (folder / "fio.json").write_text("noise\n{}\n")
    files.compress(folder / "fio.json")
    assert not (folder / "fio.json").exists()
    assert fio_output(a_run(folder.name, folder=folder)) == "noise\n{}\n"


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_json(tmp_path / "a.json", {"v": 1})

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.write_json(tmp_path / "a.json", {"v": 2})
    assert json.loads((tmp_path / "a.json").read_text()) == {"v": 1}
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.json"]


texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
floats = st.floats(allow_nan=False, allow_infinity=False)
samples = st.builds(
    Sample,
    texts,
    st.sampled_from(Role),
    st.booleans(),
    texts,
    st.dictionaries(texts, floats, max_size=3),
    st.integers(0, 9),
)
runs = st.builds(
    Run,
    texts,
    texts,
    st.integers(0, 9),
    st.sampled_from(Leg),
    st.integers(0, 99),
    st.integers(0, 2**31),
    st.sampled_from(Status),
    texts,
    floats,
    floats,
    floats,
    st.lists(samples, max_size=3).map(tuple),
    st.none() | st.dictionaries(texts, st.integers() | texts, max_size=2),
    st.lists(texts, max_size=2).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
)


@given(runs)
def test_a_run_survives_json(one: Run) -> None:
    assert encode.from_json(Run, json.loads(json.dumps(encode.to_json(one)))) == one


def test_other_shapes_are_refused() -> None:
    axis = Axis("a", (Value("1", 1.0),), "fio", True)
    assert encode.from_json(Axis, encode.to_json(axis)) == axis
    for broken in ({"values": 3}, {"numeric": "yes"}, {"values": [{"text": 1}]}, {"role": "boss"}):
        with pytest.raises(ValueError, match=""):
            encode.from_json(Axis, {**encode.to_json(axis), **broken})
    with pytest.raises(ValueError, match="Environment"):
        encode.from_json(Environment, {"when": "before"})


def test_ten_thousand_runs_load_in_seconds(made: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is what makes it so; reading as many files would not be."""
    many = {f"{order:05d}-x": a_run(f"{order:05d}-x", order) for order in range(10_000)}
    with index.Index(made.store.root) as found:
        found.forget("small-0001", made.campaign.run_names())
        found.add("small-0001", many.values())
    monkeypatch.setattr("sluice.campaign.Campaign.run_names", lambda _: list(many))
    results: Results = Store(made.store.root).load(made.campaign)
    assert len(results.runs) == 10_000
