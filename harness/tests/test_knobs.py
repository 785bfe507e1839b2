"""Knobs are set, read back and put back, whatever happens in between."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knobbing import DISK, FILES, QUEUE, FakeKernel, dies_at

from sluice.errors import SluiceError
from sluice.knobs import journal, names, preview, values
from sluice.knobs.journal import Entry, State
from sluice.knobs.kernel import Kernel
from sluice.knobs.session import Disk, Gone, Refused, Session
from sluice.knobs.undo import recover

ALL = {
    "queue/scheduler": "bfq",
    "queue/nr_requests": "64",
    "queue/iosched/slice_idle": "0",
    "sysctl:vm.dirty_bytes": "16M",
    "sysctl:vm.swappiness": "1",
    "module:nvme.poll_queues": "2",
    "cgroup:io.max": "riops=1000 wbps=1M",
    "cgroup:cpu.max": "50000",
}


def said(kernel: Kernel, state: State, **how: bool) -> list[str]:
    lines: list[str] = []
    recover(kernel, state, lines.append, **how)
    return lines


def test_what_was_set_reads_back_and_is_put_back(kernel: FakeKernel, state: State) -> None:
    before = kernel.state()
    with Session(kernel, state, DISK, ALL) as session:
        read = session.apply(ALL)
        assert read["queue/scheduler"] == "bfq"
        assert read["cgroup:io.max"] == "wbps=1048576 riops=1000"
        assert kernel.read(QUEUE / "nr_requests") == "64"
        assert kernel.read(Path("/proc/sys/vm/dirty_ratio")) == "0"
        session.verify(ALL)
        assert session.group is not None and kernel.exists(session.group)
        assert list(state.folder.glob("knobs-*"))
    assert kernel.state() == before
    assert not list(state.folder.glob("knobs-*"))


def test_only_what_differs_is_written(kernel: FakeKernel, state: State) -> None:
    with Session(kernel, state, DISK, ["queue/nr_requests", "sysctl:vm.swappiness"]) as session:
        session.apply({"queue/nr_requests": "200", "sysctl:vm.swappiness": "60"})
        assert (kernel.log, session.writes) == ([], 0)
        session.apply({"queue/nr_requests": "100", "sysctl:vm.swappiness": "60"})
        session.apply({"queue/nr_requests": "100", "sysctl:vm.swappiness": "60"})
        assert kernel.log == [(str(QUEUE / "nr_requests"), "100")]
        assert session.writes == 1


def test_a_scheduler_resets_its_queue_and_that_is_put_back_too(
    kernel: FakeKernel, state: State
) -> None:
    """nr_requests was 200 here, which no kernel comes to by itself."""
    with Session(kernel, state, DISK, ["queue/scheduler"]) as session:
        session.apply({"queue/scheduler": "bfq"})
        assert kernel.read(QUEUE / "nr_requests") == "256"
        assert kernel.read(QUEUE / "wbt_lat_usec") == "0"
    assert kernel.read(QUEUE / "nr_requests") == "200"
    assert kernel.read(QUEUE / "wbt_lat_usec") == "75000"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"queue/nr_requests": "1"}, "queue/nr_requests of sdx: set to 1, the kernel made it 4"),
        ({"queue/nr_requests": "9999"}, "the kernel refuses 9999 (Invalid argument)"),
        ({"queue/io_poll": "1"}, "set to 1, the kernel made it 0"),
        ({"queue/scheduler": "cfq"}, "the kernel refuses cfq"),
        (
            {"queue/scheduler": "none", "queue/iosched/slice_idle": "0"},
            "the scheduler that is chosen has no such attribute",
        ),
        ({"cgroup:io.max": "speed=1"}, "'speed=1': write max, or some of rbps"),
        ({"cgroup:hugetlb.2MB.max": "1"}, "no control group (v2) can be made here"),
    ],
)
def test_a_value_that_is_clamped_or_refused_is_told_with_its_reason(
    kernel: FakeKernel, state: State, setting: dict[str, str], words: str
) -> None:
    before = kernel.state()
    with Session(kernel, state, DISK, setting) as session, pytest.raises(Refused) as caught:
        session.apply(setting)
    assert words in str(caught.value)
    assert kernel.state() == before


def test_a_knob_that_vanishes_or_is_changed_by_others_is_told(
    kernel: FakeKernel, state: State
) -> None:
    setting = {"sysctl:vm.swappiness": "1"}
    path = Path("/proc/sys/vm/swappiness")
    with Session(kernel, state, DISK, setting) as session:
        session.apply(setting)
        kernel.at(path).write_text("7\n")
        with pytest.raises(Gone, match="was set to 1 and is 7 after the run: somebody else"):
            session.verify(setting)
        kernel.at(path).unlink()
        with pytest.raises(Gone, match=r"sysctl:vm\.swappiness has vanished"):
            session.apply(setting)
    assert not list(state.folder.glob("knobs-*"))  # nothing is left to be put back


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SluiceError])
def test_an_exception_puts_everything_back(
    kernel: FakeKernel, state: State, error: type[BaseException]
) -> None:
    before = kernel.state()
    with pytest.raises(error), Session(kernel, state, DISK, ALL) as session:
        session.apply(ALL)
        raise error("x")
    assert kernel.state() == before


def test_killed_at_any_step_the_next_start_puts_everything_back(
    kernel: FakeKernel, state: State
) -> None:
    """At every read, write, journal entry and flush of setting, reading back and restoring."""
    before = kernel.state()

    def work(step: Callable[[str], None]) -> None:
        dying = FakeKernel(kernel.root, step)
        with Session(dying, State(state.folder, step), DISK, ALL) as session:
            session.apply(ALL)
            session.apply({**ALL, "queue/nr_requests": "32", "sysctl:vm.swappiness": "9"})
            session.verify({"queue/nr_requests": "32"})

    step, changed = 0, 0
    while dies_at(step := step + 1, work):
        was = kernel.state()
        lines = said(kernel, state)
        assert kernel.state() == before, f"killed at step {step}"
        assert not list(state.folder.glob("knobs-*"))
        changed += was != before
        assert bool(lines) == (was != before), "what was put back is said, and nothing else"
        assert said(kernel, state) == []
    assert step > 60
    assert changed > 20
    assert kernel.state() == before


def test_killed_while_putting_back_the_next_start_goes_on(kernel: FakeKernel, state: State) -> None:
    before = kernel.state()

    def set_and_die(step: Callable[[str], None]) -> None:
        with Session(kernel, state, DISK, ALL) as session:
            session.apply(ALL)
            step("now")

    def put_back(step: Callable[[str], None]) -> None:
        recover(FakeKernel(kernel.root, step), state, lambda _: None)

    step = 0
    while True:
        assert dies_at(1, set_and_die)
        assert kernel.state() != before
        died = dies_at(step := step + 1, put_back)
        said(kernel, state)
        assert kernel.state() == before, f"killed at step {step}"
        if not died:
            break
    assert step > 20


def test_a_real_device_is_put_back_wherever_the_harness_is_killed(loop: Disk, state: State) -> None:
    class Real(Kernel):
        def __init__(self, step: Callable[[str], None]) -> None:
            super().__init__()
            self.step = step

        def write(self, path: Path, text: str) -> None:
            self.step(f"write {path}")
            super().write(path, text)
            self.step(f"written {path}")

    queue = Path("/sys/block", loop.name, "queue")
    kernel = Kernel()
    offered = values.choices(kernel.read(queue / "scheduler"))
    other = next((one for one in offered if one != "none"), None)
    if other is None or not kernel.writable(queue / "scheduler"):
        pytest.skip("this kernel has one scheduler only, or this user may not choose")
    usual = kernel.read(queue / "nr_requests")
    kernel.write(queue / "nr_requests", "96")
    watched = ("scheduler", "nr_requests", "read_ahead_kb", "wbt_lat_usec")
    before = {name: kernel.read(queue / name) for name in watched}

    def work(step: Callable[[str], None]) -> None:
        knobs = {"queue/scheduler": str(other), "queue/read_ahead_kb": "64"}
        with Session(Real(step), State(state.folder, step), loop, knobs) as session:
            assert session.apply(knobs)["queue/scheduler"] == other

    step = 0
    while dies_at(step := step + 1, work):
        said(kernel, state)
        assert {name: kernel.read(queue / name) for name in watched} == before, step
    assert step > 10
    assert {name: kernel.read(queue / name) for name in watched} == before
    kernel.write(queue / "nr_requests", usual)


def test_the_real_kernel_clamps_and_refuses(loop: Disk, state: State) -> None:
    knobs = ["queue/nr_requests", "queue/read_ahead_kb"]
    if not Kernel().writable(Path("/sys/block", loop.name, "queue/nr_requests")):
        pytest.skip("this user may not set knobs")
    with Session(Kernel(), state, loop, knobs) as session:
        with pytest.raises(Refused, match="set to 1, the kernel made it"):
            session.apply({"queue/nr_requests": "1"})
        with pytest.raises(Refused, match="refuses -5"):
            session.apply({"queue/nr_requests": "-5"})
        with pytest.raises(Refused, match="set to 5, the kernel made it"):
            session.apply({"queue/read_ahead_kb": "5"})


def test_two_harnesses_dont_set_one_knob(kernel: FakeKernel, state: State) -> None:
    with Session(kernel, state, DISK, ["queue/scheduler"]):
        code = (
            "import sys; sys.path[:0] = sys.argv[1:3]\n"
            "from pathlib import Path\nfrom knobbing import DISK, FakeKernel\n"
            "from sluice.knobs.journal import State\nfrom sluice.knobs.session import Session\n"
            "knobs = sys.argv[5:]\n"
            "with Session(FakeKernel(Path(sys.argv[3])), State(Path(sys.argv[4])), DISK, knobs):\n"
            "    print('in')"
        )
        here = Path(__file__).parent
        folders = (here, here.parent, kernel.root, state.folder)
        command = [sys.executable, "-c", code, *map(str, folders)]
        refused = subprocess.run(
            [*command, "queue/nr_requests"], capture_output=True, text=True, check=False
        )
        assert f"another harness (process {os.getpid()}) is setting it" in refused.stderr
        taken = subprocess.run(
            [*command, "sysctl:vm.swappiness"], capture_output=True, text=True, check=False
        )
        assert taken.stdout == "in\n", taken.stderr
        assert said(kernel, state) == []  # who lives is left alone


def test_where_no_journal_can_be_kept_nothing_is_set(kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(SluiceError, match="what knobs were before can't be kept there"),
        Session(kernel, State(tmp_path / "file" / "state"), DISK, ALL),
    ):
        pass
    assert kernel.log == []


def test_another_boot_has_put_everything_back_already(
    kernel: FakeKernel, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = state.begin([Entry("value", "/proc/sys/vm/swappiness", "1", "x")])
    made.close()
    monkeypatch.setattr(journal, "BOOT_ID", Path("/proc/sys/kernel/ostype"))
    assert "as the boot since then left them" in said(kernel, state)[0]
    assert kernel.read(Path("/proc/sys/vm/swappiness")) == "60"
    assert said(kernel, state) == []


def test_what_cant_be_put_back_is_said_and_tried_again(kernel: FakeKernel, state: State) -> None:
    path = QUEUE / "nr_requests"
    state.begin([Entry("value", str(path), "5000", "queue/nr_requests of sdx")]).close()
    for _ in range(2):
        lines = said(kernel, state)
        assert "is 200, not 5000 as before: Invalid argument; once that is mended" in lines[0]
    kernel.at(path).write_text("5000\n")
    assert said(kernel, state) == []
    assert not list(state.folder.glob("knobs-*"))


def test_a_journal_of_somebody_else_is_not_obeyed(kernel: FakeKernel, state: State) -> None:
    """Root would write what any user wants."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    made = state.begin([Entry("value", "/proc/sys/vm/swappiness", "1", "x")])
    made.close()
    os.chown(made.path, 12345, 12345)
    assert said(kernel, state) == []
    assert kernel.read(Path("/proc/sys/vm/swappiness")) == "60"


def test_a_journal_reaches_only_knobs(kernel: FakeKernel, state: State) -> None:
    kernel._put(Path("/etc/passwd"), "root")
    for path in ("/etc/passwd", "/proc/sys/../../etc/passwd"):
        state.begin([Entry("value", path, "x", "x"), Entry("group", path, "", "x")]).close()
        said(kernel, state)
    assert kernel.read(Path("/etc/passwd")) == "root"


def test_what_is_meant_to_stay_stays_until_it_is_asked_for(
    kernel: FakeKernel, state: State
) -> None:
    entry = Entry("value", "/proc/sys/vm/swappiness", "1", "swappiness")
    state.begin([entry]).keep()
    assert said(kernel, state) == []
    assert said(kernel, state, kept_too=True) == ["swappiness is 1 again (was 60): asked for"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(cut=st.integers(0, 400))
def test_a_journal_cut_anywhere_is_read_as_far_as_it_was_written(state: State, cut: int) -> None:
    entries = [Entry("value", f"/proc/sys/vm/{name}", "1", name) for name in ("a", "b", "c")]
    whole = state.begin(entries)
    text = whole.path.read_bytes()
    whole.path.write_bytes(text[:cut])
    found = journal.read(whole.path).entries
    whole.remove()
    complete = text[:cut].count(b"\n") - 1
    assert found == entries[: max(0, complete)]


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_no_damage_of_a_journal_stops_the_next_start(
    kernel: FakeKernel, state: State, damage: bytes
) -> None:
    state.folder.mkdir(exist_ok=True)
    (state.folder / "knobs-1-x.jsonl").write_bytes(damage)
    said(kernel, state)
    assert kernel.read(Path("/proc/sys/vm/swappiness")) == "60"


@pytest.mark.parametrize(
    "name", ["queue/scheduler", "sysctl:vm.dirty_ratio", "module:nvme.poll_queues", "cgroup:io.max"]
)
def test_a_guessable_name_is_taken(name: str) -> None:
    assert names.is_knob(name)
    names.check(name, "x")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("queue/../../x", "is no knob: write queue/NAME"),
        ("sysctl:vm", "is no knob"),
        ("sysctl:kernel.core_pattern", "of sysctls a sweep may set"),
        ("sysctl:kernel.modprobe", "of sysctls a sweep may set"),
        ("sysctl:vm.drop_caches", "nothing could be restored"),
        ("module:firmware_class.path", "where the kernel loads code from"),
        ("cgroup:cgroup.kill", "of a control group a sweep may set files of"),
        ("cgroup:../io.max", "is no knob"),
    ],
)
def test_what_reaches_too_far_isnt(name: str, words: str) -> None:
    with pytest.raises(SluiceError, match="x: ") as caught:
        names.check(name, "x")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "read", "same"),
    [
        ("queue/scheduler", "none", "[none] mq-deadline", True),
        ("queue/scheduler", "mq-deadline", "[none] mq-deadline", False),
        ("module:nvme.use_threaded_interrupts", "1", "Y", True),
        ("module:nvme.use_threaded_interrupts", "0", "Y", False),
        ("sysctl:vm.dirty_bytes", "16M", "16777216", True),
        ("sysctl:vm.lowmem_reserve_ratio", "256 256 32", "256\t256\t32", True),
        ("queue/wbt_lat_usec", "-1", "-1", True),
        ("cgroup:cpu.max", "50000", "50000 100000", True),
        ("cgroup:cpu.max", "max", "max 100000", True),
        ("cgroup:cpu.max", "50000 20000", "50000 100000", False),
        ("cgroup:io.weight", "200", "default 200\n8:0 50", True),
        ("cgroup:io.max", "max", "", True),
        ("cgroup:io.max", "rbps=1k", "8:0 rbps=1024 wbps=max riops=max wiops=max", True),
        ("cgroup:io.max", "rbps=1k", "8:16 rbps=1024 wbps=max riops=max wiops=max", False),
    ],
)
def test_what_is_read_back_means_the_same(name: str, text: str, read: str, same: bool) -> None:
    knob = names.locate(name, "sdx", "8:0", Path("/sys/fs/cgroup/x"))
    assert values.same(knob, text, read) is same


def test_looking_writes_nothing_and_says_what_cant_be(kernel: FakeKernel) -> None:
    def why(**setting: str) -> str:
        named = {key.replace("__", "/"): text for key, text in setting.items()}
        return preview.look(kernel, DISK, [named]).get(preview.key(named), "")

    assert why(queue__scheduler="bfq") == ""
    assert why(queue__scheduler="bfq", queue__iosched__slice_idle="0") == ""
    assert why(queue__scheduler="kyber").endswith("no 'kyber' (it has none, mq-deadline, bfq)")
    assert why(queue__zoned="1") == "queue/zoned of sdx: this kernel has no such knob"
    nowhere = preview.look(kernel, Disk(), [{"queue/scheduler": "none"}])
    assert "lies on no block device" in next(iter(nowhere.values()))
    assert kernel.log == []


def test_trying_finds_what_looking_cant(kernel: FakeKernel, state: State) -> None:
    settings_ = [{"queue/nr_requests": text} for text in ("1", "64", "9999")]
    assert preview.look(kernel, DISK, settings_) == {}
    before = kernel.state()
    with Session(kernel, state, DISK, ["queue/nr_requests"]) as session:
        found = preview.attempt(session, settings_)
    assert [dict(one)["queue/nr_requests"] for one in found] == ["1", "9999"]
    assert kernel.state() == before


def test_every_file_of_the_fake_kernel_is_one_that_names_can_reach() -> None:
    located = [
        names.locate(name, DISK.name, DISK.number, None).path
        for name in ALL
        if not names.controller(name) and "iosched" not in name
    ]
    assert {str(path) for path in located} <= FILES.keys()
