"""The engine that measures is kept: a copy in the store, named by its contents.

Somebody who rebuilds while a sweep is running would else change what the rest of it measures, or
pull the library from under it; and a campaign that was interrupted could not go on after a build.
"""

from __future__ import annotations

from pathlib import Path

from sluice import env, files, paths
from sluice.errors import SluiceError

FOLDER = "engines"


def keep(library: Path, store: Path) -> Path:
    """The copy of `library` in the store; made unless it is there. SluiceError when it can't be
    read or kept."""
    digest = env.file_hash(library)
    if not digest:
        raise SluiceError(f"{library}: can't be read: build it (ci/setup)")
    copy = find(digest, store)
    if env.file_hash(copy) != digest:
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            files.write_bytes(copy, library.read_bytes())
        except OSError as error:
            raise SluiceError(
                f"{copy}: can't be written ({error.strerror}): free space, or name another folder "
                "with --store"
            ) from error
    return copy


def commit_of(library: Path) -> str:
    """What a library of this checkout was built from, e.g. ``1a2b3c4-dirty``; '' when it is older
    than the checkout's last commit, for then it may be from anywhere."""
    git = ("git", "-C", str(paths.project_root()))
    committed = env.ask(*git, "log", "-1", "--format=%ct")
    try:
        if not committed.isdigit() or library.stat().st_mtime < int(committed):
            return ""
    except OSError:
        return ""
    return env.ask(*git, "describe", "--always", "--dirty")


def find(digest: str, store: Path) -> Path:
    """Where the engine of that hash is kept; may not exist."""
    return (store / FOLDER / f"{digest}.so").absolute()
