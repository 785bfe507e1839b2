"""fio's JSON as it really comes, and percentiles that agree with fio's own."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st

from sluice import fiojson, histogram
from sluice.model import Role

ROLES = {"a": Role.MEASURED, "b": Role.NEIGHBOUR}


def one_job(name: str = "a", ios: int = 100, **changes: Any) -> dict[str, Any]:
    times = {
        "min": 1,
        "max": 500,
        "mean": 200.0,
        "N": ios,
        "bins": {"100": ios // 2, "300": ios - ios // 2},
    }
    return {
        "jobname": name,
        "error": 0,
        "job_runtime": 1000,
        "usr_cpu": 10.0,
        "sys_cpu": 30.0,
        "ctx": 50,
        "read": {"total_ios": ios, "iops": float(ios), "bw_bytes": ios * 4096, "clat_ns": times},
    } | changes


def document(*jobs: dict[str, Any]) -> dict[str, Any]:
    return {"fio version": "fio-3.33", "jobs": list(jobs)}


def total(
    doc: dict[str, Any], role: Role = Role.MEASURED, direction: str = "all"
) -> dict[str, float]:
    return next(
        dict(one.values)
        for one in fiojson.samples(doc, ROLES)
        if one.total and one.role is role and one.direction == direction
    )


def test_junk_before_the_document_is_kept_as_words() -> None:
    text = "fio: queue depth will be capped at 1\nnote: both {a} and {b}\n" + json.dumps(
        document(one_job()), indent=2
    )
    output = fiojson.split(text)
    assert len(output.documents) == 1
    assert output.words == ("fio: queue depth will be capped at 1", "note: both {a} and {b}")


def test_the_last_of_several_documents_counts() -> None:
    early, late = document(one_job(ios=10)), document(one_job(ios=100))
    output = fiojson.split(json.dumps(early, indent=1) + "\nstatus\n" + json.dumps(late, indent=1))
    assert output.last == late
    assert output.words == ("status",)


def test_a_document_that_is_cut_short_isnt_used() -> None:
    whole = json.dumps(document(one_job()), indent=1)
    assert fiojson.split(whole[:-5]).last is None
    assert fiojson.split(whole + "\n" + whole[: len(whole) // 2]).last == document(one_job())


@pytest.mark.parametrize(
    "junk",
    ["{junk} of one", "{", '{"a": 1', '{"cut": [\n {\n  "jobs": 1', "{}", "{ not JSON", "{{{"],
)
def test_a_line_that_looks_like_a_document_loses_none_behind_it(junk: str) -> None:
    whole = document(one_job())
    text = f"before\n{junk}\nfio: behind\n{json.dumps(whole, indent=1)}\nafter\n"
    output = fiojson.split(text)
    assert output.documents == (whole,)
    assert [word for word in output.words if word != junk] == ["before", "fio: behind", "after"]


def test_a_message_in_braces_is_kept_as_words() -> None:
    assert fiojson.split("{a} and {b}\n").words == ("{a} and {b}",)


def test_missing_keys_are_no_figures_rather_than_zeros() -> None:
    values = total(document({"jobname": "a", "read": {"total_ios": 5, "iops": 5.0}}))
    assert values == {"ios": 5.0, "iops": 5.0, "bw": 0.0, "errors": 0.0}


def test_no_completion_has_no_latency_and_no_cost() -> None:
    assert set(total(document(one_job(ios=0)))) == {"ios", "iops", "bw", "errors"}


def test_latencies_of_jobs_are_merged_not_averaged() -> None:
    fast = one_job(ios=900)
    fast["read"]["clat_ns"] |= {"bins": {"100": 900}}
    slow = one_job(ios=100)
    slow["read"]["clat_ns"] |= {"bins": {"9000": 100}, "max": 9999}
    values = total(document(fast, slow))
    assert values["lat_p50"] == 100.0
    assert values["lat_p99"] == 9000.0
    assert values["lat_max"] == 9999.0
    assert values["iops"] == 1000.0


def test_fairness_is_between_the_jobs_of_a_role() -> None:
    def fairness(*shares: int) -> float:
        jobs = [one_job("a", ios) for ios in shares]
        return total(document(*jobs, one_job("b", 9000)))["jain"]

    assert fairness(100, 100, 100) == pytest.approx(1.0)
    assert fairness(300, 0, 0) == pytest.approx(1 / 3)  # a job that starved counts
    assert fairness(100, 50) == pytest.approx(0.9)
    assert "jain" not in total(document(one_job()))  # alone, nobody is treated unfairly


def test_cpu_is_an_ios_share_of_the_jobs_time() -> None:
    values = total(document(one_job(ios=1000)))
    assert values["cpu_usr_us"] == pytest.approx(100.0)  # 10 % of 1 s over 1000 I/Os
    assert values["cpu_us"] == pytest.approx(400.0)
    assert values["ctx"] == pytest.approx(0.05)


def test_jobs_of_one_name_are_told_apart() -> None:
    found = [
        one
        for one in fiojson.samples(document(one_job(), one_job()), ROLES)
        if not one.total and one.direction == "all"
    ]
    assert [one.index for one in found] == [0, 1]


def test_roles_are_kept_apart() -> None:
    doc = document(one_job("a", 100), one_job("b", 7))
    assert total(doc)["ios"] == 100
    assert total(doc, Role.NEIGHBOUR)["ios"] == 7


def test_mixed_directions_sum_up_in_all() -> None:
    job = one_job(ios=100)
    job["write"] = job["read"] | {"total_ios": 300, "iops": 300.0}
    doc = document(job)
    assert total(doc)["ios"] == 400
    assert total(doc, direction="write")["ios"] == 300
    assert "cpu_us" in total(doc)
    assert "cpu_us" not in total(doc, direction="read")  # nobody knows whose it was


def test_nan_and_infinity_are_no_figures() -> None:
    text = json.dumps(document(one_job())).replace('"iops": 100.0', '"iops": NaN')
    last = fiojson.split(text).last
    assert last is not None
    assert total(dict(last))["iops"] == 0.0


def test_errors_are_named() -> None:
    assert fiojson.job_errors(document(one_job(error=22))) == ["job a ended with error 22"]


def test_percentiles_agree_with_fio() -> None:
    raw = gzip.decompress((DATA / "fio-3.33.json.gz").read_bytes()).decode()
    doc = fiojson.split(raw).last
    assert doc is not None
    for job in doc["jobs"]:
        for direction in ("read", "write"):
            times = job[direction]["clat_ns"]
            if times["N"] == 0:
                continue
            quantiles = {float(key) / 100: value for key, value in times["percentile"].items()}
            bins = histogram.parse_bins(times["bins"])
            assert sum(bins.values()) == times["N"]
            assert histogram.quantiles(bins, list(quantiles)) == list(quantiles.values())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "jobs",
                    "jobname",
                    "read",
                    "write",
                    "clat_ns",
                    "bins",
                    "N",
                    "total_ios",
                    "iops",
                    "mean",
                    "max",
                    "100",
                    "error",
                    "usr_cpu",
                    "ctx",
                    "bw",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(["jobs", "fio version"]), json_values, max_size=2))
def test_any_json_is_survived(doc: dict[str, Any]) -> None:
    fiojson.samples(doc, ROLES)
    fiojson.job_errors(doc)


@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    fiojson.split(text)


junk = st.text(st.characters(blacklist_characters="{", blacklist_categories=["Cs"]), max_size=60)


@given(st.lists(st.tuples(junk, st.integers(1, 1000)), min_size=1, max_size=4), junk)
def test_documents_are_found_among_any_junk(parts: list[tuple[str, int]], tail: str) -> None:
    docs = [document(one_job(ios=ios)) for _, ios in parts]
    text = (
        "".join(
            f"{words}\n{json.dumps(doc, indent=1)}\n"
            for (words, _), doc in zip(parts, docs, strict=True)
        )
        + tail
    )
    assert list(fiojson.split(text).documents) == docs


bins = st.dictionaries(st.integers(0, 2**34), st.integers(1, 1000), max_size=20)


@given(st.lists(bins, max_size=5), st.lists(st.floats(0.001, 0.999), min_size=1, max_size=4))
def test_merging_keeps_every_io_and_order(parts: list[dict[int, int]], wanted: list[float]) -> None:
    merged = histogram.merge(parts)
    assert sum(merged.values()) == sum(sum(part.values()) for part in parts)
    found = histogram.quantiles(merged, sorted(wanted))
    if not merged:
        assert found == [None] * len(wanted)
        return
    numbers = [one for one in found if one is not None]
    assert numbers == sorted(numbers)
    assert all(int(one) in merged for one in numbers)
