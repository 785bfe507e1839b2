"""The parts of a guest, without a guest: archives, modules, refusals, what a guest says."""

from __future__ import annotations

import gzip
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.errors import SluiceError
from sluice.vm import carry, console, cpio, kernels, machine, measured, modules, nullblk, qemu
from sluice.vm.channel import Event, File, Parser, Said, Word
from sluice.vm.machine import Clock, Machine


def test_an_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    if shutil.which("busybox") is None:
        pytest.skip("no busybox here to read the archive with")
    made = cpio.archive(
        [
            cpio.regular("/a/b/c", b"text", 0o755),
            cpio.regular("/a/b/c", b"later text", 0o640),
            cpio.link("/bin", "usr/bin"),
            cpio.regular("/usr/bin/x", b""),
        ]
    )
    subprocess.run(["busybox", "cpio", "-i"], input=made, cwd=tmp_path, check=True)
    assert (tmp_path / "a/b/c").read_bytes() == b"later text"
    assert (tmp_path / "a/b/c").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "bin/x").is_file()


def test_equal_contents_give_equal_archives() -> None:
    entries = [cpio.regular("/x", b"1"), cpio.regular("/y/z", b"2")]
    assert cpio.archive(entries) == cpio.archive(entries[::-1])


def parsed(parser: Parser, data: bytes, step: int) -> list[Event]:
    events = []
    for start in range(0, len(data), step):
        events += parser.feed(data[start : start + step])
    joined: list[Event] = []
    for event in events:  # how output is cut doesn't matter
        if joined and isinstance(event, Said) and isinstance(last := joined[-1], Said):
            joined[-1] = Said(last.data + event.data)
        else:
            joined.append(event)
    return joined


@given(st.integers(1, 40), st.binary(max_size=60), st.binary(max_size=60))
def test_what_a_guest_says_is_read_however_it_arrives(step: int, said: bytes, more: bytes) -> None:
    packed = gzip.compress(more, mtime=0)
    data = (
        b"\ntok begin 1\n" + said + b"\ntok file a b.txt %d\n" % len(packed) + packed + b"\ntok x\n"
    )
    events = parsed(Parser("tok"), data, step)
    assert [one for one in events if not isinstance(one, Said)] == [
        Word("begin", "1"),
        File("a b.txt", more),
        Word("x"),
    ]
    assert b"".join(one.data for one in events if isinstance(one, Said)) == said


def test_a_damaged_file_is_said_and_what_follows_is_read() -> None:
    events = list(Parser("tok").feed(b"\ntok file a 5\nabcde\ntok on\n"))
    assert events == [Word("damaged", "a"), Word("on")]


def module(info: bytes) -> bytes:
    """A 64-bit ELF file with nothing but a .modinfo section."""
    names = b"\0.modinfo\0.shstrtab\0"
    body = names + info
    table = 64 + len(body)
    head = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2
    )
    sections = b"\0" * 64
    for name, offset, length in ((1, 64 + len(names), len(info)), (10, 64, len(names))):
        sections += struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, offset, length, 0, 0, 0, 0)
    return head + body + sections


@pytest.fixture()
def tree(tmp_path: Path) -> modules.Tree:
    """A kernel's modules: one that needs another, one that is built in."""
    folder = tmp_path / "6.99"
    (folder / "kernel").mkdir(parents=True)
    (folder / "modules.builtin").write_text("kernel/drivers/nvme/host/nvme.ko\n")
    for name, info in {
        "top": b"depends=mid-dle,nvme\0softdep=pre: soft gone post: late\0",
        "mid-dle": b"license=GPL\0depends=\0",
        "soft": b"depends=\0",
        "broken": b"depends=nowhere\0",
    }.items():
        (folder / "kernel" / f"{name}.ko").write_bytes(module(info))
    return modules.Tree(folder)


def test_modules_come_with_what_they_need_in_order(tree: modules.Tree) -> None:
    names = [one.name for one in tree.closure(("top", "mid_dle", "nvme"), "6.99")]
    assert names == ["soft", "mid_dle", "top"]


def test_a_missing_module_is_named_with_its_kernel(tree: modules.Tree) -> None:
    with pytest.raises(SluiceError, match=r"^6\.99: no module 'tpo'; did you mean 'top'\?"):
        tree.closure(("tpo",), "6.99")
    with pytest.raises(SluiceError, match="no module 'nowhere', which broken needs"):
        tree.closure(("broken",), "6.99")


VIRTUAL = Machine(clock=Clock.VIRTUAL)
REFUSED = {
    "NVMe under icount": (Machine(clock=Clock.VIRTUAL, nvme=1), "the host's time"),
    "two processors": (Machine(clock=Clock.VIRTUAL, cpus=2), "one processor only"),
    "KVM counts nothing": (Machine(clock=Clock.VIRTUAL, accelerator="kvm"), "only TCG counts"),
    "polled and late": (
        Machine(clock=Clock.VIRTUAL, null_blk=(nullblk.parse("irqmode=2,poll_queues=1"),)),
        "ignores completion_nsec",
    ),
    "fs on nothing": (Machine(file_system="xfs"), "no device to make it on"),
    "poll queues of nothing": (Machine(poll_queues=1), "add --nvme 1"),
    "no memory": (Machine(memory_mib=8), "--mem 8: must be from 384"),
}


@pytest.mark.parametrize(("one", "words"), REFUSED.values(), ids=list(REFUSED))
def test_a_guest_that_would_mislead_is_refused(one: Machine, words: str) -> None:
    with pytest.raises(SluiceError, match=words):
        one.check()


def test_a_polled_null_blk_is_fine_where_it_waits_for_nothing() -> None:
    Machine(clock=Clock.VIRTUAL, null_blk=(nullblk.parse("irqmode=0,poll_queues=1"),)).check()


def test_replicas_differ_only_in_what_shouldnt_matter() -> None:
    first, second = VIRTUAL.replica(0), VIRTUAL.replica(2)
    assert first == VIRTUAL
    assert (second.seed, second.perturbation.settle_s[:2]) == (3, "3.")
    assert second.perturbation.padding != first.perturbation.padding == 0
    assert (second.null_blk, second.memory_mib) == (first.null_blk, first.memory_mib)


@pytest.mark.parametrize("text", ["irqmod=1", "irqmode", "irqmode=", "irqmode=x", "size=1;reboot"])
def test_a_bad_attribute_is_named(text: str) -> None:
    with pytest.raises(SluiceError, match=f"--null-blk {text}"):
        nullblk.parse(text)


PANIC = """\
[    2.1] sysrq: Trigger a crash
[    2.2] Kernel panic - not syncing: sysrq triggered crash
[    2.3] CPU: 0 PID: 1 Comm: sh
[    2.3] RIP: 0010:sysrq_handle_crash+0x12/0x20
"""


def test_a_crash_is_told_with_its_place() -> None:
    assert console.crash(PANIC) == "Kernel panic - not syncing: sysrq triggered crash"
    trace = console.trace(PANIC)
    assert trace.startswith("Kernel panic")
    assert console.where(trace) == "sysrq_handle_crash"
    assert console.crash("[ 1.0] all is well\n") == ""


COUNTS = """\
now at {now} nsecs
cpu: 0
  .idle_sleeptime : {idle} nsecs
  .iowait_sleeptime: 5 nsecs
stat nullb0 {reads} 0 8 1 {writes} 0 0 0 0 0 1 2 0 0 0 1 0
"""


def test_idle_time_is_no_instruction() -> None:
    before = COUNTS.format(now=1000, idle=100, reads=1, writes=0)
    after = COUNTS.format(now=9000, idle=2100, reads=11, writes=10)
    found = measured.counted(before, after)
    assert found == measured.Counted(6000, 8000, 20)
    assert found.per_io == 300
    twice = measured.Counted(11000, 13000, 40)
    assert measured.difference(twice, found) == measured.Counted(5000, 5000, 20)
    assert "median 300.0" in measured.told([found, found])


def test_a_version_is_taken_up_to_a_numbers_end() -> None:
    order = sorted(
        ["6.12.100+deb12-cloud-amd64", "6.1.0-57-cloud-amd64", "6.1.0-9-cloud-amd64"],
        key=kernels.order,
    )
    assert [one[:8] for one in order] == ["6.1.0-9-", "6.1.0-57", "6.12.100"]
    assert [one[:5] for one in order if kernels._fits(one, "6.1")] == ["6.1.0", "6.1.0"]
    assert [one for one in order if kernels._fits(one, "6.12")] == order[2:]


def test_a_damaged_kernel_isnt_taken_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_VM_CACHE", str(tmp_path))
    folder = tmp_path / "kernels" / "6.99.1-cloud-amd64"
    (folder / "mods").mkdir(parents=True)
    (folder / "image").write_bytes(b"kernel")
    digest = "3ab9bc24f80a9a0d3d7d7b4a2a2e3d7e"
    (folder / "kernel.json").write_text(
        '{"image": "image", "modules": "mods", "package": "p", "version": "1", '
        f'"sha256": {{"image": "{digest}"}}}}'
    )
    fetched = []

    def fetch(release: str, into: Path) -> None:
        fetched.append(release)

    monkeypatch.setattr(kernels, "_fetch", fetch)
    with pytest.raises(SluiceError, match="damaged right after it was fetched"):
        kernels.resolve("6.99")
    assert fetched == ["6.99.1-cloud-amd64"]


def test_an_unknown_kernel_lists_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_VM_CACHE", str(tmp_path))
    monkeypatch.setattr(kernels.apt, "offered", lambda: ["linux-image-6.1.0-9-cloud-amd64"])
    monkeypatch.setattr(kernels.apt, "update", lambda: "")
    with pytest.raises(SluiceError, match=r"--kernel 5\.4: no such kernel; there are: 6\.1\.0-9"):
        kernels.resolve("5.4")


@pytest.mark.parametrize(
    ("name", "words"),
    {"/nowhere/vmlinuz": "can't be read", "./text": "no kernel image"}.items(),
)
def test_a_file_that_is_no_kernel_is_named(
    name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_bytes(b"x" * 1000)
    with pytest.raises(SluiceError, match=words):
        kernels.resolve(name)


def fake(folder: Path, name: str, body: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo QEMU emulator version 5.2.0", "QEMU 5.2.0 is too old, 7.0 is needed"),
        ("echo hello", "no QEMU"),
    ],
)
def test_a_qemu_that_wont_do_is_named(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(SluiceError, match=words):
        qemu.find(fake(tmp_path, "qemu", body))
    with pytest.raises(SluiceError, match="not installed, and guests run in it"):
        qemu.find("no-such-qemu")


def test_apt_that_cant_be_reached_is_told_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_VM_CACHE", str(tmp_path / "cache"))
    for name in ("apt-get", "apt-cache"):
        fake(tmp_path, name, "echo 'E: Could not resolve the mirror' >&2; exit 100")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SluiceError, match="apt can't fetch it: Could not resolve the mirror: mend"):
        kernels.apt.download("linux-image-6.1.0-9-cloud-amd64", tmp_path)


def test_what_is_carried_keeps_its_path_and_brings_its_libraries(tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text("[a]\n")
    paths = [one.path for one in carry.file(tmp_path / "job.fio")]
    assert paths == [str(tmp_path / "job.fio")]
    program = [one.path for one in carry.programs(("ls",))]
    assert program[0].startswith("/usr/")
    assert any("libc.so" in one for one in program)
    with pytest.raises(SluiceError, match="no such file to carry in"):
        carry.file(tmp_path / "nowhere")


def test_the_command_line_fixes_all_that_two_boots_could_differ_in() -> None:
    files = qemu.Files(3, 4, 5)
    words = " ".join(qemu.command(qemu.Qemu("q", "7.2"), VIRTUAL, "k", "tcg", "n", files))
    for needed in (
        "tcg,thread=single",
        "shift=0,sleep=off",
        "-smp 1",
        "-rtc base=2024-01-01T00:00:00,clock=vm",
        "-seed 1",
        "-nodefaults",
    ):
        assert needed in words
    assert machine.SETTLE_S == 3
