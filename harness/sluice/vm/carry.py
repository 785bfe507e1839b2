"""What is carried into a guest from the host: programs with their libraries, and files.

Everything keeps the path that it has here, so that a command line, a job file and a relative name
mean the same in the guest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from sluice.errors import SluiceError
from sluice.vm import cpio
from sluice.vm.cpio import Entry

MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders of / that are links into /usr, in the guest as on Debian."""
MAX_BYTES = 512 << 20
"""Of one file: it has to fit into the guest's memory twice over."""


def programs(names: tuple[str, ...]) -> list[Entry]:
    """Programs by name or path, and all libraries that they need. SluiceError names what is
    missing."""
    return [entry for name in names for entry in file(program(name))] + _loader_cache()


def program(name: str) -> Path:
    """Where a program is. SluiceError when nowhere."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise SluiceError(f"{name}: no such program here, so none to carry in: install it")
    return Path(found).absolute()


def file(path: Path) -> list[Entry]:
    """A file or folder at its own path; a program or library with the libraries it needs."""
    absolute = Path(os.path.abspath(path))
    try:
        if absolute.is_dir():
            inside = sorted(one for one in absolute.rglob("*") if one.is_file())
            return [cpio.folder(guest_path(absolute)), *(e for one in inside for e in file(one))]
        if not absolute.is_file():
            raise SluiceError(f"{path}: no such file to carry in: check the name")
        if absolute.stat().st_size > MAX_BYTES:
            raise SluiceError(f"{path}: larger than {MAX_BYTES >> 20} MiB: give it as --image")
        data = absolute.read_bytes()
    except OSError as error:
        raise SluiceError(f"{path}: can't be carried in ({error.strerror}): check it") from error
    entries = [cpio.regular(guest_path(absolute), data, absolute.stat().st_mode & 0o755 | 0o444)]
    if data[:4] == b"\x7fELF":
        entries += [_library(one) for one in needed(absolute)]
    return entries


def guest_path(path: Path) -> str:
    """The path in the guest: the same, but for the folders that are links there."""
    first, _, rest = str(path).lstrip("/").partition("/")
    return f"/usr/{first}/{rest}" if first in MERGED and rest else str(path)


@lru_cache(maxsize=64)
def needed(path: Path) -> tuple[Path, ...]:
    """The libraries that a program or library needs, its loader included; none when it is static.
    SluiceError when one isn't there."""
    done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    missing = re.findall(r"^\s*(\S+) => not found", done.stdout, re.MULTILINE)
    if missing:
        raise SluiceError(f"{path}: its library {missing[0]} isn't here: install it")
    found = re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", done.stdout, re.MULTILINE)
    return tuple(Path(one) for one in dict.fromkeys(found))


@lru_cache(maxsize=256)
def _library(path: Path) -> Entry:
    return cpio.regular(guest_path(path), path.read_bytes(), 0o755)


def _loader_cache() -> list[Entry]:
    """Where the loader finds libraries in folders that it doesn't know by itself."""
    path = Path("/etc/ld.so.cache")
    return [cpio.regular(str(path), path.read_bytes())] if path.is_file() else []
