"""What a report says: findings, the answer, figures as text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from report_synthetic import BYPASS, DEPTH, INTERFERENCE, SOLO, blemished, results, sweep

from sluice.model import Axis, Results, Value
from sluice.readings import Readings
from sluice.report.answer import Answer, answer, comparison_table, sort_by_effect
from sluice.report.digits import figure, interval, ratio
from sluice.report.estimate import Estimate
from sluice.report.facts import header, notices
from sluice.report.troubles import troubles
from sluice.stats import Verdict, Why
from sluice.verdicts.family import Comparisons, compare


def said(whole: Results) -> tuple[Answer, Comparisons]:
    readings = Readings(whole)
    found = compare(readings)
    return answer(readings, found), found


def test_an_answer_has_counts_and_intervals() -> None:
    words, found = said(results(sweep(blocks=6)))
    assert words.lead == (
        "Each value compared with bypass=off (the default): IOPS improved in 3 of 3 comparisons; "
        "p99 latency improved in 3 of 3 comparisons."
    )
    assert "bypass=all \N{MULTIPLICATION SIGN}1.4" in words.points[0]
    assert "All 6 comparisons together: of the changes called, at most 5" in words.basis
    assert "smallest change for the worse that would have been seen" in words.basis
    assert {row.verdict for row in found.rows} == {Verdict.IMPROVED}


def test_one_block_gives_no_verdict() -> None:
    words, found = said(results(sweep(blocks=1)))
    assert words.lead == (
        "No verdict on any difference from bypass=off (the default): one block has no spread: "
        "take more blocks."
    )
    assert words.points == ()
    assert {row.why for row in found.rows} == {Why.ONE_BLOCK}


def test_nothing_ran_gives_no_answer() -> None:
    whole = results(sweep())
    words, _ = said(replace(whole, runs=()))
    assert words.lead == "No answer: not one run ended well."
    assert "0 runs of 40 planned" in words.basis


def test_one_value_gives_no_comparison() -> None:
    lone = replace(BYPASS, values=BYPASS.values[:1])
    words, found = said(results(sweep((lone,))))
    assert words.lead.startswith("No comparison")
    assert found.rows == ()


def test_equal_arms_are_not_called_different() -> None:
    null = Axis("noop", (Value("a"), Value("b"), Value("c")), "engine", numeric=False, default="a")
    false = 0
    for seed in range(40):
        _, found = said(results(sweep((null,), blocks=4), seed=seed))
        false += any(row.verdict in (Verdict.REGRESSED, Verdict.IMPROVED) for row in found.rows)
    assert false <= 5  # 40 x 5 % = 2 expected; more than 5 has a probability below 2 %


def test_a_default_that_is_not_swept_is_said() -> None:
    axis = replace(BYPASS, default="other")
    words, found = said(results(sweep((axis,))))
    assert "bypass=off (the first value)" in words.lead
    assert not found.base_is_default


def test_many_comparisons_are_counted_and_not_listed() -> None:
    words, _ = said(results(sweep((BYPASS, DEPTH), (SOLO, INTERFERENCE), blocks=6)))
    assert "of 36 comparisons" in words.lead
    assert all(len(point) < 420 for point in words.points)


def test_the_table_has_what_a_verdict_rests_on() -> None:
    _, found = said(results(sweep(blocks=6)))
    table = comparison_table(found, found.rows)
    row = dict(zip(table.head, table.rows[0], strict=True))
    assert row["verdict"] == "improved"
    assert row["blocks"] == "6"
    assert row["q"] == "<0.0001"
    assert re.fullmatch(r"\d\S*\s%", row["seen"])


def test_an_inconclusive_cell_says_what_it_takes() -> None:
    wild = Axis("noop", (Value("a"), Value("b")), "engine", numeric=False, default="a")
    _, found = said(results(sweep((wild,), blocks=2), seed=3))
    rows = [row for row in found.rows if row.verdict is Verdict.INCONCLUSIVE]
    assert rows
    told = comparison_table(found, rows).rows[0][-1]
    assert re.fullmatch(r"inconclusive: (\d+ blocks would tell|too noisy)", told)


def test_the_worst_comes_first_and_the_unmeasured_last() -> None:
    _, found = said(blemished())
    ordered = sort_by_effect(found.rows)
    harms = [
        row.ratio if row.gate.higher_is_better else 1 / row.ratio for row in ordered if row.ratio
    ]
    assert harms == sorted(harms)


def test_troubles_keep_fios_words_and_say_how_often() -> None:
    found = {trouble.kind: trouble for trouble in troubles(blemished())}
    assert set(found) == {"failed", "timed out", "skipped", "missing", "with a warning"}
    assert found["failed"].words == "fio: option <iodepth> out of range\nerror=Invalid argument"
    assert found["skipped"].places == ("interference/bypass=hybrid",)
    assert found["missing"].count == "2 runs"


def test_a_huge_message_keeps_both_ends() -> None:
    whole = blemished()
    runs = [
        replace(run, reason="first " + "x" * 100_000 + " last") if run.reason else run
        for run in whole.runs
    ]
    words = troubles(replace(whole, runs=tuple(runs)))[0].words
    assert len(words) < 5000
    assert words.startswith("first")
    assert words.endswith("last")


def test_the_header_says_what_is_not_known() -> None:
    whole = replace(results(sweep()), environments=(), created_at=0.0)
    facts = {fact.name: fact.text for fact in header(Readings(whole))}
    assert facts["Kernel"] == facts["fio"] == facts["Date"] == "not recorded"
    assert notices(whole) == ("It was not recorded whether this machine is virtual.",)


def test_limits_are_said_before_figures() -> None:
    text = " ".join(notices(blemished()))
    assert "Virtual machine or container (kvm)" in text
    assert "cpu.governor" in text
    assert "not complete" in text


def estimate(mean: float, low: float, high: float) -> Estimate:
    return Estimate(mean, low, high, 5, 10)


@pytest.mark.parametrize(("text", "expected"), [
    (interval("iops", estimate(123456, 121900, 124988)), "123.5k [121.9, 125.0]"),
    (interval("lat_p99", estimate(1.23e6, 0.9e6, 1.5e6)), "1.23 [0.90, 1.50] ms"),
    (interval("ctx", estimate(0.97, 0.97, 0.97)), "0.970 [0.970, 0.970]"),
    (interval("iops", None), "\N{EN DASH}"),
    (ratio(estimate(1.42, 1.38, 1.47)), "\N{MULTIPLICATION SIGN}1.420 [1.380, 1.470]"),
    (ratio(estimate(1.42, 0.2, 9e9)), "\N{MULTIPLICATION SIGN}1.42 [0.20, over 1000]"),
    (figure("iops", 999_999.0), "1.00M"),
    (figure("bw", 0.0), "0 B/s"),
    (figure("lat_p50", 980.4), "980 ns"),
    (figure("cpu_us", 0.31), "310 ns"),
    (figure("lat_p50", float("nan")), "\N{EN DASH}"),
])  # fmt: skip
def test_figures_as_text(text: str, expected: str) -> None:
    assert text.replace("\N{NO-BREAK SPACE}", " ") == expected
