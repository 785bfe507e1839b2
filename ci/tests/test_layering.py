"""ci/layering must find what it is there for: each rule has a case that breaks it."""

import pytest
from conftest import load

layering = load("layering")


def rules(path: str, text: str) -> list[str]:
    """Rules that a file of one text breaks."""
    return [fault.rule for fault in layering.check_file(path, text)]


@pytest.mark.parametrize(
    ("path", "line", "rule"),
    [
        ("scheduler/base/check.cpp", '#include "scheduler/io/request.h"', "layer"),
        ("scheduler/queue/queue.cpp", '#include "scheduler/slog/writer.h"', "layer"),
        ("scheduler/queue/queue.cpp", '#include "scheduler/stack/stack.h"', "layer"),
        ("scheduler/stack/stack.cpp", '#include "engine/devices/null.h"', "layer"),
        ("scheduler/testing/sim.cpp", '#include "engine/devices/null.h"', "layer"),
        ("scheduler/queue/queue_test.cpp", '#include "engine/devices/null.h"', "layer"),
        ("engine/devices/null.cpp", '#include "scheduler/queue/queue.h"', "layer"),
        ("engine/fio/bridge.cpp", '#include "scheduler/queue/queue.h"', "layer"),
        ("scheduler/novel/a.cpp", "int x;", "layer"),
        ("scheduler/queue/queue.cpp", '#include "scheduler/testing/sim.h"', "testing"),
        ("engine/fio/bridge.cpp", '#include "fio.h"', "foreign"),
        ("engine/fio/bridge.h", "#include <ioengines.h>", "foreign"),
        ("engine/devices/null.cpp", "#include <liburing.h>", "foreign"),
        ("scheduler/io/device.h", "#include <linux/io_uring.h>", "foreign"),
        ("scheduler/io/device.h", "#include <libnvme.h>", "foreign"),
        ("scheduler/volume/pool.cpp", "#include <blkid/blkid.h>", "foreign"),
        ("scheduler/queue/queue.cpp", '#include "queue.h"', "include-path"),
        ("scheduler/queue/queue.cpp", "#include <chrono>", "clock"),
        ("scheduler/slog/writer.cpp", "auto t = std::chrono::steady_clock::now();", "clock"),
        ("scheduler/queue/queue_test.cpp", "  usleep(10);", "clock"),
        ("README.md", "see /" + "work/main", "word"),
        ("ci/setup", "curl http://deb." + "debian.org/debian", "word"),
    ],
)
def test_breach_is_found(path: str, line: str, rule: str) -> None:
    assert rules(path, line + "\n") == [rule]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("scheduler/io/request.h", '#include "scheduler/base/check.h"'),
        ("scheduler/queue/queue.cpp", '#include "scheduler/queue/queue.h"'),
        ("scheduler/queue/queue_test.cpp", '#include "scheduler/testing/sim.h"'),
        ("engine/devices/conformance.h", '#include "scheduler/testing/sim.h"'),
        ("engine/devices/model_rig.h", '#include "scheduler/testing/sim.h"'),
        ("scheduler/base/tsc_clock.cpp", "return __rdtsc();"),
        ("scheduler/queue/queue.cpp", "#include <vector>"),
        ("scheduler/base/clock.cpp", "#include <ctime>"),
        ("scheduler/queue/queue.cpp", "int x;  // std::chrono is for the clock"),
        ("engine/devices/uring_ring.cpp", "#include <liburing.h>"),
        ("engine/devices/null.cpp", "#include <chrono>"),
        ("engine/fio/plugin.c", '#include "optgroup.h"'),
        ("engine/fio/bridge.cpp", '#include "scheduler/stack/stack.h"'),
        ("engine/fio/bridge.cpp", '#include "engine/devices/registry.h"'),
        ("README.md", "the work/ folder, /proc/self and a/root/b"),
    ],
)
def test_what_is_allowed_passes(path: str, line: str) -> None:
    assert rules(path, line + "\n") == []


def test_a_line_may_allow_itself_with_a_reason() -> None:
    line = "#include <chrono>  // lint: allow clock"
    assert rules("scheduler/queue/q.cpp", line + ": a test of the clock") == []
    assert rules("scheduler/queue/q.cpp", line) == ["clock"]
    assert rules("scheduler/queue/q.cpp", line.replace("clock", "layer") + ": no") == ["clock"]


@pytest.mark.parametrize(("count", "expected"), [(400, []), (401, [True]), (801, [False])])
def test_long_files_are_warned_of_then_refused(count: int, expected: list[bool]) -> None:
    faults = layering.check_file("harness/sluice/x.py", "x = 1\n" * count)
    assert [fault.warning for fault in faults] == expected
