"""The runs of a sweep as a guest makes them: their job files, and the script that runs them.

One guest makes all runs of a block, one after another, so that a boot is a replicate as a block is.
It is told all of them at boot and asked nothing later: under the virtual clock the moment at which
an answer came would be chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice import jobfile, layout, plan, runner
from sluice.compose import Placement
from sluice.executor import Order
from sluice.model import Results
from sluice.sweep import Sweep
from sluice.vm import cpio
from sluice.vm.cpio import Entry
from sluice.vm.machine import Machine

ENGINE = Path("/sluice/sluice.so")
"""The engine in the guest: a path that is the same whoever runs the sweep, because its length
would else show in the digits."""
SHORT = "short.json"
SHORT_PART = 0.1
"""Of the virtual clock: the runtime of the shorter run that is taken off, relative to the other."""
BEFORE, AFTER = ("counts-0", "counts-1"), ("counts-2", "counts-3")
"""The counters around the shorter run, and around the run itself."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One run to come."""

    number: int
    """Its place in the plan."""
    block: int
    order: Order
    """As the host would make it, with paths of the guest."""


def of(
    sweep: Sweep, placement: Placement, header: Results, todo: Sequence[plan.Item]
) -> list[Planned]:
    """The runs of `todo`."""
    runs = []
    for item in todo:
        folder = Path(f"/runs/{item.order:05d}")
        cell = header.cell(item.cell)
        order = runner.make_order(sweep, placement, cell, item.block.randseed, folder, "")
        runs.append(Planned(item.order, item.block.index, order))
    return runs


def script(runs: Iterable[Planned], machine: Machine, device: str, fillers: int) -> str:
    """What the guest does: say what it is, lay out its files, make the runs."""
    lines = [f"facts {device}", "frame facts /run/facts"]
    for number in range(fillers):
        lines.append(f"lay_out /runs/fill-{number}.fio")
    lines.append("word prepared")
    clock = machine.clock.value
    if machine.virtual:
        lines.append("fio_warm /runs/*/short.fio")
    for one in runs:
        name = f"{one.number:05d}"
        flags = " --readonly" if one.order.read_only else ""
        lines.append(f"cd /runs/{name} && fio_run {name} {clock}{flags}")
    return "\n".join(lines)


def entries(runs: Iterable[Planned], machine: Machine, fillers: Sequence[str]) -> list[Entry]:
    """The files that the script needs."""
    found = [
        cpio.regular(f"/runs/fill-{number}.fio", text.encode())
        for number, text in enumerate(fillers)
    ]
    for one in runs:
        folder = f"/runs/{one.number:05d}"
        found.append(cpio.regular(f"{folder}/job.fio", one.order.job_text.encode()))
        if machine.virtual:
            found.append(cpio.regular(f"{folder}/short.fio", shorter(one.order.job_text).encode()))
    return found


def shorter(job_text: str) -> str:
    """The same job for a part of its time."""
    return re.sub(r"^runtime=(\d+)(us|s)$", _part, job_text, flags=re.MULTILINE)


def _part(found: re.Match[str]) -> str:
    microseconds = int(found[1]) * (1_000_000 if found[2] == "s" else 1)
    return f"runtime={max(1000, round(SHORT_PART * microseconds))}us"


def fillers(sweep: Sweep, placement: Placement, header: Results) -> list[str]:
    """Jobs that write the test files of every workload once in full, for a file system."""
    texts = []
    for workload in sweep.info.workloads:
        cell = next((one for one in header.cells if one.workload == workload.name), None)
        if cell is not None:
            order = runner.make_order(sweep, placement, cell, 1, Path("/runs"), "")
            texts.append(layout.filler(jobfile.parse(order.job_text)).render())
    return list(dict.fromkeys(texts))
