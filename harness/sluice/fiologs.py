"""fio's logs of a run, job by job: bandwidth by window, histograms by window, and gaps.

fio logs nothing before the ramp is over, and a log's time begins there. A window in which a job
completed nothing has no line; but neither has one that the helper thread came too late for, on a
busy machine. The thread samples all jobs at once, so a window that *another* job has a line for was
a gap, and one that nobody has is covered by the next line, which holds the mean since the last.
Where all jobs stall together only the histograms tell: they are written at completions.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from sluice import histogram
from sluice.histogram import Bins

__all__ = ["COARSENESS", "JobLog", "parse"]

COARSENESS = 2
"""fio merges 2^2 of its 64 bins an octave: 16 are left, so a percentile is right to 3 %."""
USUAL = 0.05
"""Share of a window by which the line of a histogram is late without anything being wrong."""
_DIRECTIONS = ("read", "write", "trim")
_PLAT_BITS = 6
"""fio's FIO_IO_U_PLAT_BITS: 64 bins to each power of two."""


@dataclass(frozen=True, slots=True)
class JobLog:
    """The logs of one fio job."""

    rates: Mapping[str, Mapping[int, float]]
    """Direction -> number of the window (from 1) -> bytes a second. A missing window: nothing was
    completed in it."""
    gap_s: float | None = None
    """The longest stretch without a completion is at least so long; 0: none that shows. None: it
    can't be told from a late sample."""
    latencies: Mapping[str, Mapping[int, Bins]] = field(default_factory=dict)
    """Direction -> number of the window -> histogram of what completed in it."""

    def rate(self, number: int) -> float:
        """Bytes a second in window `number`, all directions; 0 when nothing was completed."""
        return sum(windows.get(number, 0.0) for windows in self.rates.values())


Lines = Mapping[str, Mapping[int, float]]
"""Direction -> number of the window -> bytes a second, only where fio wrote a line."""


def parse(
    texts: Mapping[tuple[str, int], str], width_s: float, runtime_s: float, *, latencies: bool
) -> tuple[int, tuple[JobLog, ...]] | None:
    """How many windows a run has, and its jobs. `texts`: (``bw`` or ``clat_hist``, number of the
    job from 1) -> the log. None without a line; ValueError when one is damaged."""
    count = int(runtime_s / width_s + 1e-6)
    lines = {n: _lines(text, width_s, count) for (kind, n), text in texts.items() if kind == "bw"}
    sampled = sorted({n for job in lines.values() for one in job.values() for n in one})
    if not sampled:
        return None
    jobs = []
    for number in range(1, max(lines) + 1):
        line, text = lines.get(number, {}), texts.get(("clat_hist", number), "")
        idle = _idle(line, lines, sampled)
        gap_s = None if idle is None else idle * width_s
        if text:
            gap_s = _gap(text, width_s, count * width_s)
        rates = {direction: _covering(one, sampled) for direction, one in line.items()}
        bins = _latencies(text, width_s, sampled[-1]) if latencies else {}
        jobs.append(JobLog(rates, gap_s, bins))
    return sampled[-1], tuple(jobs)


def _idle(own: Lines, all_jobs: Mapping[int, Lines], sampled: Sequence[int]) -> int | None:
    """Windows of the job's longest stretch without a line where another job has one; None for a
    lone job that lacks lines."""
    if len(all_jobs) < 2 and len(sampled) < sampled[-1]:
        return None
    busy = {number for one in own.values() for number in _covering(one, sampled)}
    return _longest(set(range(1, sampled[-1] + 1)) - busy)


def _covering(line: Mapping[int, float], sampled: Sequence[int]) -> dict[int, float]:
    """The line of a window also for those before it that nobody has."""
    found: dict[int, float] = {}
    before = 0
    for number in sampled:
        if number in line:
            found |= dict.fromkeys(range(before + 1, number + 1), line[number])
        before = number
    return found


def _longest(numbers: set[int]) -> int:
    """Length of the longest stretch of consecutive numbers."""
    longest = 0
    for number in numbers:
        if number - 1 not in numbers:
            end = number
            while end in numbers:
                end += 1
            longest = max(longest, end - number)
    return longest


def _gap(text: str, width_s: float, end_s: float) -> float:
    """What a line of the histograms is late by: it is written at the first completion after its
    window's end. At least so long nothing was completed, in any direction."""
    moments = sorted(int(line.partition(",")[0]) / 1000.0 for line in text.splitlines())
    pairs = itertools.pairwise((0.0, *moments, end_s))
    late = max(after - before - width_s for before, after in pairs)
    return round(late, 3) if late > USUAL * width_s else 0.0


def _lines(text: str, width_s: float, count: int) -> dict[str, dict[int, float]]:
    """fio writes ``ms, KiB/s, direction, ...`` at the end of each window; the first line for a
    window counts, since what comes at the end of the run is a rest of a few milliseconds."""
    found: dict[str, dict[int, float]] = {}
    for line in text.splitlines():
        moment, rate, direction = (int(part) for part in line.split(",")[:3])
        number = max(1, round(moment / 1000.0 / width_s))
        if number <= count:
            found.setdefault(_DIRECTIONS[direction], {}).setdefault(number, rate * 1024.0)
    return found


def _latencies(text: str, width_s: float, count: int) -> dict[str, dict[int, Bins]]:
    """fio writes ``ms, direction, block size, count, count, ...``, one count a bin, at the first
    completion after a window's end; after a gap it writes several lines at one moment."""
    found: dict[str, dict[int, Bins]] = {}
    for line in text.splitlines():
        moment, direction, _, *counts = line.split(", ")
        number = min(max(1, round(int(moment) / 1000.0 / width_s)), count)
        windows = found.setdefault(_DIRECTIONS[int(direction)], {})
        bins = {
            _midpoint(index): int(figure) for index, figure in enumerate(counts) if figure != "0"
        }
        windows[number] = histogram.merge([windows.get(number, {}), bins])
    return found


@cache
def _midpoint(index: int) -> int:
    """Middle of a merged bin in nanoseconds."""
    first = index << COARSENESS
    low, _ = _edges(first)
    _, high = _edges(first + (1 << COARSENESS) - 1)
    return (low + high) // 2


def _edges(index: int) -> tuple[int, int]:
    """Ends of one of fio's own bins (its plat_idx_to_val): whole nanoseconds up to 2^7, then 64
    steps to each power of two."""
    if index < 2 << _PLAT_BITS:
        return index, index + 1
    shift = (index >> _PLAT_BITS) - 1
    low = (1 << (shift + _PLAT_BITS)) + ((index % (1 << _PLAT_BITS)) << shift)
    return low, low + (1 << shift)
