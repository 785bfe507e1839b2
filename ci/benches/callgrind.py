"""User-space instructions per I/O: (I(2N) - I(N)) / N under valgrind's callgrind.

The difference takes out what a run costs before its first I/O. Every thread is counted except fio's
main one: it calibrates its clock against real time and then sleeps, so it scatters by a million
instructions and does no I/O, while the job's thread repeats within a part in ten thousand. Helper
threads of an engine are counted. What the kernel does for an I/O is not seen at all.
"""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import fio
from .errors import BenchError
from .job import Job

MAIN_THREAD = 1


@dataclass(frozen=True)
class Counts:
    """One run: instructions of all threads but fio's main one, those of that one, warnings."""

    instructions: int
    main_instructions: int
    warnings: tuple[str, ...]


def count(job: Job) -> Counts:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        out, log = Path(folder) / "callgrind", Path(folder) / "log"
        fio.run(job, prefix=valgrind(out, log))
        return read(out, log.read_text(errors="replace") if log.exists() else "")


def valgrind(out: Path, log: Path) -> tuple[str, ...]:
    return (
        "valgrind",
        "--tool=callgrind",
        "--separate-threads=yes",
        f"--callgrind-out-file={out}",
        f"--log-file={log}",
    )


def read(out: Path, log: str) -> Counts:
    """Sums the files out-01, out-02, ... that --separate-threads leaves, one a thread."""
    totals = {}
    for path in out.parent.glob(out.name + "-*"):
        thread = int(path.name.rpartition("-")[2])
        found = re.search(r"^totals: (\d+)", path.read_text(errors="replace"), re.MULTILINE)
        if found:
            totals[thread] = int(found[1])
    if MAIN_THREAD not in totals or len(totals) < 2:
        raise BenchError(f"callgrind left no counts of fio's job thread: {log[-200:].strip()!r}")
    main = totals.pop(MAIN_THREAD)
    return Counts(sum(totals.values()), main, warnings(log))


def warnings(log: str) -> tuple[str, ...]:
    """System calls that valgrind didn't know, each once."""
    return tuple(dict.fromkeys(re.findall(r"WARNING: unhandled.*", log)))
