"""fio's words and figures; the runs need fio, but no disk: they use its null engine."""

import json
import shutil
from pathlib import Path

import pytest

from benches import fio
from benches.errors import BenchError
from benches.job import Arm, Job, Workload, escaped

needs_fio = pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")


def null_job(engine="null", jobs=1, **bound):
    return Job(
        Arm("x", engine), Workload("randread", 32, jobs), Path("/nowhere"), 1 << 20, 1, **bound
    )


def test_words_are_fios_each_once():
    assert fio.words("fio: bad\nfio: bad\n\nfio: worse\n", "", 1) == "fio: bad / fio: worse"
    assert fio.words("", "fio: pid=0, error=Is a directory\n{\n}", 1).endswith("Is a directory")
    assert fio.words("", "{\n}", 7) == "fio ended with status 7 and said nothing"


def test_colons_in_names():
    assert escaped(Path("/a:b")) == "/a\\:b"


def test_command_line_has_threads_and_keeps_latencies():
    argv = null_job(seconds=1.5).argv(Path("out"))
    assert "--thread" in argv and "--runtime=1500ms" in argv
    assert not any("gtod" in word or "disable" in word or "group_rep" in word for word in argv)


def test_messages_before_the_document_are_skipped():
    document = json.dumps({"jobs": [{"error": 0}]}, indent=1)
    assert fio._jobs(document) == [{"error": 0}]
    assert fio._jobs("note: something\n" + document) == [{"error": 0}]
    assert fio._jobs("fio: no document\n") == []


@needs_fio
def test_counted_run_does_what_was_asked():
    run = fio.run(null_job(ios=200, jobs=2), watch_memory=True)
    assert run.ios == 400
    assert run.process_cpu_s > 0
    assert run.peak_rss_kib and 1024 < run.peak_rss_kib < 1 << 20


@needs_fio
def test_fewer_ios_than_asked_is_an_error():
    with pytest.raises(BenchError, match="asked for 300"):
        fio.run(null_job(ios=300))


@needs_fio
def test_a_missing_plugin_is_told_in_fios_words():
    with pytest.raises(BenchError, match="invalid external ioengine path") as error:
        fio.run(null_job(engine="external:/nowhere/sluice.so", ios=1))
    assert "\n" not in str(error.value)


def test_a_run_that_hangs_is_ended(monkeypatch):
    from benches import process

    with pytest.raises(BenchError, match="did not end within"):
        process.run(["sleep", "60"], timeout_s=0.1)


def test_a_missing_program_is_named():
    from benches import process

    with pytest.raises(BenchError, match="cannot run no-such-program"):
        process.run(["no-such-program"], timeout_s=1)
