"""The root file system of a guest: what every guest has, made once and kept by content, and what
only this one has, in front of it.

The part that is kept is compressed with lz4 where there is a tool for it: under emulation that is
unpacked several times faster than gzip. Nothing may follow an lz4 stream, so the other part, which
isn't compressed, stands before it.
"""

from __future__ import annotations

import gzip
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

_KEPT = 12
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
    plain = cpio.archive(entries)
    lz4 = shutil.which("lz4")
    digest = hashlib.sha256(plain).hexdigest()[:32]
    folder = cache.folder("initramfs")
    path = folder / f"{digest}.cpio.{'lz4' if lz4 else 'gz'}"
    if not path.is_file():
        try:
            files.write_bytes(path, _lz4(lz4, plain) if lz4 else gzip.compress(plain, 1, mtime=0))
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


def _lz4(tool: str, plain: bytes) -> bytes:
    """The legacy frame: the only one that the kernel reads."""
    done = subprocess.run([tool, "-l", "-c"], input=plain, capture_output=True, check=False)
    if done.returncode:
        raise SluiceError(f"{tool}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout


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
    kept = sorted(folder.glob("*.cpio.*"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-_KEPT]:
        if path != newest:
            path.unlink(missing_ok=True)
