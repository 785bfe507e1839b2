"""Runs `sluice aa` and holds its count against a bar: what the benches aa and injected share."""

import argparse
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import BenchError
from .runner import ROOT

HARNESS = ROOT / "build/bin/sluice"
FULL: dict[str, int | None] = {"reports": 20, "blocks": None}
QUICK: dict[str, int | None] = {"reports": 2, "blocks": 3}


@dataclass(frozen=True)
class Bar:
    """Of a hundred reports, how many may count, or have to."""

    percent: int
    at_least: bool

    def limit(self, reports: int) -> int:
        """In whole reports, rounded against the harness: 3 of 20 at 15, 0 of 2."""
        if self.at_least:
            return -(-self.percent * reports // 100)
        return self.percent * reports // 100

    def met(self, count: int, reports: int) -> bool:
        limit = self.limit(reports)
        return count >= limit if self.at_least else count <= limit

    def words(self, reports: int) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.limit(reports)}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sweep", nargs="?", help="another sweep than the project's")
    parser.add_argument("--reports", type=int, help="how many sweeps (default 20)")
    parser.add_argument("--blocks", type=int, help="of each (default: the sweep's)")
    parser.add_argument("--quick", action="store_true", help="two reports of three blocks")
    parser.add_argument("--resume", metavar="SESSION", help="go on with one that was interrupted")
    parser.add_argument("--store", type=Path, help="where the runs are kept (default: sluice's)")


def run(args: argparse.Namespace, flags: list[str], what: str, bar: Bar) -> int:
    """Exit status: 0 the bar is met, 1 a run failed, 2 it is missed."""
    if not HARNESS.exists():
        raise BenchError(f"{HARNESS} isn't there: ci/setup bench makes it")
    words = [str(HARNESS), "aa", *flags]
    if args.resume:
        words += ["--resume", args.resume]
    else:
        words += [args.sweep] if args.sweep else []
        defaults = QUICK if args.quick else FULL
        for name in ("reports", "blocks"):
            value = getattr(args, name) or defaults[name]
            words += [f"--{name}", str(value)] if value else []
    if args.store:
        words += ["--store", str(args.store.resolve())]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode:
        raise BenchError(f"sluice aa ended with {done.returncode}: see above")
    folder = Path(done.stdout.splitlines()[-1].partition(": ")[0])
    count, reports, judged = counted(json.loads((folder / "aa.json").read_text()))
    print(done.stdout, end="")
    met = bar.met(count, reports)
    print(
        f"{'ok' if met else 'MISSED'}: {count} of {reports} reports {what} ({bar.words(reports)}), "
        f"{judged} comparisons judged"
    )
    return 0 if met else 2


def counted(document: dict) -> tuple[int, int, int]:
    """Reports that count, all reports, comparisons with a verdict."""
    outcomes = document["outcomes"]
    wanted = ("regressed",) if document["kind"] == "injected" else ("regressed", "improved")
    hits = sum(any(call["verdict"] in wanted for call in one["called"]) for one in outcomes)
    return hits, len(outcomes), sum(one["judged"] for one in outcomes)
