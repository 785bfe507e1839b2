"""Emptying a target, so that its state starts from nothing.

Own files are deleted, and laid out anew by the caller. On a device every block is discarded, or an
NVMe namespace formatted: its contents are lost, so it takes ``--destructive`` with exactly its
name, and nobody may be using it.
"""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

from sluice import target
from sluice.conditions import Precondition
from sluice.errors import SluiceError

_PROGRAMS = {
    "discard": (("blkdiscard",), "util-linux"),
    "format": (("nvme", "format", "--ses=1", "--force"), "nvme-cli"),
}
_LIMIT_S = 4 * 3600


def check(wanted: Precondition, path: Path) -> None:
    """SluiceError when a target that isn't the harness's own can't be purged in the way wanted."""
    if not wanted.purge:
        return
    if not _is_device(path):
        raise SluiceError(
            f"precondition: purge: {path} is a file of yours: only devices and the harness's own "
            "files are purged: leave purge out"
        )
    if wanted.purge == "format" and not path.name.startswith("nvme"):
        raise SluiceError(
            f'precondition: purge = "format": {path} is no NVMe namespace: write purge = true'
        )
    program, package = _PROGRAMS[wanted.purge]
    if shutil.which(program[0]) is None:
        raise SluiceError(
            f"precondition: purge: no program '{program[0]}': install it (Debian: {package})"
        )


def own_files(path: Path) -> None:
    """Delete the harness's own test files. OSError when they can't be."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def device(wanted: Precondition, path: Path) -> None:
    """Purge a device that was named with ``--destructive``. SluiceError when somebody uses it, or
    in the program's words."""
    target.check_destructive([str(path)])
    check(wanted, path)
    program, _ = _PROGRAMS[wanted.purge]
    command = [*program, str(path)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SluiceError(f"{path}: can't be purged ({error}): leave purge out") from error
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or [f"code {done.returncode}"]
        raise SluiceError(f"{path}: can't be purged: {words[0]}: leave purge out")


def _is_device(path: Path) -> bool:
    try:
        return stat.S_ISBLK(path.stat().st_mode)
    except OSError:
        return False
