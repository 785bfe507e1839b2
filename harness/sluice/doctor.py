"""What this machine can and can't measure, with the cure for each shortcoming.

Each check looks at one thing and never changes it. ``warn`` means that figures are obtainable but
worth less; ``fail`` that something won't run at all.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

from sluice import block, describe, env, kvm, paths, quiet
from sluice.errors import SluiceError
from sluice.finding import Finding, Level
from sluice.fiocli import Fio

__all__ = ["Finding", "Level", "examine"]

MEMLOCK_WANTED = 64 * 2**20
"""Registered buffers of one job: depth 256 of 128 KiB is 32 MiB; twice that for the rest."""


def examine(fio_program: str, data: Path) -> Iterator[Finding]:
    """All checks, in the order in which a newcomer needs them."""
    checks: list[Callable[[], Iterator[Finding]]] = [
        lambda: _fio(fio_program),
        lambda: _engine(fio_program),
        _io_uring,
        _memlock,
        _cpus,
        _virtual,
        quiet.governor,
        quiet.interrupts,
        quiet.sleep_states,
        quiet.knobs,
        _devices,
        lambda: _data(data),
        lambda: quiet.identity(fio_program, data),
        _kvm,
    ]
    for check in checks:
        yield from check()


def _fio(program: str) -> Iterator[Finding]:
    try:
        fio = Fio(program)
        yield Finding("fio", Level.OK, f"{fio.version} at {fio.program}")
        missing = {"io_uring", "libaio"} - fio.engines
        if missing:
            yield Finding(
                "fio engines",
                Level.WARN,
                f"without {', '.join(sorted(missing))}",
                "use the distribution's fio, or build it with liburing and libaio",
            )
    except SluiceError as error:
        yield Finding("fio", Level.FAIL, str(error), "apt install fio")


def _engine(program: str) -> Iterator[Finding]:
    plugin = paths.plugin()
    if not plugin.is_file():
        yield Finding(
            "engine",
            Level.FAIL,
            f"{plugin} isn't built; only fio's own engines can be measured",
            "ci/setup",
        )
        return
    try:
        words = Fio(program).check_engine(plugin)
    except SluiceError as error:
        words = str(error)
    if words:
        yield Finding(
            "engine",
            Level.FAIL,
            f"fio doesn't take {plugin}: {words}",
            "build it against this fio: ci/setup",
        )
        return
    yield Finding("engine", Level.OK, f"{plugin}, {env.file_hash(plugin)}")
    try:
        table = describe.load()
        yield Finding("engine table", Level.OK, f"{len(table.tunables)} tunables")
    except SluiceError as error:
        yield Finding("engine table", Level.FAIL, str(error), "ci/setup")


def _io_uring() -> Iterator[Finding]:
    state = env.read("/proc/sys/kernel/io_uring_disabled")
    if state in ("", "0"):
        if not Path("/proc/sys/kernel/io_uring_disabled").exists() and _kernel() < (5, 1):
            yield Finding("io_uring", Level.FAIL, "this kernel has none", "Linux 5.1 or later")
        else:
            yield Finding("io_uring", Level.OK, "allowed")
        return
    privileged = state == "1" and os.geteuid() == 0
    yield Finding(
        "io_uring",
        Level.OK if privileged else Level.FAIL,
        f"kernel.io_uring_disabled = {state}",
        "sysctl kernel.io_uring_disabled=0",
    )


def _memlock() -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY or soft >= MEMLOCK_WANTED:
        yield Finding(
            "memory lock",
            Level.OK,
            "unlimited" if soft == resource.RLIM_INFINITY else f"{soft // 2**20} MiB",
        )
        return
    if os.geteuid() == 0:
        yield Finding("memory lock", Level.OK, f"{soft // 1024} KiB, but root isn't bound by it")
        return
    yield Finding(
        "memory lock",
        Level.WARN,
        f"{soft // 1024} KiB: too little for registered buffers at depth",
        "ulimit -l unlimited"
        if hard == resource.RLIM_INFINITY
        else "memlock in /etc/security/limits.conf, then log in again",
    )


def _cpus() -> Iterator[Finding]:
    allowed, present = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    level = Level.OK if allowed >= 4 else Level.WARN
    text = f"{allowed} of {present} may be used"
    yield Finding(
        "processors",
        level,
        text,
        ""
        if level is Level.OK
        else "contention between many jobs can't show here: measure that elsewhere",
    )
    load = float((env.read("/proc/loadavg") or "0").split()[0])
    if load > 0.3 * allowed:
        yield Finding(
            "load",
            Level.WARN,
            f"{load:.1f}: somebody else is computing",
            "stop other work, or take more blocks",
        )


def _virtual() -> Iterator[Finding]:
    kind = env.virtual()
    if kind in ("none", ""):
        yield Finding("machine", Level.OK, "not virtual" if kind else "unknown whether virtual")
    else:
        yield Finding(
            "machine",
            Level.WARN,
            f"virtual ({kind}): ratios count, levels don't",
            "publish absolute figures from bare metal only",
        )


def _devices() -> Iterator[Finding]:
    nvme = [disk for disk in block.disks() if disk.name.startswith("nvme")]
    if not nvme:
        others = ", ".join(disk.name for disk in block.disks()) or "none"
        yield Finding(
            "devices",
            Level.WARN,
            f"no NVMe device (disks: {others})",
            "measure on a machine with one, or use device=model",
        )
        return
    queues = block.poll_queues()
    names = ", ".join(
        f"{disk.name} ({env.read(disk / 'device/model') or 'unknown'})" for disk in nvme
    )
    yield Finding("devices", Level.OK, names)
    polls = [disk.name for disk in nvme if env.read(disk / "queue/io_poll") == "1"]
    if queues and polls:
        yield Finding("poll queues", Level.OK, f"{queues} for {', '.join(polls)}")
    else:
        yield Finding(
            "poll queues",
            Level.WARN,
            "none: polled completion falls back to spinning",
            "nvme.poll_queues=N on the kernel's command line",
        )


def _data(data: Path) -> Iterator[Finding]:
    folder = data
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    mount = block.mount_of(folder)
    kind = mount[1] if mount else "unknown"
    room = os.statvfs(folder)
    text = f"{data}: {kind}, {room.f_bavail * room.f_frsize // 2**30} GiB free"
    if not os.access(folder, os.W_OK):
        yield Finding("test files", Level.FAIL, f"{data}: no right to write", "--data FOLDER")
    elif kind == "overlay":
        yield Finding(
            "test files", Level.WARN, f"{text}: no O_DIRECT of its own", "--data on xfs or ext4"
        )
    elif kind in ("tmpfs", "ramfs"):
        yield Finding("test files", Level.WARN, f"{text}: memory, no device", "--data on a disk")
    else:
        yield Finding("test files", Level.OK, text)


def _kvm() -> Iterator[Finding]:
    if not Path("/dev/kvm").exists():
        yield Finding(
            "KVM",
            Level.WARN,
            "no /dev/kvm: guests are emulated, slowly",
            "switch virtualisation on in the firmware, or nested in the host",
        )
        return
    working, text = kvm.works()
    yield Finding(
        "KVM",
        Level.OK if working else Level.WARN,
        text if working else f"/dev/kvm is there and doesn't work: {text}",
        ""
        if working
        else "add yourself to group kvm; in a virtual machine, switch "
        "nested virtualisation on in the host; without it guests are emulated",
    )


def _kernel() -> tuple[int, int]:
    major, minor, *_ = os.uname().release.split(".")
    return int(major), int("".join(filter(str.isdigit, minor)) or 0)
