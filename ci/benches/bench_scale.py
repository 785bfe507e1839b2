"""scale: a campaign of 10,000 runs, analysed from the index and reported."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "harness"))

from sluice import encode, migrate, plan
from sluice.campaign import Campaign
from sluice.model import (
    METRICS,
    Axis,
    Cell,
    Environment,
    Gate,
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
from sluice.store import Store

from .runner import ROOT

NAME = "scale"
SUMMARY = "10,000 runs with made-up figures: seconds and memory of gate and report"

RUNS = 10_000
BAR_S, BAR_MIB = 20.0, 1024.0
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
BYPASS = ("off", "direct", "hybrid", "class_empty", "all")
GATES = ("iops", "lat_p99", "cpu_us")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit status: 0 within 20 s and 1 GiB, 1 a verb failed, 2 a bar missed."
    parser.add_argument("--runs", type=int, default=RUNS, help="default %(default)s")
    parser.add_argument("--keep", type=Path, help="keep the store in this folder")
    parser.add_argument("--json", type=Path, default=ROOT / "build/bench/scale.json")


def run(args: argparse.Namespace) -> int:
    folder = args.keep or Path(tempfile.mkdtemp(prefix="sluice-scale-"))
    try:
        made = make_store(folder, max(2, args.runs // 200))
        print(f"{made} runs in {folder}")
        found = {verb: measured(folder, verb) for verb in ("index", "gate", "report")}
    finally:
        if args.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    for verb, (seconds, cpu, mib) in found.items():
        print(f"{verb:8s} {seconds:6.1f} s  {cpu:6.1f} s of CPU  {mib:6.0f} MiB")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps({"runs": made, "found": found}, indent=1) + "\n")
    missed = [
        verb for verb in ("gate", "report") if found[verb][0] > BAR_S or found[verb][2] > BAR_MIB
    ]
    print(f"bars: {BAR_S:g} s and {BAR_MIB:g} MiB each: {'MISSED' if missed else 'met'}")
    return 2 if missed else 0


def measured(store: Path, verb: str) -> tuple[float, float, float]:
    """Seconds, seconds of CPU, and peak MiB of one verb in a process of its own."""
    words = {
        "index": ["list", "--rebuild-index"],
        "gate": ["gate", "--fail-on", "never"],
        "report": ["report"],
    }[verb]
    python = str(ROOT / "build/venv/bin/python")
    command = [python, "-m", "sluice", *words, "--store", str(store)]
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT / "harness")
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{verb}: ended with {child.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def make_store(root: Path, blocks: int) -> int:
    """A store with one campaign of 100 cells; the number of its runs."""
    header = planned(blocks)
    campaign = Store(root).create("scale", header)
    header = campaign.header()
    campaign.add_environment(Environment("before", time.time(), {"machine.id": "made up"}))
    chance = random.Random(1)
    items = list(plan.items(header.blocks))
    cells = {cell.id: cell for cell in header.cells}
    for item in items:
        write(campaign, made(cells[item.cell], item, chance))
    return len(items)


def planned(blocks: int) -> Results:
    axes = (
        Axis("bypass", tuple(map(Value, BYPASS)), "engine", False, default="off"),
        Axis("iodepth", tuple(Value(str(n), float(n)) for n in DEPTHS), "fio", True, default="1"),
    )
    loads = (
        Workload("solo", "[reader]\n", {"reader": Role.MEASURED}, "alone"),
        Workload(
            "beside",
            "[reader]\n[writer]\n",
            {"reader": Role.MEASURED, "writer": Role.NEIGHBOUR},
            "beside a writer",
        ),
    )
    gates = tuple(
        Gate(name, METRICS[name].higher_is_better, METRICS[name].margin) for name in GATES
    )
    cells = []
    for load, values in product(loads, product(BYPASS, map(str, DEPTHS))):
        named = dict(zip(("bypass", "iodepth"), values, strict=True))
        text = ",".join(f"{axis}={value}" for axis, value in named.items())
        cells.append(Cell(f"{load.name}/{text}", load.name, named))
    drawn = plan.draw(cells, blocks, 1)
    info = SweepInfo("scale", "Does it scale?", "sluice", axes, loads, gates, blocks, 10.0, 1.0)
    return Results(
        migrate.SCHEMA,
        "",
        Path(),
        info,
        Target("made-up", "file", "1G"),
        tuple(cells),
        drawn,
        1,
        (),
        (),
        "sluice run scale",
        time.time(),
        sum(2 * len(block.order) for block in drawn),
    )


def made(cell: Cell, item: plan.Item, chance: random.Random) -> Run:
    depth = float(cell.values["iodepth"])
    level = 2e4 * depth / (1 + depth / 16) * (1 + 0.1 * BYPASS.index(cell.values["bypass"]))
    samples = []
    for role, job in ((Role.MEASURED, "reader"), (Role.NEIGHBOUR, "writer")):
        if role is Role.NEIGHBOUR and cell.workload == "solo":
            continue
        iops = level * chance.lognormvariate(0, 0.02)
        median = depth / iops * 1e9
        values = {
            "ios": iops * 1e3,
            "iops": iops,
            "bw": iops * 4096,
            "errors": 0.0,
            "cpu_usr_us": 1.1,
            "cpu_sys_us": 3.2,
            "cpu_us": 4.3 * chance.lognormvariate(0, 0.01),
            "ctx": 0.4,
            "lat_mean": median * 1.2,
            "lat_max": median * 80,
            "lat_p50": median,
            "lat_p99": median * 4 * chance.lognormvariate(0, 0.03),
            "lat_p999": median * 15,
        }
        for direction, total in product(("read", "all"), (False, True)):
            name = role.value if total else job
            samples.append(Sample(name, role, total, direction, values))
    return Run(
        f"{item.order:05d}-{chance.randrange(1 << 32):08x}",
        item.cell,
        item.block.index,
        item.leg,
        item.order,
        item.block.randseed,
        Status.OK,
        started_at=1.7e9 + 12 * item.order,
        duration_s=11.4,
        fio_s=11.3,
        samples=tuple(samples),
        command=("fio", "job.fio"),
    )


def write(campaign: Campaign, run: Run) -> None:
    """As the harness writes it, without waiting for the disk."""
    folder = campaign.folder / "runs" / run.id
    folder.mkdir()
    document = encode.to_json(replace(run, folder=folder))
    document.pop("folder")
    text = json.dumps({"schema": migrate.SCHEMA, **document}, indent=1)
    (folder / "run.json").write_text(text, encoding="utf-8")
