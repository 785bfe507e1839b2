"""What happened within a run, from fio's own logs: bandwidth and latency, window by window.

Two logs, two costs. fio's helper thread samples bandwidth (``write_bw_log`` with ``log_avg_msec``):
nothing is added to an I/O. Latency over time comes from histograms (``write_hist_log``), never from
averages, and there fio reads the clock once more for every I/O (165 of 3,100 user instructions on
the null device); so a sweep has to ask for it.

fio logs nothing before the ramp is over, and a log's time begins there. A window in which a job
completed nothing has no line; but neither has one that the helper thread came too late for, on a
busy machine. The thread samples all jobs at once, so a window that *another* job has a line for was
a gap, and one that nobody has is covered by the next line, which holds the mean since the last.
Where all jobs stall together only the histograms tell: they are written at completions.

After the run the logs are one file, ``logs.tar.gz``, in the run's folder.
"""

from __future__ import annotations

import io
import itertools
import re
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from sluice import files, histogram
from sluice.histogram import Bins

__all__ = ["ARCHIVE", "JobLog", "Kind", "Timeline", "foreign", "options", "pack", "read", "window"]

ARCHIVE = "logs.tar.gz"
MIN_RUNTIME_S = 1.0
"""Shorter runs have no timeline: four windows are the least that is one."""
LONG_S = 5.0
"""From here on a window is a second long; before it :data:`SHORT_WINDOW_S`."""
SHORT_WINDOW_S = 0.25
"""Shorter ones are less than what fio's helper thread is late by on a busy machine."""

USUAL = 0.05
"""Share of a window by which the line of a histogram is late without anything being wrong."""

_LOG = re.compile(r"timeline-(\d+)ms_(bw|clat_hist)\.(\d+)\.log")
"""Name of a log: length of the window, what it holds, number of the job. The length stands there so
that logs are read as they were written, whatever it is by then."""
_COARSENESS = 2
"""fio merges 2^2 of its 64 bins an octave: 16 are left, so a percentile is right to 3 %."""
_DIRECTIONS = ("read", "write", "trim")
_PLAT_BITS = 6
"""fio's FIO_IO_U_PLAT_BITS: 64 bins to each power of two."""


class Kind(StrEnum):
    """What a sweep keeps of the inside of its runs (key ``timeline`` of the sweep file)."""

    NONE = "none"
    RATE = "rate"
    """Bandwidth by window; free."""
    LATENCY = "latency"
    """And latency histograms; one more clock reading for each I/O."""


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


@dataclass(frozen=True, slots=True)
class Timeline:
    """The inside of one run."""

    window_s: float
    windows: int
    """How many whole windows the run has."""
    jobs: tuple[JobLog, ...]
    """In the order of fio's jobs."""


def window(runtime_s: float) -> float | None:
    """Length of a window in seconds for runs of that length; None: too short for a timeline."""
    if runtime_s < MIN_RUNTIME_S:
        return None
    return 1.0 if runtime_s >= LONG_S else SHORT_WINDOW_S


def options(kind: str, runtime_s: float) -> dict[str, str]:
    """The options of fio that keep a timeline; empty when there is to be none."""
    width_s = window(runtime_s)
    if kind == Kind.NONE or width_s is None:
        return {}
    width_ms = str(round(width_s * 1000))
    name = f"timeline-{width_ms}ms"
    wanted = {"write_bw_log": name, "log_avg_msec": width_ms, "per_job_logs": "1"}
    if kind == Kind.LATENCY:
        wanted |= {
            "write_hist_log": name,
            "log_hist_msec": width_ms,
            "log_hist_coarseness": str(_COARSENESS),
        }
    return wanted


def foreign(names: Iterable[str]) -> bool:
    """Whether a job has logs of its own, with which ours would interfere."""
    return any(name.endswith("_log") or name.startswith("log_") for name in names)


def pack(folder: Path) -> None:
    """Put the logs of a run into one compressed file and remove them. Nothing without logs."""
    logs = sorted(path for path in folder.glob("*.log") if _LOG.fullmatch(path.name))
    if not logs:
        return
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=3) as archive:
        for log in logs:
            data = log.read_bytes()
            member = tarfile.TarInfo(log.name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    files.write_bytes(folder / ARCHIVE, out.getvalue())
    for log in logs:
        log.unlink()


def read(folder: Path, runtime_s: float, *, latencies: bool = True) -> Timeline | None:
    """The timeline that a run left in its folder; None when it left none, or a damaged one. Without
    `latencies` the histograms, which take most of the time, are passed over."""
    texts: dict[tuple[str, int], str] = {}
    width_s = 0.0
    try:
        with tarfile.open(folder / ARCHIVE, "r:gz") as archive:
            for member in archive:
                name, file = _LOG.fullmatch(member.name), archive.extractfile(member)
                if name is not None and file is not None:
                    width_s = int(name[1]) / 1000.0
                    texts[name[2], int(name[3])] = file.read().decode("ascii", "replace")
        if width_s <= 0.0:
            return None
        count = int(runtime_s / width_s + 1e-6)
        lines = {
            number: _lines(text, width_s, count)
            for (kind, number), text in texts.items()
            if kind == "bw"
        }
        sampled = sorted({n for job in lines.values() for one in job.values() for n in one})
        if not sampled:
            return None
        jobs = []
        for number in range(1, max(lines) + 1):
            line, text = lines.get(number, {}), texts.get(("clat_hist", number), "")
            gap_s = _gap(text, width_s, count * width_s) if text else None
            idle = _idle(line, lines, sampled)
            if gap_s is None and idle is not None:
                gap_s = idle * width_s
            bins = _latencies(text, width_s, sampled[-1]) if latencies else {}
            rates = {direction: _covering(one, sampled) for direction, one in line.items()}
            jobs.append(JobLog(rates, gap_s, bins))
    except (OSError, tarfile.TarError, ValueError, EOFError):
        return None
    return Timeline(width_s, sampled[-1], tuple(jobs))


Lines = Mapping[str, Mapping[int, float]]
"""Direction -> number of the window -> bytes a second, only where fio wrote a line."""


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
    first = index << _COARSENESS
    low, _ = _edges(first)
    _, high = _edges(first + (1 << _COARSENESS) - 1)
    return (low + high) // 2


def _edges(index: int) -> tuple[int, int]:
    """Ends of one of fio's own bins (its plat_idx_to_val): whole nanoseconds up to 2^7, then 64
    steps to each power of two."""
    if index < 2 << _PLAT_BITS:
        return index, index + 1
    shift = (index >> _PLAT_BITS) - 1
    low = (1 << (shift + _PLAT_BITS)) + ((index % (1 << _PLAT_BITS)) << shift)
    return low, low + (1 << shift)
