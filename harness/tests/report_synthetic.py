"""Invented sweeps for the tests of the report: seeded, of any size, with every kind of blemish."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sluice.model import (
    Axis,
    Block,
    Cell,
    Environment,
    Gate,
    Leg,
    Published,
    PublishedPoint,
    Results,
    Role,
    Run,
    Sample,
    Status,
    SweepInfo,
    Target,
    Value,
    Workload,
)

BYPASS = Axis(
    "bypass",
    tuple(Value(text) for text in ("off", "direct", "hybrid", "all")),
    "engine",
    numeric=False,
    default="off",
    help="Which I/O skips the queue.",
)
DEPTH = Axis(
    "iodepth",
    tuple(Value(str(n), float(n)) for n in (1, 2, 4, 8, 16, 32)),
    "fio",
    numeric=True,
    unit="I/Os",
    default="1",
    help="I/Os in flight for each job.",
)
SOLO = Workload(
    "solo", "[victim]\nrw=randread\n", {"victim": Role.MEASURED}, "4 KiB random reads, alone"
)
INTERFERENCE = Workload(
    "interference",
    "[victim]\nrw=randread\n[writer]\nrw=write\n",
    {"victim": Role.MEASURED, "writer": Role.NEIGHBOUR},
    "4 KiB random reads beside a sequential writer",
)
ENVIRONMENT = {
    "cpu.model": "Example CPU 9000",
    "cpu.count": "2",
    "kernel.release": "6.1.0-18-cloud-amd64",
    "machine.virtual": "kvm",
    "fio.version": "fio-3.33",
    "engine.commit": "0123abcd",
    "os.name": "Debian GNU/Linux 12 (bookworm)",
    "memory.lock_limit": "8 MiB",
}
GAIN = {"off": 1.0, "direct": 1.32, "hybrid": 1.25, "all": 1.41}


def sweep(
    axes: Sequence[Axis] = (BYPASS,),
    workloads: Sequence[Workload] = (SOLO,),
    *,
    blocks: int = 5,
    published: Published | None = None,
) -> SweepInfo:
    """A sweep file as it is after checking."""
    gates = (Gate("iops", True, 0.03), Gate("lat_p99", False, 0.10))
    return SweepInfo(
        "bypass",
        "Does skipping the queue pay?",
        "sluice",
        tuple(axes),
        tuple(workloads),
        gates,
        blocks,
        10.0,
        2.0,
        published=published,
        toml_text='question = "Does skipping the queue pay?"\n',
    )


def results(info: SweepInfo, *, seed: int = 1, drift: float = 0.0) -> Results:
    """A complete, faultless execution of `info`. `drift`: relative rise from first to last run."""
    chance = random.Random(seed)
    cells = tuple(
        Cell(
            f"{load.name}/"
            + ",".join(f"{a.name}={v.text}" for a, v in zip(info.axes, values, strict=True)),
            load.name,
            {a.name: v.text for a, v in zip(info.axes, values, strict=True)},
        )
        for load in info.workloads
        for values in itertools.product(*(axis.values for axis in info.axes))
    )
    blocks: list[Block] = []
    runs: list[Run] = []
    total = info.blocks * 2 * len(cells)
    for index in range(info.blocks):
        order = [cell.id for cell in cells]
        chance.shuffle(order)
        blocks.append(Block(index, tuple(order), chance.randrange(1 << 31)))
        for leg, ids in ((Leg.FORWARD, order), (Leg.REVERSE, order[::-1])):
            for cell_id in ids:
                cell = next(cell for cell in cells if cell.id == cell_id)
                slower = 1.0 + drift * len(runs) / total
                runs.append(
                    _run(info, cell, index, leg, len(runs), blocks[-1].randseed, slower, chance)
                )
    return Results(
        1,
        "20260101-120000-bypass",
        Path("store/20260101-120000-bypass"),
        info,
        Target("/srv/test/file", "file", "256M", "ext4", "vda"),
        cells,
        tuple(blocks),
        seed,
        tuple(runs),
        (
            Environment("before", 1767268800.0, ENVIRONMENT),
            Environment("after", 1767269800.0, ENVIRONMENT),
        ),
        "sluice run jobs/sweeps/bypass.toml --seed 1",
        1767268800.0,
        total,
    )


def _run(
    info: SweepInfo,
    cell: Cell,
    block: int,
    leg: Leg,
    order: int,
    randseed: int,
    slower: float,
    chance: random.Random,
) -> Run:
    load = next(load for load in info.workloads if load.name == cell.workload)
    speed = _speed(cell.values) / slower * chance.lognormvariate(0.0, 0.015)
    depth = float(cell.values.get("iodepth", "8"))
    iops = 26000.0 * speed * depth / (1 + depth / 9.0) * (0.45 if load.interference else 1.0)
    samples = [_sample("measured", Role.MEASURED, iops, depth, chance)]
    if load.interference:
        samples.append(_sample("neighbour", Role.NEIGHBOUR, 3000.0 / speed, 4.0, chance))
    return Run(
        f"run{order:05d}",
        cell.id,
        block,
        leg,
        order,
        randseed,
        Status.OK,
        started_at=1767268800.0 + 13.0 * order,
        duration_s=12.2,
        fio_s=12.0,
        samples=tuple(samples),
        command=("fio", "job.fio"),
        folder=Path(f"run{order:05d}"),
    )


def _speed(values: Mapping[str, str]) -> float:
    speed = GAIN.get(values.get("bypass", "off"), 1.0)
    bulk = values.get("slog_bulk")
    return speed if bulk is None else speed * (0.4 + 0.1 * math.log2(float(bulk.rstrip("M"))))


def _sample(
    name: str, role: Role, iops: float, depth: float, chance: random.Random, direction: str = "all"
) -> Sample:
    mean = depth / iops * 1e9
    return Sample(
        name,
        role,
        True,
        direction,
        {
            "iops": iops,
            "bw": iops * 4096.0,
            "lat_mean": mean,
            "lat_p50": mean * 0.92,
            "lat_p99": mean * 2.6 * chance.lognormvariate(0.0, 0.05),
            "lat_p999": mean * 6.5 * chance.lognormvariate(0.0, 0.12),
            "lat_max": mean * 40.0,
            "cpu_us": 4.1 * chance.lognormvariate(0.0, 0.02),
            "cpu_usr_us": 1.1,
            "cpu_sys_us": 3.0,
            "ctx": 0.97,
            "ios": iops * 10.0,
            "errors": 0.0,
        },
    )


def blemished() -> Results:
    """Two workloads with a failed run, a time-out, a skipped cell, warnings and too few I/Os."""
    whole = results(sweep(workloads=(SOLO, INTERFERENCE), blocks=3))
    words = "fio: option <iodepth> out of range\nerror=Invalid argument"
    runs = list(whole.runs)
    runs[3] = replace(runs[3], status=Status.FAILED, reason=words, samples=())
    runs[9] = replace(
        runs[9], status=Status.TIMEOUT, reason="no end after 42 s: killed", samples=()
    )
    runs[11] = replace(runs[11], warnings=("device has no poll queues: falling back to spin",))
    few = next(
        i for i, run in enumerate(runs) if run.cell == "solo/bypass=direct" and run.block == 2
    )
    short = runs[few].samples[0]
    runs[few] = replace(
        runs[few], samples=(replace(short, values={**short.values, "ios": 20000.0}),)
    )
    skipped = "interference/bypass=hybrid"
    cells = tuple(
        replace(cell, skipped="the device has one queue") if cell.id == skipped else cell
        for cell in whole.cells
    )
    runs = [run for run in runs if run.cell != skipped]
    return replace(
        whole,
        cells=cells,
        runs=tuple(runs),
        planned_runs=len(runs) + 2,
        environments=(
            whole.environments[0],
            Environment("after", 1767269800.0, {**ENVIRONMENT, "cpu.governor": "powersave"}),
        ),
    )


def published_bypass() -> Published:
    """Figures of another machine, for the axis ``bypass``."""
    points = (
        PublishedPoint("one NVMe, random read", "off", None, 136000.0),
        PublishedPoint("one NVMe, random read", "direct", None, 297000.0),
        PublishedPoint("gen 5 NVMe, 256 jobs", "off", None, 136000.0),
        PublishedPoint("gen 5 NVMe, 256 jobs", "direct", None, 469000.0),
    )
    return Published("published/bypass.csv", "OpenZFS, 2024", "bypass", "iops", "solo", points)
