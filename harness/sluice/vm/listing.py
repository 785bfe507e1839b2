"""``sluice vm list``: what could be booted, and what runs."""

from __future__ import annotations

from sluice.errors import SluiceError
from sluice.vm import accel, apt, cache, guest, kernels, qemu


def show() -> int:
    """Print kernels, the emulator and running guests."""
    cached = kernels.cached()
    offered = [name.removeprefix(apt.PREFIX) for name in apt.offered()]
    print("kernels (--kernel takes a release or its beginning, such as 6.12):")
    for release in sorted({*cached, *offered}, key=kernels.order):
        where = [word for word, has in (("cached", cached), ("apt", offered)) if release in has]
        print(f"  {release:34s} {', '.join(where)}")
    if not cached and not offered:
        print("  none: apt offers none here; give one with --kernel VMLINUZ --modules FOLDER")
    try:
        found = qemu.find()
        print(f"qemu: {found.version} at {found.program}; {accel.told()}")
    except SluiceError as error:
        print(f"qemu: {error}")
    guests = guest.running()
    print(f"guests running: {len(guests) or 'none'}")
    for pid, kernel in guests:
        print(f"  process {pid}: {kernel}")
    print(f"cache: {cache.folder()}")
    return 0
