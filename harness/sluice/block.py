"""The block device below a path, from sysfs: what it is, how its queue is set, whether it polls."""

from __future__ import annotations

import os
import stat
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


def facts(path: Path) -> Iterator[tuple[str, str]]:
    """Dotted facts about what lies under `path`: file system and device."""
    mount = mount_of(path)
    if mount:
        yield "target.filesystem", mount[1]
        yield "target.mount_options", mount[2]
    folder = device_of(path)
    if folder is None:
        return
    yield "target.device", folder.name
    yield "target.model", _read(folder / "device/model")
    yield "target.firmware", _read(folder / "device/firmware_rev")
    sectors = _read(folder / "size")
    yield "target.bytes", str(int(sectors) * 512) if sectors.isdigit() else ""
    for name in _QUEUE:
        yield f"target.queue.{name}", _read(folder / "queue" / name)
    yield "target.poll_queues", str(poll_queues()) if folder.name.startswith("nvme") else ""


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


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
