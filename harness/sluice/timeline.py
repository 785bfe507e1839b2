"""What happened within a run, from fio's own logs: bandwidth and latency, window by window.

Two logs, two costs. fio's helper thread samples bandwidth (``write_bw_log`` with ``log_avg_msec``):
nothing is added to an I/O. Latency over time comes from histograms (``write_hist_log``), never from
averages, and there fio reads the clock once more for every I/O (165 of 3,100 user instructions on
the null device); so a sweep has to ask for it.

fio logs nothing before the ramp is over, and a log's time begins there. A window in which a job
completed nothing has no line, which is how a gap shows.

After the run the logs are one file, ``logs.tar.gz``, in the run's folder.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from sluice import files, histogram
from sluice.histogram import Bins

__all__ = ["ARCHIVE", "JobLog", "Kind", "Timeline", "foreign", "options", "pack", "read", "window"]

ARCHIVE = "logs.tar.gz"
MIN_RUNTIME_S = 1.0
"""Shorter runs have no timeline: ten windows of :data:`MIN_WINDOW_S` is the least that is one."""
MIN_WINDOW_S = 0.1
WINDOWS = 20
"""Of a run between 2 s and 20 s; longer ones have one each second."""

_NAME = "timeline"
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
    return min(1.0, max(MIN_WINDOW_S, round(runtime_s / WINDOWS, 2)))


def options(kind: str, runtime_s: float) -> dict[str, str]:
    """The options of fio that keep a timeline; empty when there is to be none."""
    width_s = window(runtime_s)
    if kind == Kind.NONE or width_s is None:
        return {}
    wanted = {
        "write_bw_log": _NAME,
        "log_avg_msec": str(round(width_s * 1000)),
        "per_job_logs": "1",
    }
    if kind == Kind.LATENCY:
        wanted |= {
            "write_hist_log": _NAME,
            "log_hist_msec": str(round(width_s * 1000)),
            "log_hist_coarseness": str(_COARSENESS),
        }
    return wanted


def foreign(names: Iterable[str]) -> bool:
    """Whether a job has logs of its own, with which ours would interfere."""
    return any(name.endswith("_log") or name.startswith("log_") for name in names)


def pack(folder: Path) -> None:
    """Put the logs of a run into one compressed file and remove them. Nothing without logs."""
    logs = sorted(folder.glob(f"{_NAME}_*.log"))
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
    width_s = window(runtime_s)
    if width_s is None:
        return None
    rates: dict[int, dict[str, dict[int, float]]] = {}
    histograms: dict[int, dict[str, dict[int, Bins]]] = {}
    count = int(runtime_s / width_s + 1e-6)
    try:
        with tarfile.open(folder / ARCHIVE, "r:gz") as archive:
            for member in archive:
                kind, number = _kind_and_job(member.name)
                file = archive.extractfile(member)
                if file is not None and kind == "bw":
                    rates[number] = _rates(file.read().decode("ascii", "replace"), width_s, count)
                elif file is not None and kind == "clat_hist" and latencies:
                    text = file.read().decode("ascii", "replace")
                    histograms[number] = _latencies(text, width_s, count)
    except (OSError, tarfile.TarError, ValueError, EOFError):
        return None
    if not rates:
        return None
    jobs = (JobLog(rates.get(n, {}), histograms.get(n, {})) for n in range(1, max(rates) + 1))
    return Timeline(width_s, count, tuple(jobs))


def _kind_and_job(name: str) -> tuple[str, int]:
    """``timeline_bw.3.log`` -> (``bw``, 3)."""
    stem, number, _ = name.removeprefix(f"{_NAME}_").rsplit(".", 2)
    return stem, int(number)


def _rates(text: str, width_s: float, count: int) -> dict[str, dict[int, float]]:
    """fio writes ``ms, KiB/s, direction, ...`` at the end of each window; the first line for a
    window counts, since what comes at the end of the run is a rest of a few milliseconds."""
    found: dict[str, dict[int, float]] = {}
    for line in text.splitlines():
        moment, rate, direction = (int(part) for part in line.split(",")[:3])
        number = round(moment / 1000.0 / width_s)
        if 1 <= number <= count:
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
