"""The file that the runs read and overwrite. It is made here, and only what was made here is used.

Ownership is in the file itself: one block behind the part that fio sees says who made it. A file
that somebody put or copied into the same place hasn't got it, whatever its name or inode.
"""

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path

from .errors import BenchError

MIB = 1 << 20
TRAILER_BYTES = 4096
MAGIC = b"made by sluice's ci/bench, which overwrites it at will\n"


def parse_size(text: str) -> int:
    """'256M', '1G', '4096k' or bytes; powers of two, and a whole number of MiB."""
    units = {"": 1, "K": 1 << 10, "M": MIB, "G": 1 << 30, "T": 1 << 40}
    digits = text.rstrip("kKmMgGtTiB")
    unit = text[len(digits) :].upper().removesuffix("B").removesuffix("I")
    if not digits.isdigit() or unit not in units:
        raise BenchError(f"{text!r} is not a size such as 256M")
    size = int(digits) * units[unit]
    if size == 0 or size % MIB:
        raise BenchError(f"size {text!r} is not a whole number of MiB")
    return size


@contextmanager
def prepared(path: Path, size: int):
    """Yields the path with `size` bytes of written extents, locked against a second bench."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(path):
        file = _open_own(path)
        if _trailer(file) != {"bytes": size, "filled": True}:
            path.unlink()
            file.close()
            file = _make(path, size)
    else:
        file = _make(path, size)
    with file:
        yield path


def _open_own(path: Path):
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK), "r+b", 0)
    except OSError as error:
        raise BenchError(f"cannot use {path}: {error.strerror}") from error
    _lock(file, path)
    if _trailer(file) is None:
        file.close()
        raise BenchError(
            f"{path} exists and this bench, which would overwrite it, did not make it: "
            "name another with --file, or remove it"
        )
    return file


def _lock(file, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise BenchError(f"{path} is in use by another bench") from None


def _trailer(file) -> dict | None:
    """What the last block says, if it is ours and where it claims to be."""
    end = file.seek(0, os.SEEK_END) - TRAILER_BYTES
    if end < 0:
        return None
    file.seek(end)
    block = file.read(TRAILER_BYTES)
    if not block.startswith(MAGIC):
        return None
    said = json.loads(block[len(MAGIC) :].rstrip(b"\0"))
    return said if said["bytes"] == end else None


def _write_trailer(file, size: int, filled: bool) -> None:
    said = MAGIC + json.dumps({"bytes": size, "filled": filled}).encode()
    file.seek(size)
    file.write(said.ljust(TRAILER_BYTES, b"\0"))


def _make(path: Path, size: int):
    """Creates the file exclusively. The trailer comes first: an interrupted fill is ours too."""
    try:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644), "r+b")
    except OSError as error:
        raise BenchError(f"cannot create {path}: {error.strerror}") from error
    try:
        _lock(file, path)
        _write_trailer(file, size, filled=False)
        file.seek(0)
        file.writelines(os.urandom(MIB) for _ in range(size // MIB))
        _write_trailer(file, size, filled=True)
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        path.unlink()
        file.close()
        raise BenchError(f"cannot fill {path} with {size} bytes: {error.strerror}") from error
    return file
