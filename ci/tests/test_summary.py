"""ci/summary reads what ctest and pytest write."""

import pathlib

import pytest
from conftest import load

summary = load("summary")

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="4" failures="1" skipped="2">
  <testcase name="queue.Order" classname="queue.Order" time="0.1" status="run"/>
  <testcase name="queue.Limit" classname="queue.Limit" time="0.1" status="fail">
    <failure message="Failed"/>
  </testcase>
  <testcase name="uring.Poll" classname="uring.Poll" time="0.1" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>[ RUN      ] uring.Poll
/src/uring_test.cpp:5: Skipped
no poll queues here
[  SKIPPED ] uring.Poll (0 ms)
</system-out>
  </testcase>
  <testcase name="e2e.guest" classname="e2e.guest" time="0.1" status="notrun">
    <skipped message="SKIP_RETURN_CODE=77"/>
    <system-out>looking
no virtual machine here
</system-out>
  </testcase>
</testsuite>
"""
PYTEST = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="0" failures="0" skipped="1" tests="2">
  <testcase classname="tests.test_plan" name="test_order" time="0.1"/>
  <testcase classname="tests.test_page" name="test_opens" time="0.1">
    <skipped type="pytest.skip" message="no browser">tests/test_page.py:9: no browser</skipped>
  </testcase>
</testsuite></testsuites>
"""


def run(monkeypatch: pytest.MonkeyPatch, *paths: pathlib.Path) -> int:
    """Exit code of ci/summary over some files."""
    monkeypatch.setattr("sys.argv", ["summary", *map(str, paths)])
    code: int = summary.main()
    return code


def write(folder: pathlib.Path, name: str, text: str) -> pathlib.Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_counts_and_reasons(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = (write(tmp_path, "asan.xml", CTEST), write(tmp_path, "harness.xml", PYTEST))
    assert run(monkeypatch, *files) == 1
    assert capsys.readouterr().out.splitlines() == [
        "skipped: asan: uring.Poll: no poll queues here",
        "skipped: asan: e2e.guest: no virtual machine here",
        "skipped: harness: tests.test_page.test_opens: no browser",
        "failed: asan: queue.Limit",
        "2 passed, 1 failed, 3 skipped",
    ]


def test_all_passed_is_success(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, write(tmp_path, "harness.xml", PYTEST)) == 0


@pytest.mark.parametrize("text", ["<testsuite/>", "<testsuite>", ""])
def test_nothing_ran_is_failure(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    assert run(monkeypatch, write(tmp_path, "a.xml", text)) == 1


def test_a_missing_file_is_failure(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = write(tmp_path, "harness.xml", PYTEST)
    assert run(monkeypatch, good, tmp_path / "asan.xml") == 1
