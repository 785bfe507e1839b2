"""Which cases drop-in has, their bars, and so which runs."""

from . import sides
from .counters import ENTERS, INSTRUCTIONS
from .group import Group
from .job import Workload
from .memory import PeakMemory
from .paired_iops import PairedIops
from .per_io_counts import PerIoCounts
from .settings import Settings
from .sides import ALL, BASE, OFF, SLUICE, TUNED, Sides
from .step import Section
from .under_valgrind import SameUnderValgrind

IOPS_BARS = {ALL: 1.00, OFF: 0.98}
INSTRUCTIONS_BARS = {ALL: 1.05, OFF: 1.15}
ENTERS_BARS = {ALL: 1.00, OFF: 1.00}
MEMORY_BARS_MIB = {ALL: 8.0, OFF: 8.0}
NO_BARS: dict[str, float] = {}
"""For sluice's null device: it completes at the next poll, fio's inline, by design."""

READ, WRITE = "randread", "randwrite"


def sections(settings: Settings, baseline: str, sluice: str, tuned: bool) -> list[Section]:
    """The plan: only what a wanted case needs runs."""
    file, null = sides.on_file(baseline, sluice), sides.on_null(sluice)
    found: list[Section] = [_iops(settings, file, null, tuned)]
    instructions = _instructions(settings, file, null)
    if instructions.steps():
        checked = (BASE, ALL) if settings.quick else (BASE, TUNED, *SLUICE)
        found.append(SameUnderValgrind(settings, Workload(READ, 32), file, checked))
    found += [instructions, _enters(settings, file), _memory(settings, file)]
    return [section for section in found if section.steps()]


def _iops(settings: Settings, file: Sides, null: Sides, tuned: bool) -> PairedIops:
    arms = (TUNED, *SLUICE) if tuned else SLUICE
    groups = [
        Group("iops", Workload(rw, depth, jobs), file, arms, IOPS_BARS)
        for depth in (1, 32)
        for jobs in (1, 2)
        for rw in (READ, WRITE)
    ]
    groups += [Group("null", Workload(READ, depth), null, SLUICE, NO_BARS) for depth in (1, 32)]
    return PairedIops(settings, _wanted(settings, groups))


def _instructions(settings: Settings, file: Sides, null: Sides) -> PerIoCounts:
    arms = (TUNED, *SLUICE)
    groups = [Group("instr", Workload(READ, 32), file, arms, INSTRUCTIONS_BARS)]
    if not settings.quick:
        groups += [
            Group("instr", Workload(WRITE, 32), file, arms, INSTRUCTIONS_BARS),
            Group("instr-null", Workload(READ, 32), null, SLUICE, NO_BARS),
        ]
    return PerIoCounts(settings, INSTRUCTIONS, _wanted(settings, groups), settings.counted_ios)


def _enters(settings: Settings, file: Sides) -> PerIoCounts:
    groups = [
        Group("enter", Workload(rw, depth), file, SLUICE, ENTERS_BARS)
        for rw in ((READ,) if settings.quick else (READ, WRITE))
        for depth in (1, 32)
    ]
    return PerIoCounts(settings, ENTERS, _wanted(settings, groups), settings.counted_ios // 3)


def _memory(settings: Settings, file: Sides) -> PeakMemory:
    group = Group("memory", Workload(READ, 256), file, SLUICE, MEMORY_BARS_MIB)
    return PeakMemory(settings, _wanted(settings, [group]))


def _wanted(settings: Settings, groups: list[Group]) -> list[Group]:
    less = [group.only(settings.wanted) for group in groups]
    return [group for group in less if group.arms]
