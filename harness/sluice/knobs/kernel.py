"""The kernel's files: /sys, /proc/sys, /dev. Paths are the kernel's; a root other than ``/`` is for
tests, which also die at a step of their choice here."""

from __future__ import annotations

import os
from pathlib import Path


class Kernel:
    """Every access to a knob goes through here."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def at(self, path: Path) -> Path:
        """Where `path` really is."""
        return self.root / path.relative_to("/")

    def read(self, path: Path) -> str:
        """A file's text without the line end. OSError when it can't be read."""
        return self.at(path).read_text(encoding="utf-8", errors="replace").strip()

    def write(self, path: Path, text: str) -> None:
        """Write a value in one call, as the kernel wants it. OSError in the kernel's words."""
        file = os.open(self.at(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(file, f"{text}\n".encode())
        finally:
            os.close(file)

    def exists(self, path: Path) -> bool:
        """Whether there is such a file or folder."""
        return self.at(path).exists()

    def writable(self, path: Path) -> bool:
        """Whether this user may write it."""
        return os.access(self.at(path), os.W_OK)

    def names(self, folder: Path) -> list[str]:
        """What is in a folder; nothing when it can't be listed."""
        try:
            return sorted(os.listdir(self.at(folder)))
        except OSError:
            return []

    def mkdir(self, path: Path) -> None:
        """Make a folder, e.g. a control group."""
        self.at(path).mkdir()

    def rmdir(self, path: Path) -> None:
        """Remove a folder. FileNotFoundError when it is gone already."""
        self.at(path).rmdir()
