"""Figures of the virtual clock: instructions and virtual time, and how many I/Os they were for.

With one nanosecond an instruction, what the guest's clock advances while the processor works *is*
the number of instructions. What it advances while the processor idles is not: the clock then jumps
to the next timer. So instructions are the time that passed less what the kernel's tick code counted
as idle (``idle_sleeptime`` and ``iowait_sleeptime`` in /proc/timer_list, in nanoseconds).

What is counted is the whole guest: the program, the kernel, interrupts, the timer's ticks.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """The guest's counters at one moment."""

    now_ns: int
    idle_ns: int
    ios: int
    """Completed by all of the guest's devices, since its boot."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Between two moments."""

    instructions: int
    virtual_ns: int
    ios: int

    @property
    def per_io(self) -> float | None:
        """Instructions for each I/O; None without I/O."""
        return self.instructions / self.ios if self.ios else None


def moment(text: str) -> Moment:
    """Read what the guest's ``counts`` wrote. ValueError when it is something else."""
    now = re.search(r"^now at (\d+) nsecs", text, re.MULTILINE)
    idle = re.findall(r"(?:idle|iowait)_sleeptime\s*: (\d+) nsecs", text)
    if now is None or not idle:
        raise ValueError("the guest's kernel has no idle time in /proc/timer_list")
    ios = 0
    for line in re.findall(r"^stat \S+ (.*)$", text, re.MULTILINE):
        fields = line.split()
        # Documentation/block/stat.rst: completed reads, writes, discards, flushes.
        ios += sum(int(fields[index]) for index in (0, 4, 11, 15) if index < len(fields))
    return Moment(int(now[1]), sum(map(int, idle)), ios)


def counted(before: str, after: str) -> Counted:
    """What lies between two texts of ``counts``."""
    begin, end = moment(before), moment(after)
    passed = end.now_ns - begin.now_ns
    return Counted(passed - (end.idle_ns - begin.idle_ns), passed, end.ios - begin.ios)


def difference(longer: Counted, shorter: Counted) -> Counted:
    """What a longer run of the same command took beyond a shorter one: its start and end, which
    both have, fall out."""
    return Counted(
        longer.instructions - shorter.instructions,
        longer.virtual_ns - shorter.virtual_ns,
        longer.ios - shorter.ios,
    )


def told(runs: Sequence[Counted]) -> str:
    """One line for people; of several replicas the median and the spread between them."""
    first = runs[0]
    text = (
        f"virtual: {first.instructions:,} instructions in {first.virtual_ns / 1e9:.6f} s of "
        f"virtual time, {first.ios:,} device I/Os"
    )
    values = [one.per_io for one in runs if one.per_io is not None]
    if not values:
        return text
    text += f": {values[0]:,.1f} instructions per I/O, the command's start and end included"
    if len(values) > 1:
        middle = statistics.median(values)
        low, high = min(values) / middle - 1, max(values) / middle - 1
        text += (
            f"; {len(values)} replicas: median {middle:,.1f}, {100 * low:+.2f} .. "
            f"{100 * high:+.2f} %: an effect within that is layout"
        )
    return text
