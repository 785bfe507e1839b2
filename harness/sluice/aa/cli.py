"""The verb ``sluice aa``."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sluice import paths
from sluice.aa import record, session
from sluice.aa.record import Kind, Record, upper_bound
from sluice.errors import NothingRan, SluiceError

__all__ = ["add"]

DEFAULT = {Kind.AA: "aa-model", Kind.INJECTED: "injected"}
"""Sweeps of the project that are run when none is named."""


def add(verbs: Any, run: session.Run) -> None:
    """Add the verb. `run` does the verb ``run``."""
    one = verbs.add_parser(
        "aa", help="measure this machine's false-alarm rate: a sweep against itself, repeated"
    )
    one.add_argument("sweep", nargs="?", help="a sweep file or name (default: aa-model)")
    one.add_argument(
        "--injected",
        action="store_true",
        help="the sweep has a slower arm: count the reports that find it (default: injected)",
    )
    one.add_argument("--reports", type=int, default=20, metavar="N", help="sweeps (default 20)")
    one.add_argument("--blocks", type=int, metavar="N", help="instead of the sweep file's")
    one.add_argument(
        "--resume", nargs="?", const="", metavar="SESSION", help="go on with a session"
    )
    one.add_argument("--judge", metavar="SESSION", help="judge the runs of a session again")
    one.add_argument("--list", action="store_true", help="print the sessions of the store")
    one.add_argument("--fio", default="fio", help="the fio program")
    one.add_argument(
        "--data", default=str(paths.default_data()), metavar="FOLDER", help="where test files are"
    )
    one.add_argument(
        "--store", default=str(paths.default_store()), metavar="FOLDER", help="where results are"
    )
    one.set_defaults(verb=lambda arguments: aa_command(arguments, run))


def aa_command(arguments: argparse.Namespace, run: session.Run) -> int:
    """``sluice aa``."""
    store = Path(arguments.store)
    if arguments.list:
        _list(store)
        return 0
    if arguments.judge:
        _conclude(session.judge_again(session.find(store, arguments.judge)))
        return 0
    if arguments.reports < 1:
        raise SluiceError("aa: --reports: at least 1")
    if arguments.resume is not None:
        if arguments.sweep:
            raise SluiceError("aa: name a sweep, or a session with --resume")
        current = session.find(store, arguments.resume)
    else:
        kind = Kind.INJECTED if arguments.injected else Kind.AA
        sweep = arguments.sweep or DEFAULT[kind]
        current = session.begin(store, kind, sweep, arguments.reports)
    words = ["--fio", arguments.fio, "--data", arguments.data]
    if arguments.blocks:
        words += ["--blocks", str(arguments.blocks)]
    if current.kind is Kind.AA:
        words.append("--aa")
    done: Record | int = 130
    try:
        done = session.go_on(current, lambda given: _quietly(run, given), words, _say)
    finally:
        if not isinstance(done, Record):
            _say(f"go on with `sluice aa --resume {current.folder.name}`")
    if not isinstance(done, Record):
        return done
    _conclude(done)
    return 0


def rate(one: Record) -> str:
    """The count of a session, with what it can't exclude."""
    if not one.reports:
        return "no report yet"
    if one.kind is Kind.INJECTED:
        least = 1.0 - upper_bound(one.reports - one.hits, one.reports)
        return f"found in {one.hits} of {one.reports} reports (at least {100 * least:.0f} %)"
    most = upper_bound(one.hits, one.reports)
    return f"{one.hits} of {one.reports} reports with a false verdict (at most {100 * most:.0f} %)"


def _conclude(one: Record) -> None:
    for outcome in one.outcomes:
        for call in outcome.called if one.kind is Kind.AA else ():
            print(
                f"{outcome.campaign}: {call.cell}: {call.metric} {call.verdict}: "
                f"{call.ratio:.3f} [{call.low:.3f}, {call.high:.3f}]"
            )
    if not any(outcome.judged for outcome in one.outcomes):
        raise NothingRan(f"{one.folder}: no comparison has a verdict: see `sluice report` of one")
    print(f"{one.folder}: {rate(one)}")


def _list(store: Path) -> None:
    table = Table(
        *("session", "date", "sweep", "cells", "blocks", "reports", "result"),
        box=None,
        pad_edge=False,
    )
    for one in record.records(store):
        table.add_row(
            one.folder.name,
            time.strftime("%Y-%m-%d", time.gmtime(one.created_at)),
            one.sweep,
            str(one.cells or "?"),
            str(one.blocks or "?"),
            f"{one.reports}/{one.wanted}",
            rate(one),
        )
    console = Console(width=None if sys.stdout.isatty() else 10_000)
    if table.row_count:
        console.print(table)
    else:
        console.print(f"no A/A session in {store}: run `sluice aa`", markup=False, highlight=False)


def _quietly(run: session.Run, words: Sequence[str]) -> int:
    """Without what ``run`` prints at its end: the next step is the session's."""
    with contextlib.redirect_stdout(io.StringIO()):
        return run(words)


def _say(text: str) -> None:
    print(f"sluice: {text}", file=sys.stderr, flush=True)
