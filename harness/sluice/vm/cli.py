"""The grammar of ``sluice vm``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sluice import paths
from sluice.errors import SluiceError
from sluice.units import parse_seconds, parse_size
from sluice.vm import accel, logwrites, nullblk
from sluice.vm.machine import FILE_SYSTEMS, Clock, Machine

SUMMARY = "fio and sweeps in a guest: any Debian kernel, emulated NVMe, a clock without noise"


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb and its own verbs."""
    vm = verbs.add_parser("vm", help=SUMMARY, description=SUMMARY)
    inner = vm.add_subparsers(required=True, metavar="VERB")

    one = inner.add_parser(
        "run",
        help="a command in a guest, e.g. -- fio job.fio",
        description="Runs a command in a guest. Files that the command line names are carried in.",
    )
    add_machine(one)
    option = one.add_argument
    option("--timeout", default="10m", metavar="TIME", help="then it is ended (default 10m)")
    one.add_argument(
        "--carry",
        action="append",
        default=[],
        metavar="FILE",
        help="carry this file, folder or program in as well; may be repeated",
    )
    one.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where files of the guest's /out go"
    )
    one.add_argument("--log-writes", action="store_true", help=_LOG_WRITES)
    one.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    one.set_defaults(verb=_run)

    one = inner.add_parser(
        "sweep",
        help="a sweep in guests, results in the store like a host's",
        description="Runs a sweep in guests, one for each block, and keeps it like a host's.",
    )
    one.add_argument("sweep", nargs="?", help="a sweep file, or the name of one in jobs/sweeps")
    add_machine(one, replicas=0)
    one.add_argument("--runtime", help="instead of the sweep file's, e.g. 200ms")
    one.add_argument("--order-seed", type=int, metavar="N", help="draw the order from this seed")
    one.add_argument("--resume", metavar="CAMPAIGN", help="go on where a campaign stopped")
    one.add_argument("--retry-failed", action="store_true", help="with --resume: failed runs too")
    one.add_argument("--dry-run", action="store_true", help="print the plan; boot nothing")
    one.add_argument("--fio", default="fio", help="the fio program, which is carried in")
    one.add_argument(
        "--store",
        default=str(paths.default_store()),
        metavar="FOLDER",
        help="where results are kept",
    )
    one.set_defaults(verb=_sweep)

    one = inner.add_parser("list", help="kernels that are cached or on offer, guests that run")
    one.set_defaults(verb=_list)


_LOG_WRITES = "with the command log-writes: record writes, look at what a power cut would leave"
_REPLICAS = "with --clock=virtual: so many guests, each with another tick phase, seed and layout"


def add_machine(one: argparse.ArgumentParser, replicas: int = 1) -> None:
    """The options that say what the guest is."""
    group = one.add_argument_group("the guest")
    option = group.add_argument
    option("--kernel", metavar="VERSION|FILE", help="6.12, a package's release, or an image")
    option("--modules", type=Path, metavar="FOLDER", help="modules of a --kernel FILE")
    option("--nvme", type=int, default=0, metavar="N", help="emulated NVMe devices, empty")
    option("--nvme-size", default="1G", metavar="SIZE", help="of each (default 1G)")
    option("--image", action="append", default=[], metavar="FILE", help=_IMAGE)
    option("--poll-queues", type=int, default=0, metavar="N", help="of each NVMe device")
    option("--null-blk", action="append", default=[], nargs="?", const="", metavar="A=V,...",
           help=_NULL_BLK)  # fmt: skip
    option("--module", action="append", default=[], metavar="NAME", help="load it at boot")
    option("--fs", choices=FILE_SYSTEMS, help="made on the first device, mounted at /mnt/sluice")
    option("--mem", default="1G", metavar="SIZE", help="memory (default 1G)")
    option("--smp", type=int, default=1, metavar="N", help="processors (default 1)")
    option("--clock", choices=[one.value for one in Clock], default="real", help=_CLOCK)
    option("--seed", type=int, default=1, metavar="N", help="of the virtual clock's randomness")
    option("--accel", choices=accel.CHOICES, default="auto", help="auto: KVM where it works")
    option("--replicas", type=int, default=replicas, metavar="N", help=_REPLICAS)
    option("--append", default="", metavar="WORDS", help="more of the kernel's command line")
    option("--console", action="store_true", help="show the guest's console")
    option("--destructive", action="append", default=[], metavar="FILE",
           help="let the guest change this --image; may be repeated")  # fmt: skip


_IMAGE = "a raw image of yours as a further NVMe device; unchanged unless --destructive names it"
_NULL_BLK = "a null_blk device with these attributes, e.g. irqmode=2,completion_nsec=80000"
_CLOCK = "virtual: one nanosecond an instruction, the same digits at every boot"


def machine_of(arguments: argparse.Namespace) -> Machine:
    """The guest that was asked for. SluiceError when it makes no sense."""
    images = tuple(Path(name) for name in arguments.image)
    for image in images:
        if not image.is_file():
            raise SluiceError(f"--image {image}: no such file: check the name")
    given = {Path(name) for name in arguments.destructive}
    for path in given - set(images):
        raise SluiceError(f"--destructive {path}: is no --image of this guest: check the name")
    log_writes = logwrites.MODULES if getattr(arguments, "log_writes", False) else ()
    machine = Machine(
        memory_mib=_mib(arguments.mem, "--mem"),
        cpus=arguments.smp,
        nvme=arguments.nvme,
        nvme_mib=_mib(arguments.nvme_size, "--nvme-size"),
        images=images,
        writable=frozenset(given),
        poll_queues=arguments.poll_queues,
        null_blk=tuple(nullblk.parse(text) for text in arguments.null_blk),
        modules=(*arguments.module, *log_writes),
        file_system=arguments.fs,
        clock=Clock(arguments.clock),
        accelerator=arguments.accel,
        seed=arguments.seed,
        append=arguments.append,
    )
    machine.check()
    return machine


def _run(arguments: argparse.Namespace) -> int:
    from sluice.vm import run

    if arguments.command[:1] == ["--"]:
        arguments.command = arguments.command[1:]
    arguments.timeout = _seconds(arguments.timeout, "--timeout")
    return run.run(arguments, machine_of(arguments))


def _sweep(arguments: argparse.Namespace) -> int:
    from sluice.vm import sweep

    if (arguments.sweep is None) == (arguments.resume is None):
        raise SluiceError("vm sweep: name a sweep, or a campaign with --resume")
    if arguments.replicas < 0:
        raise SluiceError(f"--replicas {arguments.replicas}: must be at least 1")
    if arguments.resume is not None:
        again = _parser().parse_args(sweep.command_of(arguments))
        again.runtime = _seconds(again.runtime, "--runtime") if again.runtime else None
        return sweep.resume(arguments, again, machine_of(again))
    words = sys.argv
    arguments.given = words[words.index("sweep") + 1 :] if "sweep" in words else []
    arguments.runtime = _seconds(arguments.runtime, "--runtime") if arguments.runtime else None
    return sweep.sweep(arguments, machine_of(arguments))


def _parser() -> argparse.ArgumentParser:
    """A parser of the words behind ``sluice``."""
    top = argparse.ArgumentParser()
    add(top.add_subparsers())
    return top


def _list(arguments: argparse.Namespace) -> int:
    from sluice.vm import listing

    return listing.show()


def _mib(text: str, where: str) -> int:
    try:
        return int(parse_size(text)) >> 20
    except ValueError as error:
        raise SluiceError(f"{where}: {error}") from error


def _seconds(text: str, where: str) -> float:
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise SluiceError(f"{where}: {error}") from error
    if seconds <= 0:
        raise SluiceError(f"{where} {text}: must be more than 0")
    return seconds
