"""A bound that nothing of a process tree outlives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sluice import process

# Like fio's jobs: leaves the session, ignores SIGTERM, and outlives its parent.
STUBBORN = """
import os, signal, sys, time
for depth in range(2):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
            os._exit(0)
        time.sleep(60)
        os._exit(0)
open("ready", "w").close()
time.sleep({parent})
"""


def run(tmp_path: Path, code: str, timeout_s: float, mark: str) -> process.Ended:
    return process.run(
        [sys.executable, "-c", code], tmp_path, mark, timeout_s, tmp_path / "out", tmp_path / "err"
    )


def test_a_timeout_ends_the_whole_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_GRACE_S", 0.2)
    mark = f"t/{os.getpid()}/timeout"
    ended = run(tmp_path, STUBBORN.format(parent=60), 1.0, mark)
    assert (tmp_path / "ready").exists()
    assert ended.timed_out
    assert ended.stuck == ()
    assert process.marked(mark) == []


def test_a_child_that_fails_leaves_nobody_behind(tmp_path: Path) -> None:
    mark = f"t/{os.getpid()}/fail"
    ended = run(tmp_path, STUBBORN.format(parent=0) + "\nsys.exit(3)", 20.0, mark)
    assert ended.returncode == 3
    assert process.marked(mark) == []


def test_a_mark_holds_for_what_is_below_it(tmp_path: Path) -> None:
    mark = f"t/{os.getpid()}/below"
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        env={**os.environ, process.MARK: f"{mark}/run-1"},
    )
    while child.pid not in process.marked(mark):
        time.sleep(0.01)
    assert process.marked(mark[:-1]) == []  # a longer name isn't "below"
    assert process.marked("below/run-1") == [child.pid]  # a part of it is enough
    process.kill_marked(mark)
    assert child.wait(5) == -signal.SIGKILL


def test_output_and_time_are_kept(tmp_path: Path) -> None:
    ended = run(tmp_path, "import sys; print('out'); print('err', file=sys.stderr)", 20.0, "t/o")
    assert (tmp_path / "out").read_text() == "out\n"
    assert (tmp_path / "err").read_text() == "err\n"
    assert ended.returncode == 0
    assert not ended.timed_out
    assert 0 < ended.seconds < 20


LOOP = """
import itertools, sys
from pathlib import Path
from sluice import process
folder = Path({folder!r})
print("go", flush=True)
for number in itertools.count():
    process.run(["sleep", "60"], folder, f"{mark}/{{number}}", 1e-4, folder / "out", folder / "err")
"""


@pytest.mark.parametrize("delay_ms", range(0, 24, 2))
def test_ctrl_c_at_any_moment_leaves_nobody_behind(tmp_path: Path, delay_ms: int) -> None:
    """Also while the child is being started, when nobody knows its number yet."""
    mark = f"t/{os.getpid()}/ctrl-c-{delay_ms}"
    code = LOOP.format(folder=str(tmp_path), mark=mark)
    harness = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert harness.stdout is not None
    assert harness.stdout.readline() == b"go\n"
    time.sleep(0.03 + delay_ms / 1000)
    harness.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in harness.communicate(timeout=20)[1]
    assert process.marked(mark) == []
