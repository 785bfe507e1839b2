"""The part of a guest's root file system that only it has: settings, modules, what is run."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable

from sluice.vm import cpio, modules
from sluice.vm.cpio import Entry
from sluice.vm.kernels import Kernel
from sluice.vm.machine import MOUNT, Machine


def payload(
    machine: Machine, kernel: Kernel, main: str, carried: Iterable[Entry] = ()
) -> tuple[str, bytes]:
    """The token by which the guest marks its lines, and the archive. `main` is a shell script that
    runs once the devices are there; see inside/lib.sh for what it may call.

    SluiceError when the kernel lacks a module."""
    entries = list(carried)
    names = []
    if kernel.modules is not None:
        for module in modules.tree(kernel.modules).closure(machine.wanted_modules, kernel.name):
            names.append(module.name)
            entries.append(cpio.regular(f"/job/modules/{module.name}.ko", module.data))
    # Of what is run, not of chance: under the virtual clock its bytes must be the same again.
    token = f"sluice-{hashlib.sha256(main.encode()).hexdigest()[:16]}"
    settings = {
        "TOKEN": token,
        "MODULES": " ".join(names),
        "DEVICES": " ".join(machine.devices),
        "FILE_SYSTEM": machine.file_system or "",
        "MOUNT": MOUNT,
        "SETTLE": machine.perturbation.settle_s if machine.virtual else "0",
    }
    lines = [f"{name}={shlex.quote(text)}" for name, text in settings.items()]
    if machine.perturbation.padding:
        lines.append(f"export SLUICE_PADDING={'x' * machine.perturbation.padding}")
    devices = [
        shlex.join(["null_blk", str(number), *(f"{key}={value}" for key, value in one.attributes)])
        for number, one in enumerate(machine.null_blk)
    ]
    for path, text in (
        ("/job/settings", "\n".join(lines)),
        ("/job/devices", "\n".join(devices)),
        ("/job/main", main),
    ):
        entries.append(cpio.regular(path, text.encode() + b"\n"))
    return token, cpio.archive(entries)
