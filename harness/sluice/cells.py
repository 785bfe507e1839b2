"""The cells of a sweep: every workload under every combination of values; some are skipped."""

from __future__ import annotations

import itertools

from sluice.errors import SluiceError, near
from sluice.model import Axis, Cell, Role
from sluice.sweepspec import SkipSpec, SweepFile, WorkloadSpec

NO_NEIGHBOUR = "this workload has no neighbour whose option could vary"


def lay(file: SweepFile, axes: tuple[Axis, ...]) -> tuple[Cell, ...]:
    """All cells, in the order of the file. SluiceError when a [[skip]] names a value that isn't
    there, or nothing is left to run."""
    for skip in file.skips:
        _check(skip, file, axes)
    cells = []
    for workload in file.workloads:
        for combination in itertools.product(*(axis.values for axis in axes)):
            values = {axis.name: value.text for axis, value in zip(axes, combination, strict=True)}
            text = ",".join(f"{name}={value}" for name, value in values.items())
            reason = _reason(file.skips, workload, axes, values)
            cells.append(Cell(f"{workload.name}/{text}", workload.name, values, reason))
    if all(cell.skipped for cell in cells):
        raise SluiceError(f"{file.path}: every cell is skipped: nothing would run")
    return tuple(cells)


def _reason(
    skips: tuple[SkipSpec, ...],
    workload: WorkloadSpec,
    axes: tuple[Axis, ...],
    values: dict[str, str],
) -> str | None:
    """Why a cell isn't run: its author's reason, or that it would be another cell once more."""
    facts = values | {"workload": workload.name}
    for skip in skips:
        if all(facts[name] == text for name, text in skip.when.items()):
            return skip.reason
    if workload.neighbour is None:
        for axis in axes:
            if axis.role is Role.NEIGHBOUR and values[axis.name] != axis.values[0].text:
                return NO_NEIGHBOUR
    return None


def _check(skip: SkipSpec, file: SweepFile, axes: tuple[Axis, ...]) -> None:
    for name, text in skip.when.items():
        if name == "workload":
            known = [workload.name for workload in file.workloads]
        else:
            known = [value.text for axis in axes if axis.name == name for value in axis.values]
        if text not in known:
            raise SluiceError(
                f"{skip.where}: when.{name} = '{text}': no such value{near(text, known)}"
            )
