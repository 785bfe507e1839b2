"""What a guest consists of, and which combinations would lie.

The refusals are what was measured: under the virtual clock QEMU's NVMe completes when the host
gets round to it, while the guest's idle time jumps to its next timer, so two boots of one guest
differ by a factor of two; and a polled null_blk ignores ``completion_nsec``, so that a polled point
looks faster by the whole latency that the other one waits for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from sluice.errors import SluiceError
from sluice.vm.nullblk import NullBlk

SETTLE_S = 3
"""Virtual seconds of rest before the first command: late boot work would halve its figures."""
FILE_SYSTEMS = ("xfs", "ext4")
MOUNT = "/mnt/sluice"
"""Where ``--fs`` is mounted in the guest."""


class Clock(StrEnum):
    """Whose time passes in the guest."""

    REAL = "real"
    VIRTUAL = "virtual"
    """One nanosecond an instruction; idle time is skipped (QEMU's icount with shift=0)."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """What a replica changes that shouldn't matter: Zero variance isn't zero bias."""

    number: int = 0
    """0 changes nothing."""

    @property
    def settle_s(self) -> str:
        """The rest before the first command: shifts the phase of the timer tick."""
        return f"{SETTLE_S}.{(self.number * 1_370_711) % 4_000_000:09d}" if self.number else "3"

    @property
    def padding(self) -> int:
        """Bytes of environment: shift the stack of every program."""
        return (self.number * 1_049) % 4096


@dataclass(frozen=True, slots=True)
class Machine:
    """One kind of guest; all its boots are alike but for :attr:`perturbation`."""

    memory_mib: int = 1024
    cpus: int = 1
    nvme: int = 0
    """Emulated NVMe devices with an image of their own, empty at boot."""
    nvme_mib: int = 1024
    images: tuple[Path, ...] = ()
    """Raw images of the user's, as further NVMe devices."""
    writable: frozenset[Path] = frozenset()
    """Those of :attr:`images` that keep what is written; the others forget it with the guest."""
    poll_queues: int = 0
    null_blk: tuple[NullBlk, ...] = ()
    modules: tuple[str, ...] = ()
    """Loaded at boot, beside those that the devices need."""
    file_system: str | None = None
    """Made on the first device and mounted at :data:`MOUNT`."""
    clock: Clock = Clock.REAL
    accelerator: str = "auto"
    seed: int = 1
    append: str = ""
    """More words for the kernel's command line."""
    perturbation: Perturbation = field(default_factory=Perturbation)

    @property
    def virtual(self) -> bool:
        """Whether the clock is the virtual one."""
        return self.clock is Clock.VIRTUAL

    @property
    def devices(self) -> tuple[str, ...]:
        """The guest's block devices, in the order of the kernel's numbers."""
        nvme = self.nvme + len(self.images)
        return (
            *(f"/dev/nvme{number}n1" for number in range(nvme)),
            *(f"/dev/nullb{number}" for number in range(len(self.null_blk))),
        )

    def mib_of(self, device: str) -> int:
        """The size of one of :attr:`devices`, in MiB."""
        nvme = self.nvme + len(self.images)
        number = self.devices.index(device)
        if number < self.nvme:
            return self.nvme_mib
        if number < nvme:
            return self.images[number - self.nvme].stat().st_size >> 20
        return int(self.null_blk[number - nvme].get("size"))

    @property
    def wanted_modules(self) -> tuple[str, ...]:
        """Modules by name; those that the kernel has built in need no loading."""
        wanted = list(self.modules)
        if self.null_blk:
            wanted += ["configfs", "null_blk"]
        if self.nvme or self.images:
            wanted.append("nvme")
        if self.file_system:
            wanted.append(self.file_system)
        return tuple(dict.fromkeys(name.replace("-", "_") for name in wanted))

    def replica(self, number: int) -> Machine:
        """The same guest, perturbed; 0 is the guest itself."""
        return replace(self, perturbation=Perturbation(number), seed=self.seed + number)

    def check(self) -> None:
        """SluiceError for what can't work or would give figures that mislead."""
        for name, value, low, high in (
            ("--smp", self.cpus, 1, 64),
            ("--mem", self.memory_mib, 384, 1 << 20),
            ("--nvme", self.nvme + len(self.images), 0, 16),
            ("--nvme-size", self.nvme_mib, 1, 1 << 20),
            ("--poll-queues", self.poll_queues, 0, 64),
            ("--null-blk", len(self.null_blk), 0, 16),
        ):
            if not low <= value <= high:
                raise SluiceError(f"{name} {value}: must be from {low} to {high}")
        if self.file_system and not self.devices:
            raise SluiceError(f"--fs {self.file_system}: no device to make it on: add --nvme 1")
        if self.poll_queues and not (self.nvme or self.images):
            raise SluiceError(
                "--poll-queues: those of the NVMe devices, and there is none: add --nvme 1, or "
                "give null_blk its own (--null-blk poll_queues=1)"
            )
        if self.virtual:
            self._check_virtual()

    def _check_virtual(self) -> None:
        if self.nvme or self.images:
            raise SluiceError(
                "--clock=virtual with NVMe: QEMU completes its commands in the host's time while "
                "the guest's jumps over every pause, so two boots differ: use --null-blk"
            )
        if self.cpus != 1:
            raise SluiceError(
                "--clock=virtual --smp: one processor only: with more, one's instructions pass as "
                "the other's time, so none can be counted for an I/O"
            )
        if self.accelerator not in ("auto", "tcg"):
            raise SluiceError("--clock=virtual --accel: only TCG counts instructions: leave it out")
        for device in self.null_blk:
            if device.polled and device.get("irqmode") != "0":
                raise SluiceError(
                    "--clock=virtual --null-blk: a polled queue ignores completion_nsec, so polled "
                    "points compare with irqmode=0 only: set irqmode=0 or leave poll_queues out"
                )
