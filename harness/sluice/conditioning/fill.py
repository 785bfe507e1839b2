"""Writing the whole target before it is measured, in slices: after each of them there is a time to
go, and whoever is interrupted goes on with the next."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sluice import process
from sluice.compose import Placement
from sluice.conditions import Precondition
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.jobfile import GLOBAL, JobFile, Section

SLICES = 20
SLICE_BYTES = 1 << 30
"""A pass over a target has as many slices of at least this size as it takes, at most SLICES."""
_SLOWEST = 1 << 20
"""Bytes a second: what is slower hangs."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One fio process of a fill."""

    kind: str
    """``seq_fill`` or ``random``."""
    index: int
    """Number among its kind."""
    path: Path
    offset: int
    size: int
    """Bytes that it writes: from `offset` on, or anywhere in the first `whole` bytes."""
    whole: int
    bs: str

    def job(self, engine: str) -> JobFile:
        """The fio job."""
        options = {
            "ioengine": engine,
            "filename": str(self.path).replace(":", "\\:"),
            "bs": self.bs,
            "direct": "1",
            "iodepth": "32",
            "end_fsync": "1",
            "randrepeat": "0",
            "randseed": str(self.index + 1),
            "refill_buffers": "1",  # a drive that compresses must not get off lightly
        }
        if self.kind == "seq_fill":
            options |= {"rw": "write", "offset": str(self.offset), "size": str(self.size)}
        else:
            options |= {"rw": "randwrite", "norandommap": "1"}
            options |= {"size": str(self.whole), "io_size": str(self.size)}
        return JobFile([Section(GLOBAL, options), Section("fill", {})])

    @property
    def timeout_s(self) -> float:
        """After which it hangs."""
        return 600 + self.size / _SLOWEST


def slices(wanted: Precondition, placement: Placement) -> Iterator[Slice]:
    """Every slice of a precondition, in order. SluiceError when the target can't be looked at."""
    sizes = [(path, _size(path)) for path in _files(placement)]
    for kind, times, bs in (
        ("seq_fill", wanted.seq_fill, "128k"),
        ("random", wanted.random_fill, wanted.random),
    ):
        index = 0
        for _ in range(times):
            for path, size in sizes:
                step = _slice_size(size)
                for offset in range(0, size, step):
                    part = min(step, size - offset)
                    yield Slice(kind, index, path, offset, part, size, bs)
                    index += 1


def run(fio: Fio, one: Slice, folder: Path, mark: str) -> None:
    """Write one slice. SluiceError in fio's words."""
    engine = "libaio" if "libaio" in fio.engines else "psync"
    script, words = folder / "job.fio", folder / "stderr.txt"
    script.write_text(one.job(engine).render(), encoding="utf-8")
    command = [fio.program, "--eta=never", "--output-format=json", "--output=fio.json", script.name]
    ended = process.run(command, folder, mark, one.timeout_s, folder / "stdout.txt", words)
    if ended.returncode or ended.timed_out:
        said = words.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        what = said[0] if said else f"exit code {ended.returncode}"
        if ended.timed_out:
            what = f"no end after {one.timeout_s:.0f} s"
        raise SluiceError(f"{one.path}: fio couldn't fill it: {what}")


def _files(placement: Placement) -> list[Path]:
    if placement.shared:
        return [placement.path]
    return sorted(one for one in placement.path.glob("*") if one.is_file())


def _size(path: Path) -> int:
    """Bytes of a file or device."""
    try:
        if not stat.S_ISBLK(path.stat().st_mode):
            return path.stat().st_size
        file = os.open(path, os.O_RDONLY)
        try:
            return os.lseek(file, 0, os.SEEK_END)
        finally:
            os.close(file)
    except OSError as error:
        raise SluiceError(f"{path}: can't be looked at ({error.strerror})") from error


def _slice_size(size: int) -> int:
    mebi = 1 << 20
    return max(SLICE_BYTES, math.ceil(size / SLICES / mebi) * mebi)
