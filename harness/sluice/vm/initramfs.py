"""The root file system of a guest: what every guest has, made once and kept by content, and what
only this one has, in front of it.

Nothing is compressed: under emulation unpacking costs more than reading. For fio with its libraries
(84 MB) lz4 takes 230 million instructions more, a tenth of a whole boot.
"""

from __future__ import annotations

import hashlib
import shutil
import stat
import subprocess
from functools import lru_cache
from importlib import resources
from pathlib import Path

from sluice import files
from sluice.errors import SluiceError
from sluice.vm import cache, carry, cpio
from sluice.vm.cpio import Entry

_KEPT = 4
"""Files of older contents that stay in the cache."""


def base(programs: tuple[str, ...]) -> Path:
    """The part that is kept: busybox, `programs` with their libraries, our own scripts. SluiceError
    names what isn't there."""
    entries = [
        *_skeleton(),
        *_busybox(),
        *carry.programs(programs),
        cpio.regular("/init", script("init.sh"), 0o755),
        cpio.regular("/lib-sluice.sh", script("lib.sh")),
    ]
    archive = cpio.archive(entries)
    folder = cache.folder("initramfs")
    path = folder / f"{hashlib.sha256(archive).hexdigest()[:32]}.cpio"
    if not path.is_file():
        try:
            files.write_bytes(path, archive)
        except OSError as error:
            raise SluiceError(
                f"{path}: can't be written ({error.strerror}): free space, or name another folder "
                "with $SLUICE_VM_CACHE"
            ) from error
        _forget(folder, path)
    return path


def script(name: str) -> bytes:
    """One of the guest's scripts."""
    return (resources.files("sluice.vm") / "inside" / name).read_bytes()


def _skeleton() -> list[Entry]:
    """Folders, the console, and the links by which /bin and /usr/bin are one, as on Debian."""
    return [
        *(cpio.link(f"/{name}", f"usr/{name}") for name in carry.MERGED),
        *(cpio.folder(f"/usr/{name}") for name in carry.MERGED),
        *(cpio.folder(name) for name in ("/dev", "/proc", "/sys", "/run", "/root", "/etc", "/job")),
        cpio.folder("/tmp", 0o1777),
        Entry("/dev/console", stat.S_IFCHR | 0o600, device=(5, 1)),
        cpio.regular("/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n"),
        cpio.regular("/etc/group", b"root:x:0:\n"),
    ]


def _busybox() -> list[Entry]:
    path = _busybox_path()
    if carry.needed(path):
        raise SluiceError(f"{path}: needs libraries: install the static one (busybox-static)")
    return [
        cpio.regular("/usr/bin/busybox", path.read_bytes(), 0o755),
        *(cpio.link(f"/usr/bin/{name}", "busybox") for name in sorted(applets())),
    ]


def _busybox_path() -> Path:
    found = shutil.which("busybox")
    if found is None:
        raise SluiceError(
            "busybox: not installed, and a guest's shell is made of it: apt install busybox-static"
        )
    return Path(found)


@lru_cache(maxsize=1)
def applets() -> frozenset[str]:
    """The commands that every guest has from busybox."""
    done = subprocess.run([_busybox_path(), "--list"], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split()) - {"busybox"}


def _forget(folder: Path, newest: Path) -> None:
    """Delete the oldest files beyond a few."""
    kept = sorted(folder.glob("*.cpio*"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-_KEPT]:
        if path != newest:
            path.unlink(missing_ok=True)
