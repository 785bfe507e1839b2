"""From a sweep file to a campaign that can be run, and from a campaign back to where it stopped."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from sluice import (
    block,
    builds,
    compose,
    describe,
    fingerprint,
    migrate,
    paths,
    permitted,
    plan,
    sweep,
    sweepfile,
    target,
)
from sluice.axes import Options
from sluice.compose import Placement
from sluice.describe import Table
from sluice.errors import SluiceError
from sluice.executor import STATS
from sluice.fiocli import Fio
from sluice.model import Cell, Environment, Results, Target
from sluice.sweep import Sweep
from sluice.target import DataFolder


def place(loaded: Sweep, data: DataFolder) -> Placement:
    """Where the sweep's data lies: the device or file that it names, else test files of its own."""
    file = loaded.file
    if file.target is not None:
        if file.files == "each":
            raise SluiceError(
                f'{file.path}: target: path and files = "each" exclude each other: delete one'
            )
        if not Path(file.target).is_absolute():
            raise SluiceError(
                f"{file.path}: target: path = '{file.target}': must be absolute; "
                "without it the harness makes a file of its own"
            )
        return Placement(Path(file.target), True, file.size)
    stem = f"{file.name}-{file.size or 'jobs'}"
    if file.files == "each":
        return Placement(data.path / stem, False, file.size)
    return Placement(data.path / f"{stem}.dat", True, file.size)


def header(
    loaded: Sweep,
    placement: Placement,
    data: DataFolder,
    blocks: int,
    seed: int | None,
    command: str,
) -> Results:
    """The campaign as planned; drawn from `seed`, or from a new one."""
    if seed is None:
        seed = secrets.randbelow(2**31)
    drawn = plan.draw(loaded.cells, blocks, seed)
    facts = dict(block.facts(placement.path))
    kind = "file" if data.owns(placement.path) else "external"
    return Results(
        schema=migrate.SCHEMA,
        campaign="",
        folder=Path(),
        sweep=dataclasses.replace(loaded.info, blocks=blocks),
        target=Target(
            str(placement.path),
            kind,
            placement.size or "",
            facts.get("target.filesystem", ""),
            facts.get("target.device", ""),
        ),
        cells=loaded.cells,
        blocks=drawn,
        seed=seed,
        runs=(),
        environments=(),
        command=command,
        created_at=time.time(),
        planned_runs=sum(2 * len(one.order) for one in drawn),
    )


def check_cells(
    loaded: Sweep, placement: Placement, data: DataFolder, fio: Fio, destructive: list[str]
) -> None:
    """SluiceError when fio refuses a cell's job, or a cell would write where it may not.

    Safety is checked for every cell; fio's syntax (a tenth of a second each) for as many as it
    takes to see every value once in every workload."""
    target.check_destructive(destructive)
    folder = data.path
    for cell in loaded.cells:
        if cell.skipped is None:
            job = compose.compose(loaded, cell, placement, 1, folder / STATS)
            permitted.check(job, loaded.options.of_engine)
            target.check_harmless(job, data, destructive, folder)
    libraries = {plugin_of(loaded), *(build.library for build in loaded.builds.values())}
    for library in sorted(one for one in libraries if one):
        words = fio.check_engine(library)
        if words:
            raise SluiceError(
                f"{library}: fio can't load it: {words}: build it for this fio (ci/setup)"
            )
    for cell in covering(loaded.cells):
        text = compose.compose(loaded, cell, placement, 1, folder / STATS).render()
        complaints = fio.check_job(text)
        if complaints:
            raise SluiceError(
                f"{loaded.file.path}: fio refuses {cell.id}: {'; '.join(complaints[:3])}"
            )


def covering(cells: tuple[Cell, ...]) -> list[Cell]:
    """A few cells that together hold every value of every axis in every workload."""
    facts = {
        cell.id: {(cell.workload, name, text) for name, text in cell.values.items()}
        for cell in cells
        if cell.skipped is None
    }
    by_id = {cell.id: cell for cell in cells}
    missing = set().union(*facts.values())
    chosen = []
    while missing:
        best = max(facts, key=lambda name: len(facts[name] & missing))
        chosen.append(by_id[best])
        missing -= facts.pop(best)
    return chosen


def reopen(results: Results, fio: Fio, table: Table | None = None) -> tuple[Sweep, Placement]:
    """The sweep of a campaign as it was when it was planned, whatever became of its files."""
    origin = results.folder / "sweep.toml"
    file = sweepfile.read(origin)
    found = sweep.engines_of(file, fio, must_exist=False)
    if found:
        found = builds.kept(found, results.folder.parent, _first(results))
        found = builds.asked(found, fio)
        argument, own = next(iter(found.values())).argument, any(one.own for one in found.values())
    else:
        argument, own = sweep.resolve_engine(file.engine, fio, str(origin))
    if own and table is None:
        table = describe.load()
    info = results.sweep
    loaded = Sweep(
        dataclasses.replace(file, name=info.name),
        info,
        results.cells,
        Options(fio, table if own else None, file.engine),
        argument,
        own,
        table.stats_option if own and table else None,
        {axis.name: axis for axis in info.axes},
        found,
    )
    placement = Placement(
        Path(results.target.path), file.files == "shared", results.target.size or None
    )
    return loaded, placement


def _first(results: Results) -> Mapping[str, str]:
    """What the machine was when the campaign began."""
    return results.environments[0].values if results.environments else {}


def same_machine(results: Results, now: Environment) -> None:
    """SluiceError when what measures has changed since the campaign began."""
    if not results.environments:
        return
    own = fingerprint.declared_by(results.sweep)
    found = fingerprint.differences(results.environments[0], now, own)
    hard = [one.text for one in found if one.hard]
    if hard:
        raise SluiceError(
            f"{results.campaign}: {'; '.join(hard)}: runs of both don't compare; start a new "
            "campaign with `sluice run SWEEP`"
        )


def facts(loaded: Sweep) -> dict[str, str]:
    """What the environment is told about the sweep: keys by which campaigns are told apart."""
    info, file = loaded.info, loaded.file
    what = [
        info.latency,
        file.size or "",
        file.files,
        *(f"{workload.name}\n{workload.job_text}" for workload in info.workloads),
    ]
    steady = info.steady
    return {
        **dict(builds.facts(loaded.builds)),
        **{f"option.{name}": text for name, text in (file.options | dict(info.knobs)).items()},
        "job.hash": hashlib.sha256("\0".join(what).encode()).hexdigest()[:12],
        "job.times": f"ramp {info.ramp_s:g} s, runtime {info.runtime_s:g} s",
        "precondition.class": info.precondition.name if info.precondition else "none",
        "precondition.steady": steady.name if steady else "none",
    }


def plugin_of(loaded: Sweep) -> Path | None:
    """The library that fio loads for this sweep, if any."""
    if loaded.engine_argument.startswith("external:"):
        return Path(loaded.engine_argument.removeprefix("external:"))
    return None


def with_plugin(loaded: Sweep, library: Path) -> Sweep:
    """The same sweep, run by another copy of its engine."""
    return dataclasses.replace(loaded, engine_argument=f"external:{library}")


def sweep_path(name: str) -> Path:
    """A sweep by path, or one of the project's own by name. SluiceError when there is none."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = paths.sweeps() / (name if name.endswith(".toml") else f"{name}.toml")
    if path.name == name and shipped.is_file():
        return shipped
    known = ", ".join(sorted(one.stem for one in paths.sweeps().glob("*.toml"))) or "none"
    raise SluiceError(f"{name}: no such sweep file; those of the project: {known}")
