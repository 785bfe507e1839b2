"""A guest as an environment: what the harness on the host records of it, as of a host."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from sluice import env
from sluice.fiocli import Fio
from sluice.model import Environment
from sluice.vm import qemu
from sluice.vm.executor import GuestExecutor
from sluice.vm.kernels import Kernel
from sluice.vm.machine import Machine

_OF_TOOLS = ("harness.version", "python.version", "fio.version", "fio.sha256", "engine.sha256",
             "engine.commit", "machine.id")  # fmt: skip
_OF_HOST = ("cpu.model", "cpu.count", "kernel.release", "machine.virtual")


def environment(
    when: str,
    facts: Mapping[str, str],
    fio: Fio,
    plugin: Path | None,
    commit: str,
    machine: Machine,
    kernel: Kernel,
    executor: GuestExecutor,
) -> Environment:
    """The guest that `executor` booted last, with the tools and the host below it; `facts` are the
    sweep's. Keys of a host's environment mean the guest here; the host's own begin with
    ``host.``."""
    host = env.capture(when, fio, Path("/"), plugin, commit).values
    values = {key: host[key] for key in _OF_TOOLS if key in host}
    values |= {f"host.{key}": host[key] for key in _OF_HOST if key in host}
    values |= {key: text for key, text in host.items() if key.startswith("now.")}
    values |= facts
    values |= executor.facts
    values |= {
        "machine.virtual": f"qemu-{executor.accelerator}",
        "machine.memory": f"{machine.memory_mib} MiB",
        "guest.qemu": qemu.find().version,
        "guest.accelerator": executor.accelerator,
        "guest.clock": machine.clock.value,
        "guest.memory": f"{machine.memory_mib} MiB",
        "guest.devices": _devices(machine),
        "guest.seed": str(machine.seed),
        "guest.initramfs": executor.base,
        "guest.kernel.package": f"{kernel.package} {kernel.version}".strip(),
        "guest.kernel.sha256": kernel.sha256[:16],
    }
    known = {key: text for key, text in sorted(values.items()) if text}
    return Environment(when, time.time(), known)


def _devices(machine: Machine) -> str:
    parts = []
    if machine.nvme or machine.images:
        count = machine.nvme + len(machine.images)
        parts.append(f"{count} NVMe of QEMU, {machine.poll_queues} poll queues each")
    for number, one in enumerate(machine.null_blk):
        text = ",".join(f"{key}={value}" for key, value in one.attributes)
        parts.append(f"nullb{number} {text}")
    if machine.file_system:
        parts.append(f"{machine.file_system} on the first")
    return "; ".join(parts)
