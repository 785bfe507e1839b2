"""KVM or emulation: KVM only where a guest has proved that it works.

``/dev/kvm`` may be there and fail at the first real instruction. So a trial guest is booted, with a
bound, and what came of it is remembered until the host boots again.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

from sluice import env, files, kvm
from sluice.errors import SluiceError
from sluice.vm import cache, initramfs
from sluice.vm.guest import Boot, Ending, Guest
from sluice.vm.kernels import Kernel
from sluice.vm.machine import Machine
from sluice.vm.payload import payload

CHOICES = ("auto", "tcg", "kvm")
_TRIAL_S = 15.0


def choose(machine: Machine, kernel: Kernel) -> str:
    """``kvm`` or ``tcg``. SluiceError when KVM was asked for and doesn't work."""
    if machine.virtual or machine.accelerator == "tcg":
        return "tcg"
    works, why = _remembered() or _tried(kernel)
    if works:
        return "kvm"
    if machine.accelerator == "kvm":
        raise SluiceError(f"--accel kvm: it doesn't work here: {why}: leave it out")
    return "tcg"


def told() -> str:
    """What is known about KVM here, for a list. Tries nothing."""
    known = _remembered()
    if known is None:
        return "KVM: not tried since this machine's boot"
    return "KVM: works" if known[0] else f"KVM: doesn't work ({known[1]}), so guests are emulated"


def _note() -> Path:
    boot = env.read("/proc/sys/kernel/random/boot_id") or "unknown"
    return cache.folder() / f"kvm-{boot}.json"


def _remembered() -> tuple[bool, str] | None:
    """What an earlier trial since the host's boot found."""
    try:
        found = json.loads(_note().read_text(encoding="utf-8"))
        return bool(found["works"]), str(found["why"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _tried(kernel: Kernel) -> tuple[bool, str]:
    works, why = False, "no /dev/kvm that we may open"
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        works, why = kvm.works()
        if works:
            works, why = _trial(kernel)
    for old in cache.folder().glob("kvm-*.json"):
        old.unlink(missing_ok=True)
    files.write_json(_note(), {"works": works, "why": why})
    return works, why


def _trial(kernel: Kernel) -> tuple[bool, str]:
    """A whole guest: it boots, says so and powers off."""
    machine = dataclasses.replace(Machine(), memory_mib=512)
    token, archive = payload(machine, kernel, "word alive")
    boot = Boot(machine, kernel, "kvm", initramfs.base(("true",)), archive, token)
    with Guest(boot, _TRIAL_S) as guest:
        alive = any(True for _ in guest.events())
        end = guest.end()
    return alive and end.kind is Ending.OFF, end.reason or "a trial guest ran"
