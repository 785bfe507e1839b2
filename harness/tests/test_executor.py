"""One run: what fio's end means, and what is kept of it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice import executor, process
from sluice.executor import FioExecutor, Order, Outcome
from sluice.fiocli import Fio
from sluice.model import Cell, Role, Status

HANG = """
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)
print("fio: still waiting", file=sys.stderr, flush=True)
time.sleep(60)
"""


def run(tmp_path: Path, program: str, timeout_s: float = 20.0) -> Outcome:
    folder = tmp_path / "run"
    folder.mkdir()
    order = Order(
        Cell("solo/a=1", "solo", {"a": "1"}),
        "[reader]\nrw=read\n",
        folder,
        {"reader": Role.MEASURED},
        "clat",
        timeout_s,
        f"t/{tmp_path.name}",
        True,
    )
    return FioExecutor(Fio(program)).run(order)


CASES = {
    "well": ("say(output)", Status.OK, ""),
    "words beside": ("print('note: x', file=sys.stderr); say(output)", Status.OK, ""),
    "exit code": (
        "print('fio: no such file', file=sys.stderr); sys.exit(1)",
        Status.FAILED,
        "fio: no such file",
    ),
    "exit code without words": (
        "sys.exit(3)",
        Status.FAILED,
        "fio ended with code 3 and said nothing",
    ),
    "words before the document": (
        "open(output, 'w').write('fio: bad thing\\n' + json.dumps(document(error=5)))\nsys.exit(1)",
        Status.FAILED,
        "fio: bad thing",
    ),
    "a job's error": ("say(output, error=5)", Status.FAILED, "job reader ended with error 5"),
    "no output": ("sys.exit(0)", Status.FAILED, "fio wrote no complete JSON"),
    "cut short": (
        "open(output, 'w').write(json.dumps(document())[:-9])",
        Status.FAILED,
        "fio wrote no complete JSON",
    ),
    "no I/O": ("say(output, ios=0)", Status.FAILED, "no I/O completed within the measured time"),
    "signal": (
        "os.kill(os.getpid(), signal.SIGSEGV)",
        Status.FAILED,
        "fio was killed by signal 11",
    ),
}


@pytest.mark.parametrize(("body", "status", "reason"), CASES.values(), ids=list(CASES))
def test_what_an_end_means(
    tmp_path: Path, fake_fio: Callable[[str], str], body: str, status: Status, reason: str
) -> None:
    outcome = run(tmp_path, fake_fio(body))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert (tmp_path / "run" / "job.fio").read_text() == "[reader]\nrw=read\n"


def test_words_of_a_good_run_are_warnings(tmp_path: Path, fake_fio: Callable[[str], str]) -> None:
    outcome = run(tmp_path, fake_fio("print('note: fell back', file=sys.stderr); say(output)"))
    assert outcome.warnings == ("note: fell back",)


def test_a_job_that_only_reads_is_run_read_only(
    tmp_path: Path, fake_fio: Callable[[str], str]
) -> None:
    assert "--readonly" in run(tmp_path, fake_fio("")).command


def test_the_engines_statistics_are_kept(tmp_path: Path, fake_fio: Callable[[str], str]) -> None:
    body = "open('stats.json', 'w').write('{\"queued\": 5, \"odd\": NaN}'); say(output)"
    assert run(tmp_path, fake_fio(body)).engine_stats == {"queued": 5, "odd": None}


def test_broken_statistics_are_none(tmp_path: Path, fake_fio: Callable[[str], str]) -> None:
    assert (
        run(tmp_path, fake_fio("open('stats.json', 'w').write('{'); say(output)")).engine_stats
        is None
    )


def test_a_hanging_fio_is_killed_with_everything_below_it(
    tmp_path: Path, fake_fio: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_GRACE_S", 0.2)
    outcome = run(tmp_path, fake_fio(HANG), timeout_s=0.7)
    assert outcome.status is Status.TIMEOUT
    assert outcome.reason == "killed after 0.7 s: fio: still waiting"
    assert process.marked(f"t/{tmp_path.name}") == []


def test_a_full_disk_isnt_blamed_on_fio(
    tmp_path: Path, fake_fio: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_FULL_BYTES", 1 << 62)
    with pytest.raises(OSError, match="No space left") as caught:
        run(tmp_path, fake_fio("open(output, 'w').write('{')"))
    assert caught.value.errno == errno.ENOSPC
