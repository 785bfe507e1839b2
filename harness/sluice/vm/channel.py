"""What a guest says to the harness, read from the serial line that is the channel.

The line carries what commands print, and between it lines that begin with a token: words
(``TOKEN done 17 0``) and files (``TOKEN file NAME SIZE``, then SIZE bytes of gzip).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A line of the guest's scripts."""

    name: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the guest."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a command printed."""

    data: bytes


Event = Word | File | Said


class Parser:
    """Bytes in, events out. A file that is damaged or cut short gives no event."""

    def __init__(self, token: str) -> None:
        self._mark = b"\n" + token.encode() + b" "
        self._pending = b"\n"
        self._fresh = True

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events that are complete now."""
        self._pending += data
        while True:
            at = self._pending.find(self._mark)
            if at < 0:
                keep = self._overlap()
                yield from self._said(self._pending[: len(self._pending) - keep])
                self._pending = self._pending[len(self._pending) - keep :]
                return
            end = self._pending.find(b"\n", at + len(self._mark))
            if end < 0:
                return
            line = self._pending[at + len(self._mark) : end].decode("utf-8", "replace").strip("\r")
            name, _, rest = line.partition(" ")
            behind = end
            if name == "file":
                path, _, size = rest.rpartition(" ")
                behind = end + 1 + (int(size) if size.isdigit() else 0)
                if len(self._pending) < behind:
                    return  # its bytes aren't here yet
            yield from self._said(self._pending[:at])
            if name == "file":
                data = self._pending[end + 1 : behind]
                try:
                    yield File(path, gzip.decompress(data))
                except (OSError, EOFError, zlib.error):
                    yield Word("damaged", path)
            else:
                yield Word(name, rest)
            self._pending = self._pending[behind:]
            self._fresh = True

    def rest(self) -> bytes:
        """What came after the last event: of a guest that broke off."""
        return self._pending.removeprefix(b"\n") if self._fresh else self._pending

    def _overlap(self) -> int:
        """How many bytes at the end may be the beginning of a mark."""
        for length in range(min(len(self._mark) - 1, len(self._pending)), 0, -1):
            if self._mark.startswith(self._pending[-length:]):
                return length
        return 0

    def _said(self, data: bytes) -> Iterator[Said]:
        """Output, without the line end that belongs to the mark before it."""
        if self._fresh and data.startswith(b"\n"):
            data = data[1:]
            self._fresh = False
        if data:
            self._fresh = False
            yield Said(data)
