"""Sweep files: what is wrong is named, in one line, with the way out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import SWEEP, SweepMaker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluice import sweepfile
from sluice.errors import SluiceError
from sluice.model import Role

BAD = {
    "no TOML": ({"[axes]": "[axes"}, "no TOML"),
    "unknown key": ({"blocks =": "block ="}, "unknown key 'block'; did you mean 'blocks'?"),
    "unknown key below": ({'size = "1M"': 'size = "1M"\nsise = 3'}, "target: unknown key 'sise'"),
    "empty axis": ({"[1, 8]": "[]"}, "axes.iodepth: no values"),
    "no axis": ({"iodepth = [1, 8]": ""}, "no axis"),
    "value twice": ({"[1, 8]": "[1, 1]"}, "axes.iodepth: '1' stands there twice"),
    "value a table": ({"[1, 8]": "[{a = 1}]"}, "axes.iodepth: {'a': 1} is no value"),
    "value not finite": ({"[1, 8]": "[nan]"}, "is no value"),
    "axis not a list": ({"[1, 8]": "3"}, "axes.iodepth: no values"),
    "axis of the harness's": ({"iodepth": "runtime"}, "the harness sets 'runtime' itself"),
    "axis with a bad name": ({"iodepth": '"a b"'}, "'a b' is no name of an option"),
    "no question": ({'question = "Does it?"\n': ""}, "'question' is missing"),
    "no blocks": ({"blocks = 2": "blocks = 0"}, "blocks = 0: must be a whole number"),
    "blocks a boolean": ({"blocks = 2": "blocks = true"}, "blocks = True: must be a whole number"),
    "time": ({'"200ms"': '"soon"'}, "runtime: 'soon' is no number"),
    "negative time": ({'"200ms"': '"-1s"'}, "runtime = -1s: must be from 0"),
    "no time": ({'"200ms"': '"0s"'}, "runtime = 0 would measure nothing"),
    "size": ({'"1M"': '"1Q"'}, "target: size: '1Q' is no size"),
    "size of nothing": ({'"1M"': '"0"'}, "target: size = 0: must be more than 0"),
    "question not text": ({'"Does it?"': "3"}, "question = 3: must be a text"),
    "too many cells": ({"[1, 8]": str(list(range(1, 10_002)))}, "10001 cells, at most 10000"),
}

BAD_MORE = {
    "metric": ('[[gate]]\nmetric = "iop"', "no metric 'iop'; did you mean 'iops'?"),
    "gate twice": ('[[gate]]\nmetric = "iops"\n[[gate]]\nmetric = "iops"', "stands there twice"),
    "direction": ('[[gate]]\nmetric = "iops"\nbetter = "more"', "must be one of higher, lower"),
    "margin": ('[[gate]]\nmetric = "iops"\nmargin = -1', "margin = -1: must be a number"),
    "skip of no axis": ('[[skip]]\nreason = "r"\nwhen = {depth = 1}', "when.depth: no such axis"),
    "skip of all": ('[[skip]]\nreason = "r"\nwhen = {}', "'when' is empty"),
    "skip without reason": ("[[skip]]\nwhen = {iodepth = 1}", "'reason' is missing"),
    "workload's key": ("[workloads.solo]\nneighbor = 'x'", "did you mean 'neighbour'?"),
    "workload's name": ("[workloads.'a/b']", "'a/b' is no name"),
    "published half": (
        "[published]\ntable='t'\nsource='s'\naxis='iodepth'\nmetric='iops'\nx='a'",
        "say where the figures stand",
    ),
    "option of the harness's": ("[options]\nfilename = '/dev/sda'", "the harness sets 'filename'"),
}


@pytest.mark.parametrize(("replace", "message"), BAD.values(), ids=list(BAD))
def test_a_bad_file_is_refused(
    make_sweep: SweepMaker, replace: dict[str, str], message: str
) -> None:
    refuse(make_sweep(replace=replace), message)


@pytest.mark.parametrize(("more", "message"), BAD_MORE.values(), ids=list(BAD_MORE))
def test_a_bad_addition_is_refused(make_sweep: SweepMaker, more: str, message: str) -> None:
    refuse(make_sweep(SWEEP + more), message)


def refuse(path: Path, message: str) -> None:
    with pytest.raises(SluiceError) as caught:
        sweepfile.read(path)
    said = str(caught.value)
    assert message in said
    assert path.name in said
    assert "\n" not in said


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match=r"nowhere.toml: can't be read"):
        sweepfile.read(tmp_path / "nowhere.toml")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SluiceError, match="no UTF-8 text"):
        sweepfile.read(tmp_path / "x.toml")


def test_what_isnt_said_has_a_default(make_sweep: SweepMaker) -> None:
    sweep = sweepfile.read(make_sweep())
    assert [one.name for one in sweep.workloads] == ["solo"]
    assert [one.metric for one in sweep.gates] == ["iops", "lat_p99", "cpu_us"]
    assert [one.higher_is_better for one in sweep.gates] == [True, False, False]
    assert sweep.gates[0].role is Role.MEASURED
    assert sweep.timeout_s == pytest.approx(60.4)
    assert sweep.latency == "clat"


def test_values_are_kept_as_fio_is_given_them(make_sweep: SweepMaker) -> None:
    path = make_sweep(replace={"iodepth = [1, 8]": 'a = [0, "16M", true, 0.5]'})
    assert sweepfile.read(path).axes[0].values == ("0", "16M", "1", "0.5")


names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(
    lambda name: name not in sweepfile.HARNESS_OPTIONS
)
scalars = st.integers(-10, 10) | st.sampled_from(["off", "all", "4k", "16M", "a b"])


@given(
    axes=st.dictionaries(
        names, st.lists(scalars, min_size=1, max_size=4, unique_by=str), min_size=1, max_size=4
    ),
    blocks=st.integers(1, 1000),
    runtime=st.integers(1, 1000),
)
def test_every_well_formed_sweep_is_read(axes: dict[str, Any], blocks: int, runtime: int) -> None:
    document = {
        "question": "Does it?",
        "job": "job.fio",
        "blocks": blocks,
        "runtime": runtime,
        "axes": axes,
    }
    sweep = sweepfile.parse(Path("x.toml"), "", document)
    assert [axis.name for axis in sweep.axes] == list(axes)
    assert [axis.values for axis in sweep.axes] == [
        tuple(str(value) for value in values) for values in axes.values()
    ]
    assert sweep.runtime_s == runtime


@given(key=names)
def test_every_unknown_key_is_refused(key: str) -> None:
    document = tomllib.loads(SWEEP)
    if key in {
        "question",
        "job",
        "engine",
        "fio",
        "blocks",
        "runtime",
        "ramp",
        "timeout",
        "latency",
        "target",
        "options",
        "axes",
        "workloads",
        "gate",
        "skip",
        "published",
    }:
        return
    with pytest.raises(SluiceError, match=f"unknown key '{key}'"):
        sweepfile.parse(Path("x.toml"), "", document | {key: 1})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
keys = st.sampled_from(
    [
        "question",
        "job",
        "engine",
        "fio",
        "blocks",
        "runtime",
        "ramp",
        "timeout",
        "latency",
        "target",
        "options",
        "axes",
        "workloads",
        "gate",
        "skip",
        "published",
        "other",
    ]
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(keys, anything, max_size=3))
def test_nothing_but_a_sluice_error_comes_of_any_document(changes: dict[str, Any]) -> None:
    try:
        sweepfile.parse(Path("x.toml"), "", tomllib.loads(SWEEP) | changes)
    except SluiceError as error:
        assert "\n" not in str(error)
