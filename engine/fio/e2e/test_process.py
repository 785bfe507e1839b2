"""fio as a process: signals, what it prints where, client and server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Loop
from fio_runner import BYPASSES, MIB, THREADS_NOTE, Fio, Option, documents, options

More = dict[str, Option]

LONG: More = {"rw": "randread", "size": "4M", "bs": "4k", "time_based": 1, "runtime": 60}
CASES: dict[str, More] = {
    "uring": {"device": "auto", "filename": "F", "direct": 1, "iodepth": 32},
    "uring, limited": {
        "device": "auto",
        "filename": "F",
        "direct": 1,
        "iodepth": 32,
        "max_active": 1,
        "numjobs": 2,
    },
    "slow model": {"device": "model", "model_read_time": "200ms", "iodepth": 32},
    "slow model, limited": {
        "device": "model",
        "model_read_time": "200ms",
        "iodepth": 32,
        "max_active": 1,
    },
    "model, many, limited": {"device": "model", "iodepth": 64, "max_active": 2, "numjobs": 4},
    "null": {"device": "null", "iodepth": 8},
    "thinking": {"device": "model", "thinktime": 1000, "iodepth": 4},
    "slow rate": {"device": "auto", "filename": "F", "direct": 1, "rate_iops": 2, "iodepth": 4},
}


def members(session: int) -> list[str]:
    """Processes of a session that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(entry.name)
    return found


def handles_interrupt(pid: int) -> bool:
    """Whether a process has come as far as to install its handler for SIGINT."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = next(line for line in text.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)


def begin(fio: Fio, ioengine: str = "", **given: Option) -> subprocess.Popen[str]:
    args = ["--output-format=json", f"--ioengine={ioengine or fio.engine}", "--name=a"]
    process = fio.start(*args, *options(**(LONG | given)))
    deadline = time.monotonic() + 20
    while process.poll() is None and not handles_interrupt(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.7)
    assert process.poll() is None, process.communicate()
    return process


@pytest.mark.parametrize("case", CASES)
def test_interrupt_ends_it_at_once(fio: Fio, case: str) -> None:
    processes = [begin(fio, bypass=mode, **CASES[case]) for mode in BYPASSES]
    for process in processes:
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert time.monotonic() - start < 3
        assert process.returncode == 128, err  # fio's own for an interrupt
        job = documents(out)[-1]["jobs"][0]
        assert job["error"] == 0
        assert job["read"]["total_ios"] > 0 or "slow" in case
        assert members(process.pid) == []


def test_interrupt_as_with_io_uring(fio: Fio) -> None:
    process = begin(fio, ioengine="io_uring", filename="F", direct=1, iodepth=32)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 128


@pytest.mark.parametrize("case", ["uring, limited", "slow model", "null"])
def test_kill_leaves_nothing_behind(fio: Fio, case: str) -> None:
    out = fio.folder / "s.json"
    process = begin(fio, stats_json=out, **CASES[case])
    process.kill()
    process.communicate(timeout=10)
    deadline = time.monotonic() + 3
    while members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert members(process.pid) == []
    assert sorted(path.name for path in fio.folder.iterdir()) in (["F"], [])
    fio.job(rw="read")


def test_runtime_ends_a_limited_slow_job(fio: Fio, bypass: str) -> None:
    start = time.monotonic()
    more: More = {"runtime": 1, "filename": "", "bypass": bypass}
    fio.job(**(LONG | CASES["slow model"] | more))
    assert time.monotonic() - start < 4


def test_stdout_is_json_and_nothing_else(fio: Fio, device: str) -> None:
    run = fio.modes(rw="randrw", device=device)
    assert run.out.startswith("{")
    json.loads(run.out)
    assert run.err.splitlines() == [THREADS_NOTE]


def test_nothing_to_say_when_threads_were_asked_for(fio: Fio) -> None:
    assert fio.job(rw="read", thread=1).err == ""


def test_output_file(fio: Fio) -> None:
    run = fio.job("--output=out.json", rw="read")
    assert run.out == ""
    assert run.err.splitlines() == [THREADS_NOTE]
    json.loads((fio.folder / "out.json").read_text(encoding="utf-8"))


def test_status_interval_prints_documents(fio: Fio, bypass: str) -> None:
    more: More = {"device": "model", "time_based": 1, "runtime": 2, "rw": "randread"}
    run = fio.job("--status-interval=500ms", bypass=bypass, **more)
    found = documents(run.out)
    assert len(found) >= 3
    counts = [document["jobs"][0]["read"]["total_ios"] for document in found]
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("device", ["auto", "model"])
def test_client_and_server(fio: Fio, device: str, bypass: str) -> None:
    port = free_port()
    server = fio.start(f"--server=127.0.0.1,{port}")
    try:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        text = f"device={device}\nbypass={bypass}\nrw=randwrite\nverify=crc32c\nsize=2M\n[a]\n[b]"
        for _ in range(2):
            run = fio.file(f"iodepth=8\n{text}", f"--client=127.0.0.1,{port}")
            jobs = [job for job in run.json["client_stats"] if job["jobname"] != "All clients"]
            assert [job["jobname"] for job in jobs] == ["a", "b"]
            assert [job["write"]["total_ios"] for job in jobs] == [512, 512]
            assert [job["read"]["total_ios"] for job in jobs] == [512, 512]
            assert [job["error"] for job in jobs] == [0, 0]
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate(timeout=10)


@pytest.mark.parametrize("rw", ["write", "randtrim"])
def test_readonly_is_respected(fio: Fio, device: str, rw: str) -> None:
    run = fio.job("--readonly", device=device, rw=rw, ok=False)
    assert run.lines(f"rw={rw}"), run
    assert not (fio.folder / "F").exists()
    fio.job(rw="read")
    fio.job("--readonly", device=device, rw="randread")


def test_mounted_device_is_refused_by_fio(fio: Fio, small_filesystem: Path, bypass: str) -> None:
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    device = next(line.split()[0] for line in mounts if line.split()[1] == str(small_filesystem))
    for engine in ("io_uring", ""):
        more: More = {} if engine else {"bypass": bypass}
        run = fio.job(ioengine=engine, filename=device, rw="write", size="64k", ok=None, **more)
        assert run.lines("appears mounted", "allow_mounted_write"), run
        assert run.jobs[0]["write"]["total_ios"] == 0


def test_block_device_jobs_show_disk_utilisation(fio: Fio, loop: Loop, bypass: str) -> None:
    run = fio.job(filename=loop.path, rw="randread", direct=1, size="4M", bypass=bypass)
    assert any(loop.path.name == disk["name"] for disk in run.json.get("disk_util", []))


def test_group_reporting_sums(fio: Fio, device: str) -> None:
    run = fio.job(device=device, rw="randread", numjobs=3, group_reporting=1, size="1M")
    assert run.jobs[0]["read"]["io_bytes"] == 3 * MIB
