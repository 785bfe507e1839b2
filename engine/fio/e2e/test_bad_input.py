"""What can't run ends with one line that names the culprit and the way out, and writes nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Loop
from fio_runner import MIB, PLUGIN, Fio, Option, Run, stats

More = dict[str, Option]


def said_once(run: Run, *needles: str) -> None:
    """Exactly one line of ours beside the note, with all of the needles."""
    assert run.code != 0
    ours = [line for line in run.lines("sluice: ") if not line.startswith("sluice: note:")]
    assert len(ours) == 1, run
    for needle in needles:
        assert needle in ours[0], f"no {needle!r} in: {ours[0]}"
    assert len(ours[0]) < 400


def test_another_fio_release(fio: Fio, tmp_path: Path) -> None:
    release = subprocess.run(
        ["fio", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    other = release[:-1] + ("0" if release[-1] != "0" else "1")
    plugin = tmp_path / "other.so"
    plugin.write_bytes(PLUGIN.read_bytes().replace(release.encode(), other.encode()))
    run = Fio(tmp_path, plugin).job(rw="write", ok=False)
    said_once(run, f"built for {other}", f"this is {release}", "ci/setup", "FIO_SOURCE_DIR")
    assert not (tmp_path / "F").exists()


def test_jobs_forked_before_they_share(fio: Fio, device: str) -> None:
    run = fio.job(device=device, rw="write", numjobs=2, create_serialize=0, ok=False)
    assert run.lines("create_serialize=0", "remove it, or add thread=1"), run
    assert not (fio.folder / "F").exists()


@pytest.mark.parametrize("more", [{"thread": 1, "numjobs": 2}, {"numjobs": 1}])
def test_create_serialize_where_nothing_forks_early(fio: Fio, more: More) -> None:
    fio.job(rw="write", create_serialize=0, **more)


def test_unlike_options_for_one_file(fio: Fio, device: str) -> None:
    text = "filename=F\nsize=1M\nrw=write\n[one]\nbypass=all\n[two]\nbypass=off\n"
    run = fio.file(text, device=device, ok=False)
    said_once(run, "one", "two", "bypass=all/off", "each a file of its own")
    assert not (fio.folder / "F").exists()


def test_unlike_options_for_one_file_by_two_names(fio: Fio) -> None:
    (fio.folder / "F").write_bytes(b"x" * MIB)
    (fio.folder / "link").symlink_to("F")
    text = "size=1M\nrw=read\n[one]\nfilename=F\nmax_active=1\n[two]\nfilename=link\n"
    said_once(fio.file(text, ok=False), "max_active=1/0", "one", "two")


def test_unlike_options_where_each_job_may_have_its_own(fio: Fio) -> None:
    text = "filename=F\nsize=1M\nrw=read\n[one]\nfixedbufs=0\n[two]\nio_class=scrub\n"
    assert len(fio.file(text).jobs) == 2


def test_unknown_option(fio: Fio) -> None:
    run = fio.job(bypassing="all", rw="write", ok=False)
    assert run.lines("bypassing"), run
    run = fio.file("filename=F\nsize=1M\nbypassing=all\nrw=write\n[a]", ok=False)
    assert run.lines("bypassing"), run
    assert not (fio.folder / "F").exists()


def test_unknown_value(fio: Fio) -> None:
    run = fio.job(bypass="some", rw="write", ok=False)
    assert run.lines("bypass"), run
    assert not (fio.folder / "F").exists()


def test_minimum_above_maximum(fio: Fio) -> None:
    more: More = {"sync_read_min_active": 8, "sync_read_max_active": 4}
    said_once(
        fio.job(rw="write", ok=False, **more), "sync_read_min_active=8", "sync_read_max_active=4"
    )
    assert not (fio.folder / "F").exists()


@pytest.mark.parametrize("rw", ["read", "write"])
def test_directory(fio: Fio, rw: str) -> None:
    (fio.folder / "D").mkdir()
    said_once(fio.job(filename="D", rw=rw, ok=False), "D: is a directory", "directory=")
    assert list((fio.folder / "D").iterdir()) == []


@pytest.mark.parametrize("rw", ["write", "randrw", "trim"])
def test_read_only_file(anybody: Fio, as_nobody: list[str], rw: str) -> None:
    path = anybody.folder / "F"
    path.write_bytes(b"x" * 4 * MIB)
    path.chmod(0o444)
    run = anybody.job(rw=rw, prefix=as_nobody, ok=False)
    said_once(run, "F: is read-only", "make it writable")
    assert path.read_bytes() == b"x" * 4 * MIB


def test_read_only_file_may_be_read(anybody: Fio, as_nobody: list[str]) -> None:
    path = anybody.folder / "F"
    path.write_bytes(b"x" * 4 * MIB)
    path.chmod(0o444)
    run = anybody.job(rw="randread", direct=1, prefix=as_nobody)
    assert run.jobs[0]["read"]["total_ios"] == 1024


@pytest.mark.parametrize("rw", ["read", "write"])
def test_block_device_too_small(fio: Fio, loop: Loop, rw: str) -> None:
    before = loop.image.read_bytes()
    run = fio.job(filename=loop.path, size="32M", rw=rw, direct=1, ok=False)
    said_once(run, str(loop.path), str(32 * MIB), str(16 * MIB), "size=")
    run = fio.job(filename=loop.path, size="12M", offset="8M", rw=rw, direct=1, ok=False)
    said_once(run, str(loop.path), "offset=")
    assert loop.image.read_bytes() == before


def test_block_device_as_large_as_it_is(fio: Fio, loop: Loop) -> None:
    for size in ("16M", "100%", "50%", ""):
        run = fio.job(filename=loop.path, size=size, rw="read", bs="64k", direct=1)
        assert run.jobs[0]["read"]["total_ios"] == (128 if size == "50%" else 256)


def test_block_that_is_no_multiple(fio: Fio) -> None:
    run = fio.job(bs="1000", direct=1, rw="write", ok=False)
    said_once(run, "F: block size 1000", "logical block", "direct=1", "bs=")
    assert not (fio.folder / "F").exists()
    (fio.folder / "F").write_bytes(b"x" * MIB)
    said_once(fio.job(bs="1000", direct=1, rw="randread", ok=False), "block size 1000")
    fio.job(bs="1000", direct=0, rw="randread", size="1M")


def test_block_that_the_model_cannot_do(fio: Fio) -> None:
    run = fio.job(device="model", bs="1000", rw="write", ok=False)
    said_once(run, "block size 1000", "512 bytes", "bs=")


def test_more_than_the_model_holds(fio: Fio) -> None:
    run = fio.job(device="model", size="1T", rw="randread", ok=False)
    said_once(run, "the job needs", "this device holds", "size=")


def test_depth_beyond_the_ring(fio: Fio) -> None:
    run = fio.job(iodepth=32768, rw="write", ok=False)
    said_once(run, "32767", "iodepth=")
    assert not (fio.folder / "F").exists()


SECCOMP = r"""
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* usage: forbid ERRNO COMMAND...: io_uring_setup() ends with that error in what is run. */
int main(int argc, char **argv) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    perror("seccomp");
    return 99;
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 98;
}
"""


@pytest.fixture(scope="module")
def forbid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that runs another one without io_uring."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build what forbids io_uring")
    folder = tmp_path_factory.mktemp("seccomp")
    source, program = folder / "forbid.c", folder / "forbid"
    source.write_text(SECCOMP, encoding="utf-8")
    subprocess.run([compiler, "-o", str(program), str(source)], check=True)
    probe = subprocess.run([str(program), "1", "true"], capture_output=True, text=True, check=False)
    if probe.returncode == 99:
        pytest.skip(f"no seccomp here: {probe.stderr.strip()}")
    return program


@pytest.mark.parametrize(
    ("code", "words"),
    [(1, ("forbidden", "device=model|null")), (38, ("no io_uring", "5.6", "device=model|null"))],
    ids=["EPERM", "ENOSYS"],
)
def test_kernel_without_io_uring(fio: Fio, forbid: Path, code: int, words: tuple[str, ...]) -> None:
    prefix = [str(forbid), str(code)]
    said_once(fio.job(rw="write", prefix=prefix, ok=False), *words)
    assert not (fio.folder / "F").exists()
    for device in ("model", "null"):
        fio.job(rw="write", device=device, prefix=prefix)


def test_memory_lock_limit(anybody: Fio, as_nobody: list[str], bypass: str) -> None:
    if shutil.which("prlimit") is None:
        pytest.skip("no prlimit to lower the memory-lock limit")
    out = anybody.folder / "s.json"
    limited = ["prlimit", "--memlock=65536:65536", *as_nobody]
    more: More = {"rw": "randread", "bypass": bypass, "direct": 1, "iodepth": 64, "numjobs": 2}
    run = anybody.job(prefix=limited, stats_json=out, **more)
    assert len(run.lines("sluice: note: buffers are not registered", "ulimit -l")) == 1, run
    assert sum(job["unregistered"] for job in stats(out)["jobs"]) == 2048
    run = anybody.job(prefix=limited, fixedbufs=0, **more)
    assert not run.lines("not registered"), run


def test_enough_locked_memory_is_used(fio: Fio) -> None:
    out = fio.folder / "s.json"
    fio.job(rw="randread", direct=1, iodepth=64, stats_json=out)
    assert sum(job["unregistered"] for job in stats(out)["jobs"]) == 0


@pytest.mark.parametrize("where", ["none/s.json", "folder"])
def test_statistics_that_cannot_be_written(fio: Fio, device: str, where: str) -> None:
    (fio.folder / "folder").mkdir()
    run = fio.job(device=device, rw="write", stats_json=where, ok=False)
    said_once(run, f"stats_json={where}")
    assert not (fio.folder / "F").exists()


def test_statistics_where_nobody_may_write(anybody: Fio, as_nobody: list[str]) -> None:
    folder = anybody.folder / "folder"
    folder.mkdir(mode=0o755)
    run = anybody.job(rw="write", stats_json=folder / "s.json", prefix=as_nobody, ok=False)
    said_once(run, f"stats_json={folder}/s.json", "Permission denied")
    assert not (anybody.folder / "F").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"zonemode": "zbd", "zonesize": "1M"}, ("zonemode=zbd", "io_uring")),
        ({"atomic": 1, "direct": 1}, ("atomic", "remove atomic=1")),
        ({"sync_file_range": "write:1"}, ("sync_file_range", "fdatasync=")),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_what_no_job_can_have(fio: Fio, more: More, words: tuple[str, ...]) -> None:
    said_once(fio.job(rw="write", ok=False, **more), *words)
    assert not (fio.folder / "F").exists()


def test_offload_is_refused_by_fio(fio: Fio) -> None:
    run = fio.job(rw="write", io_submit_mode="offload", ok=False)
    assert len(run.lines("can't be used with offloaded submit")) == 1, run


def test_missing_file_is_laid_out(fio: Fio, bypass: str, direct: int) -> None:
    run = fio.job(rw="read", bypass=bypass, direct=direct, filename="new")
    assert run.jobs[0]["read"]["io_bytes"] == 4 * MIB
    assert (fio.folder / "new").stat().st_size == 4 * MIB


def test_missing_folder_ends_as_with_io_uring(fio: Fio) -> None:
    more: More = {"filename": "none/F", "rw": "write"}
    fios = fio.job(ioengine="io_uring", ok=None, **more)
    shutil.rmtree(fio.folder / "none", ignore_errors=True)
    ours = fio.job(ok=None, **more)
    assert ours.code == fios.code
    assert ours.jobs[0]["write"]["total_ios"] == fios.jobs[0]["write"]["total_ios"]
