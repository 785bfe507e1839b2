"""What an engine asks of io_uring at set-up, and whether valgrind gets in its way.

valgrind knows the calls of its day; one that it refused would make the engine fall back, and then
the instructions counted would not be those of the real thing. So the accepted and refused set-up
calls are listed with and without valgrind, and compared.
"""

import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import callgrind, fio
from .job import Job


@dataclass(frozen=True)
class Seen:
    calls: Counter
    warnings: tuple[str, ...]


def seen(job: Job, under_valgrind: bool = False) -> Seen:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        trace, log = Path(folder) / "strace", Path(folder) / "log"
        prefix: tuple[str, ...] = (
            "strace",
            "-f",
            "-e",
            "trace=io_uring_setup,io_uring_register",
            "-o",
            str(trace),
        )
        if under_valgrind:
            prefix += callgrind.valgrind(Path(folder) / "callgrind", log)
        fio.run(job, prefix=prefix)
        warnings = callgrind.warnings(log.read_text(errors="replace")) if log.exists() else ()
        return Seen(parsed(trace.read_text(errors="replace")), warnings)


def parsed(trace: str) -> Counter:
    """One entry per call: what was asked and whether it was given, without addresses."""
    found: Counter = Counter()
    for line in _whole_calls(trace):
        call = re.search(r"io_uring_(setup|register)\((.*)\)\s+= (-1 (\w+)|\d+)", line)
        if not call:
            continue
        if call[1] == "setup":
            flags = re.search(r"flags=([^,}]*)", call[2])
            asked = "setup " + (flags[1] if flags else "?").replace("IORING_SETUP_", "")
        else:
            parts = call[2].split(",")
            asked = "register " + (parts[1] if len(parts) > 1 else "?").strip()
            asked = asked.partition(" /*")[0].replace("IORING_REGISTER_", "")
        found[f"{asked}: {call[4] or 'ok'}"] += 1
    return found


def _whole_calls(trace: str):
    """Lines of strace -f with a call that another thread interrupted put together again."""
    begun: dict[str, str] = {}
    for line in trace.splitlines():
        thread, _, text = line.partition(" ")
        if text.endswith("<unfinished ...>"):
            begun[thread] = text.removesuffix("<unfinished ...>")
        elif "resumed>" in text:
            yield begun.pop(thread, "") + text.partition("resumed>")[2]
        else:
            yield text


def difference(native: Seen, valgrind: Seen) -> list[str]:
    """In words, what valgrind changed or warned of; empty if nothing."""
    return (
        [f"without valgrind only: {each}" for each in (native.calls - valgrind.calls)]
        + [f"under valgrind only: {each}" for each in (valgrind.calls - native.calls)]
        + list(valgrind.warnings)
    )
