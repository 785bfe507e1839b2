"""Kernel modules and what they need, read from the modules themselves.

A package of Debian's has no ``modules.dep`` (depmod makes it on installation), so dependencies come
from each module's ``.modinfo`` section: ``depends=`` names what must be loaded before it, and
``softdep=pre:`` what should be if it is there (crc32c's implementation for libcrc32c, say).
"""

from __future__ import annotations

import lzma
import re
import struct
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sluice.errors import SluiceError, near

_SUFFIX = re.compile(r"\.ko(\.xz|\.zst|\.gz)?$")


@dataclass(frozen=True, slots=True)
class Module:
    """A module ready for the guest."""

    name: str
    """With '_' for '-', as the kernel calls it."""
    data: bytes
    """Uncompressed."""


class Tree:
    """The modules of one kernel: the folder ``lib/modules/RELEASE``, or a build's."""

    def __init__(self, folder: Path) -> None:
        """SluiceError when there is no such folder."""
        if not folder.is_dir():
            raise SluiceError(f"{folder}: no folder of modules: name lib/modules/RELEASE")
        self.folder = folder
        self._paths = {
            _name(path.name): path
            for path in sorted(folder.rglob("*.ko*"))
            if _SUFFIX.search(path.name)
        }
        self._builtin = _builtin(folder)

    def has(self, name: str) -> bool:
        """Whether the kernel has it, built in or as a module."""
        return name in self._builtin or name in self._paths

    def closure(self, names: tuple[str, ...], kernel: str) -> list[Module]:
        """The modules of those names with all they need, in an order in which they load. What is
        built in is left out. SluiceError when one is neither built in nor there."""
        found: dict[str, Module] = {}
        for name in names:
            self._add(name.replace("-", "_"), kernel, found, ())
        return list(found.values())

    def _add(
        self, name: str, kernel: str, found: dict[str, Module], above: tuple[str, ...]
    ) -> None:
        if name in found or name in self._builtin or name in above:
            return
        path = self._paths.get(name)
        if path is None:
            needed = f", which {above[-1]} needs" if above else ""
            raise SluiceError(
                f"{kernel}: no module '{name}'{needed}{near(name, self._paths)}: take another "
                "kernel (`sluice vm list`), or do without what needs it"
            )
        data = _read(path)
        depends, soft = needs(data)
        for one in (*(each for each in soft if self.has(each)), *depends):
            self._add(one, kernel, found, (*above, name))
        found[name] = Module(name, data)


@lru_cache(maxsize=8)
def tree(folder: Path) -> Tree:
    """The tree of a folder, walked once."""
    return Tree(folder)


def needs(module: bytes) -> tuple[list[str], list[str]]:
    """Names in ``depends=`` and behind ``softdep=pre:`` of an ELF module."""
    depends: list[str] = []
    soft: list[str] = []
    for line in _section(module, b".modinfo").split(b"\0"):
        key, _, value = line.decode("utf-8", "replace").partition("=")
        if key == "depends":
            depends += [one.replace("-", "_") for one in value.split(",") if one]
        elif key == "softdep" and value.startswith("pre:"):
            soft += [one.replace("-", "_") for one in value[4:].split("post:")[0].split()]
    return depends, soft


def _section(image: bytes, wanted: bytes) -> bytes:
    """The contents of a section of a 64-bit little-endian ELF file; empty when it has none."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise SluiceError("a module of the kernel is no 64-bit ELF file: fetch the kernel again")
    table, size, count, names = (
        *struct.unpack_from("<Q", image, 0x28),
        *struct.unpack_from("<HHH", image, 0x3A),
    )
    heads = [struct.unpack_from("<IIQQQQ", image, table + size * one) for one in range(count)]
    start = heads[names][4]
    for name, _, _, _, offset, length in heads:
        begin = start + name
        if image[begin : image.index(b"\0", begin)] == wanted:
            return image[offset : offset + length]
    return b""


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix in (".zst", ".gz"):
        tool = {".zst": "zstd", ".gz": "gzip"}[path.suffix]
        try:
            return subprocess.run([tool, "-dc"], input=data, capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise SluiceError(
                f"{path}: {tool} can't unpack it ({error}): install {tool}"
            ) from error
    return data


def _builtin(folder: Path) -> frozenset[str]:
    try:
        lines = (folder / "modules.builtin").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    return frozenset(_name(line.rsplit("/", 1)[-1]) for line in lines)


def _name(file: str) -> str:
    return _SUFFIX.sub("", file).replace("-", "_")
