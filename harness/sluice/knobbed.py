"""A sweep's knobs of the kernel: which cells they rule out, and who sets them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from sluice.errors import NothingRan
from sluice.knobs import preview, session, values
from sluice.knobs.journal import State
from sluice.knobs.kernel import Kernel
from sluice.knobs.preview import Reasons
from sluice.model import Axis, Cell, SweepInfo
from sluice.sweep import Sweep

Say = Callable[[str], None]


def names(info: SweepInfo) -> tuple[str, ...]:
    """Every knob that a sweep sets."""
    return (*info.knobs, *(axis.name for axis in info.axes if axis.scope == "knob"))


def setting(info: SweepInfo, cell: Cell) -> dict[str, str]:
    """The knobs of one cell and what they are set to."""
    own = {axis.name: cell.values[axis.name] for axis in info.axes if axis.scope == "knob"}
    return {**info.knobs, **own}


def make_session(
    info: SweepInfo, target: Path, say: Say, kernel: Kernel | None = None
) -> session.Session:
    """What sets the sweep's knobs; nothing at all when it has none."""
    knobs = names(info)
    disk = session.disk_of(target) if knobs else session.Disk()
    return session.Session(kernel or Kernel(), State(), disk, knobs, say)


def look(loaded: Sweep, target: Path, kernel: Kernel | None = None) -> Sweep:
    """The sweep without the cells that can't be on this machine, as far as looking tells; each has
    its reason. What a knob is now becomes its axis's default."""
    if not names(loaded.info):
        return loaded
    kernel, disk = kernel or Kernel(), session.disk_of(target)
    reasons = preview.look(kernel, disk, _settings(loaded))
    axes = tuple(
        dataclasses.replace(axis, default=_default(axis, preview.current(kernel, disk, axis.name)))
        if axis.scope == "knob"
        else axis
        for axis in loaded.info.axes
    )
    return dataclasses.replace(
        _ruled_out(loaded, reasons),
        info=dataclasses.replace(loaded.info, axes=axes),
        axes_by_name={axis.name: axis for axis in axes},
    )


def attempt(loaded: Sweep, target: Path, say: Say, kernel: Kernel | None = None) -> Sweep:
    """The same, after every setting was made once and read back. All is put back after.
    :class:`NothingRan` when no cell is left."""
    if not names(loaded.info):
        return loaded
    with make_session(loaded.info, target, say, kernel) as knobs:
        tried = _ruled_out(loaded, preview.attempt(knobs, _settings(loaded)))
    if all(cell.skipped for cell in tried.cells):
        raise NothingRan(f"{loaded.file.path}: every cell is skipped: {tried.cells[0].skipped}")
    return tried


def cost(knobs: session.Session) -> str:
    """What setting them took, in one line; '' when there was nothing to set."""
    if not knobs.writes:
        return ""
    return f"knobs: {knobs.writes} settings, {knobs.seconds:.1f} s in all with reading back"


def _settings(loaded: Sweep) -> list[dict[str, str]]:
    """Every setting of the cells that are to run, once, in the order of the cells."""
    found = {
        preview.key(one): one
        for one in (setting(loaded.info, cell) for cell in loaded.cells if not cell.skipped)
    }
    return list(found.values())


def _ruled_out(loaded: Sweep, reasons: Reasons) -> Sweep:
    cells = tuple(
        dataclasses.replace(cell, skipped=reasons.get(preview.key(setting(loaded.info, cell))))
        if cell.skipped is None
        else cell
        for cell in loaded.cells
    )
    return dataclasses.replace(loaded, cells=cells)


def _default(axis: Axis, now: str | None) -> str | None:
    """What the knob is now, in the sweep's spelling where it is among the values."""
    if now is None:
        return None
    return next((value.text for value in axis.values if values.equal(value.text, now)), now)
