"""Test files, written once in full before the first run.

A file that fio lays out on the fly has unwritten extents: the first writes to it allocate, and
reads of it don't reach the device. So every file is filled with fio's own pattern and flushed, and
every cell finds the same state.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from sluice import files, process
from sluice.compose import Placement
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.jobfile import GLOBAL, JobFile, Section
from sluice.target import DataFolder
from sluice.units import parse_size

_KEPT = ("size", "filesize", "numjobs", "nrfiles", "filename", "directory")
_NOTE = ".laid-out.json"


def lay_out(fio: Fio, job: JobFile, placement: Placement, data: DataFolder) -> bool:
    """Fill the files of `job` unless it has been done; whether it was done now.

    SluiceError when there is no room, or in fio's own words. Only ever called for files in the
    harness's own folder."""
    if not data.owns(placement.path):
        raise SluiceError(
            f"{placement.path}: not in {data.path}: the harness fills only files of its own"
        )
    made = filler(job)
    note = data.path / _NOTE
    done = _notes(note)
    text = made.render()
    key = f"{placement.path.name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if key in done and _all_there(made, placement):
        return False
    script = data.path / f"{placement.path.name}.layout.fio"
    output = data.path / f"{placement.path.name}.layout.txt"
    try:
        _check_room(made, placement)
        if not placement.shared:
            placement.path.mkdir(exist_ok=True)
        script.write_text(text, encoding="utf-8")
        ended = process.run(
            [fio.program, "--eta=never", str(script)],
            data.path,
            f"{data.mark}/layout/{os.getpid()}",
            3600,
            output,
            output.with_suffix(".err"),
        )
        words = (
            (
                output.with_suffix(".err").read_text("utf-8", "replace")
                + output.read_text("utf-8", "replace")
            )
            .strip()
            .splitlines()
        )
        if ended.returncode:
            said = words[0] if words else f"exit code {ended.returncode}"
            raise SluiceError(f"{placement.path}: fio couldn't lay it out: {said}")
        files.write_json(note, [*done, key])
    except OSError as error:
        raise SluiceError(
            f"{placement.path}: can't be laid out ({error.strerror}): free space, or "
            "name another folder with --data"
        ) from error
    return True


def filler(job: JobFile) -> JobFile:
    """The same files, written once from beginning to end."""
    common = Section(
        GLOBAL,
        {
            "ioengine": "psync",
            "rw": "write",
            "bs": "1M",
            "end_fsync": "1",
            "create_on_open": "0",
            "fallocate": "none",
        },
    )
    sections = [common]
    shared: dict[str, Section] = {}
    for one in job.jobs:
        options = job.effective(one)
        section = Section(one.name, {name: options[name] for name in _KEPT if name in options})
        name = section.options.get("filename")
        if name is None:
            sections.append(section)
            continue
        section.options.pop("numjobs", None)
        if name not in shared or _size(section) > _size(shared[name]):
            shared[name] = section
    return JobFile([*sections, *shared.values()])


def _size(section: Section) -> float:
    """Bytes of one job's files."""
    size = section.options.get("size", section.options.get("filesize", "0"))
    try:
        return parse_size(size) * int(section.options.get("numjobs", "1"))
    except ValueError as error:
        raise SluiceError(
            f"job '{section.name}': size={size}: test files need a fixed size such as 256M"
        ) from error


def _bytes(made: JobFile) -> float:
    return sum(_size(section) for section in made.jobs)


def _check_room(made: JobFile, placement: Placement) -> None:
    folder = placement.path.parent
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    have = _present(placement)
    need = _bytes(made) - have
    if need > free:
        raise SluiceError(
            f"{folder}: {free // 2**20} MiB free, the test files need "
            f"{int(need) // 2**20} MiB: free space, take a smaller size in "
            "[target], or name another folder with --data"
        )


def _present(placement: Placement) -> float:
    found = (
        [placement.path]
        if placement.shared
        else list(placement.path.glob("*"))
        if placement.path.is_dir()
        else []
    )
    return float(sum(file.stat().st_blocks * 512 for file in found if file.is_file()))


def _all_there(made: JobFile, placement: Placement) -> bool:
    """Whether the files are still as large as they were made: somebody may have cleaned up."""
    found = (
        [placement.path]
        if placement.shared
        else list(placement.path.glob("*"))
        if placement.path.is_dir()
        else []
    )
    sizes = sum(file.stat().st_size for file in found if file.is_file())
    return sizes >= _bytes(made) > 0


def _notes(note: Path) -> list[str]:
    """What has been laid out in this folder before."""
    try:
        found = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [str(one) for one in found] if isinstance(found, list) else []
