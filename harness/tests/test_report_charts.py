"""Layout, scales and drawings of a report's charts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_synthetic import BYPASS, DEPTH, INTERFERENCE, SOLO, blemished, results, sweep

from sluice.model import Axis, Role, Value
from sluice.readings import Readings
from sluice.report.charts import Chart, response_groups
from sluice.report.layout import choose
from sluice.report.runorder import run_order
from sluice.report.scales import latency_ticks, linear_ticks, x_scale
from sluice.report.svg import finish
from sluice.report.theme import LIGHT, MAX_SERIES
from sluice.verdicts.focus import focus_axis


def charts(whole) -> list[Chart]:  # type: ignore[no-untyped-def]
    readings = Readings(whole)
    groups = response_groups(readings, choose(whole.sweep.axes))
    return [chart for group in groups for chart in group.charts]


def axis(name: str, count: int, *, numeric: bool, default: int | None = 0) -> Axis:
    values = tuple(
        Value(str(2**i), float(2**i)) if numeric else Value(f"{name}{i}") for i in range(count)
    )
    return Axis(
        name, values, "engine", numeric, default=None if default is None else values[default].text
    )


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 7), st.booleans()), min_size=1, max_size=3))
def test_every_cell_has_a_place_and_no_panel_too_many_lines(shape: list[tuple[int, bool]]) -> None:
    axes = tuple(axis(f"a{i}", n, numeric=numeric) for i, (n, numeric) in enumerate(shape))
    whole = results(sweep(axes, blocks=1))
    layout = choose(axes)
    seen = set()
    for facet in layout.facets:
        assert len(facet.lines) <= MAX_SERIES
        for line in facet.lines:
            seen |= {cell.id for cell in layout.cells(whole, "solo", facet, line).values()}
    assert seen == {cell.id for cell in whole.cells}


def test_numbers_lie_along_the_chart_and_names_become_lines() -> None:
    layout = choose((BYPASS, DEPTH))
    assert layout.x is DEPTH
    assert [line.label for line in layout.facets[0].lines] == [
        "bypass=off (default)",
        "bypass=direct",
        "bypass=hybrid",
        "bypass=all",
    ]


def test_beyond_four_series_the_default_leads_each_panel() -> None:
    many = axis("mode", 8, numeric=False, default=2)
    layout = choose((many, axis("depth", 9, numeric=True)))
    assert [len(facet.lines) for facet in layout.facets] == [4, 4, 2]
    assert {facet.lines[0].value for facet in layout.facets} == {"mode2"}


def test_the_engines_axis_is_the_one_in_question() -> None:
    assert focus_axis((DEPTH, BYPASS)) is BYPASS
    assert focus_axis((DEPTH,)) is DEPTH
    assert focus_axis(()) is None


def test_scales_of_an_axis() -> None:
    assert x_scale(BYPASS).kind == "category"
    assert not x_scale(BYPASS).joined
    assert x_scale(DEPTH).at == {"1": 0, "2": 1, "4": 2, "8": 3, "16": 4, "32": 5}
    assert x_scale(DEPTH).joined
    linear = Axis("us", tuple(Value(f"{n}us", n) for n in (10.0, 15.0, 30.0)), "engine", True)
    assert x_scale(linear).kind == "linear"
    wide = Axis("bulk", tuple(Value(f"{n}M", n) for n in (1.0, 12.0, 100.0)), "engine", True)
    assert x_scale(wide).kind == "log2"


def test_zero_stands_apart_on_a_log_axis() -> None:
    workers = Axis("workers", tuple(Value(str(n), float(n)) for n in (0, 1, 2, 4)), "engine", True)
    scale = x_scale(workers)
    assert scale.zero == "0"
    assert scale.at["0"] == -1.0


def test_one_number_written_twice_has_one_tick() -> None:
    bulk = Axis("bulk", (Value("1M", 2.0**20), Value("16M", 2.0**24)), "engine", True)
    scale = x_scale(bulk, [Value("1048576", 2.0**20), Value("32M", 2.0**25)])
    assert list(scale.ticks) == ["1M", "16M", "32M"]
    assert scale.at["1048576"] == scale.at["1M"]


@given(st.floats(1e-3, 1e12), st.sampled_from(["iops", "bw", "cpu_us", "ctx"]))
def test_linear_ticks_start_at_zero_and_hold_the_top(top: float, metric: str) -> None:
    ticks = linear_ticks(metric, top)
    assert ticks.low == 0.0
    assert ticks.high >= top
    assert 2 <= len(ticks.at) <= 6
    assert len(set(ticks.labels)) == len(ticks.labels)


@given(st.floats(1.0, 1e10), st.floats(1.0, 1e5))
def test_latency_ticks_hold_their_span(low: float, factor: float) -> None:
    ticks = latency_ticks("lat_p99", low, low * factor)
    assert ticks.low <= low
    assert ticks.high >= low * factor
    assert 1 <= len(ticks.at) <= 9
    assert len(set(ticks.labels)) == len(ticks.labels)


def test_figures_of_a_kind_share_their_y_axis() -> None:
    one, two = charts(results(sweep(workloads=(SOLO, INTERFERENCE))))[:2]
    labels = [re.findall(r">(\d+k)<", chart.drawing.inline) for chart in (one, two)]
    assert labels[0] == labels[1] != []


def test_cpu_stands_under_every_throughput() -> None:
    for chart in charts(blemished()):
        if re.search(r">(IOPS|Bandwidth)<", chart.drawing.inline):
            assert ">CPU per I/O (usr + sys)<" in chart.drawing.inline


def test_an_empty_place_says_why() -> None:
    inline = next(c for c in charts(blemished()) if c.name == "throughput-interference")
    assert ">skipped<" in inline.drawing.inline


def test_every_run_is_a_dot() -> None:
    chart = charts(results(sweep(blocks=3)))[0]
    root = ET.fromstring(chart.drawing.inline)
    groups = [len(g.findall("{*}use")) for g in root.iter("{http://www.w3.org/2000/svg}g")]
    assert groups.count(4 * 6) == 2  # four cells, six runs, in each of two panels


def test_reads_and_writes_of_a_mixture_are_drawn_apart() -> None:
    whole = results(sweep(blocks=2))
    runs = tuple(
        replace(
            run,
            samples=(
                *run.samples,
                *(replace(run.samples[0], direction=name) for name in ("read", "write")),
            ),
        )
        for run in whole.runs
    )
    chart = next(c for c in charts(replace(whole, runs=runs)) if c.name == "latency-solo")
    assert "p99, p99.9, reads<" in chart.drawing.inline
    assert "p99, p99.9, writes<" in chart.drawing.inline
    assert "p99 latency, writes" in chart.table.head


def test_the_neighbour_has_figures_of_its_own() -> None:
    names = [chart.name for chart in charts(blemished())]
    assert "neighbour-interference" in names
    assert "neighbour-solo" not in names
    assert Role.NEIGHBOUR in INTERFERENCE.roles.values()


def test_run_order_shows_drift_in_its_table() -> None:
    chart = run_order(Readings(results(sweep(blocks=4), drift=0.3)))
    assert chart is not None
    medians = [float(row[3].rstrip("%\N{NO-BREAK SPACE} ")) for row in chart.table.rows]
    assert medians == sorted(medians, reverse=True)
    assert medians[0] - medians[-1] > 10.0


def test_run_order_needs_repetition() -> None:
    whole = results(sweep(blocks=1))
    first = tuple(run for run in whole.runs if run.leg.value == "forward")
    assert run_order(Readings(replace(whole, runs=first))) is None


@pytest.mark.parametrize("whole", [blemished(), results(sweep((BYPASS, DEPTH), blocks=2))])
def test_drawings_follow_the_theme(whole) -> None:  # type: ignore[no-untyped-def]
    drawn = charts(whole)
    ids: list[str] = []
    for chart in drawn:
        assert re.search(r"(?:fill|stroke)[:=]\"?\s*#", chart.drawing.inline) is None
        assert "<style" not in chart.drawing.inline
        assert "@media (prefers-color-scheme:dark)" in chart.drawing.alone
        root = ET.fromstring(chart.drawing.inline)
        assert root.get("role") == "img"
        assert [child.tag.rpartition("}")[2] for child in root[:2]] == ["title", "desc"]
        ids += [element.get("id", "") for element in root.iter() if element.get("id")]
        for element in root.iter("{http://www.w3.org/2000/svg}use"):
            assert element.get("href", "").removeprefix("#") in ids
    assert len(ids) == len(set(ids))
    assert len({chart.name for chart in drawn}) == len(drawn)


def test_a_colour_stands_for_one_role() -> None:
    assert len(set(LIGHT.values())) == len(LIGHT)


def test_words_from_outside_are_only_words() -> None:
    nasty = "$x^2$ <b>&amp;\"'"
    odd = Axis(nasty, (Value(nasty), Value("plain")), "engine", False, default=nasty)
    chart = charts(results(sweep((odd,), blocks=2)))[0]
    text = "".join(ET.fromstring(chart.drawing.inline).itertext())
    assert nasty[:10] in text
    drawing = finish("<svg xmlns='http://www.w3.org/2000/svg'/>", "n", nasty, nasty, {})
    assert ET.fromstring(drawing.inline)[0].text == nasty
