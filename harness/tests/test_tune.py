"""Tuning quiets what this kernel has, says what it can't, and is put back like any knob."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SweepMaker
from knobbing import FakeKernel, dies_at
from test_cli import inside

from sluice import env, store, tune
from sluice.knobs.journal import State
from sluice.knobs.undo import recover
from sluice.tune import Tuning

CPU = "/sys/devices/system/cpu"
FILES = {
    f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave",
    f"{CPU}/cpu0/cpufreq/scaling_available_governors": "performance powersave",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "schedutil",
    f"{CPU}/cpu1/cpufreq/scaling_available_governors": "performance schedutil",
    f"{CPU}/cpu0/cpuidle/state1/latency": "2",
    f"{CPU}/cpu0/cpuidle/state1/disable": "0",
    f"{CPU}/cpu0/cpuidle/state2/latency": "133",
    f"{CPU}/cpu0/cpuidle/state2/disable": "0",
    "/proc/sys/kernel/numa_balancing": "1",
    "/proc/sys/kernel/nmi_watchdog": "0",
    "/dev/cpu_dma_latency": "",
}


@pytest.fixture(autouse=True)
def no_balancer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "balancer_runs", lambda: False)


@pytest.fixture()
def machine(kernel: FakeKernel) -> FakeKernel:
    """One with everything that can be tuned."""
    for name, text in FILES.items():
        kernel._put(Path(name), text)
    return kernel


def governors(kernel: FakeKernel) -> list[str]:
    return [kernel.read(Path(f"{CPU}/cpu{n}/cpufreq/scaling_governor")) for n in (0, 1)]


def test_it_is_tuned_while_it_runs_and_put_back_after(machine: FakeKernel, state: State) -> None:
    before = machine.state()
    lines: list[str] = []
    with Tuning(machine, state, lines.append) as tuning:
        assert governors(machine) == ["performance", "performance"]
        assert machine.read(Path("/proc/sys/kernel/numa_balancing")) == "0"
        held = machine.at(tune.LATENCY).read_bytes()
        assert struct.unpack("=i", held[:4]) == (tune.LATENCY_US,)
        assert tuning.items == (
            "governor",
            "kernel.numa_balancing",
            "kernel.nmi_watchdog",
            "C-states",
        )
    machine.at(tune.LATENCY).write_text("\n")
    assert machine.state() == before
    assert lines == ["tuned: governor, kernel.numa_balancing, kernel.nmi_watchdog, C-states"]


def test_killed_at_any_step_the_next_start_puts_it_back(machine: FakeKernel, state: State) -> None:
    before = machine.state()

    def work(step: Callable[[str], None]) -> None:
        with Tuning(FakeKernel(machine.root, step), State(state.folder, step), lambda _: None):
            pass

    step = 0
    while dies_at(step := step + 1, work):
        recover(machine, state, lambda _: None)
        machine.at(tune.LATENCY).write_text("\n")
        assert machine.state() == before, f"killed at step {step}"
    assert step > 20


def test_it_stays_until_it_is_asked_to_go(machine: FakeKernel, state: State) -> None:
    before = machine.state()
    assert Tuning(machine, state, print).stay()
    assert machine.read(Path(f"{CPU}/cpu0/cpuidle/state2/disable")) == "1"
    assert machine.read(Path(f"{CPU}/cpu0/cpuidle/state1/disable")) == "0"  # C1 is quick enough
    lines: list[str] = []
    recover(machine, state, lines.append)
    assert (lines, governors(machine)) == ([], ["performance", "performance"])
    assert not Tuning(machine, state, print).stay()  # nothing left to be tuned
    with Tuning(machine, state, print):
        recover(machine, state, lines.append, kept_too=True)
        assert "isn't put back while process" in lines[0]
    assert recover(machine, state, lines.append, kept_too=True)
    assert machine.state() | {str(tune.LATENCY): "\n"} == before


def test_a_machine_with_nothing_to_tune_says_so(kernel: FakeKernel, state: State) -> None:
    lines: list[str] = []
    with Tuning(kernel, state, lines.append) as tuning:
        assert tuning.items == ()
    assert lines == ["tuned: nothing, this machine has none of it"]
    assert kernel.log == []


def test_what_the_kernel_refuses_is_said_and_doesnt_count(
    machine: FakeKernel, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = machine.write

    def write(path: Path, text: str) -> None:
        if "cpu1" in str(path):
            raise PermissionError(13, "Permission denied")
        if path.name == "numa_balancing":
            return  # and nothing happens
        real(path, text)

    monkeypatch.setattr(machine, "write", write)
    lines: list[str] = []
    with Tuning(machine, state, lines.append) as tuning:
        assert "kernel.numa_balancing" not in tuning.items
    assert lines[0] == "not tuned: governor of cpu1: the kernel refuses (Permission denied)"
    assert lines[1] == "not tuned: sysctl kernel.numa_balancing: set to 0, reads 1"


def test_the_balancer_is_stopped_and_started_again(
    kernel: FakeKernel, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    script = tmp_path / "bin" / "systemctl"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho "$@" >>{log}\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    monkeypatch.setattr(tune, "balancer_runs", lambda: True)
    with Tuning(kernel, state, lambda _: None) as tuning:
        assert log.read_text() == "stop irqbalance\n"
        assert tuning.items == ("irqbalance",)
    assert log.read_text() == "stop irqbalance\nstart irqbalance\n"

    def killed(step: Callable[[str], None]) -> None:
        with Tuning(kernel, State(state.folder), lambda _: None):
            step("now")

    log.write_text("")
    assert dies_at(1, killed)
    lines: list[str] = []
    assert recover(kernel, state, lines.append)
    assert "irqbalance runs again: process" in lines[0]
    assert log.read_text() == "stop irqbalance\nstart irqbalance\n"
    script.write_text("#!/bin/sh\necho no bus >&2\nexit 1\n")
    lines.clear()
    with Tuning(kernel, state, lines.append) as tuning:
        assert tuning.items == ()
    assert lines[0] == "not tuned: irqbalance goes on: no bus"


def test_a_tuned_sweep_says_so_in_its_environment(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = inside(capsys, "run", make_sweep(), "--fio", fake_fio(""), "--tune", "--blocks", 1)
    assert done.returncode == 0, done.stderr
    results = store.load(tmp_path / "store")
    assert "tuned: " in done.stderr
    assert {one.values["tune.items"] for one in results.environments} != {"off"}
    assert results.command.endswith(" --tune")
    inside(capsys, "run", make_sweep(), "--fio", fake_fio(""), "--blocks", 1)
    plain = store.load(tmp_path / "store").environments[0]
    assert plain.values["tune.items"] == "off"


def test_the_balancer_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert env.process_of("no such process here") is None
    own = Path("/proc/self/comm").read_text().strip()
    assert env.process_of(own) is not None
