"""What the system refuses is one line with the path and the way out, never a traceback."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SweepMaker
from test_cli import inside, one_line

from sluice import commands

FORBIDDEN = PermissionError(errno.EACCES, "Permission denied", "/where/ever")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FORBIDDEN, "/where/ever: Permission denied: take a folder that you may write"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device: free space"),
        (OSError("odd\nwords"), "odd words: check that path"),
    ],
)
def test_whatever_the_system_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: OSError,
    line: str,
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(commands.show, "print_sweeps", refuse)
    assert line in one_line(inside(capsys, "list"))


@pytest.mark.parametrize("how", ["a file in its way", "a full disk", "no right"])
def test_a_report_that_cant_be_written_is_one_line(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    how: str,
) -> None:
    inside(capsys, "run", make_sweep(), "--fio", fake_fio(""))
    folder = tmp_path / "store" / "small-0001" / "report"
    if how == "a file in its way":
        folder.write_text("")
        words = "File exists"
    else:
        code = errno.ENOSPC if how == "a full disk" else errno.EACCES
        words = os.strerror(code)

        def refuse(*_: object, **__: object) -> None:
            raise OSError(code, words)

        monkeypatch.setattr(Path, "write_text", refuse)
    line = one_line(inside(capsys, "report"))
    assert f"sluice: {folder}" in line
    assert f"the report can't be written ({words}): " in line
    assert line.endswith("or name another folder with --out")


def test_a_note_that_cant_be_kept_is_one_line(
    make_sweep: SweepMaker,
    fake_fio: Callable[[str], str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The disk is full when the test files are, and the note about them is the last straw."""
    (tmp_path / "data" / ".laid-out.json").mkdir(parents=True)
    (tmp_path / "data" / ".sluice-data").write_text("")
    done = inside(capsys, "run", make_sweep(), "--fio", fake_fio(""))
    assert done.returncode == 1
    assert "small-1M.dat: can't be laid out (" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
