"""What the verbs ``compare``, ``gate``, ``ack`` and ``confirm`` do."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sluice import paths
from sluice.errors import NothingRan, SluiceError
from sluice.fingerprint import ARMS
from sluice.model import Results
from sluice.readings import Readings
from sluice.stats import Comparison, Verdict
from sluice.store import Store
from sluice.verdicts import acks, recommend
from sluice.verdicts.across import Across, Arm, across
from sluice.verdicts.exits import NOT_COMPARABLE, NOTHING_RAN, FailOn
from sluice.verdicts.family import compare
from sluice.verdicts.gate import decide
from sluice.verdicts.stages import begin_confirmation

__all__ = ["ack_command", "compare_command", "confirm_command", "gate_command"]

_ARM = re.compile(r"(?P<campaign>[^:]*):(?P<values>[^:=]+=.*)")


def compare_command(arguments: argparse.Namespace) -> int:
    """``sluice compare``. Exit 4 when the two aren't comparable, 5 when there is nothing."""
    store = Store(Path(arguments.store))
    old = _arm(store, arguments.old, None)
    found = across(old, _arm(store, arguments.new, old.results), _declared(arguments.vary))
    _print_across(found, arguments.all)
    gated = decide(found.rows, "", (), _today(), FailOn.REGRESSED)
    return gated.code if gated.code in (NOT_COMPARABLE, NOTHING_RAN) else 0


def gate_command(arguments: argparse.Namespace) -> int:
    """``sluice gate``: the exit code is the verdict."""
    store = Store(Path(arguments.store))
    results = _results(store, arguments.campaign)
    known = acks.read(_acks_path(arguments))
    if arguments.against:
        against = Arm(_results(store, arguments.against), {})
        found = across(against, Arm(results, {}), _declared(arguments.vary))
        _print_across(found, arguments.all)
        rows = found.rows
    else:
        family = compare(Readings(results))
        if family.axis is None or not family.rows:
            raise NothingRan(
                f"{results.campaign}: holds one value, so there is nothing to compare: name "
                "another campaign with --against"
            )
        rows = family.rows
        _print_rows(rows, arguments.all)
        if not results.complete:
            print(f"note: {results.campaign} is not complete")
    fail_on = FailOn(arguments.fail_on)
    gated = decide(rows, results.sweep.name, known, _today(), fail_on)
    for row, ack in gated.acknowledged:
        print(f"acknowledged until {ack.until}: {row.cell.id} {acks.name_of(row)}: {ack.reason}")
    for row, ack in gated.expired:
        print(f"ran out on {ack.until}: {row.cell.id} {acks.name_of(row)}: {ack.reason}")
    print(f"{results.campaign}: {gated.text}")
    return gated.code


def ack_command(arguments: argparse.Namespace) -> int:
    """``sluice ack``: add a known difference, or list them."""
    path = _acks_path(arguments)
    given = (arguments.cell, arguments.metric, arguments.reason, arguments.until)
    if not any(given):
        for one in acks.read(path):
            state = "" if one.holds(_today()) else "  (ran out)"
            print(f"{one.until}{state}  {one.sweep}  {one.cell}  {one.metric}: {one.reason}")
        return 0
    if not all(given):
        raise SluiceError("ack: takes --cell, --metric, --reason and --until together")
    try:
        until = date.fromisoformat(arguments.until)
    except ValueError as error:
        raise SluiceError(f"ack: --until {arguments.until}: write a date as YYYY-MM-DD") from error
    if until < _today():
        raise SluiceError(f"ack: --until {until}: is over already")
    acks.read(path)  # a file that is damaged is said now, and not added to
    ack = acks.Ack(arguments.cell, arguments.metric, arguments.reason, until, arguments.sweep)
    acks.add(path, ack)
    print(f"{path}: acknowledged until {until}: {ack.cell} {ack.metric}")
    return 0


def confirm_command(arguments: argparse.Namespace, run: Callable[[Sequence[str]], int]) -> int:
    """``sluice confirm``: the best of many looks better than it is, so measure it again."""
    if arguments.blocks is not None and arguments.blocks < 2:
        raise SluiceError("confirm: --blocks: at least 2, since one has no spread")
    store = Store(Path(arguments.store))
    results = _results(store, arguments.campaign)
    advice = recommend.advise(results)
    unfinished = any(block.stage for block in results.blocks) and not results.complete
    done = advice.kind in (recommend.Kind.RECOMMENDED, recommend.Kind.WITHDRAWN)
    if not unfinished and not (done and arguments.again):
        if advice.kind is not recommend.Kind.PROPOSED:
            print(f"{results.campaign}: {advice.text}")
            return 0
        if not results.complete:
            raise SluiceError(
                f"{results.campaign}: is not complete, so what looks best may change: "
                f"`sluice run --resume {results.campaign}` first"
            )
    if not unfinished:
        begin_confirmation(store, results, advice, arguments.blocks)
    words = ["--resume", results.campaign, "--store", str(store.root), "--fio", arguments.fio]
    for name in arguments.destructive:
        words += ["--destructive", name]
    code = run(words)
    if code:
        return code
    print(f"{results.campaign}: {recommend.advise(_results(store, results.campaign)).text}")
    return 0


def _arm(store: Store, text: str, other: Results | None) -> Arm:
    match = _ARM.fullmatch(text)
    if match is None:
        return Arm(_results(store, text), {})
    values = {}
    for part in match["values"].split(","):
        axis, equals, value = part.partition("=")
        if not equals:
            raise SluiceError(f"{text}: '{part}' is no axis=value")
        values[axis] = value
    if not match["campaign"]:
        if other is None:
            raise SluiceError(f"{text}: of which campaign? Write CAMPAIGN{text}")
        return Arm(other, values)
    return Arm(_results(store, match["campaign"]), values)


def _results(store: Store, name: str | None) -> Results:
    """A campaign by name, number or folder; without one the newest."""
    campaigns = store.campaigns()
    if not name:
        if not campaigns:
            raise NothingRan(
                f"{store.root}: no results in it: run a sweep first (`sluice run SWEEP`), or name "
                "another folder with --store"
            )
        return store.load(campaigns[-1])
    folder = Path(name).absolute()
    given = next((one for one in campaigns if one.folder == folder), None)
    return store.load(given or store.find(name))


def _print_across(found: Across, everything: bool) -> None:
    how = "within each block" if found.paired else "with blocks of their own"
    print(f"{found.new.name} over {found.old.name}, {how}")
    _print_rows(found.rows, everything)
    for note in found.notes:
        print(f"note: {note}")


def _print_rows(rows: Sequence[Comparison], everything: bool) -> None:
    """The worst first; equivalent ones are counted only."""
    from sluice.report.answer import sort_by_effect, verdict_table

    shown = [row for row in rows if everything or row.verdict is not Verdict.EQUIVALENT]
    table = verdict_table(sort_by_effect(shown), "")
    if table.rows:
        out = Table(*table.head, box=None, pad_edge=False)
        for cells in table.rows:
            out.add_row(*cells)
        width = None if sys.stdout.isatty() else 10_000
        Console(width=width, markup=False, highlight=False).print(out)
    for reason in dict.fromkeys(row.reason for row in rows if row.reason):
        print(f"no verdict: {reason}")
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    print(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count))


def _declared(names: Sequence[str]) -> list[str]:
    return [key for name in names for key in ARMS.get(name, (name,))]


def _acks_path(arguments: argparse.Namespace) -> Path:
    return Path(arguments.acks) if arguments.acks else paths.acks()


def _today() -> date:
    return datetime.now(UTC).date()
