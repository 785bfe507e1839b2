"""Where the project's own things are, found from the project's folder."""

from __future__ import annotations

import os
from pathlib import Path


def project_root() -> Path:
    """The checkout: ``$SLUICE_ROOT``, or the folder that holds this package's ``harness/``, or the
    first folder upwards from the current one that has a ``harness/pyproject.toml``; else the
    current folder."""
    named = os.environ.get("SLUICE_ROOT")
    if named:
        return Path(named).resolve()
    for folder in (Path(__file__).resolve().parents[2], Path.cwd(), *Path.cwd().parents):
        if (folder / "harness" / "pyproject.toml").is_file():
            return folder
    return Path.cwd()


def plugin() -> Path:
    """The engine that fio loads; may not exist."""
    return project_root() / "build" / "lib" / "sluice.so"


def describe_tool() -> Path:
    """The program that prints the engine's tables; may not exist."""
    return project_root() / "build" / "bin" / "sluice-describe"


def default_store() -> Path:
    """``$SLUICE_STORE``, or ``build/results`` of the project."""
    named = os.environ.get("SLUICE_STORE")
    return Path(named) if named else project_root() / "build" / "results"


def default_data() -> Path:
    """``$SLUICE_DATA``, or ``build/data`` of the project: where test files are made."""
    named = os.environ.get("SLUICE_DATA")
    return Path(named) if named else project_root() / "build" / "data"


def sweeps() -> Path:
    """The sweep files that come with the project."""
    return project_root() / "jobs" / "sweeps"


def acks() -> Path:
    """The known differences that come with the project; may not exist."""
    return project_root() / "jobs" / "acks.toml"
