"""Running a plan: one run after another, each kept as soon as it has ended.

A run that fails is kept with its reason and the sweep goes on. What ends a sweep is the harness's
own trouble (disk full, folder gone) or the user; everything kept until then stays usable, and the
same command with ``--resume`` goes on from there.
"""

from __future__ import annotations

import dataclasses
import errno
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice import compose, knobbed, plan, process
from sluice.campaign import Campaign, pack
from sluice.compose import Placement
from sluice.errors import SluiceError
from sluice.executor import STATS, Executor, Order, Outcome
from sluice.knobs.session import Gone, Refused
from sluice.knobs.session import Session as Knobs
from sluice.model import Cell, Environment, Results, Run, Status
from sluice.progress import Progress
from sluice.store import Store
from sluice.sweep import Sweep
from sluice.target import writes

CLOCK_JUMP_S = 1.0
"""A wall clock that moves this much against the monotonic one during a run has been set."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a session of runs needs."""

    store: Store
    campaign: Campaign
    sweep: Sweep
    placement: Placement
    executor: Executor
    environment: Callable[[str], Environment]
    """Takes ``before`` or ``after``."""
    retry: frozenset[str] = frozenset()
    """Statuses of ended runs to be made once more."""
    data_mark: str = ""
    """What the processes of the runs carry beside the campaign's mark: the data folder's."""
    condition: Callable[[Session, Knobs, Progress], None] | None = None
    """Brings the target into the state in which it is measured, before the first run."""


def run(session: Session, progress: Progress) -> Results:
    """Make every run that is still missing and return all results.

    SluiceError when another harness is on this campaign, or the results can't be kept any more."""
    campaign = session.campaign
    try:
        with campaign.locked():
            _locked(session, progress)
        return session.store.load(campaign)
    except OSError as error:
        raise _lost(error, campaign) from error


def _locked(session: Session, progress: Progress) -> None:
    campaign = session.campaign
    # A harness that was killed leaves its fio behind, which would disturb these runs. (Where it
    # had these test files, `DataFolder.acquire` has ended it already.)
    process.kill_marked(campaign.mark)
    header = campaign.header()
    ended = session.store.runs(campaign)
    todo = plan.remaining(header.blocks, ended, session.retry)
    _runs(session, header, todo, progress)
    if campaign.undecided:
        from sluice.verdicts import stages  # takes the statistics, which else no run needs

        progress.say(stages.settle(session.store, campaign))
        header = campaign.header()
        todo = plan.remaining(header.blocks, session.store.runs(campaign))
        _runs(session, header, todo, progress)


def _runs(session: Session, header: Results, todo: list[plan.Item], progress: Progress) -> None:
    if not todo:
        return
    info = header.sweep
    eta = plan.Eta(info.ramp_s + info.runtime_s + plan.RUN_OVERHEAD_S)
    total = header.planned_runs
    done = total - len(todo)
    campaign = session.campaign
    campaign.add_environment(session.environment("before"))
    try:
        with knobbed.make_session(info, session.placement.path, progress.say) as knobs:
            if session.condition is not None:
                session.condition(session, knobs, progress)
            progress.start(done, total, eta.seconds(len(todo)))
            for number, item in enumerate(todo, 1):
                progress.running(item.cell)
                run = _one(session, header, item, knobs)
                eta.note(run.duration_s)
                session.store.add_to_index(campaign, [run])
                progress.ended(run, done + number, total, eta.seconds(len(todo) - number))
            if knobs.writes:
                progress.say(knobbed.cost(knobs))
    finally:
        if campaign.folder.is_dir():
            campaign.add_environment(session.environment("after"))


def _one(session: Session, header: Results, item: plan.Item, knobs: Knobs) -> Run:
    begin, wall = time.monotonic(), time.time()
    cell = header.cell(item.cell)
    folder = session.campaign.begin_run(item.order)
    order = make_order(
        session.sweep,
        session.placement,
        cell,
        item.block.randseed,
        folder,
        mark(session, folder),
        knobs.group,
    )
    read, outcome = with_knobs(
        knobs, knobbed.setting(header.sweep, cell), lambda: session.executor.run(order)
    )
    pack(folder)
    duration = time.monotonic() - begin
    jump = time.time() - wall - duration
    warnings = outcome.warnings
    if abs(jump) > CLOCK_JUMP_S:
        warnings = (*warnings, f"the wall clock was set by {jump:+.0f} s during this run")
    return session.campaign.end_run(_to_run(item, folder, wall, begin, outcome, warnings, read))


def mark(session: Session, folder: Path) -> str:
    """What the processes of one run carry (see `process`)."""
    return "/".join(filter(None, (session.data_mark, session.campaign.mark, folder.name)))


def with_knobs(
    knobs: Knobs, setting: Mapping[str, str], work: Callable[[], Outcome]
) -> tuple[Mapping[str, str], Outcome]:
    """Do `work` with the knobs set; what they read, and what came of it. A value that the kernel
    doesn't take skips the run; a knob that isn't there, or no more as it was set, fails it."""
    try:
        read = knobs.apply(setting)
    except Refused as error:
        return {}, Outcome(Status.SKIPPED, str(error))
    except Gone as error:
        return {}, Outcome(Status.FAILED, str(error))
    outcome = work()
    try:
        knobs.verify(setting)
    except Gone as error:
        return read, dataclasses.replace(outcome, status=Status.FAILED, reason=str(error))
    return read, outcome


def make_order(
    sweep: Sweep,
    placement: Placement,
    cell: Cell,
    randseed: int,
    folder: Path,
    mark: str,
    group: Path | None = None,
) -> Order:
    """What the executor is to do for one run of `cell`."""
    job = compose.compose(sweep, cell, placement, randseed, folder / STATS)
    workload = next(one for one in sweep.info.workloads if one.name == cell.workload)
    read_only = not any(writes(job.effective(section)) for section in job.jobs)
    return Order(
        cell,
        job.render(),
        folder,
        workload.roles,
        sweep.info.latency,
        sweep.file.timeout_s,
        mark,
        read_only,
        randseed,
        group,
    )


def _to_run(
    item: plan.Item,
    folder: Path,
    wall: float,
    begin: float,
    outcome: Outcome,
    warnings: tuple[str, ...],
    knobs: Mapping[str, str],
) -> Run:
    return Run(
        id=folder.name,
        cell=item.cell,
        block=item.block.index,
        leg=item.leg,
        order=item.order,
        randseed=item.block.randseed,
        status=outcome.status,
        reason=outcome.reason,
        started_at=wall,
        duration_s=time.monotonic() - begin,
        fio_s=outcome.fio_s,
        samples=outcome.samples,
        engine_stats=outcome.engine_stats,
        warnings=warnings,
        command=outcome.command,
        folder=folder,
        knobs=knobs,
    )


def _lost(error: OSError, campaign: Campaign) -> SluiceError:
    """Why nothing can be kept any more, and what to do about it."""
    try:
        kept = len(campaign.run_names())
    except OSError:
        kept = 0
    if not campaign.folder.is_dir():
        return SluiceError(
            f"{campaign.folder}: was deleted while its sweep was running: its runs "
            "are lost; start again with `sluice run SWEEP`"
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SluiceError(
            f"{campaign.folder}: the disk is full; {kept} runs are kept: free "
            f"space, then `{campaign.resume_command}`"
        )
    return SluiceError(
        f"{error.filename or campaign.folder}: {error.strerror}; {kept} runs are "
        f"kept: mend it, then `{campaign.resume_command}`"
    )
