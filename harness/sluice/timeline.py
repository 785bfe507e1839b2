"""What happened within a run, from fio's own logs: bandwidth and latency, window by window.

Two logs, two costs. fio's helper thread samples bandwidth (``write_bw_log`` with ``log_avg_msec``):
nothing is added to an I/O. Latency over time comes from histograms (``write_hist_log``), never from
averages, and there fio reads the clock once more for every I/O (165 of 3,100 user instructions on
the null device); so a sweep has to ask for it.

After the run the logs are one file, ``logs.tar.gz``, in the run's folder.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sluice import files, fiologs
from sluice.fiologs import JobLog

__all__ = ["ARCHIVE", "Kind", "Timeline", "foreign", "options", "pack", "read", "window"]

ARCHIVE = "logs.tar.gz"
MIN_RUNTIME_S = 1.0
"""Shorter runs have no timeline: four windows are the least that is one."""
LONG_S = 5.0
"""From here on a window is a second long; before it :data:`SHORT_WINDOW_S`."""
SHORT_WINDOW_S = 0.25
"""Shorter ones are less than what fio's helper thread is late by on a busy machine."""

_LOG = re.compile(r"timeline-(\d+)ms_(bw|clat_hist)\.(\d+)\.log")
"""Name of a log: length of the window, what it holds, number of the job. The length stands there so
that logs are read as they were written, whatever it is by then."""


class Kind(StrEnum):
    """What a sweep keeps of the inside of its runs (key ``timeline`` of the sweep file)."""

    NONE = "none"
    RATE = "rate"
    """Bandwidth by window; free."""
    LATENCY = "latency"
    """And latency histograms; one more clock reading for each I/O."""


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
            "log_hist_coarseness": str(fiologs.COARSENESS),
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
        found = fiologs.parse(texts, width_s, runtime_s, latencies=latencies)
    except (OSError, tarfile.TarError, ValueError, EOFError):
        return None
    return None if found is None else Timeline(width_s, *found)
