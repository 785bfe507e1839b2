"""The table of tunables is one: what fio lists, what sluice-describe says, what the page says."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from typing import Any

import pytest
from fio_runner import DESCRIBE, PLUGIN, ROOT, Fio, Option

pytestmark = pytest.mark.skipif(not DESCRIBE.exists(), reason="no build/bin/sluice-describe")

Row = dict[str, Any]


@functools.cache
def described() -> dict[str, Any]:
    out = subprocess.run([str(DESCRIBE), "--json"], capture_output=True, text=True, check=True)
    document: dict[str, Any] = json.loads(out.stdout)
    return document


def rows() -> list[Row]:
    found: list[Row] = described()["tunables"] if DESCRIBE.exists() else []
    return found


def by_name(row: Row) -> str:
    return str(row["name"])


def in_range(row: Row) -> str:
    """What the help ends with; fio's own line of a range can't be used (options.c)."""
    if row["type"] not in ("int", "size", "time"):
        return ""
    unit = " us" if row["type"] == "time" else ""
    return f" ({row['min']} to {row['max']}{unit})"


@pytest.mark.parametrize("row", rows(), ids=by_name)
@pytest.mark.parametrize("beyond", ["below", "above", "minus one"])
def test_out_of_range_is_refused_by_name(fio: Fio, row: Row, beyond: str) -> None:
    if row["type"] not in ("int", "size", "time"):
        return
    value = {"below": row["min"] - 1, "above": row["max"] + 1, "minus one": -1}[beyond]
    unit = "us" if row["type"] == "time" and value >= 0 else ""
    given: dict[str, Any] = {row["name"]: f"{value}{unit}"}
    run = fio.job(rw="read", ok=False, **given)
    assert f"{row['name']}=" in run.err + run.out
    assert "out of range" in run.err + run.out
    assert f"{row['min']} to {row['max']}" in run.err + run.out


def test_enghelp_lists_the_same_names(fio: Fio) -> None:
    run = fio.raw(f"--enghelp={PLUGIN}")
    listed = re.findall(r"^([a-z_0-9]+) *: (.*)$", run.out, re.MULTILINE)
    assert [name for name, _ in listed] == [row["name"] for row in rows()]
    assert [words for _, words in listed] == [row["help"] + in_range(row) for row in rows()]


@pytest.mark.parametrize("row", rows(), ids=by_name)
def test_enghelp_of_each(fio: Fio, row: Row) -> None:
    run = fio.raw(f"--enghelp={PLUGIN},{row['name']}")
    said = dict(re.findall(r"^ *([a-zA-Z ]+?) *: (.*)$", run.out, re.MULTILINE))
    default = "no default" if row["type"] == "str" else str(row["default"])
    assert said["default"] == default
    assert run.out.splitlines()[0].endswith(in_range(row))
    for value in row.get("values", []):
        assert value["name"] in run.out
        assert value["help"] in run.out


def test_page_is_up_to_date() -> None:
    page = ROOT / "jobs" / "TUNABLES.md"
    out = subprocess.run([str(DESCRIBE), "--markdown"], capture_output=True, text=True, check=True)
    assert page.read_text(encoding="utf-8") == out.stdout, (
        "run: build/bin/sluice-describe --markdown > jobs/TUNABLES.md"
    )


def shown(row: Row) -> str:
    """A default with its unit; `none` where there is none."""
    if row["type"] == "str":
        return "none"
    return str(row["default"]) + ("us" if row["type"] == "time" else "")


def test_page_has_every_option() -> None:
    page = (ROOT / "jobs" / "TUNABLES.md").read_text(encoding="utf-8")
    cells: dict[str, tuple[str, str]] = {}
    for line in page.splitlines():
        if line.startswith("| `"):
            name, default, values, *_ = (cell.strip() for cell in line.strip("|").split("|"))
            cells.setdefault(name.strip("`"), (default.strip("`"), values))
    for row in rows():
        default, values = cells[row["name"]]
        assert default == shown(row)
        for value in row.get("values", []):
            assert f"`{value['name']}`" in values
        if row["type"] in ("int", "size", "time"):
            assert values.startswith(f"{row['min']}..{row['max']}")


def parsed(fio: Fio, ok: bool, **given: Option) -> str:
    """What fio says about options that it only parses."""
    return fio.job("--parse-only", rw="read", ok=ok, **given).words


def extreme(row: Row, which: str, beyond: int = 0) -> str:
    if row["type"] == "str":
        return "some/path"
    if row["type"] == "enum":
        return str(row["values"][0 if which == "min" else -1]["name"])
    if row["type"] == "bool":
        return str(beyond + (which == "max"))
    return f"{int(row[which]) + beyond}{'us' if row['type'] == 'time' else ''}"


@pytest.mark.parametrize("which", ["min", "max"])
def test_the_bounds_are_accepted(fio: Fio, which: str) -> None:
    parsed(fio, True, **{row["name"]: extreme(row, which) for row in rows()})


def test_every_value_is_accepted(fio: Fio) -> None:
    enums = [row for row in rows() if row["type"] == "enum"]
    for i in range(max(len(row["values"]) for row in enums)):
        given = {row["name"]: row["values"][i % len(row["values"])]["name"] for row in enums}
        parsed(fio, True, **given)


@pytest.mark.parametrize("row", [row for row in rows() if row["type"] != "str"], ids=by_name)
def test_beyond_the_bounds_is_refused(fio: Fio, row: Row) -> None:
    name = row["name"]
    if row["type"] == "enum":
        beyond = ["nothing_of_this"]
    else:
        beyond = [extreme(row, "max", 1)]
        if row["type"] == "int" and int(row["min"]) > 0:
            beyond.append(extreme(row, "min", -1))
        elif name in ("max_active", "force_async", "fixedbufs"):
            # Ours to refuse. Of the others fio says that it is out of range, but then takes the
            # minus for a separator and goes on with the default, for every engine.
            beyond.append("-1")
    for value in beyond:
        more: dict[str, Option] = {"device": "null", "rw": "read", name: value}
        run = fio.job(ok=False, **more)
        assert run.lines(name), run


def test_what_fio_parsed_is_what_the_stack_got(fio: Fio) -> None:
    out = fio.folder / "s.json"
    given: dict[str, Option] = {
        "max_active": "7",
        "model_read_time": "3ms",
        "model_flush_bandwidth": "5m",
        "model_jitter": "10",
        "fixedbufs": "0",
        "queue_profile": "openzfs",
        "device": "model",
    }
    fio.job(rw="read", size="64k", stats_json=out, **given)
    got = json.loads(out.read_text(encoding="utf-8"))["jobs"][0]["tunables"]
    want = given | {"model_read_time": "3000us", "model_flush_bandwidth": str(5 << 20)}
    for row in rows():
        name = row["name"]
        if row["type"] != "str":
            assert got[name] == want.get(name, shown(row)), name
