"""What the verbs print: plans, findings and lists."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table

from sluice import plan, toml
from sluice.doctor import Finding, Level
from sluice.errors import SluiceError
from sluice.model import Axis, Results
from sluice.store import Store
from sluice.units import show_seconds

_COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


def print_plan(header: Results, with_order: bool, stream: TextIO) -> None:
    """A plan: what varies, how many runs, how long, what is skipped and why."""
    info = header.sweep
    each = info.ramp_s + info.runtime_s + plan.RUN_OVERHEAD_S
    runnable = [cell for cell in header.cells if cell.skipped is None]
    lines = [
        f"question   {info.question}",
        f"engine     {info.engine}",
        f"target     {header.target.path} ({header.target.kind}, "
        f"{header.target.size or 'sizes of the jobs'})",
    ]
    lines += [f"axis       {_axis(axis)}" for axis in info.axes]
    for workload in info.workloads:
        jobs = ", ".join(f"{job} ({role.value})" for job, role in workload.roles.items())
        lines.append(f"workload   {workload.name}: {jobs}")
    lines += [
        f"gate       {gate.metric} of the {gate.role.value} jobs, "
        f"{'higher' if gate.higher_is_better else 'lower'} is better, margin "
        f"{100 * gate.margin:g} %"
        for gate in info.gates
    ]
    if info.published:
        lines.append(
            f"published  {info.published.table}: {len(info.published.points)} figures "
            f"({info.published.source})"
        )
    lines += [f"knob       {name} = {text} in every cell" for name, text in info.knobs.items()]
    if info.precondition:
        lines.append(f"prepare    {info.precondition.name}")
    if info.steady:
        gate_s = info.steady.cap * (info.steady.round_s + info.ramp_s + plan.RUN_OVERHEAD_S)
        lines.append(f"steady     {info.steady.name}: at most {show_seconds(gate_s)}")
    lines += [f"skipped    {cell.id}: {cell.skipped}" for cell in header.cells if cell.skipped]
    lines.append(
        f"runs       {len(runnable)} cells x {len(header.blocks)} blocks x 2 (forward and "
        f"reversed) = {header.planned_runs}, about "
        f"{show_seconds(each * header.planned_runs)}"
    )
    lines.append(f"seed       {header.seed}")
    if with_order:
        lines += [
            f"{item.order:5d}  block {item.block.index} {item.leg.value:7s} {item.cell}"
            for item in plan.items(header.blocks)
        ]
    stream.write("\n".join(lines) + "\n")


def print_findings(findings: Iterable[Finding], stream: TextIO) -> None:
    """The doctor's findings, each with its cure."""
    console = _console(stream)
    for one in findings:
        colour = _COLOURS[one.level]
        console.print(f"[{colour}]{one.level.value:4s}[/{colour}]  ", end="")
        console.print(
            f"{one.subject}: {one.text}",
            markup=False,
            highlight=False,
            end="\n" if not one.cure else "",
        )
        if one.cure:
            console.print(f" -> {one.cure}", markup=False, highlight=False)


def print_sweeps(files: Iterable[Path], stream: TextIO) -> None:
    """The sweep files and their questions."""
    table = Table("sweep", "question", box=None, pad_edge=False)
    for file in files:
        try:
            _, document = toml.read(file)
            question = str(document.get("question", "?"))
        except SluiceError as error:
            question = str(error)
        table.add_row(file.stem, question)
    if table.row_count:
        _console(stream).print(table)


def print_campaigns(store: Store, stream: TextIO) -> None:
    """The campaigns of a store, oldest first; one that can't be read is listed with its reason."""
    table = Table("campaign", "runs", "begun (UTC)", "question", box=None, pad_edge=False)
    for campaign in store.campaigns():
        try:
            header = campaign.header()
        except SluiceError as error:
            table.add_row(campaign.name, "?", "?", str(error))
            continue
        begun = time.strftime("%Y-%m-%d %H:%M", time.gmtime(header.created_at))
        table.add_row(
            campaign.name,
            f"{len(campaign.finished())}/{header.planned_runs}",
            begun,
            header.sweep.question,
        )
    console = _console(stream)
    if table.row_count:
        console.print(table)
    else:
        console.print(f"no campaigns in {store.root}", markup=False, highlight=False)


def _axis(axis: Axis) -> str:
    values = ", ".join(value.text for value in axis.values)
    if axis.scope == "knob":
        now = f", now {axis.default}" if axis.default else ""
        kind = "numeric" if axis.numeric else "nominal"
        return f"{axis.name} = {values} (knob of the kernel, {kind}{now})"
    who = f", {axis.role.value} jobs" if axis.role else ", all jobs"
    kind = "numeric" if axis.numeric else "nominal"
    default = f", default {axis.default}" if axis.default else ""
    return f"{axis.name} = {values} ({axis.scope} option, {kind}{default}{who})"


def _console(stream: TextIO) -> Console:
    """Lines of a pipe aren't broken: a program reads them."""
    return Console(file=stream, width=None if stream.isatty() else 10_000)
