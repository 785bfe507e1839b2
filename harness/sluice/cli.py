"""The command line: ``sluice plan | run | report | doctor | list | vm``.

Exit codes: 0 fine, 1 an error of the tool or of its use, 2 to 5 verdicts (`sluice.verdicts.exits`),
130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from sluice import __version__, commands, paths, tuning_cli
from sluice.aa import cli as aa_cli
from sluice.errors import SluiceError
from sluice.verdicts import cli as verdicts_cli
from sluice.vm import cli as vm_cli


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    arguments = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        if arguments.verb is not tuning_cli.restore_command:  # which does it by itself
            tuning_cli.at_start()
        return int(arguments.verb(arguments))
    except SluiceError as error:
        print(f"sluice: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("sluice: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # e.g. `sluice list | head`
        return 0
    except OSError as error:
        print(f"sluice: {_explained(error)}", file=sys.stderr)
        return 1


def _explained(error: OSError) -> str:
    """What the system refused, at which path, and the way out, in one line."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    what = f"{name}: {error.strerror}" if name and error.strerror else str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        cure = "free space, then the same command again"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        cure = "take a folder that you may write, or mend its rights"
    else:
        cure = "check that path, then the same command again"
    return " ".join(f"{what}: {cure}".split())


class _Parser(argparse.ArgumentParser):
    """Wrong use ends with 1: argparse's own 2 means regressed here."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and end."""
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The grammar of the command line."""
    top: argparse.ArgumentParser = _Parser(
        prog="sluice", description="Sweeps tunables of fio jobs, keeps every run and reports."
    )
    top.add_argument("--version", action="version", version=f"sluice {__version__}")
    verbs = top.add_subparsers(required=True, metavar="VERB")

    one = verbs.add_parser("plan", help="check a sweep and print what would run")
    one.add_argument("sweep", help="a sweep file, or the name of one in jobs/sweeps")
    one.add_argument(
        "--try-knobs",
        action="store_true",
        help="set every knob of the kernel once, read it back and put it back",
    )
    _add_sweep_flags(one)
    one.set_defaults(verb=commands.plan_command)

    one = verbs.add_parser("run", help="run a sweep, or go on with one")
    one.add_argument("sweep", nargs="?", help="a sweep file, or the name of one in jobs/sweeps")
    one.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="CAMPAIGN",
        help="go on where a campaign stopped (default: the newest unfinished one)",
    )
    one.add_argument(
        "--retry-failed",
        action="store_true",
        help="with --resume: make failed runs once more (the failures stay on record)",
    )
    one.add_argument("--dry-run", action="store_true", help="print plan and first job; run nothing")
    one.add_argument(
        "--tune",
        action="store_true",
        help="quiet the machine meanwhile: clock, interrupts, sleep states",
    )
    _add_sweep_flags(one)
    _add_store(one)
    one.set_defaults(verb=commands.run_command)

    one = verbs.add_parser("report", help="write a campaign's pages")
    one.add_argument("campaign", nargs="?", help="name, number or folder (default: the newest)")
    one.add_argument("--out", metavar="FOLDER", help="where to (default: report/ in the campaign)")
    _add_store(one)
    one.set_defaults(verb=commands.report_command)

    one = verbs.add_parser("doctor", help="what this machine can and can't measure, with cures")
    one.add_argument("--fio", default="fio", help="the fio program")
    one.add_argument(
        "--data",
        default=str(paths.default_data()),
        metavar="FOLDER",
        help="where test files are made",
    )
    one.set_defaults(verb=commands.doctor_command)

    one = verbs.add_parser("list", help="sweeps of the project and campaigns of the store")
    one.add_argument(
        "--rebuild-index",
        action="store_true",
        help="build the store's index again from its folders",
    )
    _add_store(one)
    one.set_defaults(verb=commands.list_command)

    aa_cli.add(verbs, _run)
    verdicts_cli.add(verbs, _run)
    vm_cli.add(verbs)
    tuning_cli.add(verbs)
    return top


def _run(words: Sequence[str]) -> int:
    """The verb ``run``, for verbs that need it."""
    arguments = parser().parse_args(["run", *words])
    return int(arguments.verb(arguments))


def _add_sweep_flags(one: argparse.ArgumentParser) -> None:
    one.add_argument("--blocks", type=_positive, metavar="N", help="instead of the sweep file's")
    one.add_argument("--seed", type=int, metavar="N", help="draw the order from this seed")
    one.add_argument(
        "--aa", action="store_true", help="the sweep against itself: with two identical arms"
    )
    one.add_argument("--order", action="store_true", help="with plan: print every run in order")
    one.add_argument("--fio", default="fio", help="the fio program")
    one.add_argument(
        "--data",
        default=str(paths.default_data()),
        metavar="FOLDER",
        help="where test files are made",
    )
    one.add_argument(
        "--destructive",
        action="append",
        default=[],
        metavar="NAME",
        help="allow jobs to overwrite this device or file; may be repeated",
    )


def _add_store(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--store",
        default=str(paths.default_store()),
        metavar="FOLDER",
        help="where results are kept",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM and a closed terminal end like Ctrl-C: fio's tree is killed, what is done is kept."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
