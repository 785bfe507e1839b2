"""Running one process and learning what it cost as a whole."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .errors import BenchError

SAMPLE_S = 0.02


@dataclass(frozen=True)
class Finished:
    """A process that ended.

    CPU and context switches are those of the whole process (every thread, io-wq workers of the
    kernel included), from wait4. The peak is VmHWM: wait4's ru_maxrss won't do, since it starts at
    the memory of the process that forked.
    """

    status: int
    output: str
    errors: str
    seconds: float
    cpu_s: float
    switches: int
    peak_rss_kib: int | None


class _PeakWatch(threading.Thread):
    """Reads VmHWM until the process is gone; the last value read is the peak."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self.peak_kib: int | None = None
        self._path = Path(f"/proc/{pid}/status")
        self._stop_event = threading.Event()

    def run(self):
        while not self._stop_event.wait(SAMPLE_S):
            try:
                text = self._path.read_text()
            except OSError:
                return
            for line in text.splitlines():
                if line.startswith("VmHWM:"):
                    self.peak_kib = int(line.split()[1])

    def finish(self) -> int | None:
        self._stop_event.set()
        self.join()
        return self.peak_kib


def run(argv: list[str], timeout_s: float, watch_memory: bool = False) -> Finished:
    """Runs argv to its end; past the timeout, or on Ctrl-C, it and its children are killed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        try:
            # A session of its own: strace and valgrind have fio as a child, and both must go.
            child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        except OSError as error:
            raise BenchError(f"cannot run {argv[0]}: {error.strerror}") from error
        late = threading.Event()

        def kill():
            late.set()
            os.killpg(child.pid, signal.SIGKILL)

        timer = threading.Timer(timeout_s, kill)
        timer.daemon = True
        timer.start()
        watch = _PeakWatch(child.pid) if watch_memory else None
        if watch:
            watch.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
            peak = watch.finish() if watch else None
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        if late.is_set():
            raise BenchError(f"did not end within {timeout_s:.0f} s: {' '.join(argv)}")
        out.seek(0)
        err.seek(0)
        return Finished(
            child.returncode,
            out.read().decode(errors="replace"),
            err.read().decode(errors="replace"),
            seconds,
            usage.ru_utime + usage.ru_stime,
            usage.ru_nvcsw + usage.ru_nivcsw,
            peak,
        )
