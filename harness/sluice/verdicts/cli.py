"""The grammar of the verbs ``compare``, ``gate``, ``ack`` and ``confirm``.

What they do is imported when one is called: the other verbs need no statistics.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from sluice import paths
from sluice.fingerprint import ARMS
from sluice.verdicts.exits import FailOn

__all__ = ["add"]


def add(verbs: Any, run: Callable[[Sequence[str]], int]) -> None:
    """Add the verbs. `run` does the verb ``run``."""
    one = verbs.add_parser("compare", help="two campaigns, or two arms of one, against each other")
    arm = "CAMPAIGN or CAMPAIGN:axis=value"
    one.add_argument("old", help=f"what is compared with: {arm}")
    one.add_argument("new", help=f"what is judged: {arm}, or :axis=value of the same campaign")
    _add_vary(one)
    one.add_argument("--all", action="store_true", help="print equivalent cells too")
    _add_store(one)
    one.set_defaults(verb=_lazily("compare_command"))

    one = verbs.add_parser("gate", help="judge a campaign for a script: the exit code says it")
    one.add_argument("campaign", nargs="?", help="name, number or folder (default: the newest)")
    one.add_argument(
        "--against", metavar="CAMPAIGN", help="compare with this one instead of the default"
    )
    one.add_argument(
        "--fail-on",
        choices=[level.value for level in FailOn],
        default=FailOn.INCONCLUSIVE.value,
        help="how much it takes for an exit code other than 0 (default: inconclusive)",
    )
    _add_acks(one)
    _add_vary(one)
    one.add_argument("--all", action="store_true", help="print equivalent cells too")
    _add_store(one)
    one.set_defaults(verb=_lazily("gate_command"))

    one = verbs.add_parser("ack", help="acknowledge a known difference, until a date")
    one.add_argument("--cell", metavar="PATTERN", help="cells, e.g. 'solo/bypass=all,*'")
    one.add_argument(
        "--metric", metavar="PATTERN", help="e.g. lat_p99; of the neighbour: iops:neighbour"
    )
    one.add_argument("--reason", metavar="TEXT", help="why it may stay")
    one.add_argument("--until", metavar="DATE", help="last day on which it holds: YYYY-MM-DD")
    one.add_argument("--sweep", metavar="PATTERN", default="*", help="of these sweeps only")
    _add_acks(one)
    one.set_defaults(verb=_lazily("ack_command"))

    one = verbs.add_parser(
        "confirm", help="measure the value that looked best again, in fresh blocks"
    )
    one.add_argument("campaign", nargs="?", help="name, number or folder (default: the newest)")
    one.add_argument("--blocks", type=int, metavar="N", help="fresh ones (default: as many again)")
    one.add_argument("--again", action="store_true", help="although it was confirmed before")
    one.add_argument("--fio", default="fio", help="the fio program")
    one.add_argument(
        "--destructive", action="append", default=[], metavar="NAME", help="as for `run`"
    )
    _add_store(one)
    one.set_defaults(verb=_lazily("confirm_command", run))


def _lazily(name: str, *more: Any) -> Callable[[argparse.Namespace], int]:
    def verb(arguments: argparse.Namespace) -> int:
        from sluice.verdicts import verbs

        return int(getattr(verbs, name)(arguments, *more))

    return verb


def _add_vary(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="WHAT",
        help=f"what is meant to differ: {', '.join(ARMS)}, or a key of the environment as a "
        "pattern; may be repeated. Any other difference that matters: not comparable",
    )


def _add_acks(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--acks", metavar="FILE", help="known differences (default: jobs/acks.toml of the project)"
    )


def _add_store(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--store", default=str(paths.default_store()), metavar="FOLDER", help="where results are"
    )
