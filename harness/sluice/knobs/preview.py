"""Which settings can't be: known by looking, or found out by trying each once."""

from __future__ import annotations

from collections.abc import Iterable

from sluice.knobs import group, names, values
from sluice.knobs.kernel import Kernel
from sluice.knobs.session import Disk, KnobError, Session, Setting, label

Reasons = dict[tuple[tuple[str, str], ...], str]
"""Setting (see :func:`key`) -> why it can't be, in one line. What can be isn't there."""


def key(setting: Setting) -> tuple[tuple[str, str], ...]:
    """A setting as a key."""
    return tuple(sorted(setting.items()))


def look(kernel: Kernel, disk: Disk, settings: Iterable[Setting]) -> Reasons:
    """What can be known without writing anything: whether a knob is there, whether this user may
    set it, whether a value is among those that it names."""
    found: Reasons = {}
    for setting in settings:
        for name, text in setting.items():
            reason = _why_not(kernel, disk, name, text, setting)
            if reason:
                found.setdefault(key(setting), f"{label(name, disk)}: {reason}")
    return found


def attempt(session: Session, settings: Iterable[Setting]) -> Reasons:
    """What the kernel itself says: every setting is made and read back once."""
    found: Reasons = {}
    for setting in settings:
        try:
            session.apply(setting)
        except KnobError as error:
            found[key(setting)] = str(error)
    return found


def current(kernel: Kernel, disk: Disk, name: str) -> str | None:
    """What a knob says now; None when it can't be read, or isn't there yet (a control group's)."""
    try:
        knob = names.locate(name, disk.name, disk.number, None)
        return values.shown(knob, kernel.read(knob.path))
    except (LookupError, OSError):
        return None


def _why_not(kernel: Kernel, disk: Disk, name: str, text: str, setting: Setting) -> str:
    if names.controller(name):
        return group.why_not(kernel, [names.controller(name)])
    try:
        knob = names.locate(name, disk.name, disk.number, None)
    except LookupError as error:
        return str(error)
    if knob.rank == 3 and "queue/scheduler" in setting:
        return ""  # it will be there once its scheduler is chosen
    if not kernel.exists(knob.path):
        return "this kernel has no such knob"
    try:
        read = kernel.read(knob.path)
    except OSError as error:
        return f"it can't be read, so it couldn't be put back ({error.strerror})"
    if values.same(knob, text, read):
        return ""
    if not kernel.writable(knob.path):
        return "this user may not set it: run as root"
    offered = values.choices(read)
    if offered and text not in offered:
        return f"the kernel has no '{text}' (it has {', '.join(offered)})"
    return ""
