"""Reading what valgrind and strace leave behind."""

import pytest

from benches import callgrind, enters, per_io_counts, ringsetup
from benches.errors import BenchError


def threads(folder, **totals):
    for thread, total in totals.items():
        (folder / f"out-{thread[1:]}").write_text(f"version: 1\nevents: Ir\n\ntotals: {total}\n")
    (folder / "out").write_text("version: 1\n")
    return folder / "out"


def test_callgrind_counts_all_threads_but_the_main_one(tmp_path):
    found = callgrind.read(threads(tmp_path, t01=63000000, t02=29728, t03=54883920), "")
    assert found.instructions == 29728 + 54883920
    assert found.main_instructions == 63000000


def test_callgrind_without_a_job_thread_is_an_error(tmp_path):
    with pytest.raises(BenchError, match="no counts"):
        callgrind.read(threads(tmp_path, t01=5), "==1== killed")


def test_valgrinds_warnings_once_each():
    log = "--9-- WARNING: unhandled amd64-linux syscall: 999\n" * 3 + "==9== Collected : 5\n"
    assert callgrind.warnings(log) == ("WARNING: unhandled amd64-linux syscall: 999",)


def test_the_difference_takes_the_start_out():
    found = per_io_counts.per_io([1000 + 10 * 5, 1000 + 10 * 5], [1000 + 20 * 5, 1020 + 20 * 5], 10)
    assert found.figure == pytest.approx(6)
    assert found.spread == pytest.approx(1)


def test_strace_table():
    table = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
100.00    0.025957          12      2002         3 io_uring_enter
------ ----------- ----------- --------- --------- ----------------
100.00    0.025957          12      2002         3 total
"""
    assert enters.calls(table) == 2002
    assert enters.calls("") == 0


NATIVE = """\
7 io_uring_setup(32, {flags=IORING_SETUP_CQSIZE|0x3000, sq_thread_cpu=0, sq_entries=32}) = 7
7 io_uring_register(7, IORING_REGISTER_BUFFERS, [{iov_base=0x7fb8, iov_len=42}], 1 <unfinished ...>
8 io_uring_register(9, 0x14 /* IORING_REGISTER_??? */, 0x7f00, 1) = 1
7 <... io_uring_register resumed>) = 0
7 io_uring_register(7, IORING_REGISTER_FILES, [8], 1) = 0
7 +++ exited with 0 +++
"""


def test_ring_set_up_calls():
    assert ringsetup.parsed(NATIVE) == {
        "setup CQSIZE|0x3000: ok": 1,
        "register BUFFERS: ok": 1,
        "register FILES: ok": 1,
        "register 0x14: ok": 1,
    }


def test_what_valgrind_took_away_is_told():
    native = ringsetup.Seen(ringsetup.parsed(NATIVE), ())
    lost = NATIVE.replace("[8], 1) = 0", "[8], 1) = -1 EINVAL (Invalid argument)")
    changed = ringsetup.Seen(ringsetup.parsed(lost), ("WARNING: unhandled syscall: 427",))
    assert ringsetup.difference(native, native) == []
    assert ringsetup.difference(native, changed) == [
        "without valgrind only: register FILES: ok",
        "under valgrind only: register FILES: EINVAL",
        "WARNING: unhandled syscall: 427",
    ]


def test_calls_are_prolonged_only_where_others_are_in_flight(tmp_path):
    assert "inject=io_uring_enter:delay_exit=100" in enters.strace(tmp_path, depth=32)
    assert not any("inject" in word for word in enters.strace(tmp_path, depth=1))
