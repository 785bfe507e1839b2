"""The doctor on what disturbs measuring, and on knobs of the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sluice import env, fingerprint, paths, tune
from sluice.errors import SluiceError
from sluice.finding import Finding, Level
from sluice.fiocli import Fio
from sluice.knobs import group
from sluice.knobs.journal import State
from sluice.knobs.kernel import Kernel

_TUNE = "sluice run --tune, or sluice tune"
_NOT_OF_MACHINES = ("job.hash", "precondition.class", "engine.sha256")


def governor() -> Iterator[Finding]:
    """Whether the clock is fixed."""
    governors = env.governors()
    if not governors:
        yield Finding(
            "governor",
            Level.WARN,
            "the kernel sets no frequency here, so none is fixed",
            "on a virtual machine nothing; else load the cpufreq driver",
        )
    elif governors == ["performance"]:
        yield Finding("governor", Level.OK, "performance")
    else:
        yield Finding("governor", Level.WARN, f"{', '.join(governors)}: the clock varies", _TUNE)


def interrupts() -> Iterator[Finding]:
    """Whether somebody moves interrupts about while others measure."""
    if env.process_of(tune.BALANCER) is None:
        yield Finding("interrupts", Level.OK, f"no {tune.BALANCER} moves them")
    else:
        yield Finding(
            "interrupts", Level.WARN, f"{tune.BALANCER} moves them between processors", _TUNE
        )


def sleep_states() -> Iterator[Finding]:
    """Whether processors sleep so deeply that waking up is measured."""
    deep = [one for one in tune.wishes(Kernel(), stay=True) if one.item == "C-states"]
    slept = sorted({one.label.partition(" ")[0] for one in deep if env.read(one.path) == "0"})
    if slept:
        yield Finding(
            "sleep states",
            Level.WARN,
            f"{', '.join(slept)} take longer than {tune.LATENCY_US} us to wake from",
            _TUNE,
        )
    else:
        yield Finding("sleep states", Level.OK, "none that takes long to wake from")


def knobs() -> Iterator[Finding]:
    """Whether knobs of the kernel can be swept, and whether any is off its place."""
    kernel, state = Kernel(), State()
    if os.geteuid() == 0:
        yield Finding("knobs", Level.OK, "queue attributes, sysctls and module parameters")
    else:
        yield Finding("knobs", Level.WARN, "only root may set them", "run such sweeps as root")
    reason = group.why_not(kernel, ("io", "cpu"))
    yield Finding(
        "control groups",
        Level.WARN if reason else Level.OK,
        reason or "io and cpu can be limited",
        "boot with systemd.unified_cgroup_hierarchy=1, and be root" if reason else "",
    )
    for one in state.left() if state.folder.is_dir() else []:
        label = "tuned, and stays so" if one.keep else "left changed by a harness that was killed"
        yield Finding("knobs", Level.WARN, f"{len(one.entries)} are {label}", "sluice restore")


def identity(program: str, data: Path) -> Iterator[Finding]:
    """What can't be read here of that by which campaigns are told apart."""
    try:
        fio = Fio(program)
        plugin = paths.plugin()
        taken = env.capture("before", fio, data, plugin if plugin.is_file() else None)
    except (SluiceError, OSError):
        return  # said already
    missing = [key for key in fingerprint.unknown(taken) if key not in _NOT_OF_MACHINES]
    if missing:
        yield Finding(
            "identity",
            Level.WARN,
            f"can't be read here: {', '.join(missing)}: campaigns aren't told apart by them",
            "as root more is known; a virtual disk has no model, firmware or link",
        )
    else:
        yield Finding("identity", Level.OK, "all that tells two machines or drives apart is known")
