"""What a knob is called in a sweep file, and which ones a sweep may have.

    queue/NAME          an attribute of the target's device: /sys/block/DEVICE/queue/NAME
    sysctl:NAME         /proc/sys, dots for slashes
    module:MODULE.NAME  a parameter of a module that is loaded or built in
    cgroup:FILE         a file of a control group (v2) that is made for fio and removed after

A sweep file may come from elsewhere and be run by root, so what could run a program or bring the
machine down isn't taken, however it is spelled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import SluiceError

_FORM = re.compile(
    r"(?P<queue>queue/[a-z0-9_]+(?:/[a-z0-9_]+)?)"
    r"|sysctl:(?P<sysctl>[a-z0-9_-]+(?:\.[a-zA-Z0-9_-]+)+)"
    r"|module:(?P<module>[a-zA-Z0-9_-]+\.[a-zA-Z0-9_]+)"
    r"|cgroup:(?P<cgroup>[a-z]+(?:\.[a-zA-Z0-9_]+)+)"
)
_KINDS = ("queue/", "sysctl:", "module:", "cgroup:")

_SYSCTLS = (
    *("vm.", "fs.aio-max-nr", "fs.nr_open", "fs.file-max", "fs.xfs.", "dev.raid."),
    *("kernel.sched_", "kernel.numa_balancing", "kernel.io_uring_", "kernel.timer_migration"),
    *("kernel.nmi_watchdog", "kernel.watchdog_thresh", "kernel.perf_", "net.core.busy_"),
)
_NO_STATE = {
    "sysctl:vm.drop_caches": "it is an order, not a setting: nothing could be restored",
    "sysctl:vm.compact_memory": "it is an order, not a setting: nothing could be restored",
    "sysctl:vm.panic_on_oom": "it can bring the machine down",
}
_MODULES_REFUSED = {"firmware_class": "it says where the kernel loads code from"}
_CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids", "hugetlb")


@dataclass(frozen=True, slots=True)
class Knob:
    """One file of the kernel's."""

    name: str
    """As the sweep file has it."""
    path: Path
    """Absolute, as the kernel names it."""
    device: str = ""
    """major:minor of the target's disk, which some files of a control group want before a value."""

    @property
    def rank(self) -> int:
        """Knobs are set in this order: a scheduler's own attributes are there once it is chosen,
        and choosing it resets others of the queue."""
        if self.name == "queue/scheduler":
            return 1
        if self.name.startswith("queue/iosched/"):
            return 3
        return 2 if self.name.startswith("queue/") else 0


def is_knob(name: str) -> bool:
    """Whether a name is meant as a knob's rather than as an option's."""
    return name.startswith(_KINDS)


def check(name: str, where: str) -> None:
    """SluiceError unless `name` is a knob that a sweep may have."""
    form = _FORM.fullmatch(name)
    if form is None:
        raise SluiceError(
            f"{where}: '{name}' is no knob: write queue/NAME, sysctl:NAME, module:MODULE.NAME or "
            "cgroup:FILE"
        )
    refused = _NO_STATE.get(name)
    if form["sysctl"] and not form["sysctl"].startswith(_SYSCTLS):
        refused = f"of sysctls a sweep may set {', '.join(one.rstrip('._') for one in _SYSCTLS)}"
    if form["module"]:
        refused = _MODULES_REFUSED.get(form["module"].partition(".")[0].replace("-", "_"))
    if form["cgroup"] and controller(name) not in _CONTROLLERS:
        refused = f"of a control group a sweep may set files of {', '.join(_CONTROLLERS)}"
    if refused:
        raise SluiceError(f"{where}: a sweep can't set '{name}': {refused}")


def controller(name: str) -> str:
    """Of a control group's file: whose it is, e.g. ``io`` of ``cgroup:io.max``; else ''."""
    if not name.startswith("cgroup:"):
        return ""
    return name.removeprefix("cgroup:").partition(".")[0]


def locate(name: str, disk: str, number: str, group: Path | None) -> Knob:
    """Where a knob is. `disk` is the name of the target's disk and `number` its major:minor, both
    empty when there is none; `group` the control group of fio's. LookupError says why it can't be
    anywhere."""
    form = _FORM.fullmatch(name)
    assert form is not None, name
    if form["queue"]:
        if not disk:
            raise LookupError("the target lies on no block device that this kernel tells")
        return Knob(name, Path("/sys/block", disk, form["queue"]))
    if form["sysctl"]:
        return Knob(name, Path("/proc/sys", *form["sysctl"].split(".")))
    if form["module"]:
        module, _, parameter = form["module"].partition(".")
        return Knob(name, Path("/sys/module", module.replace("-", "_"), "parameters", parameter))
    if group is None:
        raise LookupError("no control group (v2) can be made here")
    file = form["cgroup"]
    if file in ("io.max", "io.latency") and not number:
        raise LookupError("the target lies on no block device that this kernel tells")
    return Knob(name, group / file, number if file in ("io.max", "io.latency") else "")


def ordered(knobs: Iterable[Knob]) -> list[Knob]:
    """In the order in which they are to be set."""
    return sorted(knobs, key=lambda knob: knob.rank)
