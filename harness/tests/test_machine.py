"""Environment, doctor and units: what they say holds on any machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice import block, cli, doctor, env, kvm, paths, snapshot, units
from sluice.doctor import Level
from sluice.fiocli import Fio


def test_the_environment_names_what_was_measured_with(
    fake_fio: Callable[[str], str], tmp_path: Path
) -> None:
    plugin = tmp_path / "sluice.so"
    plugin.write_bytes(b"x")
    taken = env.capture("before", Fio(fake_fio("")), tmp_path, plugin).values
    assert taken["fio.version"] == "3.33"
    assert len(taken["fio.sha256"]) == len(taken["engine.sha256"]) == 16
    assert taken["kernel.release"]
    assert all(isinstance(text, str) and text for text in taken.values())
    assert taken["target.filesystem"]


def test_no_name_of_the_machine_leaves_it(fake_fio: Callable[[str], str], tmp_path: Path) -> None:
    import socket

    taken = env.capture("before", Fio(fake_fio("")), tmp_path, None).values
    assert not any("hostname" in key for key in taken)
    assert env.read("/etc/machine-id") not in taken.values()
    assert socket.gethostname() not in taken.values()


def test_a_file_that_doesnt_exist_yet_lies_where_its_folder_does(tmp_path: Path) -> None:
    assert block.device_of(tmp_path / "a" / "b") == block.device_of(tmp_path)
    assert block.mount_of(tmp_path / "a") == block.mount_of(tmp_path)


def findings(fio: str, data: Path) -> dict[str, doctor.Finding]:
    return {one.subject: one for one in doctor.examine(fio, data)}


@pytest.fixture()
def no_kvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "works", lambda: (False, "emulation failure"))


@pytest.mark.usefixtures("no_kvm")
def test_every_shortcoming_has_a_cure(fake_fio: Callable[[str], str], tmp_path: Path) -> None:
    found = findings(fake_fio(""), tmp_path)
    for subject in (
        "fio",
        "engine",
        "io_uring",
        "memory lock",
        "processors",
        "machine",
        "governor",
        "interrupts",
        "sleep states",
        "knobs",
        "control groups",
        "identity",
        "devices",
        "test files",
        "KVM",
    ):
        assert subject in found
    for one in found.values():
        assert one.text
        assert one.level is Level.OK or one.cure, one


@pytest.mark.usefixtures("no_kvm")
def test_a_missing_fio_or_engine_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    assert cli.main(["doctor", "--fio", "no-such-fio", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "fail  fio: " in said
    assert "-> apt install fio" in said
    assert "fail  engine: " in said
    assert "-> ci/setup" in said


@pytest.mark.usefixtures("no_kvm")
def test_an_engine_that_fio_refuses_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    paths.plugin().parent.mkdir(parents=True)
    paths.plugin().write_bytes(b"no library")
    engine = findings("fio", tmp_path)["engine"]
    assert engine.level is Level.FAIL
    assert "fio doesn't take" in engine.text


def test_kvm_is_believed_only_when_a_guest_ran() -> None:
    working, text = kvm.works()
    assert text
    if not Path("/dev/kvm").exists():
        assert not working


def test_a_trial_that_hangs_is_no_success(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert kvm.works(timeout_s=0.2) == (False, "the trial guest hung for 0.2 s")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4k", 4096),
        ("4K", 4096),
        ("16M", 2**24),
        ("1GiB", 2**30),
        ("2mb", 2**21),
        ("1.5k", 1536),
        ("3b", 3),
        ("1t", 2**40),
    ],
)
def test_sizes_are_fios(text: str, size: float) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "ns"),
    [("1", 1e9), ("500ms", 5e8), ("2us", 2e3), ("7ns", 7), ("5m", 3e11), ("1h", 3.6e12)],
)
def test_times_are_fios(text: str, ns: float) -> None:
    assert units.parse_time_ns(text) == ns


@given(st.text(max_size=8))
def test_no_text_breaks_a_reader(text: str) -> None:
    for reader in (units.parse_size, units.parse_time_ns, units.parse_number):
        try:
            assert isinstance(reader(text), float)
        except ValueError as error:
            assert str(error)


@given(st.floats(0, 1e6))
def test_durations_are_short(seconds: float) -> None:
    assert len(units.show_seconds(seconds)) < 14


def test_a_commit_is_claimed_only_for_what_was_built_from_it(tmp_path: Path) -> None:
    built = tmp_path / "sluice.so"
    built.write_bytes(b"x")
    if not env.ask("git", "-C", str(paths.project_root()), "log", "-1", "--format=%ct"):
        pytest.skip("no git checkout")
    assert snapshot.commit_of(built)
    os.utime(built, (1e9, 1e9))
    assert snapshot.commit_of(built) == ""
    assert snapshot.commit_of(tmp_path / "gone") == ""
