"""What the sections of a bench share: the file, the amounts, which cases are wanted."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from .job import BLOCK_BYTES, Arm, Job, Workload


@dataclass(frozen=True)
class Settings:
    path: Path
    size: int
    pairs: int
    seconds: float
    repeats: int
    counted_ios: int
    """N of (X(2N) - X(N)) / N; callgrind takes it as it is, strace a third of it."""
    seed: int
    glob: str
    quick: bool

    def wanted(self, name: str) -> bool:
        return fnmatchcase(name, self.glob)

    def timed(self, arm: Arm, workload: Workload, seed: int) -> Job:
        return Job(arm, workload, self.path, self.size, seed, seconds=self.seconds)

    def counted(self, arm: Arm, workload: Workload, ios: int) -> Job:
        return Job(arm, workload, self.path, self.size, self.seed, ios=ios)

    def capped(self, ios: int) -> int:
        """2N random I/Os must find free blocks easily, or fio's random map adds instructions."""
        return max(1, min(ios, self.size // BLOCK_BYTES // 8))
