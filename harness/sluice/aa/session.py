"""Running a session: one sweep after another in a store of its own, each judged as it ends.

A session that was interrupted goes on: the campaign that was cut short is resumed, and the ones
that are missing are made. Nothing of a session is in the store's own list of campaigns.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sluice.aa import record
from sluice.aa.record import Called, Kind, Outcome, Record
from sluice.campaign import Campaign
from sluice.errors import SluiceError
from sluice.model import Results
from sluice.readings import Readings
from sluice.stats import Comparison, Verdict
from sluice.store import Store
from sluice.units import show_seconds
from sluice.verdicts.family import compare

__all__ = ["begin", "find", "go_on", "judge_again"]

Run = Callable[[Sequence[str]], int]
"""Does the verb ``run`` with these words; returns its exit code."""
Say = Callable[[str], None]
_CALLED = (Verdict.REGRESSED, Verdict.IMPROVED)


def begin(store: Path, kind: Kind, sweep: str, wanted: int) -> Record:
    """Make the folder of a new session."""
    root = store / record.FOLDER
    root.mkdir(parents=True, exist_ok=True)
    numbers = [int(m[1]) for one in root.iterdir() if (m := re.search(r"-(\d{4,})$", one.name))]
    slug = f"{kind.value}-{Path(sweep).stem}"
    folder = root / f"{slug}-{max(numbers, default=0) + 1:04d}"
    folder.mkdir()
    made = Record(record.SCHEMA, kind, sweep, 0, 0, wanted, time.time(), {}, folder=folder)
    record.save(made)
    return made


def find(store: Path, name: str) -> Record:
    """A session by the name of its folder; the newest unfinished one when `name` is empty."""
    known = record.records(store)
    if name:
        found = [one for one in known if one.folder.name == name]
    else:
        found = [one for one in known if one.reports < one.wanted]
    if not found:
        what = f"no session '{name}'" if name else "no unfinished session"
        raise SluiceError(f"{store / record.FOLDER}: {what}; `sluice aa --list` has all")
    return found[-1]


def go_on(session: Record, run: Run, words: Sequence[str], say: Say) -> Record | int:
    """Make the reports that are missing. `words` are what ``run`` is given for a new sweep beside
    its store. Returns the record, or the exit code of a sweep that didn't end well."""
    store = Store(session.folder)
    began, before = time.monotonic(), session.reports
    session = _counted(session, store)
    while session.reports < session.wanted:
        cut_short = [one for one in store.campaigns() if not _complete(one)]
        given = ["--resume", cut_short[0].name] if cut_short else [session.sweep, *words]
        code = run([*given, "--store", str(session.folder)])
        if code:
            return code
        session = _counted(session, store)
        done = session.reports - before
        left = (session.wanted - session.reports) * (time.monotonic() - began) / max(1, done)
        say(f"{session.folder.name}: {_said(session)}, about {show_seconds(left)} to go")
    return session


def judge_again(session: Record) -> Record:
    """Count anew from the campaigns, with the statistics as they are now."""
    bare = dataclasses.replace(session, outcomes=())
    return _counted(bare, Store(session.folder))


def _complete(campaign: Campaign) -> bool:
    return campaign.finished().issuperset(range(campaign.header().planned_runs))


def _counted(session: Record, store: Store) -> Record:
    """The record with every complete campaign in it, written down when that changed it."""
    known = {one.campaign for one in session.outcomes}
    fresh = [one for one in store.campaigns() if one.name not in known and _complete(one)]
    for campaign in fresh:
        results = store.load(campaign)
        session = dataclasses.replace(
            _described(session, results), outcomes=(*session.outcomes, _outcome(results))
        )
    if fresh:
        record.save(session)
    return session


def _described(session: Record, results: Results) -> Record:
    """With what is only known once a sweep has run."""
    values = results.environments[0].values if results.environments else {}
    return dataclasses.replace(
        session,
        cells=sum(cell.skipped is None for cell in results.cells),
        blocks=len(results.blocks),
        machine={key: values[key] for key in record.MACHINE if key in values},
        target=results.target.path,
    )


def _outcome(results: Results) -> Outcome:
    rows = compare(Readings(results)).rows
    return Outcome(
        results.campaign,
        len(rows),
        sum(row.verdict is not Verdict.NONE for row in rows),
        tuple(_call(row) for row in rows if row.verdict in _CALLED),
    )


def _call(row: Comparison) -> Called:
    return Called(
        row.cell.id,
        row.gate.metric,
        row.verdict.value,
        row.ratio or 1.0,
        row.low or 0.0,
        row.high or 0.0,
    )


def _said(session: Record) -> str:
    last = session.outcomes[-1]
    what = "with a false verdict" if session.kind is Kind.AA else "found the slower arm"
    return (
        f"report {session.reports} of {session.wanted}: {len(last.called)} of {last.judged} "
        f"comparisons called; {session.hits} {what}"
    )
