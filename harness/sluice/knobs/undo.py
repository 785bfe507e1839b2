"""Putting knobs back: by the harness that set them, or by the next start after it was killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sluice import block
from sluice.knobs.journal import Entry, Found, State, boot_id
from sluice.knobs.kernel import Kernel

GROUP_PREFIX = "sluice-"
"""Names of the control groups that harnesses make begin so."""
SERVICES = ("irqbalance",)
"""What tuning may stop."""
_KILL_S = 5.0


@dataclass(slots=True)
class Undone:
    """What came of it."""

    back: list[str] = field(default_factory=list)
    """Lines about what was put back."""
    kept: list[str] = field(default_factory=list)
    """Lines about what couldn't be, with the kernel's reason."""


def undo(kernel: Kernel, entries: Sequence[Entry]) -> Undone:
    """Put everything back. Some knobs reset others (a scheduler its queue's, ``dirty_ratio`` and
    ``dirty_bytes`` each other), so only what differs is written, and twice if need be. Doing it
    again does nothing."""
    said = Undone()
    values = [entry for entry in entries if entry.kind == "value"]
    errors: dict[str, str] = {}
    before = {entry.path: _reads(kernel, entry) for entry in values}
    for _ in range(2):
        for entry in values:
            if _reads(kernel, entry) not in (entry.text, None):
                try:
                    kernel.write(Path(entry.path), entry.text)
                    errors.pop(entry.path, None)
                except OSError as error:
                    errors[entry.path] = error.strerror or str(error)
    for entry in values:
        now, was = _reads(kernel, entry), before[entry.path]
        if now is None:
            if kernel.exists(Path(entry.path)):
                said.kept.append(f"{entry.label} can't be read, so not be put back")
        elif now != entry.text:
            reason = errors.get(entry.path, "the kernel made it so")
            said.kept.append(f"{entry.label} is {now}, not {entry.text} as before: {reason}")
        elif was not in (None, now):
            said.back.append(f"{entry.label} is {now} again (was {was})")
    for entry in reversed(entries):
        if entry.kind == "group":
            _remove_group(kernel, entry, said)
        elif entry.kind == "controller":
            _switch_off(kernel, entry, said)
        elif entry.kind == "service" and entry.path in SERVICES:
            _start(entry, said)
    return said


def recover(
    kernel: Kernel, state: State, say: Callable[[str], None], kept_too: bool = False
) -> bool:
    """Undo what harnesses that were killed left behind, and say so; whether all is well now.

    `kept_too`: also what was meant to stay (``sluice restore``)."""
    if not state.folder.is_dir():
        return True
    try:
        with state.locked():
            found = [one for one in state.left() if kept_too or not one.keep]
            at_work = {entry.path: one.process for one in state.owned() for entry in one.entries}
            return all([_recover_one(kernel, one, at_work, say) for one in found])
    except OSError as error:
        say(f"{state.folder}: can't be looked at ({error.strerror}): knobs may be left changed")
        return False


def _recover_one(
    kernel: Kernel, found: Found, at_work: Mapping[str, int], say: Callable[[str], None]
) -> bool:
    for entry in found.entries:
        if entry.path in at_work and entry.kind == "value":
            say(f"{entry.label} isn't put back while process {at_work[entry.path]} uses it")
            return False
    who = f"process {found.process}" if found.process else "a harness"
    if found.boot and found.boot != boot_id():
        found.path.unlink(missing_ok=True)
        say(f"knobs that {who} had set are as the boot since then left them")
        return True
    undone = undo(kernel, found.entries)
    cause = "asked for" if found.keep else f"{who} was killed before it did that"
    for line in undone.back:
        say(f"{line}: {cause}")
    for line in undone.kept:
        say(f"{line}; once that is mended: sluice restore")
    if undone.kept:
        return False
    found.path.unlink(missing_ok=True)
    return True


def _reads(kernel: Kernel, entry: Entry) -> str | None:
    try:
        return block.chosen(kernel.read(Path(entry.path)))
    except OSError:
        return None


def _switch_off(kernel: Kernel, entry: Entry, said: Undone) -> None:
    """Take a controller from a subtree again, unless another harness has its group there by now.
    Where the kernel refuses, somebody uses it; it does no harm."""
    path = Path(entry.path)
    others = any(name.startswith(GROUP_PREFIX) for name in kernel.names(path.parent))
    with contextlib.suppress(OSError):
        if not others and entry.text in kernel.read(path).split():
            kernel.write(path, f"-{entry.text}")
            said.back.append(f"{entry.label} is switched off again")


def _remove_group(kernel: Kernel, entry: Entry, said: Undone) -> None:
    """End what still runs in a control group of ours, and remove it."""
    path = Path(entry.path)
    if not kernel.exists(path):
        return
    limit = time.monotonic() + _KILL_S
    while True:
        for pid in _members(kernel, path):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            kernel.rmdir(path)
            said.back.append(f"{entry.label} is removed")
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > limit:
                said.kept.append(f"{entry.label} is still there: {error.strerror}")
                return
        time.sleep(0.02)


def _members(kernel: Kernel, group: Path) -> Iterable[int]:
    try:
        return [int(word) for word in kernel.read(group / "cgroup.procs").split()]
    except (OSError, ValueError):
        return []


def _start(entry: Entry, said: Undone) -> None:
    """Start a service that ran; nothing when it runs."""
    try:
        subprocess.run(
            ["systemctl", "start", entry.path], capture_output=True, text=True, check=True
        )
        said.back.append(f"{entry.label} runs again")
    except (OSError, subprocess.CalledProcessError) as error:
        words = getattr(error, "stderr", None) or str(error)
        said.kept.append(f"{entry.label} wasn't started again: {words.strip()}")
