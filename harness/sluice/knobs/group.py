"""A control group (v2) for fio: made below the root of the hierarchy, removed after."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sluice.knobs.journal import Entry
from sluice.knobs.kernel import Kernel
from sluice.knobs.undo import GROUP_PREFIX

MOUNTS = Path("/proc/self/mounts")


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A group that isn't there yet."""

    path: Path
    to_enable: tuple[str, ...]
    """Controllers that its parent doesn't hand down yet."""

    @property
    def entries(self) -> list[Entry]:
        """What is to be undone after."""
        control = str(self.path.parent / "cgroup.subtree_control")
        label = f"control group {self.path.name}"
        return [
            *(Entry("controller", control, name, f"controller {name}") for name in self.to_enable),
            Entry("group", str(self.path), "", label),
        ]

    def make(self, kernel: Kernel) -> None:
        """Make it. OSError in the kernel's words."""
        for name in self.to_enable:
            kernel.write(self.path.parent / "cgroup.subtree_control", f"+{name}")
        kernel.mkdir(self.path)


def root(kernel: Kernel) -> Path | None:
    """Where the hierarchy of version 2 is mounted, if that is below /sys: a journal reaches no
    further."""
    try:
        lines = kernel.read(MOUNTS).splitlines()
    except OSError:
        return None
    for line in lines:
        _, point, kind, *_ = line.split()
        if kind == "cgroup2" and point.startswith("/sys/"):
            return Path(point)
    return None


def why_not(kernel: Kernel, controllers: Iterable[str]) -> str:
    """Why no group with these controllers can be made, in one line; '' when it can."""
    place = root(kernel)
    if place is None:
        return "no control groups (v2) are mounted here"
    try:
        there = kernel.read(place / "cgroup.controllers").split()
    except OSError as error:
        return f"{place}: can't be read ({error.strerror})"
    for name in controllers:
        if name not in there:
            return (
                f"the kernel has no controller '{name}' in {place} "
                f"(it has {', '.join(there) or 'none'}; the others may be with version 1)"
            )
    if not kernel.writable(place):
        return f"{place}: no right to make a group: run as root"
    return ""


def plan(kernel: Kernel, controllers: Iterable[str]) -> GroupPlan | None:
    """A new group with these controllers; None when none can be made (see :func:`why_not`)."""
    wanted = tuple(dict.fromkeys(controllers))
    place = root(kernel)
    if place is None or why_not(kernel, wanted):
        return None
    have = kernel.read(place / "cgroup.subtree_control").split()
    missing = tuple(name for name in wanted if name not in have)
    return GroupPlan(place / f"{GROUP_PREFIX}{secrets.token_hex(4)}", missing)
