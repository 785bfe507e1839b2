"""What ``--log-writes`` carries in: dm-log-writes made usable for crash tests (see
inside/log-writes.sh), with an interpreter for the part that reads the log."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from sluice.errors import SluiceError
from sluice.vm import carry, cpio, initramfs
from sluice.vm.cpio import Entry
from sluice.vm.machine import Machine

MODULES = ("dm_mod", "dm_log_writes")
_PYTHON = Path("/usr/bin/python3")
_LIBRARY = (
    *("os", "codecs", "io", "abc", "stat", "posixpath", "genericpath", "_collections_abc"),
    *("__future__", "struct", "encodings/__init__", "encodings/aliases", "encodings/utf_8"),
    *("encodings/ascii", "encodings/latin_1"),
)
"""The modules that the interpreter starts with, and those of inside/replay.py."""


def entries(machine: Machine) -> list[Entry]:
    """The files. SluiceError when the guest has too few devices for it."""
    if len(machine.devices) < 2:
        raise SluiceError(
            "--log-writes: needs two devices, one to record and one for the log: --nvme 2, or "
            "--null-blk memory_backed=1 twice"
        )
    library = Path(sysconfig.get_path("stdlib", vars={"base": "/usr", "installed_base": "/usr"}))
    interpreter = _PYTHON.resolve()
    found = [
        *carry.file(carry.program("dmsetup")),
        *carry.file(interpreter),
        cpio.folder(str(library / "lib-dynload")),
        cpio.link("/usr/bin/python3", interpreter.name),
        cpio.regular("/usr/bin/log-writes", initramfs.script("log-writes.sh"), 0o755),
        cpio.regular("/usr/lib/sluice/replay.py", initramfs.script("replay.py")),
    ]
    for name in _LIBRARY:
        found += carry.file(library / f"{name}.py")
    return found
