"""From what the user asked for to a guest that can be started."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sluice import paths
from sluice.errors import SluiceError
from sluice.vm import accel, carry, initramfs, qemu
from sluice.vm.cpio import Entry
from sluice.vm.guest import Boot
from sluice.vm.kernels import Kernel
from sluice.vm.machine import Machine
from sluice.vm.payload import payload


def prepare(
    machine: Machine,
    kernel: Kernel,
    main: str,
    carried: Iterable[Entry] = (),
    fio: str = "fio",
) -> Boot:
    """A guest of that kind that runs `main`. SluiceError names what is missing."""
    qemu.find()
    token, archive = payload(machine, kernel, main, carried)
    programs = [fio]
    if machine.file_system:
        programs.append(f"mkfs.{machine.file_system}")
    base = initramfs.base(tuple(programs))
    return Boot(machine, kernel, accel.choose(machine, kernel), base, archive, token)


def engine() -> list[Entry]:
    """Our engine and what it needs, at the path that it has here; nothing where it isn't built."""
    plugin = paths.plugin()
    return carry.file(plugin) if plugin.is_file() else []


def files(names: Iterable[str]) -> list[Entry]:
    """What ``--carry`` names: a file or folder, or a program of the PATH. SluiceError when there is
    neither."""
    entries: list[Entry] = []
    for name in names:
        path = Path(name)
        if not path.exists() and "/" not in name:
            try:
                path = carry.program(name)
            except SluiceError as error:
                raise SluiceError(
                    f"--carry {name}: neither a file here nor a program of the PATH: check the name"
                ) from error
        entries += carry.file(path)
    return entries
