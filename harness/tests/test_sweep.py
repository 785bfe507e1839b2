"""Sweeps checked against the engine's table and fio, and resolved into cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SWEEP, SweepMaker

from sluice import cells, sweep
from sluice.describe import Table
from sluice.errors import SluiceError
from sluice.fiocli import Fio, parse_option
from sluice.model import Role

ENGINE = {'engine = "null"': 'engine = "sluice"'}
INTERFERENCE = "[workloads.solo]\n[workloads.interference]\nneighbour = 'neighbour.fio'\n"


@pytest.fixture()
def fio(fake_fio: Callable[[str], str]) -> Fio:
    return Fio(fake_fio(""))


def axis_line(text: str) -> dict[str, str]:
    return {**ENGINE, "iodepth = [1, 8]": text}


BAD = {
    "no such option": (
        axis_line("bypas = ['off']"),
        "axes.bypas: neither sluice nor fio 3.33 has an option 'bypas'; did you mean 'bypass'?",
    ),
    "no such value": (axis_line("bypass = ['of']"), "bypass=of: no such value"),
    "above the range": (
        axis_line("max_active = [65537]"),
        "max_active=65537: outside its range 0 to 65536 I/Os",
    ),
    "below the range": (axis_line("max_active = [-1]"), "outside its range"),
    "size out of range": (axis_line("slog_bulk = ['2T']"), "slog_bulk=2T: outside its range"),
    "no number": (axis_line("max_active = ['many']"), "max_active: 'many' is no number"),
    "no boolean": (axis_line("fixedbufs = ['yes']"), "fixedbufs=yes: write 0 or 1"),
    "same number twice": (
        axis_line("slog_bulk = ['1M', '1024k']"),
        "'1M' and '1024k' are the same value",
    ),
    "no such job": ({'"job.fio"': '"nowhere.fio"'}, "nowhere.fio: can't be read"),
    "no such engine": ({'"null"': '"nul"'}, "fio 3.33 has no engine 'nul'; did you mean 'null'?"),
    "no such library": ({'"null"': '"external:/nowhere.so"'}, "/nowhere.so': no such file"),
    "other fio": (
        {'engine = "null"': 'engine = "null"\nfio = "3.39"'},
        "is 3.33, the sweep asks for 3.39",
    ),
}


@pytest.mark.parametrize(("replace", "message"), BAD.values(), ids=list(BAD))
def test_what_cant_run_is_refused(
    make_sweep: SweepMaker, fio: Fio, table: Table, replace: dict[str, str], message: str
) -> None:
    with pytest.raises(SluiceError) as caught:
        sweep.load(make_sweep(replace=replace), fio, table)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


MORE = {
    "option of the engine": ("[options]\nbypass = 'maybe'", "options.bypass: bypass=maybe"),
    "option nobody has": ("[options]\nnonsense = 1", "options.nonsense: neither"),
    "option and axis": ("[options]\niodepth = 3", "'iodepth' is both an axis and an option"),
    "skip of no value": ("[[skip]]\nreason='r'\nwhen={iodepth=3}", "when.iodepth = '3': no such"),
    "all skipped": ("[[skip]]\nreason='r'\nwhen={workload='solo'}", "every cell is skipped"),
    "neighbour missing": ("[workloads.a]\nneighbour='gone.fio'", "gone.fio: can't be read"),
    "job's name twice": (
        "[workloads.a]\nneighbour='job.fio'",
        "job 'reader' is in job.fio and in job.fio: rename one",
    ),
    "table missing": (
        "[published]\ntable='t.csv'\nsource='s'\naxis='iodepth'\nmetric='iops'\nx='a'\ny='b'",
        "published: t.csv: can't be read",
    ),
}


@pytest.mark.parametrize(("more", "message"), MORE.values(), ids=list(MORE))
def test_what_cant_run_is_refused_too(
    make_sweep: SweepMaker, fio: Fio, table: Table, more: str, message: str
) -> None:
    with pytest.raises(SluiceError) as caught:
        sweep.load(make_sweep(SWEEP + more, replace=ENGINE), fio, table)
    assert message in str(caught.value)


def test_an_engine_that_isnt_built_is_named(
    make_sweep: SweepMaker, fio: Fio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    with pytest.raises(SluiceError, match=r"sluice-describe: not built: run ci/setup"):
        sweep.load(make_sweep(replace=ENGINE), fio)


def test_an_engine_for_another_fio_is_named(
    make_sweep: SweepMaker, fake_fio: Callable[..., str], table: Table
) -> None:
    other = Fio(fake_fio("", version="fio-3.39"))
    with pytest.raises(SluiceError, match=r"the engine is built for fio 3.33, .* is 3.39"):
        sweep.load(make_sweep(replace=ENGINE), other, table)


def test_axes_know_their_kind_unit_and_default(
    make_sweep: SweepMaker, fio: Fio, table: Table
) -> None:
    lines = (
        "bypass = ['off', 'all']\nslog_bulk = ['1M', '64M']\n"
        "model_read_time = ['1ms', 80]\niodepth = [1, 8]"
    )
    axes = sweep.load(make_sweep(replace=axis_line(lines)), fio, table).axes_by_name
    assert not axes["bypass"].numeric
    assert axes["bypass"].is_default("off")
    assert axes["slog_bulk"].unit == "bytes"
    assert axes["slog_bulk"].default == "64M"  # the table says 67108864
    assert [one.number for one in axes["slog_bulk"].values] == [2**20, 2**26]
    assert [one.number for one in axes["model_read_time"].values] == [1e6, 8e4]  # ns
    assert axes["iodepth"].scope == "fio"
    assert axes["iodepth"].role is Role.MEASURED
    assert axes["bypass"].role is None  # belongs to the file, so to every job on it


def test_a_jobs_own_tunable_goes_to_the_measured_jobs(
    make_sweep: SweepMaker, fio: Fio, table: Table
) -> None:
    line = axis_line("io_class = ['auto', 'scrub']")
    axes = sweep.load(make_sweep(replace=line), fio, table).axes_by_name
    assert axes["io_class"].role is Role.MEASURED


def test_cells_are_every_combination_in_every_workload(
    make_sweep: SweepMaker, fio: Fio, table: Table
) -> None:
    text = (
        SWEEP + INTERFERENCE + "[[skip]]\nreason='too deep'\n"
        "when={workload='interference', iodepth=8}"
    )
    path = make_sweep(text, replace=axis_line("bypass = ['off', 'all']\niodepth = [1, 8]"))
    loaded = sweep.load(path, fio, table)
    assert len(loaded.cells) == 8
    assert loaded.cells[0].id == "solo/bypass=off,iodepth=1"
    assert {cell.id for cell in loaded.cells if cell.skipped == "too deep"} == {
        "interference/bypass=off,iodepth=8",
        "interference/bypass=all,iodepth=8",
    }
    workload = loaded.info.workloads[1]
    assert workload.interference
    assert workload.roles == {"reader": Role.MEASURED, "neighbour": Role.NEIGHBOUR}


def test_a_neighbours_axis_varies_only_where_there_is_one(
    make_sweep: SweepMaker, fio: Fio, table: Table
) -> None:
    axis = {"iodepth = [1, 8]": "iodepth = {values = [1, 8], jobs = 'neighbour'}"}
    loaded = sweep.load(make_sweep(SWEEP + INTERFERENCE, replace=axis), fio, table)
    assert [cell.skipped for cell in loaded.cells] == [None, cells.NO_NEIGHBOUR, None, None]


@pytest.mark.parametrize(
    ("more", "paced"), [("", False), ("[options]\nrate_iops = 100", True), ("rate = [5]", True)]
)
def test_open_loop_is_known(
    make_sweep: SweepMaker, fake_fio: Callable[..., str], table: Table, more: str, paced: bool
) -> None:
    path = make_sweep(SWEEP + more, job="[reader]\nrw=read\n")
    loaded = sweep.load(path, Fio("fio") if more else Fio(fake_fio("")), table)
    assert loaded.info.workloads[0].open_loop is paced


CSV = "setup,queue,iops\na,on,100\na,off,250\nb,on,\n"


def published(
    fio: Fio, table: Table, make_sweep: SweepMaker, more: str, csv: str = CSV
) -> sweep.Sweep:
    text = SWEEP + f"[published]\ntable='t.csv'\nsource='them'\nmetric='iops'\n{more}"
    path = make_sweep(text, replace=axis_line("bypass = ['off', 'all']\nmax_active = [1, 8]"))
    (path.parent / "t.csv").write_text(csv, encoding="utf-8")
    return sweep.load(path, fio, table)


def test_published_figures_land_on_the_axis(make_sweep: SweepMaker, fio: Fio, table: Table) -> None:
    loaded = published(
        fio,
        table,
        make_sweep,
        "axis='bypass'\nx='queue'\ny='iops'\nmap={on='off', off='all'}\nseries='setup'\nscale=2.0\n"
        "where={setup='a'}",
    )
    figures = loaded.info.published
    assert figures is not None
    assert [(one.series, one.value, one.y) for one in figures.points] == [
        ("a", "off", 200.0),
        ("a", "all", 500.0),
    ]  # an empty cell is no figure


def test_published_columns_may_be_the_values(
    make_sweep: SweepMaker, fio: Fio, table: Table
) -> None:
    loaded = published(
        fio,
        table,
        make_sweep,
        "axis='max_active'\ncolumns={1='one', 4='four'}",
        "one,four\n10,40\n",
    )
    figures = loaded.info.published
    assert figures is not None
    assert [(one.value, one.number, one.y) for one in figures.points] == [
        ("1", 1.0, 10.0),
        ("4", 4.0, 40.0),
    ]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("axis='nope'\nx='queue'\ny='iops'", "axis 'nope' isn't in the sweep"),
        ("axis='bypass'\nx='que'\ny='iops'", "no column 'que'; did you mean 'queue'?"),
        ("axis='bypass'\nx='queue'\ny='iops'", "'on' is no value of bypass: map it"),
        ("axis='max_active'\nx='queue'\ny='iops'", "'on' is no number, but max_active is numeric"),
        ("axis='bypass'\nx='queue'\ny='setup'\nmap={on='off', off='all'}", "'a' is no number"),
        ("axis='bypass'\nx='queue'\ny='iops'\nwhere={setup=['y', 'z']}", "no row fits 'where'"),
    ],
)
def test_a_table_that_doesnt_fit_is_refused(
    make_sweep: SweepMaker, fio: Fio, table: Table, more: str, message: str
) -> None:
    with pytest.raises(SluiceError) as caught:
        published(fio, table, make_sweep, more)
    assert message in str(caught.value)


def test_fio_missing_is_said() -> None:
    with pytest.raises(SluiceError, match="fio: no program 'no-such-fio' on PATH: install it"):
        Fio("no-such-fio")


def test_a_program_that_isnt_fio_is_said(fake_fio: Callable[..., str]) -> None:
    with pytest.raises(SluiceError, match="which is no fio 3"):
        assert Fio(fake_fio("", version="hello")).version


@pytest.mark.parametrize(("wanted", "fits"), [("3.33", True), ("3.3", False), ("3.39", False)])
def test_releases_are_compared_whole(fake_fio: Callable[..., str], wanted: str, fits: bool) -> None:
    fio = Fio(fake_fio("", version="fio-3.33-dirty"))
    if fits:
        fio.require(wanted)
    else:
        with pytest.raises(SluiceError, match="asks for"):
            fio.require(wanted)


def test_fios_own_description_of_an_option_is_read() -> None:
    text = (
        "                  rw: IO direction\n               alias: readwrite\n"
        "                type: string (opt=bla)\n             default: read\n"
        "        valid values: read       Sequential read\n"
        "                    : randread   Random read\n"
    )
    option = parse_option("rw", text)
    assert option is not None
    assert option.aliases == ("rw", "readwrite")
    assert option.values == ("read", "randread")
    assert option.default == "read"
    assert not option.numeric
    assert parse_option("nope", "No such command: nope") is None
