"""Published figures from a CSV, placed on the axis that the sweep names."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from sluice.errors import SluiceError, near
from sluice.model import Axis, Published, PublishedPoint, Workload
from sluice.sweepspec import PublishedSpec
from sluice.units import parse_number, parse_size


def load(spec: PublishedSpec, axes: tuple[Axis, ...], workloads: tuple[Workload, ...]) -> Published:
    """Read the table and map it. SluiceError names the table and the column, axis or value."""
    where = f"published: {spec.table_name}"
    axis = next((axis for axis in axes if axis.name == spec.axis), None)
    if axis is None:
        raise SluiceError(
            f"{where}: axis '{spec.axis}' isn't in the sweep"
            f"{near(spec.axis, [axis.name for axis in axes])}"
        )
    names = [workload.name for workload in workloads]
    if spec.workload not in names:
        raise SluiceError(f"{where}: no workload '{spec.workload}'{near(spec.workload, names)}")
    points = []
    for row in _rows(spec, where):
        if all(row[column] in texts for column, texts in spec.where.items()):
            points += _points(spec, axis, row, where)
    if not points:
        raise SluiceError(f"{where}: no row fits 'where': nothing to plot beside")
    return Published(
        spec.table_name, spec.source, spec.axis, spec.metric, spec.workload, tuple(points)
    )


def _rows(spec: PublishedSpec, where: str) -> list[dict[str, str]]:
    try:
        with spec.table.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or [])
            rows = [{key: value or "" for key, value in row.items() if key} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SluiceError(
            f"{where}: can't be read ({reason}): the path is relative to the sweep file"
        ) from error
    for column in filter(None, (spec.x, spec.y, *spec.columns.values(), *spec.series, *spec.where)):
        if column not in header:
            raise SluiceError(f"{where}: no column '{column}'{near(column, header)}")
    return rows


def _points(
    spec: PublishedSpec, axis: Axis, row: Mapping[str, str], where: str
) -> list[PublishedPoint]:
    series = ", ".join(row[column] for column in spec.series)
    if spec.columns:
        cells = [(value, row[column]) for value, column in spec.columns.items()]
    else:
        text = row[spec.x or ""]
        cells = [(spec.map.get(text, text), row[spec.y or ""])]
    points = []
    for value, figure in cells:
        if not figure:
            continue  # a table may leave a cell empty: it wasn't measured
        try:
            y = parse_number(figure) * spec.scale
        except ValueError as error:
            raise SluiceError(f"{where}: {error}: a figure must be a plain number") from error
        text, number = _place(axis, value, where)
        points.append(PublishedPoint(series, text, number, y))
    return points


def _place(axis: Axis, value: str, where: str) -> tuple[str, float | None]:
    """The axis value that `value` names: as text, or as the same number."""
    texts = [one.text for one in axis.values]
    if not axis.numeric:
        if value not in texts:
            raise SluiceError(
                f"{where}: '{value}' is no value of {axis.name}: map it with "
                f'map = {{"{value}" = ...}}{near(value, texts)}'
            )
        return value, None
    try:
        number = parse_size(value)
    except ValueError as error:
        raise SluiceError(f"{where}: '{value}' is no number, but {axis.name} is numeric") from error
    for one in axis.values:
        if one.number == number:
            return one.text, number
    return value, number
