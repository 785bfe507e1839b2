"""What may be compared with what: hard keys decide, soft keys warn, the declared one is neither."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SweepMaker
from harnessing import run, session
from hypothesis import given
from hypothesis import strategies as st

from sluice import block, env, fingerprint, prepare
from sluice.errors import SluiceError
from sluice.fingerprint import ARMS, HARD, Difference, differences
from sluice.fiocli import Fio
from sluice.model import Axis, Environment, Results, Value


def machine(**values: str) -> Environment:
    return Environment(
        "before", 1.0, {key.replace("__", "."): text for key, text in values.items()}
    )


A = machine(machine__id="a", fio__version="3.33", cpu__governor="powersave", kernel__release="6.1")


def changed(**values: str) -> Environment:
    return dataclasses.replace(A, values={**A.values, **machine(**values).values})


def test_the_same_machine_has_no_difference() -> None:
    assert differences(A, A) == ()


def test_hard_keys_come_first_and_are_named_with_both_texts() -> None:
    found = differences(A, changed(cpu__governor="performance", fio__version="3.35"))
    assert found == (
        Difference("fio.version", True, "3.33", "3.35"),
        Difference("cpu.governor", False, "powersave", "performance"),
    )
    assert found[0].text == "fio.version was 3.33, now is 3.35"


def test_the_declared_difference_is_none() -> None:
    other = changed(kernel__release="6.12", cpu__governor="performance")
    assert [one.key for one in differences(A, other, ARMS["kernel"])] == ["cpu.governor"]
    assert differences(A, other, ("kernel.release", "cpu.*")) == ()


@pytest.mark.parametrize("key", HARD)
def test_what_one_side_didnt_record_isnt_known_to_differ(key: str) -> None:
    """A campaign of an older harness lacks keys; nobody guesses them."""
    with_it = Environment("before", 1.0, {key: "x"})
    without = Environment("before", 1.0, {})
    assert [one.hard for one in differences(with_it, without)] == [False]
    assert "not recorded" in differences(without, with_it)[0].text
    assert key in fingerprint.unknown(without)
    assert key not in fingerprint.unknown(with_it)


def test_a_fixed_option_that_one_side_hasnt_is_a_hard_difference_with_its_name() -> None:
    with_it = Environment("before", 1.0, {"job.hash": "x", "option.bypass": "all"})
    without = Environment("before", 1.0, {"job.hash": "x"})
    assert [(one.key, one.hard) for one in differences(with_it, without)] == [
        ("option.bypass", True)
    ]
    assert differences(with_it, without, ("option.bypass",)) == ()
    older = Environment("before", 1.0, {})
    assert not any(one.hard for one in differences(with_it, older))


def test_what_drifts_by_nature_is_told_only_when_it_drifts_far() -> None:
    cool = machine(now__temperature__target="40.0", now__load="0.1", now__free_percent="50")
    warm = machine(now__temperature__target="45.0", now__load="9.0", now__free_percent="45")
    hot = machine(now__temperature__target="71.0", now__load="0.1", now__free_percent="20")
    assert differences(cool, warm) == ()
    found = differences(cool, hot)
    assert [one.key for one in found] == ["now.free_percent", "now.temperature.target"]
    assert not any(one.hard for one in found)


@given(
    st.dictionaries(st.sampled_from([*HARD, "cpu.governor", "boot.id"]), st.text(min_size=1)),
    st.dictionaries(st.sampled_from([*HARD, "cpu.governor", "boot.id"]), st.text(min_size=1)),
)
def test_the_order_of_two_environments_changes_no_judgement(
    a: dict[str, str], b: dict[str, str]
) -> None:
    there = differences(Environment("before", 1.0, a), Environment("after", 2.0, b))
    back = differences(Environment("after", 2.0, b), Environment("before", 1.0, a))
    assert [(one.key, one.hard) for one in there] == [(one.key, one.hard) for one in back]
    assert [(one.first, one.second) for one in there] == [(one.second, one.first) for one in back]


@pytest.fixture()
def results(make_sweep: SweepMaker, fake_fio: Callable[[str], str], tmp_path: Path) -> Results:
    return run(session(make_sweep(), fake_fio(""), tmp_path / "store"))


def moments(results: Results, *environments: Environment) -> Results:
    return dataclasses.replace(results, environments=environments)


def test_a_change_in_any_session_of_a_campaign_is_found_once(results: Results) -> None:
    later = changed(fio__version="3.35")
    one = moments(results, A, A, later, later)
    assert [(d.key, d.hard) for d in fingerprint.within(one)] == [("fio.version", True)]
    assert fingerprint.within(moments(results, A, A)) == ()
    assert fingerprint.within(moments(results)) == ()


def test_a_knob_that_both_sweeps_set_is_no_difference_between_them(results: Results) -> None:
    axis = Axis("queue/scheduler", (Value("none"), Value("bfq")), "knob", False)
    swept = dataclasses.replace(results, sweep=dataclasses.replace(results.sweep, axes=(axis,)))
    none = changed(target__queue__scheduler="none")
    bfq = changed(target__queue__scheduler="bfq")
    between = fingerprint.between
    assert between(moments(swept, none), moments(swept, bfq)) == ()
    found = between(moments(swept, none), moments(results, bfq))
    assert [one.key for one in found] == ["target.queue.scheduler"]
    assert fingerprint.within(moments(swept, none, bfq)) == ()
    assert fingerprint.knob_key("sysctl:vm.dirty_ratio") == "sysctl.vm.dirty_ratio"


def test_a_campaign_goes_on_only_where_it_began(results: Results) -> None:
    """Another machine and another fio: both keys in one line."""
    begun = moments(results, A)
    prepare.same_machine(begun, changed(cpu__governor="performance"))
    with pytest.raises(SluiceError) as caught:
        prepare.same_machine(begun, changed(machine__id="b", fio__version="3.35"))
    assert str(caught.value) == (
        "small-0001: fio.version was 3.33, now is 3.35; machine.id was a, now is b: runs of both "
        "don't compare; start a new campaign with `sluice run SWEEP`"
    )


def test_results_from_another_machine_arent_comparable(results: Results) -> None:
    found = fingerprint.between(moments(results, A), moments(results, changed(machine__id="b")))
    assert [(one.key, one.hard) for one in found] == [("machine.id", True)]
    assert all(not one.hard for one in fingerprint.between(moments(results, A), moments(results)))


def test_every_key_that_is_captured_is_text_and_serial_numbers_are_not_told(
    fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    values = env.capture("before", Fio(fake_fio("")), tmp_path, None, "", {"job.hash": "x"}).values
    assert values["job.hash"] == "x"
    assert all(isinstance(text, str) and text for text in values.values())
    for key in ("target.serial", "target.mkfs", "kernel.config", "irq.layout"):
        assert len(values.get(key, "0" * 12)) == 12


def test_two_captures_of_one_machine_have_no_hard_difference(
    fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    fio = Fio(fake_fio(""))
    a, b = (env.capture(when, fio, tmp_path, None) for when in ("before", "after"))
    assert not [one.text for one in differences(a, b) if one.hard]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("none [mq-deadline] kyber", "mq-deadline"),
        ("[none]", "none"),
        ("128", "128"),
        ("always [madvise] never", "madvise"),
        ("", ""),
        ("[a] [b]", "[a] [b]"),
    ],
)
def test_an_attribute_that_lists_its_choices_reads_as_the_chosen_one(text: str, value: str) -> None:
    assert block.chosen(text) == value
