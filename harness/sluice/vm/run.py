"""``sluice vm run``: a command in a guest, its output and its files here.

The guest has the host's current folder by name, and in it the files that the command line names; so
``sluice vm run -- fio job.fio`` means there what it means here.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path

from sluice.errors import SluiceError
from sluice.vm import carry, console, initramfs, kernels, logwrites, measured, tools
from sluice.vm.channel import Event, File, Said, Word
from sluice.vm.cpio import Entry
from sluice.vm.guest import End, Ending, Guest, to_stderr
from sluice.vm.machine import Machine

OUT = "/out"
"""What the guest leaves in this folder is brought to ``--out``."""


def run(arguments: argparse.Namespace, machine: Machine) -> int:
    """The verb; 0 when the command ended with 0 in every guest."""
    if not arguments.command:
        raise SluiceError("vm run: no command: write it behind --, e.g. -- fio job.fio")
    if arguments.replicas > 1 and not machine.virtual:
        raise SluiceError("--replicas: perturbs guests whose digits else repeat: --clock=virtual")
    kernel = kernels.resolve(arguments.kernel, arguments.modules)
    carried = [
        *tools.engine(),
        *_programs(arguments.command),
        *_named_files(arguments.command),
        *tools.files(arguments.carry),
        *(logwrites.entries(machine) if arguments.log_writes else []),
    ]
    main = script(arguments.command, machine)
    runs = []
    for number in range(arguments.replicas):
        one = machine.replica(number)
        boot = tools.prepare(one, kernel, main, carried)
        listener = Listener(arguments.out, quiet=number > 0)
        show = to_stderr if arguments.console else None
        with Guest(boot, arguments.timeout, show) as guest:
            for event in guest.events():
                listener.take(event)
            end = guest.end()
            if end.kind is not Ending.OFF:
                listener.take(Said(guest.leftover()))
        code = listener.conclude(end, kernel.name, arguments.console)
        if code:
            return code
        if listener.counted and machine.virtual:
            runs.append(listener.counted)
    if runs:
        print(measured.told(runs), file=sys.stderr)
    return 0


def script(command: list[str], machine: Machine) -> str:
    """What the guest runs."""
    here = shlex.quote(carry.guest_path(Path.cwd()))
    lines = [
        f"mkdir -p {here} {OUT} && cd {here}",
        "set -o pipefail",
        "word begin",
        "counts /run/before",
        # By way of cat: with a terminal as output fio would draw its progress there.
        f"{{ {shlex.join(command)}; }} </dev/null 2>/run/errors | cat >&3",
        "status=$?",
        "counts /run/after",
        "frame errors /run/errors",
        "frame before /run/before",
        "frame after /run/after",
        f'for file in $(find {OUT} -type f); do frame "${{file#{OUT}/}}" "$file"; done',
        "word ended $status",
    ]
    return "\n".join(lines)


class Listener:
    """Takes what the guest says: shows it, keeps its files."""

    def __init__(self, out: Path | None, quiet: bool = False) -> None:
        """`quiet` shows nothing of what the command prints: of replicas one is enough."""
        self._out = out
        self._quiet = quiet
        self._status: int | None = None
        self._counts: dict[str, str] = {}
        self.counted: measured.Counted | None = None

    def take(self, event: Event) -> None:
        """One thing that the guest says."""
        if isinstance(event, Said) and not self._quiet:
            sys.stdout.buffer.write(event.data)
            sys.stdout.buffer.flush()
        elif isinstance(event, Word) and event.name == "ended":
            self._status = int(event.rest)
            self.counted = measured.counted(self._counts["before"], self._counts["after"])
        elif isinstance(event, Word) and event.name == "damaged":
            print(f"sluice: {event.rest}: damaged on the way out of the guest", file=sys.stderr)
        elif isinstance(event, File):
            self._file(event)

    def conclude(self, end: End, kernel: str, shown: bool) -> int:
        """The exit code; SluiceError when the guest didn't get so far as to have one."""
        if end.kind is not Ending.OFF or self._status is None:
            if not shown:
                words = end.trace or console.tail(end.console)
                if words and end.kind is not Ending.REFUSED:
                    print(words, file=sys.stderr)
            raise SluiceError(failure(end, kernel))
        if self._status:
            print(f"sluice: the command ended with {self._status} in the guest", file=sys.stderr)
        return 1 if self._status else 0

    def _file(self, event: File) -> None:
        if event.name in ("before", "after"):
            self._counts[event.name] = event.data.decode("utf-8", "replace")
        elif event.name == "errors":
            if not self._quiet:
                sys.stderr.buffer.write(event.data)
                sys.stderr.buffer.flush()
        elif self._out is not None:
            path = (self._out / event.name).resolve()
            if not path.is_relative_to(self._out.resolve()):
                raise SluiceError(f"--out: the guest's file {event.name} would lie outside of it")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(event.data)


def failure(end: End, kernel: str) -> str:
    """One line on a guest that didn't do its work."""
    match end.kind:
        case Ending.CRASHED:
            return f"guest {kernel} crashed: {end.reason}: --console shows all that it said"
        case Ending.TIMEOUT:
            return f"guest {kernel}: {end.reason}: was it hung? --timeout gives it longer"
        case Ending.OFF:
            return f"guest {kernel} ended before its command did: --console shows why"
        case _:
            return f"guest {kernel}: {end.reason}"


def _programs(command: list[str]) -> list[Entry]:
    """The program that the command starts, unless the guest has it anyway."""
    name = command[0]
    if name == "fio":
        return []  # every guest has it
    if "/" in name:
        return []  # a file that the command line names
    if name in initramfs.applets() or shutil.which(name) is None:
        return []  # busybox's; or the shell's own, and the shell will say if it isn't
    return carry.file(carry.program(name))


def _named_files(command: list[str]) -> list[Entry]:
    """Files of the host that the command line names, as words or behind a '='."""
    entries: list[Entry] = []
    for word in command:
        for name in {word, word.partition("=")[2].removeprefix("external:")}:
            if name and os.path.isfile(name):
                entries += carry.file(Path(name))
    return entries
