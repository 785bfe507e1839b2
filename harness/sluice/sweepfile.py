"""A sweep file as its author wrote it: read strictly, asking nobody.

`jobs/README.md` is the grammar for people. Whether options exist and values fit is `sweep`'s part,
because that takes the engine and fio; what is here can be checked on any machine.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sluice import builds, permitted, toml
from sluice.conditioning import spec
from sluice.describe import STATS_OPTIONS
from sluice.errors import SluiceError, near
from sluice.knobs import names
from sluice.metrics import METRICS
from sluice.model import Gate, Role
from sluice.sweepspec import (
    JOBS_CHOICES,
    AxisSpec,
    PublishedSpec,
    SkipSpec,
    SweepFile,
    WorkloadSpec,
)
from sluice.timeline import Kind
from sluice.toml import Table, scalar
from sluice.units import parse_seconds, parse_size

MAX_CELLS = 10_000
"""More is a mistake: at a second a run it is six hours for one block."""

HARNESS_OPTIONS = frozenset(
    {
        "ioengine",
        "runtime",
        "timeout",
        "time_based",
        "ramp_time",
        "randrepeat",
        "randseed",
        *permitted.PLACED,
        "size",
        "group_reporting",
        *STATS_OPTIONS,
        "output",
        "output-format",
        "create_only",
    }
)
"""What the harness sets for every run, so a sweep can't vary it as an option."""

AUTO = "auto"
PILOT = 5
"""Blocks of the first stage of ``blocks = "auto"``."""
DEFAULT_GATES = ("iops", "lat_p99", "cpu_us")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def read(path: Path) -> SweepFile:
    """Read and check a sweep file. SluiceError names the file, the key and the way out."""
    text, document = toml.read(path)
    return parse(path, text, document)


def parse(path: Path, text: str, document: dict[str, Any]) -> SweepFile:
    """The part of :func:`read` behind the disk."""
    table = Table(document, str(path))
    folder = path.parent
    question = table.text("question")
    job = folder / table.text("job")
    runtime_s = _seconds(table, "runtime", "10s")
    ramp_s = _seconds(table, "ramp", "1s")
    if runtime_s <= 0:
        raise SluiceError(f'{path}: runtime = 0 would measure nothing: write e.g. "10s"')
    target = table.table("target")
    axes = _axes(table)
    options = _options(table)
    workloads = _workloads(table, folder, job)
    auto_blocks = document.get("blocks") == AUTO and table.any("blocks") == AUTO
    sweep = SweepFile(
        path=path,
        text=text,
        name=path.stem,
        question=question,
        engine=_engine(table, axes),
        fio=table.optional_text("fio"),
        blocks=PILOT if auto_blocks else table.whole("blocks", 10, 1, 1000),
        auto_blocks=auto_blocks,
        runtime_s=runtime_s,
        ramp_s=ramp_s,
        timeout_s=_seconds(table, "timeout", f"{2 * (runtime_s + ramp_s) + 60}s"),
        latency=table.choice("latency", "clat", ("clat", "lat")),
        size=_size(target),
        files=target.choice("files", "shared", ("shared", "each")),
        target=target.optional_text("path"),
        options={name: text for name, text in options.items() if not names.is_knob(name)},
        knobs={name: text for name, text in options.items() if names.is_knob(name)},
        axes=axes,
        workloads=workloads,
        gates=_gates(table),
        skips=_skips(table, axes),
        published=_published(table, folder),
        precondition=spec.precondition(table),
        steady=spec.steady(table, runtime_s, tuple(one.name for one in workloads)),
        timeline=table.choice("timeline", Kind.RATE, tuple(Kind)),
    )
    target.done()
    table.done()
    _check_size(sweep)
    return sweep


def _axes(table: Table) -> tuple[AxisSpec, ...]:
    axes = table.table("axes")
    specs = [_axis(axes.where, name, raw) for name, raw in axes.rest().items()]
    if not specs:
        raise SluiceError(
            f"{table.where}: no axis: name at least one option and its values, "
            "e.g. [axes] iodepth = [1, 32]"
        )
    return tuple(specs)


def _axis(where: str, name: str, raw: Any) -> AxisSpec:
    where = f"{where}.{name}"
    if name == builds.AXIS:
        return _engine_axis(where, raw)
    _check_option_name(name, where)
    long = Table(raw if isinstance(raw, dict) else {"values": raw}, where)
    values = long.any("values", [])
    jobs = long.choice("jobs", "default", ("default", *JOBS_CHOICES))
    nominal = long.any("nominal")
    long.done()
    if jobs != "default" and names.is_knob(name):
        raise SluiceError(f"{where}: jobs: a knob of the kernel holds for all of them: delete it")
    if nominal is not None and not isinstance(nominal, bool):
        raise SluiceError(f"{where}: nominal = {nominal!r}: must be true or false")
    if not isinstance(values, list) or not values:
        raise SluiceError(f"{where}: no values: an axis needs a list such as [1, 8, 32]")
    texts = tuple(scalar(value, where) for value in values)
    for text in texts:
        if texts.count(text) > 1:
            raise SluiceError(f"{where}: '{text}' stands there twice: delete one")
        if "," in text or "/" in text:
            raise SluiceError(
                f"{where}: '{text}' has a comma or slash, which can't stand in the "
                "name of a cell: set it in [options] or in the job"
            )
    return AxisSpec(name, texts, None if jobs == "default" else jobs, nominal, where)


def _engine_axis(where: str, raw: Any) -> AxisSpec:
    """A list of engines, or a table of names and engines."""
    long = Table(raw if isinstance(raw, dict) and "values" in raw else {"values": raw}, where)
    given = long.any("values")
    long.done()
    if isinstance(given, dict):
        named = {label: scalar(one, where) for label, one in given.items()}
    else:
        if not isinstance(given, list) or not given:
            raise SluiceError(f"{where}: no values: name two engines or builds")
        named = builds.labels([scalar(one, where) for one in given], where)
    for label, engine in named.items():
        if "," in label or "/" in label:
            raise SluiceError(f"{where}: '{label}' has a comma or slash: name it otherwise")
        if (
            engine.startswith(builds.EXTERNAL)
            and not Path(engine.removeprefix(builds.EXTERNAL)).is_absolute()
        ):
            raise SluiceError(f"{where}: '{engine}': the path of a library must be absolute")
    return AxisSpec(builds.AXIS, tuple(named), None, None, where, tuple(named.values()))


def _engine(table: Table, axes: tuple[AxisSpec, ...]) -> str:
    """The engine of the sweep; where it is an axis, its first value."""
    given = table.optional_text("engine")
    varied = next((axis for axis in axes if axis.engines), None)
    if varied is None:
        return given or "sluice"
    if given is not None:
        raise SluiceError(f"{table.where}: 'engine' is both a key and an axis: delete the key")
    return varied.engines[0]


def _check_option_name(name: str, where: str) -> None:
    if names.is_knob(name):
        names.check(name, where)
        return
    if not _NAME.fullmatch(name):
        raise SluiceError(f"{where}: '{name}' is no name of an option")
    if name in HARNESS_OPTIONS:
        raise SluiceError(
            f"{where}: the harness sets '{name}' itself: use the keys engine, "
            "runtime, ramp or [target]"
        )
    if name in permitted.REFUSED:
        raise SluiceError(
            f"{where}: a sweep can't have '{name}': {permitted.REFUSED[name]}: delete it"
        )


def _options(table: Table) -> dict[str, str]:
    options = table.texts("options")
    for name in options:
        _check_option_name(name, f"{table.where}: options")
    return options


def _workloads(table: Table, folder: Path, job: Path) -> tuple[WorkloadSpec, ...]:
    raw = table.table("workloads").rest() or {"solo": {}}
    specs = []
    for name, entry in raw.items():
        one = Table(entry, f"{table.where}: workloads.{name}")
        if not _NAME.fullmatch(name):
            raise SluiceError(f"{one.where}: '{name}' is no name: use letters, digits, - and _")
        neighbour = one.optional_text("neighbour")
        own = one.optional_text("job")
        title = one.optional_text("title") or name
        one.done()
        specs.append(
            WorkloadSpec(
                name, folder / own if own else job, folder / neighbour if neighbour else None, title
            )
        )
    return tuple(specs)


def _gates(table: Table) -> tuple[Gate, ...]:
    gates = []
    for one in table.tables("gate"):
        name = one.text("metric")
        metric = METRICS.get(name)
        if metric is None:
            raise SluiceError(f"{one.where}: no metric '{name}'{near(name, METRICS)}")
        better = one.choice(
            "better", "higher" if metric.higher_is_better else "lower", ("higher", "lower")
        )
        margin = one.number("margin", metric.margin)
        role = one.choice("jobs", "measured", ("measured", "neighbour"))
        one.done()
        gates.append(Gate(name, better == "higher", margin, Role(role)))
    if not gates:
        gates = [
            Gate(name, METRICS[name].higher_is_better, METRICS[name].margin)
            for name in DEFAULT_GATES
        ]
    seen = [(gate.metric, gate.role) for gate in gates]
    for metric_name, gate_role in seen:
        if seen.count((metric_name, gate_role)) > 1:
            raise SluiceError(
                f"{table.where}: gate: '{metric_name}' of the {gate_role} jobs "
                "stands there twice: delete one"
            )
    return tuple(gates)


def _skips(table: Table, axes: tuple[AxisSpec, ...]) -> tuple[SkipSpec, ...]:
    skips = []
    names = [axis.name for axis in axes]
    for one in table.tables("skip"):
        when = one.texts("when")
        reason = one.text("reason")
        one.done()
        for name in when:
            if name != "workload" and name not in names:
                raise SluiceError(
                    f"{one.where}: when.{name}: no such axis{near(name, [*names, 'workload'])}"
                )
        if not when:
            raise SluiceError(f"{one.where}: 'when' is empty, so every cell would be skipped")
        skips.append(SkipSpec(when, reason, one.where))
    return tuple(skips)


def _published(table: Table, folder: Path) -> PublishedSpec | None:
    one = table.table("published")
    name = one.optional_text("table")
    if name is None:
        one.done()
        return None
    series = one.any("series", [])
    if isinstance(series, str):
        series = [series]
    if not isinstance(series, list) or not all(isinstance(column, str) for column in series):
        raise SluiceError(f"{one.where}: series must be a column or a list of columns")
    metric = one.text("metric")
    if metric not in METRICS:
        raise SluiceError(f"{one.where}: no metric '{metric}'{near(metric, METRICS)}")
    spec = PublishedSpec(
        table=folder / name,
        table_name=name,
        source=one.text("source"),
        axis=one.text("axis"),
        metric=metric,
        workload=one.text("workload", "solo"),
        x=one.optional_text("x"),
        y=one.optional_text("y"),
        columns=one.texts("columns"),
        map=one.texts("map"),
        series=tuple(series),
        where=_where(one),
        scale=one.number("scale", 1.0),
    )
    one.done()
    if bool(spec.columns) == bool(spec.x and spec.y):
        raise SluiceError(
            f"{one.where}: say where the figures stand: either x and y (columns), or "
            "columns = {axis value = column}"
        )
    return spec


def _where(published: Table) -> dict[str, tuple[str, ...]]:
    wanted = Table(published.any("where", {}), f"{published.where}: where")
    found = {}
    for column, raw in wanted.rest().items():
        texts = raw if isinstance(raw, list) else [raw]
        found[column] = tuple(scalar(text, f"{wanted.where}.{column}") for text in texts)
    return found


def _seconds(table: Table, key: str, default: str) -> float:
    text = scalar(table.any(key, default), f"{table.where}: {key}")
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise SluiceError(f"{table.where}: {key}: {error}") from error
    if not 0 <= seconds <= 7 * 86400:
        raise SluiceError(f"{table.where}: {key} = {text}: must be from 0 to 7d")
    return seconds


def _size(target: Table) -> str | None:
    raw = target.any("size")
    if raw is None:
        return None
    text = scalar(raw, f"{target.where}: size")
    try:
        positive = parse_size(text) > 0
    except ValueError as error:
        raise SluiceError(f"{target.where}: size: {error}") from error
    if not positive:
        raise SluiceError(f"{target.where}: size = {text}: must be more than 0")
    return text


def _check_size(sweep: SweepFile) -> None:
    cells = len(sweep.workloads)
    for axis in sweep.axes:
        cells *= len(axis.values)
    if cells > MAX_CELLS:
        raise SluiceError(
            f"{sweep.path}: {cells} cells, at most {MAX_CELLS}: "
            "split the sweep, or take fewer values"
        )
