"""A running guest: started, listened to, ended; nothing of it stays.

What QEMU reads and writes are files without names, and QEMU is killed by the kernel when the
harness dies (PR_SET_PDEATHSIG, set by setpriv), so that no kill of either leaves anything behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from sluice import process
from sluice.errors import SluiceError
from sluice.vm import cache, console, qemu
from sluice.vm.channel import Event, Parser, Word
from sluice.vm.kernels import Kernel
from sluice.vm.machine import Machine

MARK = "sluice-vm"
_POLL_S = 0.01
_FULL_BYTES = 1 << 20


class Ending(StrEnum):
    """How a guest ended."""

    OFF = "off"
    """It did what it was to do."""
    REFUSED = "refused"
    """Its own scripts gave up, before or between commands."""
    CRASHED = "crashed"
    """Its kernel broke, or it went away without a word."""
    TIMEOUT = "timeout"
    QEMU = "qemu"
    """QEMU itself failed."""


@dataclass(frozen=True, slots=True)
class End:
    """How a guest ended, and what is known about why."""

    kind: Ending
    reason: str
    """One line."""
    console: str
    """All that its console showed."""
    trace: str = ""
    """The kernel's trace, of a crash."""


@dataclass(frozen=True, slots=True)
class Boot:
    """What is started."""

    machine: Machine
    kernel: Kernel
    accelerator: str
    base: Path
    """The initramfs's part of all guests."""
    payload: bytes
    """That of this one."""
    token: str


class Guest:
    """A guest from power on to off. Used as a context; leaving it ends the guest."""

    def __init__(
        self, boot: Boot, timeout_s: float, show: Callable[[bytes], None] | None = None
    ) -> None:
        """`timeout_s` is the time it has until :meth:`extend` is called; `show` is given what the
        console prints, as it comes."""
        self._boot = boot
        self._show = show
        self._files = contextlib.ExitStack()
        self._child: subprocess.Popen[bytes] | None = None
        self._parser = Parser(boot.token)
        self._off = False
        self._refused = ""
        self._timed_out = False
        self._shown = 0
        self.started = time.monotonic()
        self.extend(timeout_s)

    def __enter__(self) -> Guest:
        try:
            self._start()
        except BaseException:
            self._files.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with process.Deferred():
            self._kill()
            self._files.close()

    def extend(self, seconds: float) -> None:
        """From now on it has that long."""
        self._timeout_s = seconds
        self._deadline = time.monotonic() + seconds

    @property
    def now_s(self) -> float:
        """Real seconds since power on."""
        return time.monotonic() - self.started

    def events(self) -> Iterator[Event]:
        """What the guest says, until it ends or its time is over."""
        position = 0
        while True:
            gone = self._child is not None and self._child.poll() is not None
            data = os.pread(self._channel, 1 << 20, position)
            position += len(data)
            self._show_console()
            for event in self._parser.feed(data):
                if isinstance(event, Word) and event.name == "off":
                    self._off = True
                elif isinstance(event, Word) and event.name == "refused":
                    self._refused = event.rest
                else:
                    yield event
            if gone and not data:
                return
            if time.monotonic() > self._deadline:
                self._timed_out = True
                self._kill()
                return
            if not data:
                time.sleep(_POLL_S)

    def end(self) -> End:
        """How it ended. Only once :meth:`events` has."""
        assert self._child is not None
        shown = console.text(self._read(self._console))
        why = console.crash(shown)
        if why:
            trace = console.trace(shown)
            place = console.where(trace)
            return End(Ending.CRASHED, why + (f" in {place}" if place else ""), shown, trace)
        if self._refused:
            return End(Ending.REFUSED, self._refused, shown)
        if self._off:  # power-off may hang in a kernel that broke before; it did its work
            return End(Ending.OFF, "", shown)
        if self._timed_out:
            return End(Ending.TIMEOUT, f"no end after {self._timeout_s:g} s", shown)
        words = console.text(self._read(self._errors)).strip().splitlines()
        if self._child.returncode or words:
            said = words[-1] if words else f"ended with code {self._child.returncode}"
            return End(Ending.QEMU, f"QEMU: {said}", shown)
        return End(Ending.CRASHED, "the guest went away without a word", shown)

    def leftover(self) -> bytes:
        """What it had begun to say when it broke off."""
        return self._parser.rest()

    def _start(self) -> None:
        boot = self._boot
        machine = boot.machine
        self._console = self._memory("console")
        self._channel = self._memory("channel")
        self._errors = self._memory("errors")
        initrd = self._memory("initrd")
        try:
            for part in (boot.payload, boot.base.read_bytes()):
                _write(initrd, part)
        except OSError as error:
            raise SluiceError(
                f"{boot.base}: no initramfs from it ({error.strerror}): free memory, carry less"
            ) from error
        drives = tuple(
            qemu.Drive(f"/proc/self/fd/{handle}", handle=handle, direct=_direct(handle))
            for handle in (self._image(machine.nvme_mib) for _ in range(machine.nvme))
        )
        drives += tuple(self._users_image(path) for path in machine.images)
        command = qemu.command(
            qemu.find(),
            machine,
            str(boot.kernel.image),
            boot.accelerator,
            f"{MARK},debug-threads=on",
            qemu.Files(initrd, self._console, self._channel, drives),
        )
        with process.Deferred():
            self._child = subprocess.Popen(
                [*_dies_with_us(), *command],
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                pass_fds=[
                    initrd,
                    self._console,
                    self._channel,
                    *(drive.handle for drive in drives if drive.handle is not None),
                ],
                env={**os.environ, process.MARK: f"{MARK}/{os.getpid()}/{boot.kernel.name}"},
                start_new_session=True,
            )
        self.started = time.monotonic()

    def _kill(self) -> None:
        child = self._child
        if child is not None and child.poll() is None:
            child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(10)

    def _memory(self, name: str) -> int:
        return self._keep(os.memfd_create(f"{MARK}-{name}"))

    def _keep(self, handle: int) -> int:
        self._files.callback(os.close, handle)
        return handle

    def _image(self, mib: int) -> int:
        """A sparse file without a name. SluiceError when there is no room for all of it: QEMU would
        stop the guest when it runs out."""
        folder = cache.folder("images")
        room = os.statvfs(folder)
        free = room.f_bavail * room.f_frsize >> 20
        if free < mib * self._boot.machine.nvme:
            raise SluiceError(
                f"{folder}: {free} MiB free, the guest's NVMe images need "
                f"{mib * self._boot.machine.nvme} MiB: free space, or take a smaller --nvme-size"
            )
        try:
            handle = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
        except OSError:  # a file system without such files
            handle, name = tempfile.mkstemp(dir=folder)
            os.unlink(name)
        os.truncate(handle, mib << 20)
        return self._keep(handle)

    def _users_image(self, path: Path) -> qemu.Drive:
        """An image of the user's, held for the life of the guest. SluiceError when it is in use."""
        writable = path in self._boot.machine.writable
        try:
            handle = self._keep(os.open(path, os.O_RDWR if writable else os.O_RDONLY))
            fcntl.flock(handle, (fcntl.LOCK_EX if writable else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SluiceError(
                f"--image {path}: another guest uses it: wait for that, or take a copy"
            ) from error
        except OSError as error:
            raise SluiceError(
                f"--image {path}: can't be used ({error.strerror}): check the name"
            ) from error
        return qemu.Drive(str(path.absolute()), None, _direct(handle), not writable)

    def _read(self, handle: int) -> bytes:
        return os.pread(handle, 1 << 24, 0)

    def _show_console(self) -> None:
        if self._show is not None:
            data = os.pread(self._console, 1 << 20, self._shown)
            self._shown += len(data)
            if data:
                self._show(data)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    os.write(handle, b"\0" * (-len(data) % 4))


def _direct(handle: int) -> bool:
    """Whether the file can be read past the page cache, which tmpfs can't."""
    try:
        os.close(os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    return True


def _dies_with_us() -> tuple[str, ...]:
    """The words before QEMU's that tie it to the harness."""
    return ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()


def running() -> list[tuple[int, str]]:
    """Process and kernel of each guest that runs now, whoever started it."""
    found = []
    for pid in process.marked(MARK):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for one in environment:
            if one.startswith(f"{process.MARK}={MARK}/".encode()):
                found.append((pid, one.decode("utf-8", "replace").split("/", 2)[2]))
    return found


def to_stderr(data: bytes) -> None:
    """Shows the console on the terminal of the person who asked for it."""
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()
