"""``sluice vm sweep``: a sweep's runs in guests, its results in the host's store like a host's."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice import (
    builds,
    commands,
    compose,
    permitted,
    plan,
    prepare,
    progress,
    runner,
    show,
    snapshot,
)
from sluice import sweep as sweeps
from sluice.campaign import GUESTS, Campaign
from sluice.compose import Placement
from sluice.errors import SluiceError
from sluice.executor import STATS
from sluice.fiocli import Fio
from sluice.metrics import METRICS
from sluice.model import Environment, Gate, Results, Status, Target
from sluice.runner import Session
from sluice.store import Store
from sluice.sweep import Sweep
from sluice.sweepfile import DEFAULT_GATES
from sluice.target import DataFolder
from sluice.units import parse_size
from sluice.vm import carry, cpio, described, kernels, planned, tools
from sluice.vm.executor import GuestExecutor
from sluice.vm.guest import Boot, to_stderr
from sluice.vm.kernels import Kernel
from sluice.vm.machine import MOUNT, Machine
from sluice.vm.planned import Planned

BANNER = "virtual: ratios only"
VIRTUAL_RUNTIME_S = 0.5
"""Longest runtime under the virtual clock, unless --runtime says another: without noise more I/Os
make no figure better, and a virtual second takes about four."""
REPLICAS = 5


@dataclass(frozen=True, slots=True)
class _Work:
    """A sweep made ready for guests."""

    loaded: Sweep
    placement: Placement
    machine: Machine
    kernel: Kernel
    fio: Fio
    plugin: Path | None
    """The sweep's own engine, on the host."""
    libraries: Mapping[str, Path]
    """Every engine that is carried in: its path in the guest -> where it is here."""
    commit: str
    facts: Mapping[str, str]
    """What the environment is told about the sweep."""


def sweep(arguments: argparse.Namespace, machine: Machine) -> int:
    """The verb."""
    fio = Fio(arguments.fio)
    kernel = kernels.resolve(arguments.kernel, arguments.modules)
    loaded = _for_guests(sweeps.load(prepare.sweep_path(arguments.sweep), fio), machine, arguments)
    placement = _place(loaded, machine)
    store = Store(Path(arguments.store))
    plugin = prepare.plugin_of(loaded)
    commit = snapshot.commit_of(plugin) if plugin else ""
    moved, libraries = _moved(loaded, plugin)
    _check(moved, placement, fio, libraries)
    blocks = arguments.replicas or (REPLICAS if machine.virtual else loaded.file.blocks)
    header = prepare.header(
        moved,
        placement,
        DataFolder(Path(MOUNT)),
        blocks,
        arguments.order_seed,
        f"{GUESTS} {shlex.join(words(arguments, kernel))}",
    )
    header = dataclasses.replace(header, target=_target(placement, machine))
    if arguments.dry_run:
        show.print_plan(header, False, sys.stdout)
        return 0
    if plugin is not None:
        plugin = snapshot.keep(plugin, store.root)
    loaded = dataclasses.replace(loaded, builds=builds.kept(loaded.builds, store.root))
    facts = prepare.facts(loaded)
    moved, libraries = _moved(loaded, plugin)
    work = _Work(moved, placement, machine, kernel, fio, plugin, libraries, commit, facts)
    todo = plan.remaining(header.blocks, ())
    with _executor(work, header, todo, arguments.console) as executor:
        executor.prime()  # what the guest can't do is said before there is a campaign
        campaign = store.create(loaded.info.name, header)
        return _session(work, store, campaign, executor)


def resume(arguments: argparse.Namespace, again: argparse.Namespace, machine: Machine) -> int:
    """Go on with a campaign; `again` is its own command line, read anew."""
    store = Store(Path(arguments.store))
    campaign = store.find(arguments.resume)
    results = store.load(campaign)
    fio = Fio(again.fio)
    kernel = kernels.resolve(again.kernel, again.modules)
    loaded, placement = prepare.reopen(results, fio)
    first = results.environments[0].values if results.environments else {}
    plugin = prepare.plugin_of(loaded)
    if plugin is not None:
        kept = snapshot.find(first.get("engine.sha256", ""), store.root)
        plugin = kept if kept.is_file() else plugin
    facts = prepare.facts(loaded)
    loaded, libraries = _moved(loaded, plugin)
    commit = first.get("engine.commit", "")
    work = _Work(loaded, placement, machine, kernel, fio, plugin, libraries, commit, facts)
    retry = frozenset({Status.FAILED, Status.TIMEOUT} if arguments.retry_failed else ())
    todo = plan.remaining(results.blocks, results.runs, retry)
    if not todo:
        return commands.conclude(results)
    with _executor(work, results, todo, arguments.console) as executor:
        executor.prime()
        now = _environment(work, executor, "before")
        prepare.same_machine(results, now)
        return _session(work, store, campaign, executor, retry)


def command_of(arguments: argparse.Namespace) -> list[str]:
    """The words behind ``sluice`` with which a campaign was begun. SluiceError when it had no
    guest."""
    store = Store(Path(arguments.store))
    campaign = store.find(arguments.resume)
    if not campaign.in_guests:
        raise SluiceError(
            f"{campaign.name}: ran without a guest: go on with `{campaign.resume_command}`"
        )
    return shlex.split(campaign.header().command)[1:]


def words(arguments: argparse.Namespace, kernel: Kernel) -> list[str]:
    """The words that repeat this sweep: those given, and which kernel that was."""
    given = [word for word in arguments.given if word != "--console"]
    if "--kernel" not in given and not any(word.startswith("--kernel=") for word in given):
        given += ["--kernel", kernel.name]
    return given


def _for_guests(loaded: Sweep, machine: Machine, arguments: argparse.Namespace) -> Sweep:
    """The sweep as guests run it."""
    info = loaded.info
    if info.knobs or any(axis.scope == "knob" for axis in info.axes):
        raise SluiceError(
            f"{loaded.file.path}: knobs of the kernel can't be set in a guest: take them out, or "
            "run it on a host (`sluice run`)"
        )
    for given, what in ((info.precondition, "precondition"), (info.steady, "steady")):
        if given is not None:
            print(f"[{what}] is left out: a guest's devices are new at each boot", file=sys.stderr)
    runtime = arguments.runtime or (
        min(info.runtime_s, VIRTUAL_RUNTIME_S) if machine.virtual else info.runtime_s
    )
    info = dataclasses.replace(
        info, precondition=None, steady=None, runtime_s=runtime, auto_blocks=False
    )
    if machine.virtual:
        print(f"{BANNER}: {runtime:g} virtual s a run", file=sys.stderr)
        # The shorter run that goes before each takes the ramp's part; fio's own would only blur
        # which I/Os the instructions were for.
        info = dataclasses.replace(info, ramp_s=0.0, gates=_gates(info.gates), timeline="none")
    else:
        print(f"{BANNER}", file=sys.stderr)
    file = dataclasses.replace(loaded.file, runtime_s=info.runtime_s, ramp_s=info.ramp_s)
    return dataclasses.replace(loaded, info=info, file=file)


def _moved(loaded: Sweep, plugin: Path | None) -> tuple[Sweep, dict[str, Path]]:
    """The sweep with its engines where guests have them; and where those are here."""
    libraries: dict[str, Path] = {}
    if plugin is not None:
        libraries[str(planned.ENGINE)] = plugin
        loaded = prepare.with_plugin(loaded, planned.ENGINE)
    found = {}
    for number, (label, build) in enumerate(loaded.builds.items()):
        argument = build.argument
        if build.library is not None:
            there = f"{planned.ENGINE.parent}/build-{number}.so"
            libraries[there] = build.library
            argument = f"{builds.EXTERNAL}{there}"
        found[label] = dataclasses.replace(build, argument=argument)
    return dataclasses.replace(loaded, builds=found), libraries


def _gates(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """What decides under the virtual clock, unless the sweep names its metrics: instructions, and
    the mean latency in virtual nanoseconds, which fio gives exactly. (Its IOPS has a resolution of
    a millisecond of runtime.)"""
    if tuple(gate.metric for gate in gates) != DEFAULT_GATES:
        return gates
    return tuple(Gate(name, False, METRICS["instr"].margin) for name in ("instr", "lat_mean"))


def _place(loaded: Sweep, machine: Machine) -> Placement:
    """Where the data lies in the guest: the file system's, else the device that the sweep names,
    else the first. SluiceError when it doesn't fit."""
    file = loaded.file
    if not machine.devices:
        raise SluiceError("vm sweep: the guest has no device: add --nvme 1 or --null-blk")
    stem = f"{file.name}-{file.size or 'jobs'}"
    if machine.file_system and file.target is None:
        if file.files == "each":
            return Placement(Path(MOUNT, stem), False, file.size)
        return Placement(Path(MOUNT, f"{stem}.dat"), True, file.size)
    device = file.target or machine.devices[0]
    if device not in machine.devices:
        raise SluiceError(
            f"{file.path}: target: path = '{device}': the guest's devices are "
            f"{', '.join(machine.devices)}: name one of them, or leave path out"
        )
    if file.files == "each":
        raise SluiceError(f'{file.path}: target: files = "each" needs a file system: add --fs')
    room = machine.mib_of(device)
    if file.size is not None and parse_size(file.size) > room << 20:
        raise SluiceError(
            f"{file.path}: target: size = {file.size}: {device} has {room} MiB: --nvme-size or "
            "--null-blk size= makes it larger"
        )
    return Placement(Path(device), True, file.size)


def _target(placement: Placement, machine: Machine) -> Target:
    device = Path(machine.devices[0] if machine.file_system else placement.path).name
    return Target(
        str(placement.path), "guest", placement.size or "", machine.file_system or "", device
    )


def _check(loaded: Sweep, placement: Placement, fio: Fio, libraries: Mapping[str, Path]) -> None:
    """SluiceError for a job that fio or the harness refuses. What a guest's jobs write is the
    guest's own, so nobody has to consent."""
    for cell in loaded.cells:
        if cell.skipped is None:
            job = compose.compose(loaded, cell, placement, 1, Path("/runs") / STATS)
            permitted.check(job, loaded.options.of_engine)
    for library in libraries.values():
        said = fio.check_engine(library)
        if said:
            raise SluiceError(
                f"{library}: fio can't load it: {said}: build it for this fio (ci/setup)"
            )
    for cell in prepare.covering(loaded.cells):
        text = compose.compose(loaded, cell, placement, 1, Path("/runs") / STATS).render()
        for there, here in libraries.items():
            text = text.replace(there, str(here))
        complaints = fio.check_job(text)
        if complaints:
            raise SluiceError(
                f"{loaded.file.path}: fio refuses {cell.id}: {'; '.join(complaints[:3])}"
            )


def _executor(
    work: _Work, header: Results, todo: Sequence[plan.Item], console: bool
) -> GuestExecutor:
    device = work.machine.devices[0] if work.machine.file_system else str(work.placement.path)
    fillers = (
        planned.fillers(work.loaded, work.placement, header) if work.machine.file_system else []
    )
    engines = []
    for there, here in work.libraries.items():
        library, *needed = carry.file(here)
        engines += [cpio.regular(there, library.data, 0o755), *needed]

    def boot(runs: Sequence[Planned]) -> Boot:
        machine = work.machine.replica(runs[0].block)
        return tools.prepare(
            machine,
            work.kernel,
            planned.script(runs, machine, device, len(fillers)),
            [*engines, *planned.entries(runs, machine, fillers)],
            work.fio.program,
        )

    runs = planned.of(work.loaded, work.placement, header, todo)
    return GuestExecutor(runs, boot, to_stderr if console else None)


def _environment(work: _Work, executor: GuestExecutor, when: str) -> Environment:
    return described.environment(
        when, work.facts, work.fio, work.plugin, work.commit, work.machine, work.kernel, executor
    )


def _session(
    work: _Work,
    store: Store,
    campaign: Campaign,
    executor: GuestExecutor,
    retry: frozenset[str] = frozenset(),
) -> int:
    session = Session(
        store,
        campaign,
        work.loaded,
        work.placement,
        executor,
        lambda when: _environment(work, executor, when),
        retry,
    )
    with progress.for_stream(sys.stderr) as teller:
        teller.say(f"{campaign.name}: {work.loaded.info.question}")
        teller.say(f"guest: {work.kernel.name}, booted in {executor.booted_s:.1f} s")
        try:
            results = runner.run(session, teller)
        except KeyboardInterrupt:
            kept = len(campaign.run_names())
            teller.say(f"interrupted; {kept} runs are kept: go on with `{campaign.resume_command}`")
            return 130
    print(f"{BANNER} ({work.machine.clock.value} clock)")
    return commands.conclude(results)
