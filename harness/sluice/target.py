"""What the jobs read and write, and why nobody's data gets lost.

Test files are made in a data folder of the harness's own, which a marker file identifies. Every
option value of a composed job that names an existing block device, or an existing file outside that
folder, is refused unless the run is read only or the user said ``--destructive NAME``. A folder
outside is refused whatever was said: nobody can mean every file below it. (Which options a job may
have at all, `permitted` knows.)
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from sluice import inuse, process
from sluice.errors import SluiceError
from sluice.jobfile import JobFile

MARKER = ".sluice-data"
_READ_ONLY_RW = {"", "read", "randread"}
_NEVER_WRITTEN = {"ioengine", "description", "name"}
"""Options whose value fio only reads, or that name no file at all."""


class DataFolder:
    """The harness's own folder of test files, held by one harness at a time: two sweeps on one
    device would measure each other."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None

    @property
    def mark(self) -> str:
        """What every process carries that works on these files (see `process`)."""
        return f"data@{hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:12]}"

    def acquire(self) -> None:
        """Make the folder if need be, lock it, and end what a harness that was killed left behind:
        its fio would go on writing these files beside the runs to come. SluiceError when the folder
        holds other files, can't be made, or another harness uses it."""
        try:
            if not self.path.exists():
                self.path.mkdir(parents=True)
                (self.path / MARKER).write_text(
                    "test files of sluice: may be deleted\n", encoding="utf-8"
                )
            elif not (self.path / MARKER).exists():
                raise SluiceError(
                    f"{self.path}: no data folder of sluice (no {MARKER} in it): "
                    "name a folder that doesn't exist yet with --data"
                )
            self._lock = os.open(self.path / MARKER, os.O_RDWR)
        except OSError as error:
            raise SluiceError(
                f"{self.path}: can't hold test files ({error.strerror}): "
                "name another folder with --data"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            self._lock = None
            raise SluiceError(
                f"{self.path}: another sweep is running on these test files: wait "
                "for it, or name another folder with --data"
            ) from error
        process.kill_marked(self.mark)  # nobody else has the lock, so they are nobody's

    def release(self) -> None:
        """Let the next harness in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def owns(self, path: Path) -> bool:
        """Whether `path` lies in this folder, symbolic links followed."""
        return path.resolve().is_relative_to(self.path.resolve())


def writes(options: Mapping[str, str]) -> bool:
    """Whether a job with these options may change what it works on."""
    kinds = {options[name].split(":")[0] for name in ("rw", "readwrite") if name in options}
    return not kinds <= _READ_ONLY_RW


def check_harmless(job: JobFile, data: DataFolder, destructive: Iterable[str], base: Path) -> None:
    """SluiceError when a job could change somebody's data without the user having named it.

    `base` is the folder that relative names start from. A job that only reads may read anything.
    """
    allowed = {os.path.realpath(name) for name in destructive}
    for section in job.jobs:
        options = job.effective(section)
        if not writes(options):
            continue
        for name in ("directory", "opendir"):
            if name in options and not all(map(data.owns, _pieces(options[name], base))):
                raise SluiceError(
                    f"job '{section.name}': {name}={options[name]} lies "
                    f"outside {data.path}: leave it out, the harness places the files"
                )
        for key, value in options.items():
            if key in _NEVER_WRITTEN:
                continue
            for path in _paths(value, base):
                if _is_folder(path) and not data.owns(path):
                    raise SluiceError(
                        f"job '{section.name}': {key}={path} is a folder and the job writes: "
                        "name a file or device"
                    )
                if _is_anothers(path, data) and os.path.realpath(path) not in allowed:
                    raise SluiceError(
                        f"job '{section.name}': {key}={path} is {_what(path)} and the job writes: "
                        f"to lose its contents say --destructive {path}"
                    )


def check_destructive(names: Iterable[str]) -> None:
    """SluiceError when a name said with ``--destructive`` is a folder or in use: consent to lose a
    device doesn't cover the file system, the swap or the volume on it."""
    for name in names:
        path = Path(os.path.realpath(name))
        try:
            used = inuse.user_of(path)
        except (OSError, ValueError) as error:
            if os.path.lexists(path):
                raise SluiceError(
                    f"--destructive {name}: can't be looked at ({error}): check the name"
                ) from error
            raise SluiceError(f"--destructive {name}: doesn't exist: check the name") from error
        if _is_folder(path):
            raise SluiceError(f"--destructive {name}: is a folder: name files or devices")
        if used:
            raise SluiceError(f"--destructive {name}: {used}")


def _pieces(value: str, base: Path) -> list[Path]:
    """The paths in a list of fio's, which separates them by ':'."""
    pieces = value.replace("\\:", "\0").split(":")
    return [base / piece.replace("\0", ":") for piece in pieces if piece and len(piece) < 4096]


def _paths(value: str, base: Path) -> list[Path]:
    """The paths that an option's value may name."""
    paths = _pieces(value, base)
    if 0 < len(value) < 4096 and base / value not in paths:
        paths.append(base / value)
    for path in list(paths):
        if path.suffix == ".json" and path.is_file():  # a pool file: its devices count, not itself
            paths.remove(path)
            paths += [Path(name) for name in _strings(path) if name.startswith("/")]
    return paths


def _strings(path: Path) -> list[str]:
    """Every string value in a JSON file; none when it is no JSON."""
    try:
        pending = [json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError):
        return []
    found = []
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            pending += one.values()
        elif isinstance(one, list):
            pending += one
    return found


def _is_anothers(path: Path, data: DataFolder) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISBLK(mode):
        return True
    return (
        (stat.S_ISREG(mode) or stat.S_ISCHR(mode))
        and str(path) != os.devnull
        and not data.owns(path)
    )


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _what(path: Path) -> str:
    mode = path.stat().st_mode
    return (
        "a block device"
        if stat.S_ISBLK(mode)
        else "a device"
        if stat.S_ISCHR(mode)
        else "an existing file"
    )
