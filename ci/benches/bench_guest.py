"""guest: sluice in the place of fio's io_uring on a guest's NVMe, and what it costs in
instructions."""

import argparse
import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from sluice import describe
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.vm import kernels

from . import guests, plugin, runner, testfile
from .errors import BenchError
from .group import Group
from .guest_instructions import GuestInstructions
from .guest_nvme import CMD, GuestIops
from .job import Arm, Workload
from .runner import ROOT
from .settings import Settings
from .sides import AGAIN, ALL, BASE, OFF, SLUICE, TUNED, Sides
from .step import Section

NAME = "guest"
SUMMARY = "sluice against fio's io_uring in a guest: emulated NVMe; instructions, virtual clock"

FULL = {"pairs": 9, "seconds": 1.0, "repeats": 5, "counted_ios": 8000}
QUICK = {"pairs": 3, "seconds": 0.3, "repeats": 2, "counted_ios": 3000}
IOPS_BARS = {ALL: 1.00, OFF: 0.98}
INSTRUCTIONS_BARS = {ALL: 1.05, OFF: 1.05}

EPILOG = """\
Cases: nvme-irq/ and nvme-polled/ are ratios of IOPS to fio's io_uring (polled: with hipri) on one
emulated NVMe, one thread, a boot for each pair; instr-null/ ratios of instructions for an I/O, user
space and kernel together, on null_blk under the virtual clock. The guest is emulated: its levels
mean nothing. boot/first-io is seconds from power on to the end of a program's first I/O;
repeat/two-boots counts the figures in which two boots differ.

Exit status: 0 every bar met, 1 a run failed, 2 a bar missed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--quick", action="store_true", help="few short runs: checks the mechanics, not the bars")
    add("--kernel", default="6.12", help="of the guests (default %(default)s; see sluice vm list)")
    add("--pairs", type=int, help=f"boots with NVMe (default {FULL['pairs']})")
    add("--seconds", type=float, help=f"length of one timed run (default {FULL['seconds']})")
    add("--repeats", type=int, help=f"guests with the virtual clock (default {FULL['repeats']})")
    add("--case", default="*", metavar="GLOB", help="only the cases whose names match")
    add("--seed", type=int, default=1, help="of the offsets and their order (default %(default)s)")
    add(
        "--sluice-engine",
        default=f"external:{ROOT}/build/lib/sluice.so",
        metavar="ENGINE",
        help="default %(default)s",
    )
    add(
        "--json",
        type=Path,
        default=ROOT / "build/bench/guest.json",
        help="where every raw value goes (default %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    chosen: dict[str, Any] = {
        key: getattr(args, key, None) or usual
        for key, usual in (QUICK if args.quick else FULL).items()
    }
    nvme = Settings(
        path=Path("/dev/nvme0n1"),
        size=testfile.parse_size("512M"),
        pairs=chosen["pairs"],
        seconds=chosen["seconds"],
        repeats=chosen["repeats"],
        counted_ios=chosen["counted_ios"],
        seed=args.seed,
        glob=args.case,
        quick=args.quick,
    )
    null = dataclasses.replace(nvme, path=Path("/dev/nullb0"))
    try:
        kernel = kernels.resolve(args.kernel)
        with plugin.held(args.sluice_engine) as held:
            if held.sha256 is None:
                raise BenchError(f"{args.sluice_engine}: not built: ci/setup bench")
            library = Path(held.engine.removeprefix("external:"))
            groups, cmd, notes = _nvme_groups(nvme)
            sections: list[Section] = [
                GuestIops(nvme, kernel, library, groups, cmd, notes),
                GuestInstructions(null, kernel, library, _null_groups(null)),
            ]
            sections = [section for section in sections if section.steps()]
            if not sections:
                raise BenchError(f"no case matches {args.case!r} (-h says how cases are named)")
            head = runner.head_of(NAME, nvme, kernel=kernel.name, sluice={"sha256": held.sha256})
            print(f"guests of kernel {kernel.name}, emulated: ratios only", flush=True)
            return runner.run(sections, contextlib.nullcontext(), head, args.json)
    except SluiceError as error:
        raise BenchError(str(error)) from error


def _nvme_groups(settings: Settings) -> tuple[list[Group], dict[str, Arm], list[str]]:
    """By interrupt, and polled as far as the engines can; what can't be is in the notes."""
    notes = []
    polled = describe.load().tunables.get("completion")
    arms: tuple[str, ...] = SLUICE
    if polled is None or "poll" not in polled.values:
        arms = ()
        notes.append("nvme-polled: sluice has no polled completion yet; fio's against itself only")
    groups = []
    for depth in (1, 32):
        load = Workload("randread", depth)
        groups.append(Group("nvme-irq", load, _sides((), ()), SLUICE, IOPS_BARS))
        sides = _sides(("--hipri",), ("--completion=poll",))
        groups.append(Group("nvme-polled", load, sides, arms, IOPS_BARS))
    cmd = {}
    if "io_uring_cmd" in Fio("fio").engines:
        own = ("--cmd_type=nvme",)
        cmd = {
            "nvme-irq": Arm(CMD, "io_uring_cmd", own),
            "nvme-polled": Arm(CMD, "io_uring_cmd", (*own, "--hipri")),
        }
    else:
        notes.append(f"fio {Fio('fio').version} has no io_uring_cmd: no passthrough arm")
    wanted = [group.only(settings.wanted) for group in groups]
    kept = [
        group
        for group in wanted
        if group.arms or (not arms and group.prefix == "nvme-polled" and _any(settings, group))
    ]
    return kept, cmd, notes


def _any(settings: Settings, group: Group) -> bool:
    """Whether a group without arms of ours is wanted: by the name of its A/A pair."""
    return settings.wanted(group.case_name(AGAIN))


def _null_groups(settings: Settings) -> list[Group]:
    groups = [
        Group(
            "instr-null", Workload(rw, depth), _sides((), ()), (TUNED, *SLUICE), INSTRUCTIONS_BARS
        )
        for rw in ("randread", "randwrite")
        for depth in (1, 32)
        if not settings.quick or (rw, depth) == ("randread", 32)
    ]
    wanted = [group.only(settings.wanted) for group in groups]
    return [group for group in wanted if group.arms]


def _sides(of_fio: tuple[str, ...], of_sluice: tuple[str, ...]) -> Sides:
    return Sides(
        Arm(BASE, "io_uring", of_fio),
        Arm(AGAIN, "io_uring", of_fio),
        Arm(TUNED, "io_uring", (*of_fio, "--registerfiles=1", "--fixedbufs=1")),
        Arm(ALL, guests.PLUGIN, (*of_sluice, "--bypass=all")),
        Arm(OFF, guests.PLUGIN, (*of_sluice, "--bypass=off")),
    )
