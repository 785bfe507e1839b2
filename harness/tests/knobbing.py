"""A kernel of files for the tests of knobs: it chooses, clamps, refuses and resets as the real one
does, and dies at a step of their choice."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

from sluice.knobs.kernel import Kernel
from sluice.knobs.session import Disk

QUEUE = Path("/sys/block/sdx/queue")
DISK = Disk("sdx", "8:0")
SCHEDULERS: dict[str, dict[str, str]] = {
    "none": {},
    "mq-deadline": {"read_expire": "500"},
    "bfq": {"slice_idle": "8"},
}
FILES = {
    "/sys/block/sdx/queue/scheduler": "[none] mq-deadline bfq",
    "/sys/block/sdx/queue/nr_requests": "200",
    "/sys/block/sdx/queue/wbt_lat_usec": "75000",
    "/sys/block/sdx/queue/io_poll": "0",
    "/sys/block/sdx/queue/rotational": "0",
    "/proc/sys/vm/dirty_ratio": "20",
    "/proc/sys/vm/dirty_bytes": "0",
    "/proc/sys/vm/swappiness": "60",
    "/sys/module/nvme/parameters/poll_queues": "0",
    "/proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0",
    "/sys/fs/cgroup/cgroup.controllers": "cpu io memory",
    "/sys/fs/cgroup/cgroup.subtree_control": "cpu",
}


class FakeKernel(Kernel):
    """Files below a folder. State is in the files, so another process sees it too."""

    def __init__(self, root: Path, step: Callable[[str], None] = lambda _: None) -> None:
        super().__init__(root)
        self.step = step
        self.log: list[tuple[str, str]] = []

    def build(self) -> FakeKernel:
        """Make the files."""
        for name, text in FILES.items():
            self._put(Path(name), text)
        return self

    def state(self) -> dict[str, str]:
        """Everything that it holds, but for the journals."""
        found = {}
        for folder, _, files in os.walk(self.root):
            for file in files:
                path = Path(folder, file)
                found["/" + str(path.relative_to(self.root))] = path.read_text()
        return found

    def write(self, path: Path, text: str) -> None:
        self.step(f"write {path}")
        if not self.exists(path):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        self.log.append((str(path), text))
        self._take(path, text)
        self.step(f"written {path}")

    def mkdir(self, path: Path) -> None:
        self.step(f"mkdir {path}")
        super().mkdir(path)
        for name in ("cgroup.procs", "io.max", "cpu.max", "memory.max"):
            self._put(path / name, "max 100000" if name == "cpu.max" else "")
        self.step(f"made {path}")

    def rmdir(self, path: Path) -> None:
        self.step(f"rmdir {path}")
        for name in self.names(path):
            self.at(path / name).unlink()
        super().rmdir(path)
        self.step(f"removed {path}")

    def read(self, path: Path) -> str:
        self.step(f"read {path}")
        return super().read(path)

    def _put(self, path: Path, text: str) -> None:
        where = self.at(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text + "\n")

    def _take(self, path: Path, text: str) -> None:
        name = path.name
        if path == QUEUE / "scheduler":
            self._choose(text)
        elif name == "nr_requests":
            if int(text) > 1024:
                raise OSError(errno.EINVAL, "Invalid argument")
            self._put(path, str(max(4, int(text))))
        elif name == "io_poll":
            pass  # the driver decides
        elif name == "cgroup.subtree_control":
            have = set(super().read(path).split())
            have = have | {text[1:]} if text[0] == "+" else have - {text[1:]}
            self._put(path, " ".join(sorted(have)))
        elif name == "io.max":
            self._put(path, "" if text.count("=max") == 4 else text)
        elif name == "dirty_ratio":
            self._put(path, text)
            self._put(path.with_name("dirty_bytes"), "0")
        elif name == "dirty_bytes":
            if text == "0":
                raise OSError(errno.EINVAL, "Invalid argument")
            self._put(path, text)
            self._put(path.with_name("dirty_ratio"), "0")
        else:
            self._put(path, text)

    def _choose(self, text: str) -> None:
        if text not in SCHEDULERS:
            raise OSError(errno.EINVAL, "Invalid argument")
        words = (f"[{one}]" if one == text else one for one in SCHEDULERS)
        self._put(QUEUE / "scheduler", " ".join(words))
        self._put(QUEUE / "nr_requests", "256")
        self._put(QUEUE / "wbt_lat_usec", "0" if text == "bfq" else "75000")
        for old in self.names(QUEUE / "iosched"):
            self.at(QUEUE / "iosched" / old).unlink()
        for name, value in SCHEDULERS[text].items():
            self._put(QUEUE / "iosched" / name, value)


class Countdown:
    """Kills this process at the n-th step."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def __call__(self, what: str) -> None:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def dies_at(step: int, work: Callable[[Callable[[str], None]], None]) -> bool:
    """Whether a process that does `work` was killed at its step of that number."""
    child = os.fork()
    if child == 0:
        try:
            work(Countdown(step))
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) == signal.SIGKILL
    assert os.WEXITSTATUS(status) == 0, "the work itself failed"
    return False
