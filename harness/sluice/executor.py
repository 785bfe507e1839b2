"""Making one run: the order that goes in, the outcome that comes out, and who makes it.

:class:`FioExecutor` starts fio; `mock` has one that doesn't.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sluice import fiojson, process
from sluice.fiocli import Fio
from sluice.model import Cell, Role, Sample, Status

JOB, OUTPUT, STDOUT, STDERR, STATS = "job.fio", "fio.json", "stdout.txt", "stderr.txt", "stats.json"
_MAX_WORDS = 5
_FULL_BYTES = 1 << 16
"""With less room than this, an output that is cut short is put down to the full disk."""


@dataclass(frozen=True, slots=True)
class Order:
    """One run to be made."""

    cell: Cell
    job_text: str
    folder: Path
    """Made already; the executor puts everything that the run leaves behind into it."""
    roles: Mapping[str, Role]
    latency: str
    timeout_s: float
    mark: str
    """See `process`."""
    read_only: bool
    """fio is told to refuse writes (``--readonly``)."""
    seed: int = 0
    group: Path | None = None
    """The control group that fio and all its jobs are put into."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    status: Status
    reason: str = ""
    fio_s: float = 0.0
    samples: tuple[Sample, ...] = ()
    engine_stats: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


class Executor(Protocol):
    """Makes runs."""

    def run(self, order: Order) -> Outcome:
        """Make one run. Whatever fio does wrong is an outcome; OSError means that the harness's
        own files can't be written (disk full, folder gone), which ends the sweep."""


class FioExecutor:
    """Runs fio as a child, one run at a time."""

    def __init__(self, fio: Fio) -> None:
        self._fio = fio

    def run(self, order: Order) -> Outcome:
        """See :class:`Executor`."""
        (order.folder / JOB).write_text(order.job_text, encoding="utf-8")
        command = (
            self._fio.program,
            "--output-format=json+",
            f"--output={OUTPUT}",
            "--eta=never",
            *(("--readonly",) if order.read_only else ()),
            JOB,
        )
        ended = process.run(
            command if order.group is None else _inside(order.group, command),
            order.folder,
            order.mark,
            order.timeout_s,
            order.folder / STDOUT,
            order.folder / STDERR,
        )
        output = fiojson.split(text_of(order.folder / OUTPUT))
        words = words_of(order.folder, output)
        samples = fiojson.samples(output.last, order.roles, order.latency) if output.last else ()
        status, reason = judge(ended, order.timeout_s, output, samples, words)
        if status is Status.FAILED and output.last is None:
            _raise_if_full(order.folder)
        return Outcome(
            status,
            reason,
            ended.seconds,
            samples,
            stats_of(order.folder / STATS),
            tuple(words[:_MAX_WORDS]) if status is Status.OK else (),
            command,
        )


def judge(
    ended: process.Ended,
    timeout_s: float,
    output: fiojson.Output,
    samples: tuple[Sample, ...],
    words: list[str],
) -> tuple[Status, str]:
    """Whether a run counts, and if not why, in fio's own words where it had any."""
    said = "; ".join(words[:_MAX_WORDS])
    if ended.timed_out:
        stuck = (
            f"; processes {', '.join(map(str, ended.stuck))} hang in the kernel"
            if ended.stuck
            else ""
        )
        return Status.TIMEOUT, f"killed after {timeout_s:g} s{stuck}" + (
            f": {said}" if said else ""
        )
    if ended.returncode < 0:
        return Status.FAILED, f"fio was killed by signal {-ended.returncode}: {said}".rstrip(": ")
    errors = fiojson.job_errors(output.last) if output.last else []
    if ended.returncode or errors:
        told = said or "; ".join(errors)
        return Status.FAILED, told or f"fio ended with code {ended.returncode} and said nothing"
    if output.last is None:
        return Status.FAILED, "fio wrote no complete JSON" + (f": {said}" if said else "")
    done = [
        sample
        for sample in samples
        if sample.total and sample.role is Role.MEASURED and sample.direction == "all"
    ]
    if not done or done[0].values["ios"] <= 0:
        return Status.FAILED, "no I/O completed within the measured time" + (
            f": {said}" if said else ""
        )
    return Status.OK, ""


def _inside(group: Path, command: Sequence[str]) -> Sequence[str]:
    """The same, by a shell that moves itself into a control group first."""
    script = 'echo $$ >"$1" || exit 1; shift; exec "$@"'
    return ("/bin/sh", "-c", script, "sh", str(group / "cgroup.procs"), *command)


def words_of(folder: Path, output: fiojson.Output) -> list[str]:
    """What fio said in a run's folder beside its figures, each line once."""
    lines = (
        *text_of(folder / STDERR).splitlines(),
        *output.words,
        *text_of(folder / STDOUT).splitlines(),
    )
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))


def text_of(path: Path) -> str:
    """A file's text; '' when fio never made it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def stats_of(path: Path) -> Mapping[str, Any] | None:
    """The engine's statistics; None when there are none, or they are damaged."""
    try:
        found = json.loads(text_of(path) or "null", parse_constant=lambda _: None)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _raise_if_full(folder: Path) -> None:
    """OSError when the disk is full: then fio's missing output says nothing about fio."""
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < _FULL_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
