"""What a user sees while a sweep runs: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io

import pytest
from harnessing import a_run

from sluice import progress
from sluice.model import Status


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tell(stream: io.StringIO, every_s: float | None = None) -> str:
    teller = progress.for_stream(stream)
    if every_s is not None:
        teller = progress.PlainProgress(stream, every_s)
    with teller:
        teller.start(0, 3, 30.0)
        for number, status in enumerate((Status.OK, Status.FAILED, Status.FAILED)):
            teller.running("solo/iodepth=1")
            reason = "" if status is Status.OK else "fio: [bold]odd[/bold] words"
            run = a_run(order=number, status=status, reason=reason)
            teller.ended(run, number + 1, 3, 20.0 - 10 * number)
        teller.say("done")
    return stream.getvalue()


def test_lines_where_there_is_no_terminal() -> None:
    text = tell(io.StringIO())
    assert "\x1b" not in text
    assert text.splitlines() == [
        "0 of 3 runs done, about 30 s to go",
        "[1/3] solo/iodepth=1: 5 IOPS (20 s to go)",
        "[2/3] solo/iodepth=1: failed: fio: [bold]odd[/bold] words (10 s to go)",
        "[3/3] solo/iodepth=1: failed: fio: [bold]odd[/bold] words (0 s to go)",
        "done",
    ]


def test_lines_come_every_few_seconds_only(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    teller = progress.PlainProgress(stream, every_s=5.0)
    for second in range(12):
        monkeypatch.setattr("time.monotonic", lambda now=second: float(now))
        teller.ended(a_run(), second + 1, 100, 1.0)
    assert [line.split("/")[0] for line in stream.getvalue().splitlines()] == ["[1", "[6", "[11"]


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = tell(Terminal())
    assert "3/3" in text
    assert "solo/iodepth=1" in text
    assert "fio: [bold]odd[/bold] words" in text  # fio's words are no markup
    assert text.count("odd") == 1  # the same failure is told once
