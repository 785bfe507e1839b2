"""Telling the user how far a sweep is: a bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import textwrap
import time
from types import TracebackType
from typing import Protocol, TextIO

from sluice.model import Role, Run, Status
from sluice.units import show_seconds


class Progress(Protocol):
    """What the runner tells; all times in seconds."""

    def start(self, done: int, total: int, eta_s: float) -> None:
        """A session begins: `done` runs have ended before."""

    def running(self, cell: str) -> None:
        """A run of `cell` has begun."""

    def ended(self, run: Run, done: int, total: int, eta_s: float) -> None:
        """A run has ended."""

    def say(self, text: str) -> None:
        """Something that the user should see at once."""

    def __enter__(self) -> Progress: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def summary(run: Run) -> str:
    """The outcome of a run in a few words."""
    if run.status is not Status.OK:
        return f"{run.status.value}: {textwrap.shorten(run.reason, 160, placeholder=' ...')}"
    iops = run.value("iops", Role.MEASURED)
    p99 = run.value("lat_p99", Role.MEASURED)
    parts = [f"{iops:,.0f} IOPS" if iops is not None else "no figures"]
    if p99 is not None:
        parts.append(f"p99 {p99 / 1000:,.0f} us")
    return ", ".join(parts)


class _Failures:
    """Decides which failures are news: the same reason over and over is told once."""

    def __init__(self) -> None:
        self._last = ""

    def news(self, run: Run) -> bool:
        """Whether `run` failed for another reason than the one before it that failed."""
        if run.status is Status.OK or run.reason == self._last:
            return False
        self._last = run.reason
        return True


class PlainProgress:
    """A line every few seconds, and one for whatever went wrong: fit for a log."""

    def __init__(self, stream: TextIO, every_s: float = 5.0) -> None:
        self._stream = stream
        self._every_s = every_s
        self._last = float("-inf")
        self._failures = _Failures()

    def start(self, done: int, total: int, eta_s: float) -> None:
        """See :class:`Progress`."""
        self.say(f"{done} of {total} runs done, about {show_seconds(eta_s)} to go")

    def running(self, cell: str) -> None:
        """See :class:`Progress`."""

    def ended(self, run: Run, done: int, total: int, eta_s: float) -> None:
        """See :class:`Progress`."""
        now = time.monotonic()
        important = self._failures.news(run) or done == total
        if important or now - self._last >= self._every_s:
            self._last = now
            self.say(f"[{done}/{total}] {run.cell}: {summary(run)} ({show_seconds(eta_s)} to go)")

    def say(self, text: str) -> None:
        """See :class:`Progress`."""
        print(text, file=self._stream, flush=True)

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class BarProgress:
    """A bar with the cell that runs, on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.fields[cell]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[eta]}"),
            console=Console(file=stream),
        )
        self._failures = _Failures()
        self._task = self._bar.add_task("runs", total=None, cell="", eta="")

    def start(self, done: int, total: int, eta_s: float) -> None:
        """See :class:`Progress`."""
        self._bar.update(self._task, completed=done, total=total, eta=show_seconds(eta_s))

    def running(self, cell: str) -> None:
        """See :class:`Progress`."""
        self._bar.update(self._task, cell=cell)

    def ended(self, run: Run, done: int, total: int, eta_s: float) -> None:
        """See :class:`Progress`."""
        self._bar.update(self._task, completed=done, eta=show_seconds(eta_s))
        if self._failures.news(run):
            self.say(f"{run.cell}: {summary(run)}")

    def say(self, text: str) -> None:
        """See :class:`Progress`."""
        self._bar.console.print(text, markup=False, highlight=False)

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def for_stream(stream: TextIO = sys.stderr) -> Progress:
    """The bar when `stream` is a terminal, plain lines when it isn't."""
    if stream.isatty():
        return BarProgress(stream)
    return PlainProgress(stream)
