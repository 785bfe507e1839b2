"""Running fio and reading what it says, in numbers or in words."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import process
from .errors import BenchError
from .job import Job

GRACE_S = 120.0
"""How long a run may take beyond its own time, valgrind's slowness included, before it hangs."""


@dataclass(frozen=True)
class FioRun:
    """One finished run: fio's figures summed over its jobs, and the whole process's cost beside."""

    ios: int
    iops: float
    runtime_ms: int
    clat_mean_ns: float
    clat_p50_ns: float
    clat_p99_ns: float
    job_cpu_s: float
    """usr + sys as fio says: of its job threads alone."""
    job_switches: int
    process_cpu_s: float
    process_switches: int
    peak_rss_kib: int | None
    seconds: float


def run(job: Job, prefix: tuple[str, ...] = (), watch_memory: bool = False) -> FioRun:
    """Runs a job, under `prefix` (valgrind, strace) if any. Raises with fio's own words."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        output = Path(folder) / "fio.json"
        argv = [*prefix, *job.argv(output)]
        done = process.run(argv, (job.seconds or 0) + GRACE_S, watch_memory)
        text = output.read_text(errors="replace") if output.exists() else ""
    jobs = _jobs(text)
    if done.status != 0 or not jobs or any(each["error"] for each in jobs):
        raise BenchError(
            f"{job.arm.label}, {job.workload.name}: {words(done.errors, text, done.status)}"
        )
    return _figures(job, jobs, done)


def words(errors: str, output: str, status: int) -> str:
    """What fio said on the way down, each line once, as one line."""
    before_json = output.partition("\n{")[0] if not output.startswith("{") else ""
    said = dict.fromkeys(line.strip() for line in (errors or before_json).splitlines())
    line = " / ".join(each for each in said if each)
    return line[:400] or f"fio ended with status {status} and said nothing"


def _jobs(text: str) -> list[dict]:
    """The jobs in fio's output file, which may have messages before the document."""
    start = 0 if text.startswith("{") else text.find("\n{")
    if start < 0:
        return []
    try:
        return json.JSONDecoder().raw_decode(text[start:].lstrip())[0].get("jobs", [])
    except json.JSONDecodeError:
        return []


def _figures(job: Job, jobs: list[dict], done: process.Finished) -> FioRun:
    kinds = [each[kind] for each in jobs for kind in ("read", "write") if each[kind]["total_ios"]]
    ios = sum(kind["total_ios"] for kind in kinds)
    wanted = None if job.ios is None else job.ios * job.workload.jobs
    if ios == 0 or (wanted is not None and ios != wanted):
        raise BenchError(
            f"{job.arm.label}, {job.workload.name}: asked for {wanted or 'some'} I/Os, "
            f"fio did {ios}"
        )

    def mean(value) -> float:
        return sum(value(kind) * kind["total_ios"] for kind in kinds) / ios

    def percentile(key: str):
        return lambda kind: kind["clat_ns"].get("percentile", {}).get(key, 0)

    cpu_s = sum(
        (each["usr_cpu"] + each["sys_cpu"]) / 100 * each["job_runtime"] / 1000 for each in jobs
    )
    return FioRun(
        ios=ios,
        iops=sum(kind["iops"] for kind in kinds),
        runtime_ms=max(kind["runtime"] for kind in kinds),
        clat_mean_ns=mean(lambda kind: kind["clat_ns"]["mean"]),
        clat_p50_ns=mean(percentile("50.000000")),
        clat_p99_ns=mean(percentile("99.000000")),
        job_cpu_s=cpu_s,
        job_switches=sum(each["ctx"] for each in jobs),
        process_cpu_s=done.cpu_s,
        process_switches=done.switches,
        peak_rss_kib=done.peak_rss_kib,
        seconds=done.seconds,
    )
