"""Kernels for guests: named by version, by package, or given as files.

A kernel from a package is unpacked once into the cache, with the SHA-256 of all that is used of it;
what doesn't fit any more is fetched again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice import files
from sluice.errors import SluiceError
from sluice.lock import Lock
from sluice.vm import apt, cache

FLAVOUR = "-cloud-amd64"
_MANIFEST = "kernel.json"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that can be booted."""

    name: str
    """Release, e.g. ``6.12.117+deb12-cloud-amd64``; of files: the image's path."""
    image: Path
    modules: Path | None
    """Folder of the modules; None: whatever is wanted is taken to be built in."""
    package: str = ""
    version: str = ""
    """Of the package, e.g. ``6.12.117-1``."""
    sha256: str = ""
    """Of :attr:`image`."""


def resolve(wanted: str | None, modules: Path | None = None) -> Kernel:
    """A kernel by what the user wrote: nothing (the newest cached one, else the newest on offer), a
    version or its beginning (``6.12``), a package, or the path of an image.

    SluiceError lists what there is when nothing fits."""
    if wanted and ("/" in wanted or Path(wanted).is_file()):
        return _from_files(Path(wanted), modules)
    if modules is not None:
        raise SluiceError("--modules: only with --kernel VMLINUZ: a package has its own modules")
    release = (wanted or "").removeprefix(apt.PREFIX)
    here = [name for name in cached() if _fits(name, release)]
    if here:
        return _cached(here[-1])
    known = [name.removeprefix(apt.PREFIX) for name in apt.offered()]
    there = sorted((name for name in known if _fits(name, release)), key=order)
    if not there:
        apt.update()
        known = [name.removeprefix(apt.PREFIX) for name in apt.offered()]
        there = sorted((name for name in known if _fits(name, release)), key=order)
    if not there:
        names = ", ".join(sorted({*known, *cached()}, key=order)) or "none (apt offers nothing)"
        raise SluiceError(f"--kernel {wanted or ''}: no such kernel; there are: {names}")
    return _cached(there[-1])


def cached() -> list[str]:
    """Releases in the cache, oldest version first."""
    found = cache.folder("kernels").glob(f"*/{_MANIFEST}")
    return sorted((path.parent.name for path in found), key=order)


def order(release: str) -> tuple[int, ...]:
    """A key that sorts releases by version: ``6.1.0-57`` before ``6.12.100``."""
    return tuple(int(number) for number in re.findall(r"\d+", release.split("+")[0]))


def _fits(release: str, wanted: str) -> bool:
    """Whether `wanted` is the release or the beginning of its version, ending at a number's end."""
    if not wanted or release == wanted:
        return True
    rest = release.removeprefix(wanted)
    return rest != release and not (rest[0].isdigit() or wanted[-1] in ".-+")


def _from_files(image: Path, modules: Path | None) -> Kernel:
    try:
        head = image.read_bytes()
    except OSError as error:
        raise SluiceError(
            f"--kernel {image}: can't be read ({error.strerror}): name a kernel image such as "
            "/boot/vmlinuz-VERSION, or a version (`sluice vm list`)"
        ) from error
    if head[0x202:0x206] != b"HdrS" and head[:4] != b"\x7fELF":
        raise SluiceError(f"--kernel {image}: no kernel image: a bzImage or an ELF file is needed")
    if modules is not None and not modules.is_dir():
        raise SluiceError(f"--modules {modules}: no such folder: name lib/modules/RELEASE")
    return Kernel(
        str(image),
        image.absolute(),
        modules.absolute() if modules else None,
        sha256=hashlib.sha256(head).hexdigest(),
    )


def _cached(release: str) -> Kernel:
    """The kernel of a package, fetched unless it is in the cache and whole."""
    root = cache.folder("kernels")
    with Lock(root / ".lock", None):
        folder = root / release
        manifest = _manifest(folder)
        if manifest is None:
            _fetch(release, folder)
            manifest = _manifest(folder)
        if manifest is None:
            raise SluiceError(f"{folder}: damaged right after it was fetched: check the disk")
        return Kernel(
            release,
            folder / manifest["image"],
            folder / manifest["modules"],
            manifest["package"],
            manifest["version"],
            manifest["sha256"][manifest["image"]],
        )


def _manifest(folder: Path) -> dict[str, Any] | None:
    """The cache's entry; None when it isn't there or a file of it has changed."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        for name, digest in manifest["sha256"].items():
            if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(manifest)


def _fetch(release: str, folder: Path) -> None:
    root = folder.parent
    for left in root.glob(".fetch-*"):  # of a harness that was killed; we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    print(f"fetching {apt.PREFIX}{release}", file=sys.stderr)
    try:
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=root) as scratch:
            unpacked = Path(scratch) / "unpacked"
            package, archive = apt.download(f"{apt.PREFIX}{release}", Path(scratch))
            subprocess.run(
                ["dpkg-deb", "-x", str(archive), str(unpacked)], check=True, capture_output=True
            )
            _keep(release, unpacked, package)
            shutil.rmtree(folder, ignore_errors=True)
            unpacked.rename(folder)
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise SluiceError(
            f"{release}: dpkg-deb can't unpack it: {words[-1]}: free space"
        ) from error
    except OSError as error:
        raise SluiceError(
            f"{root}: the kernel {release} can't be kept ({error.strerror}): free space, or name "
            "another folder with $SLUICE_VM_CACHE"
        ) from error


def _keep(release: str, unpacked: Path, package: apt.Package) -> None:
    """Reduce an unpacked package to image and modules, and write the manifest."""
    image = unpacked / "boot" / f"vmlinuz-{release}"
    modules = next(
        (
            path
            for path in (unpacked / "lib/modules", unpacked / "usr/lib/modules")
            if (path / release).is_dir()
        ),
        None,
    )
    if not image.is_file() or modules is None:
        raise SluiceError(f"{package.name}: holds no kernel {release}: take another package")
    for entry in (unpacked / "usr/share", *(unpacked / "boot").glob("System.map*")):
        with contextlib.suppress(OSError):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    kept = [image, *(path for path in sorted(modules.rglob("*")) if path.is_file())]
    digests = {
        str(path.relative_to(unpacked)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in kept
    }
    files.write_json(
        unpacked / _MANIFEST,
        {
            "package": package.name,
            "version": package.version,
            "package_sha256": package.sha256,
            "image": str(image.relative_to(unpacked)),
            "modules": str((modules / release).relative_to(unpacked)),
            "sha256": digests,
        },
    )
