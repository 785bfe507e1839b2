"""Which cases queue-tax has, their bars, and so which runs."""

from dataclasses import replace

from .counters import INSTRUCTIONS
from .group import Group
from .job import Arm, Workload
from .paired_iops import PairedIops
from .per_io_counts import PerIoCounts
from .settings import Settings
from .sides import AGAIN, BASE
from .step import Section

FAST, CLASSIC = "fast", "classic"
ARMS = (FAST, CLASSIC)
ORDER = (FAST, BASE, AGAIN, CLASSIC)
AGAINST = {FAST: BASE, CLASSIC: AGAIN}

DEPTH = 32
LIMITS: dict[str, tuple[str, tuple[str, ...]]] = {
    "above": ("randread", ()),
    "bind": ("randread", ("--max_active=16",)),
    "mixed": ("randrw", ("--sync_read_max_active=8", "--sync_write_max_active=8")),
}
"""By name: the workload, and the limits of the arms that queue. `bind` lets half of one job's depth
go; `mixed` a quarter of it in each of two classes that don't compete."""

FAST_BARS = {("above", 2): 0.90, ("bind", 2): 0.70, ("above", 4): 0.85, ("bind", 4): 0.60}


def sections(settings: Settings, engine: str) -> list[Section]:
    iops = [
        _group("tax", settings, engine, limits, jobs) for limits in LIMITS for jobs in (1, 2, 4)
    ]
    counted = [_group("instr", settings, engine, limits, 1) for limits in LIMITS]
    found: list[Section] = [
        PairedIops(settings, _wanted(settings, iops), ORDER, AGAINST),
        PerIoCounts(settings, INSTRUCTIONS, _wanted(settings, counted), settings.counted_ios),
    ]
    return [section for section in found if section.steps()]


def _group(prefix: str, settings: Settings, engine: str, limits: str, jobs: int) -> Group:
    rw, options = LIMITS[limits]
    null = ("--device=null",)
    bypass = Arm(BASE, engine, (*null, "--bypass=all"))
    sides = {BASE: bypass, AGAIN: replace(bypass, name=AGAIN)}
    for kind in ARMS:
        sides[kind] = Arm(kind, engine, (*null, "--bypass=off", f"--queue={kind}", *options))
    bar = FAST_BARS.get((limits, jobs)) if prefix == "tax" else None
    return Group(
        f"{prefix}/{limits}",
        Workload(rw, DEPTH, jobs),
        sides,
        ARMS,
        {} if bar is None else {FAST: bar},
    )


def _wanted(settings: Settings, groups: list[Group]) -> list[Group]:
    less = [group.only(settings.wanted) for group in groups]
    return [group for group in less if group.arms]
