"""What the runs of an invented sweep leave in their folders: json+ bins and fio's logs."""

from __future__ import annotations

import io
import json
import math
import random
import tarfile
from dataclasses import replace
from pathlib import Path

from sluice import files, fiologs, histogram, timeline
from sluice.histogram import Bins
from sluice.model import Results, Role, Run, Sample

CLONES = 3
GAP = (4, 5)
"""Windows in which the starved clone completes nothing."""


def furnish(whole: Results, root: Path, *, latency: bool = True, logs: bool = True) -> Results:
    """The same results, with the folders of the runs made below `root`. The measured job gets
    clones, of which the last one starves beside a neighbour."""
    runs = []
    for run in whole.runs:
        folder = root / run.id
        folder.mkdir(parents=True)
        runs.append(_furnished(whole, replace(run, folder=folder), latency, logs))
    info = replace(whole.sweep, timeline="latency" if latency else "rate")
    return replace(whole, sweep=info, runs=tuple(runs))


def _furnished(whole: Results, run: Run, latency: bool, logs: bool) -> Run:
    chance = random.Random(run.id)
    workload = whole.workload(whole.cell(run.cell).workload)
    log = timeline.options("rate", whole.sweep.runtime_s)["write_bw_log"]
    documents, texts, singles = [], {}, []
    for sample in run.samples:
        if not sample.total or sample.direction != "all":
            continue
        jobs = CLONES if sample.role is Role.MEASURED else 1
        name = next(name for name, role in workload.roles.items() if role is sample.role)
        for index in range(jobs):
            starved = workload.interference and jobs > 1 and index == jobs - 1
            share = (0.4 if starved else 1.0) / jobs
            iops = sample.values["iops"] * share
            slow = sample.values["lat_p50"] * (1.8 if starved else 1.0)
            bins = spread(slow, 0.45, round(sample.values["ios"] * share))
            values = {**sample.values, "iops": iops, "ios": float(sum(bins.values()))}
            values["bw"] = iops * 4096
            values["lat_p99"] = float(histogram.quantiles(bins, [0.99])[0] or 0)
            for direction in ("read", "all"):
                singles.append(Sample(name, sample.role, False, direction, values, index))
            documents.append(
                {
                    "jobname": name,
                    "read": {
                        "total_ios": sum(bins.values()),
                        "clat_ns": {"N": sum(bins.values()), "bins": bins},
                    },
                }
            )
            number = len(documents)
            texts[f"{log}_bw.{number}.log"] = _rates(
                iops * 4096, whole.sweep.runtime_s, starved, chance
            )
            if latency:
                texts[f"{log}_clat_hist.{number}.log"] = _histograms(
                    slow, iops, whole.sweep.runtime_s, starved
                )
    text = json.dumps({"fio version": "fio-3.33", "jobs": documents})
    (run.folder / "fio.json").write_text(text, encoding="utf-8")
    files.compress(run.folder / "fio.json")
    if logs:
        for name, content in texts.items():
            (run.folder / name).write_text(content, encoding="utf-8")
        timeline.pack(run.folder)
    return replace(run, samples=(*run.samples, *singles))


def spread(median_ns: float, sigma: float, count: int) -> Bins:
    """A log-normal histogram in fio's bins."""
    bins: Bins = {}
    before = 0
    for index in range(64, 29 * 64):
        low, high = fiologs._edges(index)
        below = 0.5 * (1 + math.erf(math.log(high / median_ns) / sigma / math.sqrt(2)))
        here = round(count * below)
        if here > before:
            bins[(low + high) // 2] = here - before
            before = here
        if below > 1 - 1e-9:
            break
    return bins


def _rates(rate: float, runtime_s: float, starved: bool, chance: random.Random) -> str:
    width = timeline.window(runtime_s) or 1.0
    lines = []
    for number in range(1, round(runtime_s / width) + 1):
        if starved and number in GAP:
            continue
        kib = rate / 1024 * chance.lognormvariate(0.0, 0.04)
        lines.append(f"{round(1000 * width * number)}, {round(kib)}, 0, 4096, 0, 0x0000")
    return "\n".join([*lines, ""])


def _histograms(median_ns: float, iops: float, runtime_s: float, starved: bool) -> str:
    """fio writes the lines of a gap when it is over."""
    width = timeline.window(runtime_s) or 1.0
    one = spread(median_ns, 0.45, round(iops * width))
    counts = [0] * (29 * 64 // 4)
    for index in range(len(counts)):
        for sub in range(4 * index, 4 * index + 4):
            low, high = fiologs._edges(sub)
            counts[index] += one.get((low + high) // 2, 0)
    row = ", ".join(str(count) for count in counts)
    numbers = range(1, round(runtime_s / width) + 1)
    late = [max(GAP) + 1 if starved and n in GAP else n for n in numbers]
    return "".join(f"{round(1000 * width * n) + 1}, 0, 4096, {row}\n" for n in late)


def archive(folder: Path, texts: dict[str, str]) -> None:
    """An archive of logs as :func:`sluice.timeline.pack` makes it."""
    with tarfile.open(folder / timeline.ARCHIVE, "w:gz") as out:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            out.addfile(member, io.BytesIO(text.encode()))
