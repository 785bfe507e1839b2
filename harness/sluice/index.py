"""An SQLite index over a store's runs. Nothing is in it that the folder doesn't hold: delete it,
and the next reader builds it again.

The file's name carries its form, so harnesses of two releases never fight over one index. Writers
of several processes are kept apart by SQLite (WAL, busy timeout).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from sluice import encode
from sluice.model import Run

NAME = "index-v1.sqlite"

_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
    campaign TEXT NOT NULL, run TEXT NOT NULL, cell TEXT NOT NULL, block INTEGER NOT NULL,
    leg TEXT NOT NULL, position INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
    started_at REAL NOT NULL, duration_s REAL NOT NULL, fio_s REAL NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (campaign, run)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS figures (
    campaign TEXT NOT NULL, run TEXT NOT NULL, role TEXT NOT NULL, direction TEXT NOT NULL,
    metric TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (campaign, run, role, direction, metric)) WITHOUT ROWID;
"""


class Index:
    """The index of one store; use as a context manager or call :meth:`close`."""

    def __init__(self, store: Path) -> None:
        """sqlite3.Error or OSError when it can't be opened or made (a store that is read only)."""
        self._path = store / NAME
        self._database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        try:
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_TABLES)
        except sqlite3.Error:
            self._database.close()
            raise

    def add(self, campaign: str, runs: Iterable[Run]) -> None:
        """Add runs, all or none. Adding one twice changes nothing."""
        rows, figures = [], []
        for run in runs:
            rows.append(
                (
                    campaign,
                    run.id,
                    run.cell,
                    run.block,
                    run.leg.value,
                    run.order,
                    run.status.value,
                    run.reason,
                    run.started_at,
                    run.duration_s,
                    run.fio_s,
                    json.dumps(encode.to_json(run)),
                )
            )
            figures += [
                (campaign, run.id, sample.role.value, sample.direction, metric, value)
                for sample in run.samples
                if sample.total
                for metric, value in sample.values.items()
            ]
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany(
                "INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", rows
            )
            self._database.executemany(
                "INSERT OR REPLACE INTO figures VALUES (?,?,?,?,?,?)", figures
            )
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise

    def runs(self, campaign: str) -> dict[str, Run]:
        """All indexed runs of a campaign by id."""
        rows = self._database.execute(
            "SELECT run, document FROM runs WHERE campaign = ?", (campaign,)
        )
        return {name: encode.from_json(Run, json.loads(document)) for name, document in rows}

    def forget(self, campaign: str, runs: Iterable[str]) -> None:
        """Drop runs whose folder is gone."""
        keys = [(campaign, run) for run in runs]
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany("DELETE FROM runs WHERE campaign=? AND run=?", keys)
        self._database.executemany("DELETE FROM figures WHERE campaign=? AND run=?", keys)
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
