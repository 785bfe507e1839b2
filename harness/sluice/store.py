"""The store: a folder of campaigns, and the index over them.

    results = store.load(path)     # all that a report needs

Campaigns are numbered in the order of their creation, because names by date go wrong when the clock
does. Several harnesses may work in one store at the same time, each on its own campaign.
"""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from sluice.campaign import HEADER, Campaign, rebase
from sluice.errors import SluiceError, near
from sluice.index import Index
from sluice.lock import Lock
from sluice.model import Results, Run

_NUMBERED = re.compile(r"(?P<slug>.+)-(?P<number>\d{4,})")


class Store:
    """A folder of campaigns; need not exist yet."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def campaigns(self) -> list[Campaign]:
        """All campaigns, oldest first."""
        if not self.root.is_dir():
            return []
        found = [entry for entry in self.root.iterdir() if (entry / HEADER).is_file()]
        return [
            Campaign(entry)
            for entry in sorted(found, key=lambda path: (_number(path.name), path.name))
        ]

    def create(self, slug: str, header: Results) -> Campaign:
        """Make a new campaign. SluiceError when the store can't be written."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with Lock(self.root / "lock", None):
                number = 1 + max((_number(path.name) for path in self.root.iterdir()), default=0)
                folder = self.root / f"{slug}-{number:04d}"
                folder.mkdir()
            return Campaign.create(
                folder, dataclasses.replace(header, campaign=folder.name, folder=folder)
            )
        except OSError as error:
            raise SluiceError(
                f"{self.root}: can't be written ({error.strerror}): free space, or "
                "name another folder with --store"
            ) from error

    def find(self, name: str) -> Campaign:
        """A campaign by name, by the end of its number, or by the sweep's name (its newest)."""
        campaigns = self.campaigns()
        exact = [one for one in campaigns if one.name == name]
        slug = [one for one in campaigns if _slug(one.name) == name]
        number = [one for one in campaigns if name.isdigit() and _number(one.name) == int(name)]
        for found in (exact, number, slug):
            if found:
                return found[-1]
        raise SluiceError(
            f"{self.root}: no campaign '{name}'"
            f"{near(name, [one.name for one in campaigns])}; `sluice list` has all"
        )

    def add_to_index(self, campaign: Campaign, runs: Iterable[Run]) -> None:
        """Index runs. Nothing is lost when that fails: the next reader catches up."""
        try:
            with Index(self.root) as index:
                index.add(campaign.name, runs)
        except (sqlite3.Error, OSError):
            pass

    def runs(self, campaign: Campaign) -> list[Run]:
        """The campaign's runs in plan order: from the index, brought up to date from the folder.
        Without a usable index (read only, damaged) from the folder alone."""
        names = campaign.run_names()
        try:
            with Index(self.root) as index:
                known = index.runs(campaign.name)
                missing = [campaign.read_run(name) for name in names if name not in known]
                if missing:
                    index.add(campaign.name, missing)
                gone = set(known) - set(names)
                if gone:
                    index.forget(campaign.name, gone)
                known |= {run.id: run for run in missing}
        except (sqlite3.Error, OSError, ValueError):
            known = {name: campaign.read_run(name) for name in names}
        runs = [rebase(known[name], campaign.folder) for name in names]
        return sorted(runs, key=lambda run: (run.order, run.started_at))

    def rebuild_index(self, left_out: Callable[[SluiceError], None] | None = None) -> int:
        """Delete the index and build it from the folders; how many runs are in it. Campaigns that
        are damaged or newer are passed over, and `left_out` is told why."""
        with Lock(self.root / "lock", None):
            for path in self.root.glob("index-v*.sqlite*"):
                path.unlink()
        count = 0
        for campaign in self.campaigns():
            try:
                campaign.header()
                count += len(self.runs(campaign))
            except SluiceError as error:
                if left_out is not None:
                    left_out(error)
        return count

    def load(self, campaign: Campaign) -> Results:
        """Everything about a campaign."""
        header = campaign.header()
        return dataclasses.replace(
            header,
            runs=tuple(self.runs(campaign)),
            environments=campaign.environments(),
            preparation=campaign.preparation(),
            folder=campaign.folder,
        )


def load(path: Path) -> Results:
    """Read one sweep's results. `path` is a campaign's folder, or a store (its newest campaign).

    SluiceError when there is none, when it is damaged, or written by a newer harness."""
    path = path.absolute()
    if (path / HEADER).is_file():
        return Store(path.parent).load(Campaign(path))
    campaigns = Store(path).campaigns()
    if not campaigns:
        raise SluiceError(
            f"{path}: no results in it: run a sweep first (`sluice run SWEEP`), or "
            "name another folder with --store"
        )
    return Store(path).load(campaigns[-1])


def _number(name: str) -> int:
    match = _NUMBERED.fullmatch(name)
    return int(match["number"]) if match else 0


def _slug(name: str) -> str:
    match = _NUMBERED.fullmatch(name)
    return match["slug"] if match else name
