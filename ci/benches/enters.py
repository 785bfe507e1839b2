"""io_uring_enter calls per I/O: (E(2N) - E(N)) / N by strace.

How often an engine enters depends on the device: where it lags, each I/O costs a wait of its own;
where it leads, a completion is there before anybody waits. It moves between the two from second to
second. So at depths above 1 strace prolongs each call until completions are always there, and what
is counted is the engine. At depth 1 every I/O is waited for anyway.
"""

import tempfile
from pathlib import Path

from . import fio
from .job import Job

PROLONGED_US = 100


def count(job: Job) -> int:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        out = Path(folder) / "strace"
        fio.run(job, prefix=strace(out, job.workload.depth))
        return calls(out.read_text(errors="replace"))


def strace(out: Path, depth: int) -> tuple[str, ...]:
    prolonged = ("-e", f"inject=io_uring_enter:delay_exit={PROLONGED_US}") if depth > 1 else ()
    return ("strace", "-f", "-c", "-e", "trace=io_uring_enter", *prolonged, "-o", str(out))


def calls(table: str) -> int:
    """The calls column of `strace -c`; without any call there is no row."""
    for line in table.splitlines():
        columns = line.split()
        if columns and columns[-1] == "io_uring_enter":
            return int(columns[3])
    return 0
