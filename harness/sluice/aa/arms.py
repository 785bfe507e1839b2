"""A sweep against itself: every cell twice, under two names for the same thing."""

from __future__ import annotations

import dataclasses

from sluice.errors import SluiceError
from sluice.model import ARM, Axis, Cell, Value
from sluice.sweep import Sweep

__all__ = ["doubled"]

NAMES = ("a", "b")


def doubled(loaded: Sweep) -> Sweep:
    """The sweep with a further axis, ``arm``, that sets nothing. Order, seeds and blocks come about
    as with any other axis. SluiceError when the sweep has an axis of that name."""
    if ARM in loaded.axes_by_name:
        raise SluiceError(
            f"{loaded.file.path}: an axis named '{ARM}' is what an A/A sweep adds: rename it"
        )
    arm = Axis(
        ARM,
        tuple(Value(name) for name in NAMES),
        ARM,
        numeric=False,
        default=NAMES[0],
        help="Nothing: both arms are the same.",
    )
    cells = tuple(_cell(cell, name) for cell in loaded.cells for name in NAMES)
    info = dataclasses.replace(
        loaded.info,
        name=f"aa-{loaded.info.name}",
        question=f"Does {loaded.info.name} differ from itself?",
        axes=(arm, *loaded.info.axes),
        published=None,
    )
    return dataclasses.replace(
        loaded, info=info, cells=cells, axes_by_name={ARM: arm, **loaded.axes_by_name}
    )


def _cell(cell: Cell, arm: str) -> Cell:
    workload, _, rest = cell.id.partition("/")
    name = f"{workload}/{ARM}={arm}" + (f",{rest}" if rest else "")
    return dataclasses.replace(cell, id=name, values={ARM: arm, **cell.values})
