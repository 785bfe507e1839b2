"""Archives as the kernel unpacks them into its first root file system ("newc" cpio).

Format: Linux, Documentation/driver-api/early-userspace/buffer-format.rst. Times and owners are 0
and inodes are counted, so equal contents give equal bytes: under the virtual clock they have to.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass

_TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class Entry:
    """A member. Folders above it are made by :func:`archive`."""

    path: str
    """Absolute, as in the guest."""
    mode: int
    """Type and permissions, as ``st_mode``."""
    data: bytes = b""
    """Contents of a file, target of a symbolic link."""
    device: tuple[int, int] = (0, 0)
    """Major and minor of a device node."""


def regular(path: str, data: bytes, mode: int = 0o644) -> Entry:
    """A file."""
    return Entry(path, stat.S_IFREG | mode, data)


def link(path: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(path, stat.S_IFLNK | 0o777, target.encode())


def folder(path: str, mode: int = 0o755) -> Entry:
    """A folder."""
    return Entry(path, stat.S_IFDIR | mode)


def archive(entries: list[Entry]) -> bytes:
    """The archive, folders first. Of two entries with one path the last one counts."""
    chosen: dict[str, Entry] = {}
    for entry in entries:
        parts = entry.path.strip("/").split("/")
        for depth in range(1, len(parts)):
            above = "/" + "/".join(parts[:depth])
            chosen.setdefault(above, folder(above))
        chosen["/" + "/".join(parts)] = entry
    ordered = sorted(chosen.values(), key=lambda one: (one.path.strip("/").count("/"), one.path))
    pieces = []
    for number, entry in enumerate([*ordered, Entry(_TRAILER, 0)], 1):
        pieces.append(_member(entry, number))
    return b"".join(pieces)


def _member(entry: Entry, inode: int) -> bytes:
    name = entry.path.lstrip("/").encode() + b"\0"
    major, minor = entry.device
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, major, minor, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return _padded(head) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
