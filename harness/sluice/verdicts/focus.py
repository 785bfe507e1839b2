"""Along which axis a campaign is compared, and with which of its values."""

from __future__ import annotations

import itertools

from sluice.builds import SCOPE
from sluice.model import ARM, Axis

__all__ = ["focus_axis", "reference"]


def focus_axis(axes: tuple[Axis, ...]) -> Axis | None:
    """The axis along which everything is compared: the arms of an A/A sweep; else builds of the
    engine; else the first tunable of the engine whose default is among the values, else the first
    such axis, else the first that varies."""
    varying = [axis for axis in axes if len(axis.values) > 1]
    known = [axis for axis in varying if reference(axis)[1]]
    arms = (axis for axis in varying if axis.scope in (ARM, SCOPE))
    engine = (axis for axis in known if axis.scope == "engine")
    return next(itertools.chain(arms, engine, known, varying), None)


def reference(axis: Axis) -> tuple[str, bool]:
    """The value to compare with, and whether it is the default (else it is the first one)."""
    for value in axis.values:
        if axis.is_default(value.text):
            return value.text, True
    return axis.values[0].text, False
