"""What one run of fio is: an arm (whose engine), a workload (which I/O) and a bound (how much)."""

from dataclasses import dataclass
from pathlib import Path

BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: an engine and the options that only it gets."""

    name: str
    engine: str
    options: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """For a reader: a plugin by its file's name, since what runs is a copy somewhere."""
        return " ".join((self.engine.rpartition("/")[2], *self.options))


@dataclass(frozen=True)
class Workload:
    """4 KiB O_DIRECT I/O: its kind, depth, and number of jobs on the one file."""

    rw: str
    depth: int
    jobs: int = 1

    @property
    def name(self) -> str:
        return f"{self.rw}-d{self.depth}-j{self.jobs}"


@dataclass(frozen=True)
class Job:
    """One fio run, bound by time or by a count of I/Os. Equal seeds give equal offsets."""

    arm: Arm
    workload: Workload
    path: Path
    size: int
    seed: int
    seconds: float | None = None
    ios: int | None = None

    def argv(self, output: Path) -> list[str]:
        """The command line. No gtod_reduce and no disable_*: users keep their latencies, so do we.

        --thread for every arm, since sluice turns threads on by itself and fork against thread
        would be a second difference. No group_reporting: it drops what is each job's own.
        """
        bound = (
            [f"--number_ios={self.ios}"]
            if self.ios is not None
            else ["--time_based", f"--runtime={round((self.seconds or 0) * 1000)}ms"]
        )
        return [
            "fio",
            "--name=bench",
            f"--ioengine={self.arm.engine}",
            *self.arm.options,
            f"--filename={escaped(self.path)}",
            f"--size={self.size}",
            f"--bs={BLOCK_BYTES}",
            f"--rw={self.workload.rw}",
            f"--iodepth={self.workload.depth}",
            f"--numjobs={self.workload.jobs}",
            "--direct=1",
            "--thread",
            f"--randseed={self.seed}",
            *bound,
            "--output-format=json",
            f"--output={output}",
        ]


def escaped(path: Path) -> str:
    """fio splits filename= at colons."""
    return str(path).replace("\\", "\\\\").replace(":", "\\:")
