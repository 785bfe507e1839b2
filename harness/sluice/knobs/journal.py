"""What knobs were before a harness set them: on disk before the first write, until all are back.

A journal belongs to the machine, not to a store, because so do the knobs: whoever starts next finds
it, with whatever store. It lives as long as the kernel's state does: below /run, which a boot
empties, and it names its boot. Its owner holds a lock on it; a journal whose lock is free was left
by a harness that was killed.

Each line is one entry, as JSON. A line that was cut short was never followed by the write that it
announces.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sluice import paths
from sluice.errors import SluiceError
from sluice.lock import Lock

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PREFIX = "knobs-"
_PLACES = ("/sys/", "/proc/sys/")
"""Where knobs are: whatever a journal says, nothing else is written."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to be undone."""

    kind: str
    """``value`` (a file had `text`), ``group`` (a control group was made), ``controller`` (`text`
    was switched on in a subtree), ``service`` (`path` is its name; it ran)."""
    path: str
    text: str = ""
    label: str = ""
    """How a person calls it, e.g. ``queue/scheduler of nvme0n1``."""


class Journal:
    """An open journal, locked by this process."""

    def __init__(self, path: Path, file: int, step: Callable[[str], None]) -> None:
        self.path = path
        self._file = file
        self._step = step

    def note(self, entries: Sequence[Entry]) -> None:
        """Keep entries; they are on disk when this returns. OSError when they can't be kept: then
        nothing may be set."""
        text = "".join(json.dumps(asdict(entry)) + "\n" for entry in entries)
        self._step("journal")
        os.write(self._file, text.encode())
        self._step("journal written")
        os.fsync(self._file)
        self._step("journal on disk")

    def entries(self) -> list[Entry]:
        """What has been noted, oldest first."""
        return read(self.path).entries

    def keep(self) -> None:
        """Everything is set, and meant to stay until ``sluice restore``."""
        os.write(self._file, b'{"keep": true}\n')
        os.fsync(self._file)
        self.close()

    def remove(self) -> None:
        """Everything is back."""
        self._step("journal no more needed")
        self.path.unlink(missing_ok=True)
        self._step("journal removed")
        self.close()

    def close(self) -> None:
        """Give the lock up and leave the journal: others may undo it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


@dataclass(frozen=True, slots=True)
class Found:
    """A journal as it was found."""

    path: Path
    boot: str
    process: int
    keep: bool
    """Meant to stay until somebody asks for it to be undone (``sluice tune``)."""
    entries: list[Entry]


class State:
    """The folder of journals of this machine."""

    def __init__(self, folder: Path | None = None, step: Callable[[str], None] | None = None):
        """`step` is told before and after all that changes the disk (tests die there)."""
        self.folder = folder or default_folder()
        self._step = step or (lambda _: None)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Alone among all who look at journals. OSError when the folder can't be made."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with Lock(self.folder / "lock", None):
            yield

    def begin(self, entries: Sequence[Entry]) -> Journal:
        """A journal with these entries, on disk. SluiceError when another harness is at one of
        their knobs, or it can't be kept: then nothing may be set."""
        try:
            with self.locked():
                self._refuse_shared(entries)
                path = self.folder / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}.jsonl"
                self._step("journal to be made")
                file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
                fcntl.flock(file, fcntl.LOCK_EX)
                head = {"boot": boot_id(), "process": os.getpid()}
                os.write(file, f"{json.dumps(head)}\n".encode())
                journal = Journal(path, file, self._step)
                journal.note(entries)
                folder = os.open(self.folder, os.O_RDONLY)
                os.fsync(folder)
                os.close(folder)
                return journal
        except OSError as error:
            raise SluiceError(
                f"{self.folder}: what knobs were before can't be kept there ({error.strerror}), so "
                "none is set: name another folder with SLUICE_STATE"
            ) from error

    def left(self) -> list[Found]:
        """Journals that nobody owns any more. Call it :meth:`locked`."""
        return [read(path) for path in self._paths() if _owner_is_gone(path)]

    def owned(self) -> list[Found]:
        """Journals of harnesses that are at work."""
        return [read(path) for path in self._paths() if not _owner_is_gone(path)]

    def _paths(self) -> list[Path]:
        """All journals that are this user's or root's: nobody else's is obeyed."""
        return [
            path
            for path in sorted(self.folder.glob(f"{_PREFIX}*.jsonl"))
            if _owner(path) in (0, os.geteuid())
        ]

    def _refuse_shared(self, entries: Sequence[Entry]) -> None:
        mine = {entry.path: entry for entry in entries if entry.kind != "group"}
        for other in self.owned():
            for entry in other.entries:
                if entry.path in mine and entry.kind != "controller":
                    raise SluiceError(
                        f"{entry.label}: another harness (process {other.process}) is setting it: "
                        "wait for it, or end it"
                    )


def read(path: Path) -> Found:
    """A journal from disk, as far as it was written."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        lines = []
    boot, process, keep, entries = "", 0, False, []
    for line in lines[:-1]:  # what follows the last line end was cut short
        try:
            one = json.loads(line)
        except ValueError:
            continue
        if not isinstance(one, dict):
            continue
        if "kind" in one:
            fields = ("kind", "path", "text", "label")
            entry = Entry(*(str(one.get(name, "")) for name in fields))
            inside = entry.path.startswith(_PLACES) and ".." not in Path(entry.path).parts
            if inside or entry.kind == "service":
                entries.append(entry)
        elif "boot" in one:
            boot = str(one["boot"])
            process = one["process"] if isinstance(one.get("process"), int) else 0
        keep = keep or one.get("keep") is True
    return Found(path, boot, process, keep, entries)


def boot_id() -> str:
    """Which boot of the machine this is."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def default_folder() -> Path:
    """``$SLUICE_STATE``; else /run/sluice for root, and for others their own part of /run."""
    named = os.environ.get("SLUICE_STATE")
    if named:
        return Path(named)
    if os.geteuid() == 0:
        return Path("/run/sluice")
    own = os.environ.get("XDG_RUNTIME_DIR")
    return Path(own) / "sluice" if own else paths.default_store() / ".knobs"


def _owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:
        return None


def _owner_is_gone(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # gone, or another user's
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True
