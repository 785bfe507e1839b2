"""What the tests that boot guests share: whether guests can be had here; sweeps made by hand."""

from __future__ import annotations

import fcntl
import functools
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from harnessing import environment

from sluice import paths, plan, prepare, process
from sluice import sweep as sweeps
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.runner import Session
from sluice.store import Store
from sluice.target import DataFolder
from sluice.vm import cache, kernels, planned, tools
from sluice.vm.executor import GuestExecutor
from sluice.vm.guest import Boot
from sluice.vm.machine import Machine
from sluice.vm.nullblk import parse
from sluice.vm.planned import Planned
from sluice.vm.sweep import _place

SECONDS = 300
"""Bound of one command; an idle machine needs a twentieth of it."""


def vm(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``sluice vm`` as a process, which leaves nothing running."""
    command = [sys.executable, "-m", "sluice", "vm", *map(str, words)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    ) as child:
        try:
            out, err = child.communicate(timeout=SECONDS)
        finally:
            child.kill()
    assert process.marked(str(child.pid)) == []
    return subprocess.CompletedProcess(command, child.returncode, out, err)


@functools.cache
def missing() -> str:
    """Why no guest can be had here; '' when one can."""
    for name, package in (
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("busybox", "busybox-static"),
        ("fio", "fio"),
    ):
        if shutil.which(name) is None:
            return f"no {name} here (ci/setup test installs {package})"
    if not paths.plugin().is_file():
        return "no build/lib/sluice.so (ci/setup builds it)"
    return ""


@functools.cache
def _kernel(version: str) -> kernels.Kernel | str:
    try:
        return kernels.resolve(version)
    except SluiceError as error:
        return str(error)


def kernel(version: str) -> kernels.Kernel:
    """A kernel; the test is skipped where it can't be had."""
    if missing():
        pytest.skip(missing())
    found = _kernel(version)
    if isinstance(found, str):
        pytest.skip(f"no kernel {version} here: {found}")
    return found


@contextmanager
def session(
    sweep: Path, store: Path, version: str, change: Callable[[str], str]
) -> Iterator[tuple[Session, list[Boot]]]:
    """A campaign of a sweep with one null_blk, whose guests' scripts go through `change`; and the
    guests that were booted."""
    machine = Machine(null_blk=(parse(""),), memory_mib=512)
    found = kernel(version)
    loaded = sweeps.load(sweep, Fio())
    placement = _place(loaded, machine)
    header = prepare.header(loaded, placement, DataFolder(store / "no"), 1, 1, "sluice vm sweep x")
    runs = planned.of(loaded, placement, header, plan.remaining(header.blocks, ()))
    boots: list[Boot] = []

    def boot(batch: Sequence[Planned]) -> Boot:
        script = change(planned.script(batch, machine, machine.devices[0], 0))
        boots.append(tools.prepare(machine, found, script, planned.entries(batch, machine, ())))
        return boots[-1]

    root = Store(store)
    with GuestExecutor(runs, boot) as executor:
        campaign = root.create("small", header)
        yield Session(root, campaign, loaded, placement, executor, environment), boots


__all__ = ["cache", "fcntl", "kernel", "missing", "paths", "session", "shutil", "vm"]
