"""The verbs of the command line. Each takes the parsed arguments and returns the exit code."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from sluice import (
    builds,
    doctor,
    env,
    knobbed,
    paths,
    plan,
    prepare,
    progress,
    runner,
    show,
    snapshot,
    sweep,
    tune,
)
from sluice.aa import arms
from sluice.aa.record import calibrated
from sluice.campaign import Campaign
from sluice.compose import Placement
from sluice.conditioning import driver
from sluice.errors import NothingRan, SluiceError
from sluice.executor import FioExecutor
from sluice.fiocli import Fio
from sluice.model import Environment, Results, Status
from sluice.runner import Session
from sluice.store import Store
from sluice.sweep import Sweep
from sluice.target import DataFolder


def plan_command(arguments: argparse.Namespace) -> int:
    """``sluice plan``: check a sweep and print what would run. Writes nothing."""
    fio = Fio(arguments.fio)
    data = DataFolder(Path(arguments.data))
    loaded, placement = _checked(arguments, fio, data)
    if getattr(arguments, "try_knobs", False):
        loaded = knobbed.attempt(loaded, placement.path, _say)
    header = prepare.header(
        loaded,
        placement,
        data,
        arguments.blocks or loaded.file.blocks,
        arguments.seed,
        command_line(arguments),
    )
    show.print_plan(header, arguments.order, sys.stdout)
    if getattr(arguments, "dry_run", False):
        first = next(plan.items(header.blocks))
        order = runner.make_order(
            loaded, placement, header.cell(first.cell), first.block.randseed, Path("RUN-FOLDER"), ""
        )
        print(f"\nThe first run's job file ({first.cell}):\n\n{order.job_text}")
    return 0


def run_command(arguments: argparse.Namespace) -> int:
    """``sluice run``: run a sweep, or go on with one."""
    if (arguments.sweep is None) == (arguments.resume is None):
        raise SluiceError("run: name a sweep, or a campaign with --resume")
    if arguments.resume is not None:
        return _resume(arguments)
    if arguments.dry_run:
        return plan_command(arguments)
    fio = Fio(arguments.fio)
    data = DataFolder(Path(arguments.data))
    loaded, placement = _checked(arguments, fio, data)
    data.acquire()
    try:
        loaded = knobbed.attempt(loaded, placement.path, _say)
        header = prepare.header(
            loaded,
            placement,
            data,
            arguments.blocks or loaded.file.blocks,
            arguments.seed,
            command_line(arguments),
        )
        store = Store(Path(arguments.store))
        campaign = store.create(loaded.info.name, header)
        plugin, commit = prepare.plugin_of(loaded), ""
        if plugin is not None:
            commit = snapshot.commit_of(plugin)
            loaded = prepare.with_plugin(loaded, snapshot.keep(plugin, store.root))
        loaded = dataclasses.replace(loaded, builds=builds.kept(loaded.builds, store.root))
        return _session(
            Session(
                store,
                campaign,
                loaded,
                placement,
                FioExecutor(fio),
                _environment(fio, loaded, placement, commit),
                data_mark=data.mark,
            ),
            fio,
            data,
            arguments.tune,
        )
    finally:
        data.release()


def _resume(arguments: argparse.Namespace) -> int:
    fio = Fio(arguments.fio)
    store = Store(Path(arguments.store))
    campaign = store.find(arguments.resume) if arguments.resume else _unfinished(store)
    if campaign.in_guests:
        raise SluiceError(f"{campaign.name}: ran in guests: go on with `{campaign.resume_command}`")
    results = store.load(campaign)
    loaded, placement = prepare.reopen(results, fio)
    first = results.environments[0].values if results.environments else {}
    if prepare.plugin_of(loaded) is not None:
        kept = snapshot.find(first.get("engine.sha256", ""), store.root)
        if kept.is_file():
            loaded = prepare.with_plugin(loaded, kept)
    own = results.target.kind == "file"
    data = DataFolder(placement.path.parent if own else Path(arguments.data))
    prepare.check_cells(loaded, placement, data, fio, arguments.destructive)
    driver.check(loaded, placement, data, arguments.destructive)
    environment = _environment(fio, loaded, placement, first.get("engine.commit", ""))
    prepare.same_machine(results, environment("before"))
    again = {Status.FAILED, Status.TIMEOUT, Status.SKIPPED}
    retry = frozenset(again if arguments.retry_failed else ())
    data.acquire()
    try:
        return _session(
            Session(
                store, campaign, loaded, placement, FioExecutor(fio), environment, retry, data.mark
            ),
            fio,
            data,
            arguments.tune,
        )
    finally:
        data.release()


def _environment(
    fio: Fio, loaded: Sweep, placement: Placement, commit: str
) -> Callable[[str], Environment]:
    plugin = prepare.plugin_of(loaded)
    more = prepare.facts(loaded)
    return lambda when: env.capture(when, fio, placement.path, plugin, commit, more)


def _checked(arguments: argparse.Namespace, fio: Fio, data: DataFolder) -> tuple[Sweep, Placement]:
    """The sweep that was asked for, with everything checked that can be without a write."""
    loaded = sweep.load(prepare.sweep_path(arguments.sweep), fio)
    if arguments.aa:
        loaded = arms.doubled(loaded)
    if arguments.blocks:
        info = dataclasses.replace(loaded.info, auto_blocks=False)
        loaded = dataclasses.replace(loaded, info=info)
    placement = prepare.place(loaded, data)
    loaded = knobbed.look(loaded, placement.path)
    prepare.check_cells(loaded, placement, data, fio, arguments.destructive)
    driver.check(loaded, placement, data, arguments.destructive)
    return loaded, placement


def _say(text: str) -> None:
    print(f"sluice: {text}", file=sys.stderr)


def _session(session: Session, fio: Fio, data: DataFolder, tuned: bool) -> int:
    """Lay out the files, run what is left, and say what came of it."""
    loaded, campaign = session.sweep, session.campaign
    with (
        progress.for_stream(sys.stderr) as teller,
        tune.while_running(tuned, teller.say) as items,
    ):
        plain = session.environment
        session = dataclasses.replace(
            session, environment=lambda when: env.with_more(plain(when), {"tune.items": items})
        )
        teller.say(f"{campaign.name}: {loaded.info.question}")
        fresh = data.owns(session.placement.path) and driver.lay_out_all(
            fio, loaded, session.placement, data
        )
        if fresh:
            teller.say(f"laid out {session.placement.path}")
        if loaded.info.precondition or loaded.info.steady:
            condition = driver.Conditioner(fio, data, fresh)
            session = dataclasses.replace(session, condition=condition)
        try:
            results = runner.run(session, teller)
        except KeyboardInterrupt:
            kept = len(campaign.run_names())
            teller.say(f"interrupted; {kept} runs are kept: go on with `{campaign.resume_command}`")
            return 130
    return conclude(results)


def conclude(results: Results) -> int:
    """Say what came of a campaign; the exit code."""
    counts = {status: sum(run.status is status for run in results.runs) for status in Status}
    bad = counts[Status.FAILED] + counts[Status.TIMEOUT]
    said = f"{counts[Status.OK]} runs ok"
    if bad:
        failed = (Status.FAILED, Status.TIMEOUT)
        last = next(run for run in reversed(results.runs) if run.status in failed)
        said += f", {bad} not: {last.cell}: {last.reason}"
    if counts[Status.SKIPPED]:
        last = next(run for run in reversed(results.runs) if run.status is Status.SKIPPED)
        said += f", {counts[Status.SKIPPED]} skipped: {last.cell}: {last.reason}"
    print(f"{results.folder}: {said}")
    if not counts[Status.OK]:
        raise NothingRan(
            f"{results.campaign}: no run ended well; see the reasons above, and "
            f"stderr.txt in {results.folder / 'runs'}"
        )
    store = results.folder.parent
    usual = paths.default_store().absolute() == store.absolute()
    where = "" if usual else f" --store {shlex.quote(str(store))}"
    print(f"report: sluice report {results.campaign}{where}")
    return 0


def report_command(arguments: argparse.Namespace) -> int:
    """``sluice report``: write the pages of a campaign."""
    from sluice import report

    store = Store(Path(arguments.store))
    campaigns = store.campaigns()
    if arguments.campaign:
        given = Path(arguments.campaign)
        campaign = next(
            (one for one in campaigns if one.folder == given.absolute()), None
        ) or store.find(arguments.campaign)
    elif campaigns:
        campaign = campaigns[-1]
    else:
        raise SluiceError(
            f"{store.root}: no results in it: run a sweep first "
            "(`sluice run SWEEP`), or name another folder with --store"
        )
    results = store.load(campaign)
    folder = Path(arguments.out) if arguments.out else campaign.folder / "report"
    try:
        page = report.write(results, folder, calibrated(store.root, results))
    except OSError as error:
        raise SluiceError(
            f"{error.filename or folder}: the report can't be written ({error.strerror}): free "
            "space or mend its rights, or name another folder with --out"
        ) from error
    print(page)
    return 0


def doctor_command(arguments: argparse.Namespace) -> int:
    """``sluice doctor``: what this machine can measure. Exit 1 when something can't run at all."""
    findings = list(doctor.examine(arguments.fio, Path(arguments.data)))
    show.print_findings(findings, sys.stdout)
    return 1 if any(one.level is doctor.Level.FAIL for one in findings) else 0


def list_command(arguments: argparse.Namespace) -> int:
    """``sluice list``: the sweeps of the project and the campaigns of the store."""
    store = Store(Path(arguments.store))
    if arguments.rebuild_index:
        print(f"index built again: {store.rebuild_index(_left_out)} runs")
    show.print_sweeps(sorted(paths.sweeps().glob("*.toml")), sys.stdout)
    show.print_campaigns(store, sys.stdout)
    return 0


def command_line(arguments: argparse.Namespace) -> str:
    """The shell command that repeats this one, made from what was given."""
    words = ["sluice", "run", str(arguments.sweep)]
    for flag, value, usual in (
        ("--blocks", arguments.blocks, None),
        ("--seed", arguments.seed, None),
        ("--fio", arguments.fio, "fio"),
        ("--data", arguments.data, str(paths.default_data())),
    ):
        if value != usual:
            words += [flag, str(value)]
    if arguments.aa:
        words.append("--aa")
    for name in arguments.destructive:
        words += ["--destructive", name]
    if getattr(arguments, "tune", False):
        words.append("--tune")
    return shlex.join(words)


def _unfinished(store: Store) -> Campaign:
    for campaign in reversed(store.campaigns()):
        try:
            planned = campaign.header().planned_runs
        except SluiceError as error:
            _left_out(error)
            continue
        if campaign.undecided or not campaign.finished().issuperset(range(planned)):
            return campaign
    raise SluiceError(f"{store.root}: no unfinished campaign; `sluice list` has all")


def _left_out(error: SluiceError) -> None:
    """Say why a campaign is passed over; the others are none the worse for it."""
    print(f"sluice: left out: {error}", file=sys.stderr)
