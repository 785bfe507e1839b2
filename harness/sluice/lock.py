"""A lock that dies with its holder: flock on a file, so that no stale lock outlives a kill -9."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from sluice.errors import SluiceError


class Lock:
    """Exclusive use of something, among processes of one machine."""

    def __init__(self, path: Path, held: str | None) -> None:
        """`held` is the message when somebody else has it; None: wait instead."""
        self._path = path
        self._held = held
        self._file: int | None = None

    def __enter__(self) -> Lock:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if self._held else 0))
        except BlockingIOError as error:
            holder = os.pread(file, 64, 0).decode("utf-8", "replace").strip()
            os.close(file)
            raise SluiceError(f"{self._held} (process {holder or 'unknown'})") from error
        except BaseException:
            os.close(file)
            raise
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
