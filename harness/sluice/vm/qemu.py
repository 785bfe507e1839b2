"""QEMU: which one there is, and the command line of a guest."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sluice.errors import SluiceError
from sluice.vm.machine import Machine

PROGRAM = "qemu-system-x86_64"
OLDEST = (7, 0)
"""7.2 is what is tested; what is much older isn't likely to do the same."""
_COMMAND_LINE = (
    # oops=panic, panic=-1: whatever breaks ends the guest at once, with its trace on the console.
    # tsc=reliable: 6.1 may else choose hpet, and is four times slower.
    "console=ttyS0 quiet panic=-1 oops=panic tsc=reliable nowatchdog "
    "rcupdate.rcu_cpu_stall_suppress=1 random.trust_cpu=on"
)


@dataclass(frozen=True, slots=True)
class Qemu:
    """An installed QEMU."""

    program: str
    version: str


@dataclass(frozen=True, slots=True)
class Drive:
    """The image behind an NVMe device."""

    path: str
    handle: int | None = None
    """The descriptor that QEMU inherits, of an image without a name."""
    direct: bool = True
    """Past the host's page cache."""
    discard: bool = False
    """What the guest writes is thrown away with it."""


@dataclass(frozen=True, slots=True)
class Files:
    """Descriptors that QEMU inherits, since a guest's files have no names; and its drives."""

    initrd: int
    console: int
    channel: int
    drives: tuple[Drive, ...] = ()


@lru_cache(maxsize=4)
def find(program: str = PROGRAM) -> Qemu:
    """SluiceError when there is none, or it is too old."""
    path = shutil.which(program)
    if path is None:
        raise SluiceError(
            f"{program}: not installed, and guests run in it: apt install qemu-system-x86"
        )
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SluiceError(f"{path}: doesn't run ({error}): install it again") from error
    found = re.search(r"version (\d+)\.(\d+)(\S*)", done.stdout)
    if found is None:
        raise SluiceError(f"{path}: answers '{done.stdout[:60].strip()}' to --version: no QEMU")
    version = f"{found[1]}.{found[2]}{found[3]}"
    if (int(found[1]), int(found[2])) < OLDEST:
        raise SluiceError(
            f"{path}: QEMU {version} is too old, {OLDEST[0]}.{OLDEST[1]} is needed: "
            "install a newer one"
        )
    return Qemu(path, version)


def command(
    qemu: Qemu, machine: Machine, kernel: str, accelerator: str, name: str, files: Files
) -> list[str]:
    """The command line. No network, no display, nothing that QEMU adds by itself."""
    words = [
        qemu.program,
        *("-name", name),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-machine", "pc", "-m", str(machine.memory_mib), "-smp", str(machine.cpus)),
        *_time(machine, accelerator),
        *("-chardev", f"file,id=console,path=/proc/self/fd/{files.console}"),
        *("-chardev", f"file,id=channel,path=/proc/self/fd/{files.channel}"),
        *("-serial", "chardev:console", "-serial", "chardev:channel"),
        *("-kernel", kernel, "-initrd", f"/proc/self/fd/{files.initrd}"),
        *("-append", command_line(machine)),
    ]
    for number, drive in enumerate(files.drives):
        words += _nvme(number, drive, machine)
    return words


def command_line(machine: Machine) -> str:
    """The kernel's command line."""
    poll = f"nvme.poll_queues={machine.poll_queues}" if machine.poll_queues else ""
    return " ".join(filter(None, (_COMMAND_LINE, poll, machine.append)))


def _time(machine: Machine, accelerator: str) -> list[str]:
    if machine.virtual:
        # Each of these is needed for two boots to be one: clock, date, and source of randomness.
        return [
            *("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"),
            *("-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", str(machine.seed)),
            *("-cpu", "max"),
        ]
    if accelerator == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", "max"]


def _nvme(number: int, drive: Drive, machine: Machine) -> list[str]:
    path = drive.path.replace(",", ",,")
    cached = "cache=none" if drive.direct else "cache=writeback"
    own = "file.locking=off" if drive.handle is not None else "file.locking=auto"
    # werror: by default QEMU stops the guest on a full disk, and it would seem to hang.
    words = [
        "-drive",
        f"file={path},if=none,id=d{number},format=raw,{cached},aio={_aio(drive)},{own},"
        f"werror=report,rerror=report,snapshot={'on' if drive.discard else 'off'}",
    ]
    queues = machine.cpus + machine.poll_queues + 1
    return [*words, "-device", f"nvme,drive=d{number},serial=sluice{number},max_ioqpairs={queues}"]


def _aio(drive: Drive) -> str:
    allowed = Path("/proc/sys/kernel/io_uring_disabled")
    if drive.direct and (not allowed.exists() or allowed.read_text().strip() == "0"):
        return "io_uring"
    return "threads"
