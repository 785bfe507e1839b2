"""Who uses a device or file: a file system, swap, a volume, a loop device, another program.

Names say little (``/dev/root``, a node made elsewhere, a disk below a volume), so devices are told
apart by their numbers, and what is built upon them is followed to its top. What no table shows,
such as a mount in another namespace, a device of a pool, or a program that claimed it, the kernel
tells by refusing an exclusive open.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

SYSFS = Path("/sys")
PROC = Path("/proc")
DEV = Path("/dev")


def user_of(path: Path) -> str | None:
    """Who uses `path` and how to end that, e.g. ``vda1 is mounted at /home: unmount it first``;
    None: nobody. OSError when there is no such path."""
    status = path.stat()
    if stat.S_ISBLK(status.st_mode):
        return _user_of_device(_text(status.st_rdev), path)
    if stat.S_ISCHR(status.st_mode):
        for name in _blocks_of(status.st_rdev):
            number = _read(SYSFS / "class/block" / name / "dev")
            used = _user_of_device(number, DEV / name) if number else None
            if used:
                return used
        return None
    return _user_of_file(path, status)


def _user_of_file(path: Path, status: os.stat_result) -> str | None:
    for name in _swaps():
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(name), status):
                return f"{path.name} is swap: swapoff it first"
    for loop, backing in _loops():
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(backing), status):
                return f"{loop} is built upon it: take that apart first (losetup --detach)"
    for source, _, point in _mounts():
        with contextlib.suppress(OSError):
            if source.startswith("/") and os.path.samestat(os.stat(source), status):
                return f"it is mounted at {point}: unmount it first"
    return None


def _user_of_device(number: str, node: Path) -> str | None:
    """`node` is the name by which it was said."""
    folder = SYSFS / "dev/block" / number
    own = list(_with_partitions(folder)) if folder.exists() else []
    names = {number: node.name} | {_read(one / "dev"): one.name for one in own}
    upon: dict[str, str] = {}  # number -> name, of what is built upon the device, to the top
    whole = folder.resolve().parent if own and (own[0] / "partition").exists() else None
    for one in [*own, *([whole] if whole else [])]:
        upon |= dict(_built_upon(one))
    reached = names | upon
    if whole:
        reached[_read(whole / "dev")] = whole.name
    reached.pop("", None)
    for loop, backing in _loops():
        if _number_of(backing) in reached:
            upon[loop] = loop
            reached[_read(SYSFS / "block" / loop / "dev")] = loop
    for source, mounted, point in _mounts():
        for one_number in (mounted, _number_of(source)):
            if one_number in reached:
                return f"{reached[one_number]} is mounted at {point}: unmount it first"
    for name in _swaps():
        if _number_of(name) in reached:
            return f"{reached[_number_of(name)]} is swap: swapoff it first"
    if upon:
        return f"{next(iter(upon.values()))} is built upon it: take that apart first"
    for path in [node, *(DEV / one.name.replace("!", "/") for one in own)]:
        if _claimed(path):
            return f"another program or the kernel has claimed {path.name}: end that first"
    return None


def _with_partitions(folder: Path) -> Iterator[Path]:
    """The sysfs folders of a device and of its partitions."""
    real = folder.resolve()
    yield real
    for one in sorted(real.iterdir()):
        if (one / "partition").exists():
            yield one


def _built_upon(folder: Path) -> Iterator[tuple[str, str]]:
    """Number and name of all volumes, arrays and the like upon a device, the topmost first."""
    for holder in sorted(folder.glob("holders/*")):
        for one in _with_partitions(holder):
            yield from _built_upon(one)
            yield _read(one / "dev"), one.name


def _blocks_of(number: int) -> list[str]:
    """Names of the block devices that a character device reaches too: SCSI generic, NVMe."""
    folder = (SYSFS / "dev/char" / _text(number)).resolve()
    names = [one.name for one in folder.glob("device/block/*")]
    if re.fullmatch(r"ng\d+n\d+", folder.name):
        names.append(f"nvme{folder.name[2:]}")
    return names


def _claimed(node: Path) -> bool:
    """Whether somebody holds a block device exclusively. Who may not open it can't know; but can't
    write to it either."""
    try:
        os.close(os.open(node, os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def _mounts() -> Iterator[tuple[str, str, str]]:
    """Source, device number and mount point of everything mounted, as this process sees it."""
    for line in _read(PROC / "self/mountinfo").splitlines():
        fields = line.split()
        if "-" in fields:
            source = fields[fields.index("-") + 2 :][:1]
            yield _unescaped(source[0] if source else ""), fields[2], _unescaped(fields[4])
    for line in _read(PROC / "mounts").splitlines():
        source_name, point, *_ = map(_unescaped, line.split())
        number = ""
        if source_name.startswith("/"):  # a mount of a file server might hang
            with contextlib.suppress(OSError):
                number = _text(os.stat(point).st_dev)
        yield source_name, number, point


def _swaps() -> list[str]:
    lines = _read(PROC / "swaps").splitlines()[1:]
    return [_unescaped(line.split()[0]) for line in lines if line.startswith("/")]


def _loops() -> Iterator[tuple[str, str]]:
    """Loop devices that are set up, and the files or devices behind them."""
    for path in sorted(SYSFS.glob("block/*/loop/backing_file")):
        yield path.parents[1].name, _read(path)


def _number_of(name: str) -> str:
    """major:minor of a block device; '' when it is none."""
    try:
        status = os.stat(name) if name.startswith("/") else None
    except OSError:
        return ""
    return _text(status.st_rdev) if status and stat.S_ISBLK(status.st_mode) else ""


def _text(number: int) -> str:
    return f"{os.major(number)}:{os.minor(number)}"


def _unescaped(name: str) -> str:
    r"""A name of /proc's tables, where a blank is ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), name)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""
