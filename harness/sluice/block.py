"""The block device below a path, from sysfs: what it is, how its queue is set, whether it polls."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

_QUEUE = (
    "scheduler",
    "nr_requests",
    "rotational",
    "nomerges",
    "rq_affinity",
    "io_poll",
    "io_poll_delay",
    "wbt_lat_usec",
    "write_cache",
    "logical_block_size",
    "physical_block_size",
    "read_ahead_kb",
    "max_sectors_kb",
    "iostats",
)

_EXT4_KEPT = (
    "Filesystem features",
    "Block size",
    "Block count",
    "Inode size",
    "Inode count",
    "Flex block group",
    "RAID",
    "Journal features",
    "Total journal size",
)
"""What ``dumpe2fs -h`` says of how an ext file system was made; the rest tells of its use."""


def facts(path: Path) -> Iterator[tuple[str, str]]:
    """Dotted facts about what lies under `path`: file system and device."""
    mount = mount_of(path)
    if mount and not _is_device(path):
        yield "target.filesystem", mount[1]
        yield "target.mount_options", mount[2]
        yield "target.mkfs", _made_with(mount)
        room = os.statvfs(mount[0])
        if room.f_blocks:
            yield "now.free_percent", f"{100 * room.f_bavail / room.f_blocks:.0f}"
    folder = device_of(path)
    if folder is None:
        return
    yield "target.device", folder.name
    yield "target.model", _read(folder / "device/model")
    yield "target.firmware", _read(folder / "device/firmware_rev")
    sectors = _read(folder / "size")
    yield "target.bytes", str(int(sectors) * 512) if sectors.isdigit() else ""
    serial = _read(folder / "serial") or _read(folder / "device/serial")
    # Hashed: it only has to tell two drives of one model apart, and reports are passed on.
    yield "target.serial", _hash(serial)
    yield "target.lba", _lba(folder)
    yield "target.pcie", _pcie(folder)
    yield "target.numa_node", _read(folder / "device/numa_node")
    for name in _QUEUE:
        yield f"target.queue.{name}", chosen(_read(folder / "queue" / name))
    yield "target.poll_queues", str(poll_queues()) if folder.name.startswith("nvme") else ""
    yield from _wear(folder)


def chosen(text: str) -> str:
    """The value of an attribute that lists its choices with the chosen one in brackets, e.g.
    ``none [mq-deadline] kyber``; any other text as it is."""
    words = [word for word in text.split() if word.startswith("[") and word.endswith("]")]
    return words[0][1:-1] if len(words) == 1 else text


def device_of(path: Path) -> Path | None:
    """The sysfs folder of the whole disk that carries `path`; None for tmpfs, overlay and such."""
    try:
        status = os.stat(path)
    except OSError:
        return device_of(path.parent) if path != path.parent else None
    number = status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not folder.exists():
        return None
    folder = folder.resolve()
    return folder.parent if (folder / "partition").exists() else folder


def mount_of(path: Path) -> tuple[str, str, str] | None:
    """Mount point, file system and options that hold for `path`."""
    real = os.path.realpath(path)
    best: tuple[str, str, str] | None = None
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        _, point, kind, options, *_ = line.split()
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and (best is None or len(point) >= len(best[0])):
            best = (point, kind, options)
    return best


def disks() -> list[Path]:
    """The sysfs folders of all whole disks with a size."""
    return sorted(
        folder for folder in Path("/sys/block").glob("*") if _read(folder / "size") not in ("", "0")
    )


def poll_queues() -> int:
    """Poll queues that the nvme driver was asked for; 0 also when the module isn't loaded."""
    text = _read(Path("/sys/module/nvme/parameters/poll_queues"))
    return int(text) if text.isdigit() else 0


def _is_device(path: Path) -> bool:
    try:
        return stat.S_ISBLK(path.stat().st_mode)
    except OSError:
        return False


def _made_with(mount: tuple[str, str, str]) -> str:
    """A hash of what the file system was made with, as its own tools tell it; '' when they can't.
    Labels, identities and counters of use aren't part of it."""
    kind = mount[1]
    if kind == "xfs":
        text = _ask("xfs_info", mount[0])
        return _hash(text.partition(" ")[2] if text.startswith("meta-data=") else text)
    if kind in ("ext2", "ext3", "ext4"):
        number = os.stat(mount[0]).st_dev
        name = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
        text = _ask("dumpe2fs", "-h", f"/dev/{name}")
        return _hash("\n".join(line for line in text.splitlines() if line.startswith(_EXT4_KEPT)))
    return ""


def _lba(folder: Path) -> str:
    """The format of a logical block: its bytes, and its metadata's where the driver tells."""
    size, extra = _read(folder / "queue/logical_block_size"), _read(folder / "metadata_bytes")
    return f"{size}+{extra}" if size and extra not in ("", "0") else size


def _pcie(folder: Path) -> str:
    """Speed and width of the link that leads to the device; '' when none is known."""
    for place in (folder / "device").resolve(), *(folder / "device").resolve().parents:
        speed, width = _read(place / "current_link_speed"), _read(place / "current_link_width")
        if speed and width:
            return f"{speed} x{width}"
    return ""


def _wear(folder: Path) -> Iterator[tuple[str, str]]:
    """Temperature and wear, as the device itself tells them."""
    for sensor in sorted((folder / "device").glob("hwmon*/temp1_input")) + sorted(
        (folder / "device/device").glob("hwmon*/temp1_input")
    ):
        text = _read(sensor)
        if text.lstrip("-").isdigit():
            yield "now.temperature.target", f"{int(text) / 1000:.1f}"
    if folder.name.startswith("nvme"):
        try:
            told = json.loads(_ask("nvme", "smart-log", "-o", "json", f"/dev/{folder.name}"))
        except ValueError:
            return
        used = told.get("percent_used", told.get("percentage_used"))
        if used is not None:
            yield "now.wear_percent", str(used)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text.strip() else ""


def _ask(*command: str) -> str:
    """What a program says; '' when it isn't there, fails or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
