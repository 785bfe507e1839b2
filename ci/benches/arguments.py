"""What the benches that run fio in pairs take on the command line."""

import argparse
from pathlib import Path

from . import testfile
from .runner import ROOT
from .settings import Settings

FULL = {"pairs": 9, "seconds": 1.5, "size": "1G", "repeats": 3, "counted_ios": 12000}
QUICK = {"pairs": 3, "seconds": 0.15, "size": "256M", "repeats": 1, "counted_ios": 4000}


def add(parser: argparse.ArgumentParser, bench: str) -> None:
    argument = parser.add_argument
    argument(
        "--quick", action="store_true", help="under two minutes: checks the mechanics, not the bars"
    )
    argument(
        "--pairs",
        type=_positive(int),
        help=f"interleaved pairs of each case (default {FULL['pairs']})",
    )
    argument(
        "--seconds",
        type=_positive(float),
        help=f"length of one timed run (default {FULL['seconds']})",
    )
    argument(
        "--repeats",
        type=_positive(int),
        help=f"repeats of each counted case (default {FULL['repeats']})",
    )
    argument(
        "--file",
        type=Path,
        default=ROOT / "build/bench/drop-in.dat",
        help="file to read and write, made if missing, refused if not ours (default %(default)s)",
    )
    argument("--size", help=f"its size (default {FULL['size']})")
    argument(
        "--json",
        type=Path,
        default=ROOT / f"build/bench/{bench}.json",
        help="where every raw value goes (default %(default)s)",
    )
    argument("--case", default="*", metavar="GLOB", help="only the cases whose names match")
    argument(
        "--sluice-engine",
        default=f"external:{ROOT}/build/lib/sluice.so",
        metavar="ENGINE",
        help="default %(default)s; another engine's name stands in, without sluice's options",
    )
    argument(
        "--seed", type=int, default=1, help="of the offsets and their order (default %(default)s)"
    )


def _positive(kind: type):
    def parse(text: str):
        value = kind(text)
        if value <= 0:
            raise ValueError
        return value

    parse.__name__ = f"positive {kind.__name__}"
    return parse


def settings_of(args: argparse.Namespace) -> Settings:
    defaults = QUICK if args.quick else FULL

    def chosen(name: str):
        given = getattr(args, name, None)
        return defaults[name] if given is None else given

    return Settings(
        path=args.file.resolve(),
        size=testfile.parse_size(chosen("size")),
        pairs=chosen("pairs"),
        seconds=chosen("seconds"),
        repeats=chosen("repeats"),
        counted_ios=chosen("counted_ios"),
        seed=args.seed,
        glob=args.case,
        quick=args.quick,
    )
