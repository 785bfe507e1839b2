"""Running fio in guests of the harness's own (`sluice vm`)."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sluice.errors import SluiceError
from sluice.vm import carry, cpio, measured, tools
from sluice.vm.channel import File, Word
from sluice.vm.guest import Ending, Guest
from sluice.vm.kernels import Kernel
from sluice.vm.machine import Machine
from sluice.vm.measured import Counted
from sluice.vm.planned import ENGINE
from sluice.vm.run import failure

from .errors import BenchError
from .job import Job

PLUGIN = f"external:{ENGINE}"
"""The engine as fio in a guest is told it."""
TOOLS: tuple[str, ...] = ("qemu-system-x86_64", "busybox")


@dataclass
class Ran:
    """What came out of one guest, by the names of the runs."""

    iops: dict[str, float] = field(default_factory=dict)
    counted: dict[str, Counted] = field(default_factory=dict)
    first_io_s: float = 0.0
    """From power on to the end of a program's first I/O."""


def run(
    machine: Machine, kernel: Kernel, library: Path | None, jobs: Sequence[tuple[str, Job]]
) -> Ran:
    """One guest that makes `jobs` one after another. `library` is the plugin on the host."""
    carried = []
    if library is not None:
        own, *needed = carry.file(library)
        carried = [cpio.regular(str(ENGINE), own.data, 0o755), *needed]
    try:
        boot = tools.prepare(machine, kernel, _script(machine, jobs), carried)
        return _listen(boot, kernel, dict(jobs))
    except SluiceError as error:
        raise BenchError(str(error)) from error


def _script(machine: Machine, jobs: Sequence[tuple[str, Job]]) -> str:
    device = machine.devices[0]
    lines = [
        f"fio --name=first --ioengine=io_uring --direct=1 --rw=read --bs=4k --filename={device} "
        "--number_ios=1 --size=64k --output=/run/first",
        "word first $?",
        "mkdir -p /bench && cd /bench",
    ]
    for name, job in jobs:
        lines += [
            "counts before",
            f"{shlex.join(_argv(job))} >said 2>&1 </dev/null",
            "status=$?",
            "counts after",
            "for file in before after said fio.json; do [ ! -s $file ] || frame $file $file; done",
            "rm -f fio.json",
            f"word ran {name} $status",
        ]
    return "\n".join(lines)


def _argv(job: Job) -> list[str]:
    """The command line; a character device, which no page cache is before, knows no O_DIRECT."""
    words = job.argv(Path("fio.json"))
    return [word for word in words if word != "--direct=1" or not job.path.name.startswith("ng")]


def _listen(boot, kernel: Kernel, jobs: dict[str, Job]) -> Ran:
    ran, files = Ran(), {}
    with Guest(boot, 60 + 60 * len(jobs)) as guest:
        for event in guest.events():
            if isinstance(event, File):
                files[event.name] = event.data.decode("utf-8", "replace")
            elif isinstance(event, Word) and event.name == "first":
                ran.first_io_s = guest.now_s
            elif isinstance(event, Word) and event.name == "ran":
                name, status = event.rest.rsplit(" ", 1)
                ran.iops[name], ios = _figures(name, status, files)
                counted = measured.counted(files["before"], files["after"])
                ran.counted[name] = Counted(counted.instructions, counted.virtual_ns, ios)
                files = {}
        end = guest.end()
    if end.kind is not Ending.OFF or len(ran.iops) < len(jobs):
        raise BenchError(failure(end, kernel.name))
    return ran


def _figures(name: str, status: str, files: dict[str, str]) -> tuple[float, int]:
    """IOPS and I/Os of one run; BenchError in fio's own words."""
    try:
        jobs = json.loads(files["fio.json"])["jobs"]
        if status == "0" and not any(job["error"] for job in jobs):
            kinds = [job[kind] for job in jobs for kind in ("read", "write")]
            return sum(kind["iops"] for kind in kinds), sum(kind["total_ios"] for kind in kinds)
    except (KeyError, ValueError):
        pass
    words = " / ".join(files.get("said", "").split("\n"))[:400]
    raise BenchError(f"{name}: fio ended with {status} in the guest: {words}")
