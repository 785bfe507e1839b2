"""A child process with a bound: when time is up, nothing of its tree survives.

fio's jobs call ``setsid``, so neither the process group nor the session of the child holds them,
and when fio itself is killed they are no longer its descendants either. What they can't shed is
their environment: every child carries ``SLUICE_RUN=<data folder>/<campaign>/<run>``, and whoever
carries it is killed. Each part of it finds what a harness left behind that was itself killed: on
the same test files, whatever it was doing with them, or on the same campaign.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

MARK = "SLUICE_RUN"
_GRACE_S = 3.0
_KILL_S = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    returncode: int
    seconds: float
    """By the monotonic clock: a jump of the wall clock doesn't count."""
    timed_out: bool
    stuck: tuple[int, ...] = ()
    """Processes that even SIGKILL didn't end: they hang in the kernel."""


def run(
    argv: Sequence[str],
    folder: Path,
    mark: str,
    timeout_s: float,
    stdout: Path,
    stderr: Path,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run `argv` in `folder`. On a timeout, on Ctrl-C and on any other exception the whole tree is
    ended: SIGTERM to the child, so that fio may still write what it has, then SIGKILL to all.

    OSError when the program can't be started or the output files can't be made."""
    begin = time.monotonic()
    child_environment = {**(environment or os.environ), MARK: mark}
    with stdout.open("wb") as out, stderr.open("wb") as err:
        child: subprocess.Popen[bytes] | None = None
        timed_out = False
        stuck: tuple[int, ...] = ()
        try:
            with Deferred():  # an interrupt inside Popen would leave a child that nobody knows
                child = subprocess.Popen(
                    list(argv),
                    cwd=folder,
                    env=child_environment,
                    stdout=out,
                    stderr=err,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
            if child is not None:
                stuck = _end(child, mark)
        except BaseException:
            if child is not None:
                _end(child, mark)
            raise
    assert child is not None
    if child.returncode:
        stuck = stuck or kill_marked(mark)
    code = child.returncode if child.returncode is not None else -signal.SIGKILL
    return Ended(code, time.monotonic() - begin, timed_out, stuck)


def kill_marked(mark: str) -> tuple[int, ...]:
    """SIGKILL every process that carries `mark` (see :func:`marked`) until none is left; the ids of
    those that wouldn't go."""
    limit = time.monotonic() + _KILL_S
    while True:
        alive = marked(mark)
        if not alive or time.monotonic() > limit:
            return tuple(alive)
        for pid in alive:
            with contextlib.suppress(OSError):  # gone already, or not ours
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def marked(mark: str) -> list[int]:
    """Processes whose mark is `mark` or has it among its parts, which '/' separates. Zombies have
    no environment any more, so they don't count."""
    name, part = f"{MARK}=".encode(), f"/{mark}/".encode()
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = Path(entry.path, "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(
            one.startswith(name) and part in b"/" + one.removeprefix(name) + b"/"
            for one in environment
        ):
            found.append(int(entry.name))
    return found


class Deferred:
    """Holds back the signals that end a sweep (Ctrl-C, SIGTERM, a closed terminal) until it is
    left, and then delivers the last of them. Does nothing outside the main thread, which is the
    only one that gets them."""

    def __init__(self) -> None:
        self._caught: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Deferred:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._caught:
            signal.raise_signal(self._caught[-1])

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._caught.append(number)


def _end(child: subprocess.Popen[bytes], mark: str) -> tuple[int, ...]:
    with Deferred():  # a second Ctrl-C must not stop the cleaning up
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE_S)
        stuck = kill_marked(mark)
        try:
            child.wait(1.0)
        except subprocess.TimeoutExpired:
            stuck = tuple({*stuck, child.pid})
    return stuck
