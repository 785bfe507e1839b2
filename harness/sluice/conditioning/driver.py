"""What happens to the target between the start of a session and its first run.

Preconditioning is done once in a campaign; it goes on where it was interrupted, unless own files
had to be made anew meanwhile. The gate is passed by every session anew, since a drive that idled
between two isn't where it was.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sluice import compose, jobfile, knobbed, layout, runner, target
from sluice.campaign import pack
from sluice.compose import Placement
from sluice.conditioning import fill, gate, purge
from sluice.conditions import Precondition, SteadyRule, Step
from sluice.errors import SluiceError
from sluice.executor import Outcome
from sluice.fiocli import Fio
from sluice.knobs.session import Session as Knobs
from sluice.model import Cell, Role, Status, percentile_supported
from sluice.progress import Progress
from sluice.runner import Session
from sluice.sweep import Sweep
from sluice.target import DataFolder
from sluice.units import show_seconds

LAID_OUT = "layout"
"""Kind of the step that says: own files were made anew, so what was done before is void."""

_KINDS = {"seq_fill": "sequential", "random": "random"}


@dataclass(frozen=True, slots=True)
class Conditioner:
    """Prepares the target of a session; see `runner.Session.condition`."""

    fio: Fio
    data: DataFolder
    fresh: bool
    """Whether own files were laid out anew in this session."""

    def __call__(self, session: Session, knobs: Knobs, progress: Progress) -> None:
        """Do what is still to be done. SluiceError when the target can't be filled or purged."""
        info = session.sweep.info
        number = _session_number(session)
        if self.fresh:
            _record(session, Step(LAID_OUT, number, 0, time.time()))
        if info.precondition is not None:
            _Filling(self, session, progress, number).run(info.precondition)
        if info.steady is not None:
            _Gate(session, knobs, progress, number, info.steady).run()


def check(
    loaded: Sweep, placement: Placement, data: DataFolder, destructive: Iterable[str]
) -> None:
    """SluiceError when preconditioning would write what nobody gave up."""
    wanted = loaded.info.precondition
    if wanted is None:
        return
    device = loaded.file.options.get("device", "")
    if loaded.own_engine and device in ("null", "model"):
        raise SluiceError(
            f"{loaded.file.path}: precondition: device={device} keeps nothing in the target, so "
            "there is nothing to fill: leave [precondition] out"
        )
    if data.owns(placement.path):
        return
    purge.check(wanted, placement.path)
    for one in fill.slices(wanted, placement):
        target.check_harmless(one.job("psync"), data, destructive, data.path)
        break
    if wanted.purge and not _named(placement.path, destructive):
        raise SluiceError(
            f"precondition: purge: {placement.path} would lose its contents: say "
            f"--destructive {placement.path}"
        )


def at_most_s(loaded: Sweep) -> float:
    """Upper bound of the gate's time, as far as it can be known before."""
    rule = loaded.info.steady
    if rule is None:
        return 0.0
    return rule.cap * (rule.round_s + loaded.info.ramp_s)


class _Filling:
    """Purge and fill."""

    def __init__(
        self, conditioner: Conditioner, session: Session, progress: Progress, number: int
    ) -> None:
        self._conditioner = conditioner
        self._session = session
        self._progress = progress
        self._number = number

    def run(self, wanted: Precondition) -> None:
        steps = _valid(self._session.campaign.preparation())
        if wanted.purge and not any(step.kind == "purge" for step in steps):
            self._step("purge", 0, lambda _: self._purge(wanted))
        done = {(step.kind, step.index) for step in steps}
        parts = list(fill.slices(wanted, self._session.placement))
        left = [one for one in parts if (one.kind, one.index) not in done]
        if left and len(left) < len(parts):
            self._progress.say(f"precondition: {len(parts) - len(left)} of {len(parts)} were done")
        if left:
            size = sum(one.size for one in left) / (1 << 30)
            self._progress.say(f"precondition: {size:.3g} GiB to write, in {len(left)} slices")
        slowest = 0.0  # seconds a byte
        for count, one in enumerate(left, len(parts) - len(left) + 1):
            begin = time.monotonic()
            self._step(one.kind, one.index, partial(self._fill, one))
            slowest = max(slowest, (time.monotonic() - begin) / max(one.size, 1))
            to_go = slowest * sum(later.size for later in parts[count:])
            self._progress.say(
                f"precondition: fill {count} of {len(parts)}, {_KINDS[one.kind]} "
                f"(about {show_seconds(to_go)} to go)"
            )

    def _purge(self, wanted: Precondition) -> None:
        placement, data = self._session.placement, self._conditioner.data
        if self._conditioner.fresh:
            return  # own files, made a moment ago
        self._progress.say(f"precondition: purging {placement.path}")
        if not data.owns(placement.path):
            purge.device(wanted, placement.path)
            return
        purge.own_files(placement.path)
        lay_out_all(self._conditioner.fio, self._session.sweep, placement, data)

    def _fill(self, one: fill.Slice, folder: Path) -> None:
        fill.run(self._conditioner.fio, one, folder, runner.mark(self._session, folder))

    def _step(self, kind: str, index: int, work: Callable[[Path], None]) -> None:
        begin, wall = time.monotonic(), time.time()
        folder = self._session.campaign.begin_step(kind)
        work(folder)
        pack(folder)
        took = time.monotonic() - begin
        self._session.campaign.end_step(folder, Step(kind, self._number, index, wall, took))


class _Gate:
    """Rounds until the last ones agree, or there were too many."""

    def __init__(
        self, session: Session, knobs: Knobs, progress: Progress, number: int, rule: SteadyRule
    ) -> None:
        self._session = _timed(session, rule)
        self._knobs = knobs
        self._progress = progress
        self._number = number
        self._rule = rule
        self._cell = _cell_of(session.sweep, rule)

    def run(self) -> None:
        """Make the rounds and record the judgement."""
        values: list[float] = []
        window: gate.Window | None = None
        longest = self._rule.round_s + self._session.sweep.info.ramp_s
        for index in range(self._rule.cap):
            begin = time.monotonic()
            value, trouble = self._round(index, values)
            longest = max(longest, time.monotonic() - begin)
            if value is None:
                self._conclude(False, f"round {index + 1} of the gate: {trouble}")
                return
            window = gate.judge(self._rule, values)
            self._tell(index, value, window, longest)
            if window is not None and window.steady:
                self._conclude(True, "")
                return
        self._conclude(False, gate.not_reached(self._rule, values, window))

    def _round(self, index: int, values: list[float]) -> tuple[float | None, str]:
        """One round; its value joins `values`. None: it has none, with the reason."""
        session, rule = self._session, self._rule
        begin, wall = time.monotonic(), time.time()
        folder = session.campaign.begin_step("round")
        seed = 1 + 1000 * self._number + index
        order = runner.make_order(
            session.sweep,
            session.placement,
            self._cell,
            seed,
            folder,
            runner.mark(session, folder),
            self._knobs.group,
        )
        setting = knobbed.setting(session.sweep.info, self._cell)
        _, outcome = runner.with_knobs(self._knobs, setting, lambda: session.executor.run(order))
        pack(folder)
        value, trouble = _value(outcome, rule.metric)
        if value is not None:
            values.append(value)
        window = gate.judge(rule, values) if value is not None else None
        step = Step(
            "round",
            self._number,
            index,
            wall,
            time.monotonic() - begin,
            value,
            window.range if window else None,
            window.slope if window else None,
            reason=trouble,
        )
        session.campaign.end_step(folder, step)
        return value, trouble

    def _tell(self, index: int, value: float, window: gate.Window | None, longest: float) -> None:
        judged = (
            f", range {100 * window.range:.3g} %, slope {100 * window.slope:.3g} %"
            if window
            else ""
        )
        to_go = show_seconds(longest * (self._rule.cap - index - 1))
        self._progress.say(
            f"steady state: round {index + 1} of at most {self._rule.cap}: {self._rule.metric} "
            f"{value:,.4g}{judged} (at most {to_go} to go)"
        )

    def _conclude(self, steady: bool, reason: str) -> None:
        now = Step("gate", self._number, 0, time.time(), steady=steady, reason=reason)
        _record(self._session, now)
        said = "reached" if steady else f"not reached: {reason}: the runs bear no verdict"
        self._progress.say(f"steady state: {said}")


def lay_out_all(fio: Fio, loaded: Sweep, placement: Placement, data: DataFolder) -> bool:
    """Lay out the files of every workload; whether any had to be written."""
    found = {cell.workload: cell for cell in reversed(loaded.cells) if cell.skipped is None}
    made = False
    for cell in found.values():
        job = compose.compose(loaded, cell, placement, 1).render()
        made |= layout.lay_out(fio, jobfile.parse(job), placement, data)
    return made


def _record(session: Session, step: Step) -> None:
    folder = session.campaign.begin_step(step.kind)
    session.campaign.end_step(folder, step)


def _valid(steps: Sequence[Step]) -> list[Step]:
    """The steps that still count: those since own files were last made anew."""
    made = [index for index, step in enumerate(steps) if step.kind == LAID_OUT]
    return list(steps[made[-1] + 1 :] if made else steps)


def _session_number(session: Session) -> int:
    befores = [one for one in session.campaign.environments() if one.when == "before"]
    return max(0, len(befores) - 1)


def _timed(session: Session, rule: SteadyRule) -> Session:
    """The session whose runs last as long as a round."""
    loaded = session.sweep
    info = dataclasses.replace(loaded.info, runtime_s=rule.round_s)
    limit = max(loaded.file.timeout_s, 2 * (rule.round_s + info.ramp_s) + 60)
    file = dataclasses.replace(loaded.file, timeout_s=limit)
    return dataclasses.replace(session, sweep=dataclasses.replace(loaded, info=info, file=file))


def _cell_of(loaded: Sweep, rule: SteadyRule) -> Cell:
    runnable = [cell for cell in loaded.cells if cell.skipped is None]
    own = [cell for cell in runnable if cell.workload == rule.workload]
    return (own or runnable)[0]


def _value(outcome: Outcome, metric: str) -> tuple[float | None, str]:
    if outcome.status is not Status.OK:
        return None, outcome.reason
    for sample in outcome.samples:
        if sample.total and sample.role is Role.MEASURED and sample.direction == "all":
            value = sample.values.get(metric)
            if value is not None and percentile_supported(metric, sample.values.get("ios", 0.0)):
                return value, ""
    return None, f"{metric} wasn't measured (too few I/Os, or latency is off)"


def _named(path: Path, destructive: Iterable[str]) -> bool:
    return os.path.realpath(path) in [os.path.realpath(name) for name in destructive]
