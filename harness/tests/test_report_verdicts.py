"""Forest, maps of ratios, and what the head of a report says about verdicts and false alarms."""

from __future__ import annotations

import dataclasses
import json
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from report_synthetic import BYPASS, DEPTH, INTERFERENCE, SOLO, blemished, results, sweep
from test_aa import a_record

from sluice.aa.record import Kind
from sluice.model import Axis, Gate, Results, Value
from sluice.readings import Readings
from sluice.report import write
from sluice.report.answer import comparison_table, sort_by_effect
from sluice.report.calibration import calibration
from sluice.report.charts import Chart
from sluice.report.forest import ROWS, forest
from sluice.report.heatmap import MAX_COLUMNS, heat_maps
from sluice.report.looks import LOOKS, tally
from sluice.report.page import build
from sluice.report.scales import ratio_ticks
from sluice.report.theme import DARK, LIGHT, STEPS, step_role
from sluice.stats import Comparison, Verdict
from sluice.verdicts.family import compare

TIMES = "\N{MULTIPLICATION SIGN}"


def mixed() -> Results:
    """Something of everything: better, worse, noisy, skipped, too few I/Os."""
    whole = results(sweep((BYPASS, DEPTH), (SOLO, INTERFERENCE), blocks=3))
    chance = random.Random(3)
    runs = []
    for run in whole.runs:
        cell = whole.cell(run.cell)
        depth, mode = cell.values["iodepth"], cell.values["bypass"]
        factor = chance.lognormvariate(0.0, 0.08 if depth in ("8", "16") else 0.01)
        factor *= 0.75 if mode == "hybrid" else 0.55 if (mode, depth) == ("all", "32") else 1.0
        few = depth == "2" and cell.workload == "solo"
        samples = tuple(
            dataclasses.replace(
                sample,
                values={
                    **sample.values,
                    "iops": sample.values["iops"] * factor,
                    "ios": 5e4 if few else sample.values["ios"],
                },
            )
            for sample in run.samples
        )
        runs.append(dataclasses.replace(run, samples=samples))
    skipped = "interference/bypass=direct,iodepth=4"
    return dataclasses.replace(
        whole,
        runs=tuple(run for run in runs if run.cell != skipped),
        cells=tuple(
            dataclasses.replace(cell, skipped="one queue") if cell.id == skipped else cell
            for cell in whole.cells
        ),
        sweep=dataclasses.replace(
            whole.sweep, gates=(*whole.sweep.gates, Gate("lat_p999", False, 0.2))
        ),
    )


MIXED = mixed()
FOUND = compare(Readings(MIXED))
WORST = sort_by_effect(FOUND.rows)


def forests(rows: list[Comparison]) -> list[Chart]:
    return list(forest(rows, comparison_table(FOUND, rows)))


def texts(chart: Chart) -> list[str]:
    root = ET.fromstring(chart.drawing.inline)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_ratio_has_a_row_and_the_worst_stands_first() -> None:
    charts = forests(WORST)
    shown = [row for row in WORST if row.ratio]
    assert len(charts) == -(-len(shown) // ROWS)
    assert sum(len(chart.table.rows) for chart in charts) == len(shown)
    first = min(
        shown, key=lambda r: (r.ratio or 1) if r.gate.higher_is_better else 1 / (r.ratio or 1)
    )
    assert f"{TIMES}{first.ratio:.2f} {LOOKS[first.verdict].sign}" in texts(charts[0])
    assert first.verdict is Verdict.REGRESSED
    assert f"{TIMES}{first.ratio:.3f}" in charts[0].summary
    ends = [
        [text for text in texts(one) if re.fullmatch(rf"{TIMES}[\d.]+", text)] for one in charts
    ]
    assert all(one == ends[0] for one in ends)  # one x axis


def test_a_verdict_is_told_by_mark_and_sign_beside_its_colour() -> None:
    looks = [(look.marker, look.filled) for look in LOOKS.values()]
    assert len(set(looks)) == len(looks)
    assert len({look.sign for look in LOOKS.values()}) == len(LOOKS)
    assert set(LOOKS) == set(Verdict)


@pytest.mark.parametrize("blocks", [2, 3])
def test_an_interval_that_reaches_anywhere_leaves_the_others_readable(blocks: int) -> None:
    row = next(row for row in WORST if row.verdict is Verdict.INCONCLUSIVE)
    wild = dataclasses.replace(row, low=1e-9, high=float("inf"), blocks=blocks)
    (chart,) = forests([wild, *[row for row in WORST if row.verdict is Verdict.REGRESSED][:3]])
    assert "nan" not in chart.drawing.inline
    assert re.search(r"\binf\b", chart.drawing.inline) is None


def test_without_a_single_ratio_there_is_no_forest() -> None:
    bare = [dataclasses.replace(row, ratio=None, verdict=Verdict.NONE) for row in WORST]
    assert forests(bare) == []


def test_a_map_says_why_a_field_is_empty_and_hatches_what_is_inconclusive() -> None:
    charts = list(heat_maps(MIXED, FOUND))
    assert [chart.name for chart in charts] == [
        "map-iops-measured",
        "map-lat-p99-measured",
        "map-lat-p999-measured",
    ]
    tail = charts[-1]
    assert "too few I/Os" in tail.caption
    assert "skipped: one queue" in tail.caption
    unsure = [
        row
        for row in FOUND.rows
        if row.gate.metric == "lat_p999" and row.verdict is Verdict.INCONCLUSIVE
    ]
    assert unsure
    root = ET.fromstring(tail.drawing.inline)
    hatched = [
        element
        for element in root.iter("{http://www.w3.org/2000/svg}path")
        if element.get("d", "").count("M") > 3
    ]
    assert len(hatched) == len(unsure)


def test_every_comparison_has_one_field() -> None:
    for chart in heat_maps(MIXED, FOUND):
        metric = chart.name.split("-measured")[0].removeprefix("map-").replace("-", "_")
        ratios = [row for row in FOUND.rows if row.gate.metric == metric and row.ratio]
        written = [cell for row in chart.table.rows for cell in row[2:] if cell.startswith(TIMES)]
        assert len(written) == len(ratios)


def test_many_columns_become_rows() -> None:
    many = Axis("depth", tuple(Value(str(2**n), 2.0**n) for n in range(12)), "fio", True)
    whole = results(sweep((BYPASS, many), blocks=2))
    chart = next(iter(heat_maps(whole, compare(Readings(whole)))))
    assert len(chart.table.rows) == 12
    assert len(chart.table.head) - 2 <= MAX_COLUMNS


def test_one_axis_is_set_against_the_workloads() -> None:
    whole = blemished()
    chart = next(iter(heat_maps(whole, compare(Readings(whole)))))
    assert chart.table.head[2:] == ("workload=solo", "workload=interference")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_legible_on_every_step_of_the_scale(palette: dict[str, str]) -> None:
    for step in range(-STEPS, STEPS + 1):
        pair = sorted((luminance(palette["ink"]), luminance(palette[step_role(step)])))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5


@pytest.mark.parametrize(("low", "high"), [(0.99, 1.01), (0.5, 2.0), (0.9, 30.0), (1e-3, 1e3)])
def test_ratio_ticks_hold_one_and_their_span(low: float, high: float) -> None:
    ticks = ratio_ticks(low, high)
    assert ticks.low <= low
    assert ticks.high >= high
    assert any(abs(at - 1.0) < 1e-9 for at in ticks.at)
    assert 2 <= len(ticks.at) <= 6
    assert len(set(ticks.labels)) == len(ticks.labels)


def test_the_head_counts_verdicts_and_states_the_false_alarms(tmp_path: Path) -> None:
    counts = {one.verdict: one.count for one in tally(FOUND.rows)}
    assert sum(counts.values()) == len(FOUND.rows)
    assert counts["regressed"] > 3
    small = results(sweep(blocks=2))
    text = write(small, tmp_path).read_text(encoding="utf-8")
    for one in tally(compare(Readings(small)).rows):
        assert f"{one.count}</b> {one.verdict}" in text
    assert "not measured yet on this machine: run sluice aa" in text
    sessions = [a_record(), a_record(Kind.INJECTED, 19)]
    text = write(small, tmp_path, sessions).read_text(encoding="utf-8")
    assert "1 of 20 reports of identical arms called a change: 5" in text
    assert "found in 19 of 20 reports" in text
    assert "2027-01-15" in text
    document = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [(one["kind"], one["hits"]) for one in document["known_answers"]] == [
        ("aa", 1),
        ("injected", 19),
    ]


def test_no_false_alarm_is_not_called_never() -> None:
    (fact,) = calibration([a_record(false=0)])
    assert "at most 14" in fact.text


def test_charts_of_verdicts_are_in_the_page_and_the_rest_is_folded() -> None:
    page = build(MIXED)
    assert page.verdicts is not None
    names = [chart.name for chart in page.verdicts.shown]
    assert names[0] == "forest-1"
    assert {name for name in names[1:]} == {chart.name for chart in heat_maps(MIXED, FOUND)}
    assert page.verdicts.folded
    assert all(chart.summary for chart in page.verdicts.charts)


def test_a_very_large_sweep_draws_both_ends_of_its_forest() -> None:
    rows = [row for row in WORST if row.ratio] * 4
    table = comparison_table(FOUND, rows)
    names = [chart.name for chart in forest(rows, table)]
    parts = -(-len(rows) // ROWS)
    assert parts > 8
    assert names[0] == "forest-1"
    assert names[-1] == f"forest-{parts}"
    assert len(names) == 8
