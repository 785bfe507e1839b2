"""Quieting the machine while it measures: clock, interrupts, sleep states. Through the same journal
as a sweep's knobs, so that it is put back on exit, on Ctrl-C, and by the next start after a kill.

Turbo and SMT are recorded and left alone: taking them away changes what is measured rather than how
well.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from sluice import env
from sluice.knobs.journal import Entry, Journal, State
from sluice.knobs.kernel import Kernel
from sluice.knobs.undo import SERVICES, undo
from sluice.process import Deferred

CPUS = Path("/sys/devices/system/cpu")
LATENCY = Path("/dev/cpu_dma_latency")
LATENCY_US = 2
"""Wake-up time that is borne: C1 has it on today's processors, deeper states don't."""
(BALANCER,) = SERVICES
_SYSCTLS = {
    "kernel.numa_balancing": "0",  # it moves pages while they are measured
    "kernel.nmi_watchdog": "0",  # an interrupt on each processor every few seconds
}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wish:
    """One file that should read otherwise."""

    item: str
    """``governor``, ``C-states`` ..."""
    path: Path
    text: str
    label: str


class Tuning:
    """Tunes the machine while it is entered. Everything that can't be tuned is said once."""

    def __init__(self, kernel: Kernel, state: State, say: Say) -> None:
        self._kernel = kernel
        self._state = state
        self._say = say
        self._journal: Journal | None = None
        self._latency: int | None = None
        self.items: tuple[str, ...] = ()
        """What is as it should be, by name; what this machine hasn't isn't among them."""

    def __enter__(self) -> Tuning:
        try:
            with Deferred():
                self._begin(list(wishes(self._kernel, stay=False)))
                self._hold_latency()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self._say(f"tuned: {', '.join(self.items) or 'nothing, this machine has none of it'}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with Deferred():
            if self._latency is not None:
                os.close(self._latency)
                self._latency = None
            journal, self._journal = self._journal, None
            if journal is None:
                return
            said = undo(self._kernel, journal.entries())
            if said.kept:
                journal.close()
                for line in said.kept:
                    self._say(f"{line}; once that is mended: sluice restore")
            else:
                journal.remove()

    def stay(self) -> bool:
        """Tune and leave it so until ``sluice restore``; whether anything had to be changed."""
        wanted = [one for one in wishes(self._kernel, stay=True) if not self._holds(one)]
        with Deferred():
            self._begin(wanted)
            journal, self._journal = self._journal, None
            if journal is None:
                return False
            journal.keep()
        return True

    def _begin(self, wanted: list[Wish]) -> None:
        """Set what is wanted, and stop the balancer, once the journal knows how it was."""
        balancer = balancer_runs()
        entries = [
            Entry("value", str(one.path), self._kernel.read(one.path), one.label) for one in wanted
        ]
        if balancer:
            entries.append(Entry("service", BALANCER, "", BALANCER))
        if entries:
            self._journal = self._state.begin(entries)
        done = dict.fromkeys(one.item for one in wanted if self._set(one))
        if balancer and self._stop_balancer():
            done[BALANCER] = None
        self.items = tuple(done)

    def _set(self, wish: Wish) -> bool:
        """Whether it is as wished; if not, it is said why."""
        try:
            if not self._holds(wish):
                self._kernel.write(wish.path, wish.text)
        except OSError as error:
            self._say(f"not tuned: {wish.label}: the kernel refuses ({error.strerror})")
            return False
        if self._holds(wish):
            return True
        self._say(f"not tuned: {wish.label}: set to {wish.text}, reads {self._now(wish)}")
        return False

    def _holds(self, wish: Wish) -> bool:
        return self._now(wish) == wish.text

    def _now(self, wish: Wish) -> str:
        try:
            return self._kernel.read(wish.path)
        except OSError:
            return ""

    def _stop_balancer(self) -> bool:
        words = _systemctl("stop", BALANCER)
        if words:
            self._say(f"not tuned: {BALANCER} goes on: {words}")
        return not words

    def _hold_latency(self) -> None:
        """Ask for quick wake-ups as long as this process holds the file open."""
        if not self._kernel.names(CPUS / "cpu0/cpuidle"):
            return  # this kernel enters no sleep state by itself
        try:
            file = os.open(self._kernel.at(LATENCY), os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            self._say(f"not tuned: C-states: {LATENCY} can't be opened ({error.strerror})")
            return
        self._latency = file
        os.write(file, struct.pack("=i", LATENCY_US))
        self.items = (*self.items, "C-states")


@contextlib.contextmanager
def while_running(wanted: bool, say: Say) -> Iterator[str]:
    """The machine tuned, if `wanted`; what was tuned, for the environment."""
    if not wanted:
        yield "off"
        return
    with Tuning(Kernel(), State(), say) as tuning:
        yield ", ".join(tuning.items) or "nothing to tune"


def wishes(kernel: Kernel, stay: bool) -> Iterator[Wish]:
    """What this kernel has of all that is worth tuning, as files. `stay`: without a process that
    stays, so sleep states are switched off one by one."""
    cpus = [name for name in kernel.names(CPUS) if name[:3] == "cpu" and name[3:].isdigit()]
    for cpu in cpus:
        folder = CPUS / cpu / "cpufreq"
        if "performance" in _read(kernel, folder / "scaling_available_governors").split():
            yield Wish("governor", folder / "scaling_governor", "performance", f"governor of {cpu}")
        for name in kernel.names(CPUS / cpu / "cpuidle") if stay else []:
            idle = CPUS / cpu / "cpuidle" / name
            latency = _read(kernel, idle / "latency")
            if latency.isdigit() and int(latency) > LATENCY_US:
                yield Wish("C-states", idle / "disable", "1", f"{name} of {cpu}")
    for name, text in _SYSCTLS.items():
        path = Path("/proc/sys", *name.split("."))
        if _read(kernel, path):
            yield Wish(name, path, text, f"sysctl {name}")


def balancer_runs() -> bool:
    """Whether a service moves interrupts about, and can be stopped."""
    return env.process_of(BALANCER) is not None and shutil.which("systemctl") is not None


def left_alone() -> list[str]:
    """What is recorded and not tuned, in one line each."""
    cpu = dict(env.cpu_facts())
    return [
        f"{name}: {cpu[f'cpu.{name}']} (left as it is)"
        for name in ("turbo", "smt")
        if cpu.get(f"cpu.{name}")
    ]


def _systemctl(*words: str) -> str:
    """'' when it was done, else systemd's reason."""
    try:
        done = subprocess.run(
            ["systemctl", *words], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""


def _read(kernel: Kernel, path: Path) -> str:
    try:
        return kernel.read(path)
    except OSError:
        return ""
