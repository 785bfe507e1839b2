"""One execution of a sweep on disk: an append-only folder.

::

    <store>/<sweep>-<number>/
        campaign.json        what was planned: sweep, cells, blocks, seed, command line
        sweep.toml           the sweep file, byte for byte
        blocks/NNNN.json     blocks that were added after it began, and why
        env/NNNN-before.json the machine, before and after each session
        prepare/<n>-<kind>/  what was done to the target first: step.json, and fio's files
        runs/<order>-<id>/   job.fio  fio.json.gz  stats.json  stderr.txt  run.json
        lock                 held by the harness that is running it

A run counts from the moment its run.json is there, which is written last and in one step; a folder
without one is a run that was cut short, and is made again on resume under another name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import secrets
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from sluice import encode, files, migrate, paths, timeline
from sluice.errors import SluiceError
from sluice.executor import OUTPUT, STDERR, STDOUT
from sluice.lock import Lock
from sluice.model import Block, Environment, Results, Run, Step

HEADER = "campaign.json"
GUESTS = "sluice vm sweep"
"""How the command of a campaign begins that ran in guests; it keeps all that resuming needs."""
_FOR_RESUME = ("--fio", "--data", "--destructive")
"""Flags that a campaign doesn't keep, so resuming it takes them again."""

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class _Added:
    """Blocks that were planned later."""

    blocks: tuple[Block, ...]
    why: str


class Campaign:
    """A campaign's folder. Writing needs :meth:`locked`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name

    @property
    def mark(self) -> str:
        """What every process of this campaign carries (see `process`); another store's campaign
        of the same name has another one."""
        place = hashlib.sha256(str(self.folder.absolute()).encode()).hexdigest()[:12]
        return f"{self.name}@{place}"

    @property
    def resume_command(self) -> str:
        """The shell command that goes on with it: with the same fio, data folder and consent to
        overwrite as it was begun with."""
        words = ["sluice", "run", "--resume", self.name]
        store = self.folder.absolute().parent
        if store != paths.default_store().absolute():
            words += ["--store", str(store)]
        with contextlib.suppress(SluiceError, ValueError):  # unreadable: then resuming says so
            given = shlex.split(self.header().command)
            if self.in_guests:
                words[:2], given = GUESTS.split(), []
            for flag, value in itertools.pairwise(given):
                if flag in _FOR_RESUME:
                    words += [flag, value]
            words += ["--tune"] if "--tune" in given else []
        return shlex.join(words)

    @property
    def in_guests(self) -> bool:
        """Whether its runs were made in virtual machines of the harness's."""
        return self.header().command.startswith(f"{GUESTS} ")

    @classmethod
    def create(cls, folder: Path, header: Results) -> Campaign:
        """Make the folder's contents; `folder` exists and is empty."""
        (folder / "runs").mkdir()
        (folder / "env").mkdir()
        files.write_bytes(folder / "sweep.toml", header.sweep.toml_text.encode())
        document = encode.to_json(header)
        for derived in ("runs", "environments", "preparation", "folder"):
            document.pop(derived)
        files.write_json(folder / HEADER, document)  # last: from now on it is a campaign
        return cls(folder)

    def locked(self) -> Lock:
        """Exclusive right to add runs."""
        return Lock(
            self.folder / "lock",
            f"{self.folder}: another harness is running this campaign: wait for it, or "
            "start a new one with `sluice run SWEEP`",
        )

    def header(self) -> Results:
        """What was planned, without runs and environments. SluiceError when it is damaged or from
        a newer harness."""
        document = _read(self.folder / HEADER, "campaign")
        document |= {"runs": [], "environments": [], "folder": str(self.folder)}
        header = _decode(Results, document, self.folder / HEADER)
        added = self._added()
        if not added:
            return header
        blocks = (*header.blocks, *(block for one in added for block in one.blocks))
        own = sum(not block.stage for block in blocks)
        return dataclasses.replace(
            header,
            blocks=blocks,
            planned_runs=sum(2 * len(block.order) for block in blocks),
            sweep=dataclasses.replace(header.sweep, blocks=own),
        )

    @property
    def undecided(self) -> bool:
        """Whether the number of blocks is still open: a sweep that leaves it to its pilot, and
        nobody has chosen yet."""
        return self.header().sweep.auto_blocks and not self._added()

    def add_blocks(self, blocks: Sequence[Block], why: str) -> None:
        """Plan more runs, behind all others; also none, which settles that there will be none."""
        folder = self.folder / "blocks"
        folder.mkdir(exist_ok=True)
        number = len(list(folder.glob("[0-9]*.json")))
        document = encode.to_json(_Added(tuple(blocks), why))
        files.write_json(folder / f"{number:04d}.json", {"schema": migrate.SCHEMA, **document})

    def _added(self) -> list[_Added]:
        paths = sorted((self.folder / "blocks").glob("[0-9]*.json"))
        return [_decode(_Added, _read(path, "blocks"), path) for path in paths]

    def environments(self) -> tuple[Environment, ...]:
        """In the order in which they were taken."""
        paths = sorted((self.folder / "env").glob("[0-9]*.json"))
        return tuple(_decode(Environment, _read(path, "environment"), path) for path in paths)

    def add_environment(self, environment: Environment) -> None:
        """Keep what the machine looks like."""
        number = len(list((self.folder / "env").glob("[0-9]*.json")))
        document = {"schema": migrate.SCHEMA, **encode.to_json(environment)}
        files.write_json(self.folder / "env" / f"{number:04d}-{environment.when}.json", document)

    def preparation(self) -> tuple[Step, ...]:
        """What was done to the target, in order; a step that was cut short doesn't count."""
        paths = sorted((self.folder / "prepare").glob("[0-9]*/step.json"))
        return tuple(_decode(Step, _read(path, "step"), path) for path in paths)

    def begin_step(self, kind: str) -> Path:
        """Make the folder of a step. FileNotFoundError when the campaign's folder is gone."""
        parent = self.folder / "prepare"
        parent.mkdir(exist_ok=True)
        folder = parent / f"{len(list(parent.iterdir())):04d}-{kind}"
        folder.mkdir()
        return folder

    def end_step(self, folder: Path, step: Step) -> Step:
        """Keep a step: write step.json, from when on it counts."""
        document = {"schema": migrate.SCHEMA, **encode.to_json(step)}
        files.write_json(folder / "step.json", document)
        return step

    def run_names(self) -> list[str]:
        """Names of the runs that have ended, without reading them."""
        try:
            entries = list(os.scandir(self.folder / "runs"))
        except FileNotFoundError:
            return []
        return sorted(
            entry.name
            for entry in entries
            if entry.is_dir() and os.path.exists(f"{entry.path}/run.json")
        )

    def finished(self) -> set[int]:
        """Positions in the plan whose run has ended, well or not. (A failed run that was made once
        more has two names and one position.)"""
        numbers = (name.partition("-")[0] for name in self.run_names())
        return {int(number) for number in numbers if number.isdecimal()}

    def read_run(self, name: str) -> Run:
        """A run by name. SluiceError when it is damaged or newer."""
        path = self.folder / "runs" / name / "run.json"
        return _decode(Run, _read(path, "run") | {"folder": str(path.parent)}, path)

    def begin_run(self, order: int) -> Path:
        """Make a run's folder. FileNotFoundError when the campaign's folder is gone: it is never
        made again, because what was in it wouldn't come back."""
        folder = self.folder / "runs" / f"{order:05d}-{secrets.token_hex(4)}"
        folder.mkdir()
        return folder

    def end_run(self, run: Run) -> Run:
        """Keep a run: write run.json, from when on it counts."""
        document = encode.to_json(run)
        document.pop("folder")
        files.write_json(run.folder / "run.json", {"schema": migrate.SCHEMA, **document})
        return run


def pack(folder: Path) -> None:
    """Make what a run left behind small: fio's output and logs compressed, empty files gone."""
    files.compress(folder / OUTPUT)
    timeline.pack(folder)
    for name in (STDOUT, STDERR):
        path = folder / name
        if path.exists() and path.stat().st_size == 0:
            path.unlink()


def fio_output(run: Run) -> str:
    """fio's output of a run as it came, for histograms that the figures don't hold.
    FileNotFoundError when the run never got that far."""
    return files.read_text(run.folder / OUTPUT)


def rebase(run: Run, folder: Path) -> Run:
    """The same run at the place where its campaign is now."""
    return dataclasses.replace(run, folder=folder / "runs" / run.id)


def _read(path: Path, kind: str) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"no JSON: {error}"
        raise SluiceError(f"{path}: can't be read ({reason})") from error
    if not isinstance(document, dict):
        raise SluiceError(f"{path}: damaged: no JSON object")
    return migrate.upgrade(kind, document, str(path))


def _decode(kind: type[T], document: dict[str, Any], path: Path) -> T:
    try:
        return encode.from_json(kind, document)
    except (ValueError, TypeError, AttributeError) as error:
        raise SluiceError(f"{path}: damaged: {error}") from error
