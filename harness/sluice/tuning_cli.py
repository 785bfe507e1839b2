"""The verbs ``tune`` and ``restore``, and what every start does first: putting back what a harness
that was killed left changed."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from sluice import tune
from sluice.knobs.journal import State, default_folder
from sluice.knobs.kernel import Kernel
from sluice.knobs.undo import recover

_OF_ROOT = Path("/run/sluice")


def add(verbs: Any) -> None:
    """Add the verbs to the command line's grammar."""
    one = verbs.add_parser(
        "tune", help="quiet this machine (clock, interrupts, sleep states) until `sluice restore`"
    )
    one.set_defaults(verb=tune_command)
    one = verbs.add_parser("restore", help="put back what tuning or a killed sweep left changed")
    one.set_defaults(verb=restore_command)


def at_start() -> None:
    """Honour the journals of harnesses that were killed, and say so."""
    recover(Kernel(), State(), _say)
    left = [] if default_folder() == _OF_ROOT else list(_OF_ROOT.glob("knobs-*"))
    if left and os.geteuid() != 0 and "SLUICE_STATE" not in os.environ:
        held = [one for one in State(_OF_ROOT).left() if not one.keep]
        if held:
            _say("knobs of this machine were left changed by root: sudo sluice restore")


def tune_command(arguments: argparse.Namespace) -> int:
    """``sluice tune``: tune and leave it so."""
    tuning = tune.Tuning(Kernel(), State(), print)
    changed = tuning.stay()
    for line in tune.left_alone():
        print(line)
    if changed:
        print(f"tuned: {', '.join(tuning.items) or 'nothing'}; back again: sluice restore")
    else:
        print("nothing to tune: this machine has none of it, or is tuned already")
    return 0


def restore_command(arguments: argparse.Namespace) -> int:
    """``sluice restore``: put everything back. Exit 1 when something couldn't be."""
    lines: list[str] = []
    well = recover(Kernel(), State(), lines.append, kept_too=True)
    for line in lines or ["nothing to put back"]:
        print(line, file=sys.stdout if well else sys.stderr)
    return 0 if well else 1


def _say(text: str) -> None:
    print(f"sluice: {text}", file=sys.stderr)
