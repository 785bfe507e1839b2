"""What the tests of the run side share: a table like the engine's, sweep files, a fake fio."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from knobbing import FakeKernel

from sluice import describe
from sluice.describe import Table
from sluice.knobs.journal import State
from sluice.knobs.session import Disk

DATA = Path(__file__).parent / "data"

# A busy machine is slow, not wrong; a failure prints how to repeat it.
settings.register_profile("harness", deadline=None, print_blob=True)
settings.load_profile("harness")

JOB = """\
[global]
direct=1
[reader]
rw=randread
bs=4k
iodepth=4
"""

NEIGHBOUR = """\
[neighbour]
rw=write
bs=128k
"""

SWEEP = """\
question = "Does it?"
job = "job.fio"
engine = "null"
blocks = 2
runtime = "200ms"
ramp = 0
[target]
size = "1M"
[axes]
iodepth = [1, 8]
"""

SweepMaker = Callable[..., Path]


@pytest.fixture()
def table() -> Table:
    """A table of tunables in the form that sluice-describe prints."""
    return describe.load(DATA / "describe.json")


@pytest.fixture()
def make_sweep(tmp_path: Path) -> SweepMaker:
    """Writes a sweep file and its jobs; returns the path. Keyword `replace` maps text to text."""

    def make(
        text: str = SWEEP,
        name: str = "small",
        job: str = JOB,
        replace: dict[str, str] | None = None,
    ) -> Path:
        for old, new in (replace or {}).items():
            assert old in text, f"'{old}' isn't in the sweep"
            text = text.replace(old, new)
        folder = tmp_path / "sweeps"
        folder.mkdir(exist_ok=True)
        (folder / "job.fio").write_text(job, encoding="utf-8")
        (folder / "neighbour.fio").write_text(NEIGHBOUR, encoding="utf-8")
        path = folder / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture()
def fake_fio(tmp_path: Path) -> Callable[[str], str]:
    """Makes a program that answers like fio 3.33 and, when it is to run a job, does `body`: Python
    with `output` (path of --output) and `job` (text) in scope."""

    def make(body: str = "", version: str = "fio-3.33") -> str:
        path = tmp_path / "fake-fio"
        lines = (DATA / "fake_fio.py").read_text(encoding="utf-8")
        body = textwrap.dedent(body) or "say(output)"
        assert 'VERSION = ""' in lines
        lines = lines.replace('VERSION = ""', f"VERSION = {version!r}")
        path.write_text(f"#!{sys.executable} -IS\n{lines}\n{body}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the store or the test files of the person who runs it."""
    monkeypatch.setenv("SLUICE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("SLUICE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    harness = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([harness, *sys.path]))


@pytest.fixture()
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, as /sys and /run are: hundreds of flushes cost nothing there."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="sluice-test-", dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture()
def kernel(memory: Path) -> FakeKernel:
    return FakeKernel(memory / "kernel").build()


@pytest.fixture()
def state(memory: Path) -> State:
    return State(memory / "state")


@pytest.fixture()
def loop(tmp_path: Path) -> Iterator[Disk]:
    """A real block device of 16 MiB."""
    backing = tmp_path / "backing"
    with backing.open("wb") as file:
        file.truncate(16 << 20)
    made = subprocess.run(
        ["losetup", "--find", "--show", backing], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    name = made.stdout.strip().removeprefix("/dev/")
    try:
        number = Path(f"/sys/block/{name}/dev").read_text().strip()
        yield Disk(name, number)
    finally:
        subprocess.run(["losetup", "--detach", f"/dev/{name}"], check=True)
