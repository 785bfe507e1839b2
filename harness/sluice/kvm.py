"""Whether KVM works here: tried by running a guest of three instructions.

``/dev/kvm`` may exist and not work (nested virtualisation switched off, a container without the
rights, a stub of the host), so its presence proves nothing. The trial runs in a process of its own,
because a broken one may hang.

ABI: Linux, Documentation/virt/kvm/api.rst. Numbers are those of include/uapi/linux/kvm.h.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import shutil
import struct
import subprocess
import sys

_GET_API_VERSION, _CREATE_VM, _GET_VCPU_MMAP_SIZE = 0xAE00, 0xAE01, 0xAE04
_CREATE_VCPU, _SET_USER_MEMORY_REGION, _RUN = 0xAE41, 0x4020AE46, 0xAE80
_GET_REGS, _SET_REGS, _GET_SREGS, _SET_SREGS = 0x8090AE81, 0x4090AE82, 0x8138AE83, 0x4138AE84
_EXIT_HLT = 5
_BASE = 0x1000
_CODE = b"\xb0\x2a\xa2\x00\x18\xf4"  # mov al, 42; mov [0x1800], al; hlt
_MARK = (0x0800, 42)
"""Where in the guest's page the store lands, and what it leaves there."""


def works(timeout_s: float = 10.0) -> tuple[bool, str]:
    """Whether a guest ran, and what happened when it didn't."""
    if platform.machine() != "x86_64":
        return False, f"not tried: the trial guest is x86-64, this machine {platform.machine()}"
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from sluice import kvm; kvm.trial()"],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    except subprocess.TimeoutExpired:
        return False, f"the trial guest hung for {timeout_s:g} s"
    if done.returncode == 0:
        return _firmware()
    if done.returncode < 0:
        return False, f"the trial was killed by signal {-done.returncode}"
    return False, (done.stderr.strip().splitlines() or ["the trial failed"])[-1]


def _firmware(seconds: float = 2.0) -> tuple[bool, str]:
    """The harder trial: QEMU's firmware under KVM, which uses far more of a processor. Some hosts
    run three instructions and fail here with an emulation failure."""
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        return True, "a guest of three instructions ran; no QEMU here to try more with"
    command = [
        qemu,
        "-accel",
        "kvm",
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-m",
        "64",
        "-no-reboot",
    ]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        words = done.stderr.strip().splitlines() or [f"QEMU ended with code {done.returncode}"]
        return False, words[0]
    except subprocess.TimeoutExpired as error:
        said = (error.stderr or b"").decode("utf-8", "replace").strip().splitlines()
    return (False, said[0]) if any("KVM" in line for line in said) else (True, "firmware ran")


def trial() -> None:
    """Run the guest in this process; exits with a line on stderr when it can't."""
    try:
        reason = _run_guest()
    except OSError as error:
        sys.exit(f"{error.filename or 'ioctl'}: {error.strerror}")
    if reason != _EXIT_HLT:
        sys.exit(f"the trial guest ended with exit reason {reason} instead of {_EXIT_HLT} (hlt)")


def _run_guest() -> int:
    system = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    if fcntl.ioctl(system, _GET_API_VERSION, 0) != 12:
        sys.exit("unknown KVM API version")
    machine = fcntl.ioctl(system, _CREATE_VM, 0)
    memory = mmap.mmap(-1, 0x1000)
    memory[: len(_CODE)] = _CODE
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(
        machine, _SET_USER_MEMORY_REGION, struct.pack("=IIQQQ", 0, 0, _BASE, 0x1000, address)
    )
    processor = fcntl.ioctl(machine, _CREATE_VCPU, 0)
    size = fcntl.ioctl(system, _GET_VCPU_MMAP_SIZE, 0)
    state = mmap.mmap(processor, size)
    special = bytearray(312)
    fcntl.ioctl(processor, _GET_SREGS, special)
    struct.pack_into("=QIH", special, 0, 0, 0xFFFF, 0)  # cs: base, limit, selector
    fcntl.ioctl(processor, _SET_SREGS, bytes(special))
    registers = bytearray(144)
    struct.pack_into("=Q", registers, 128, _BASE)  # rip
    struct.pack_into("=Q", registers, 136, 2)  # rflags: the bit that is always set
    fcntl.ioctl(processor, _SET_REGS, bytes(registers))
    fcntl.ioctl(processor, _RUN, 0)
    if memory[_MARK[0]] != _MARK[1]:
        sys.exit("the trial guest ended without having run its code")
    return int(struct.unpack_from("=I", state, 8)[0])
