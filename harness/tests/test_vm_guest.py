"""Guests that really boot. Boots are dear, so each does much, and its checks are in one test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import guests
import harnessing
import pytest
from conftest import SWEEP, SweepMaker
from guests import vm

from sluice import process, runner, store
from sluice.executor import JOB
from sluice.model import Results, Status
from sluice.report import write
from sluice.vm import guest

pytestmark = [pytest.mark.guest, pytest.mark.slow]

KERNELS = ("6.1", "6.12")

COMMON = "--direct=1 --bs=4k --iodepth=8 --output-format=json --thread --size=16M"
TOUR = f"""\
set -e
cd /
[ "$(ls /sys/class/net)" = lo ]
[ -c /dev/ng0n1 ]
echo "io_poll $(cat /sys/block/nvme0n1/queue/io_poll)"
run() {{ fio --name="$@" {COMMON} --output=/out/$1.json; }}
run plain --filename=/dev/nvme1n1 --rw=randread --number_ios=300 --ioengine=io_uring
run polled --filename=/dev/nvme1n1 --rw=randread --number_ios=300 --ioengine=io_uring --hipri
for mode in all off; do
  run verify-$mode --filename=/dev/nvme1n1 --rw=randwrite --size=2M --verify=crc32c \\
    --ioengine=external:$ENGINE --bypass=$mode
  run null-$mode --filename=/dev/nullb0 --rw=randread --number_ios=300 \\
    --ioengine=external:$ENGINE --bypass=$mode
done
grep -q ' /mnt/sluice xfs ' /proc/mounts
run file --filename=/mnt/sluice/f --rw=randwrite --size=2M --verify=crc32c \\
  --ioengine=external:$ENGINE
cat carried
echo to-stderr >&2
"""


@pytest.mark.parametrize("version", KERNELS)
def test_a_tour_of_a_guest(version: str, tmp_path: Path) -> None:
    """NVMe polled and not, null_blk, a file system, verification with the engine, files in and
    out."""
    kernel = guests.kernel(version)
    (tmp_path / "carried").write_text("from the host\n")
    (tmp_path / "tour.sh").write_text(
        f"ENGINE={guests.paths.plugin()}\n" + TOUR.replace("cat carried", f"cat {tmp_path}/carried")
    )
    devices = ["--nvme", 2, "--poll-queues", 1, "--null-blk", "size=64", "--nvme-size", "512M"]
    if guests.shutil.which("mkfs.xfs") is None:
        pytest.skip("no mkfs.xfs here (ci/setup test installs xfsprogs)")
    xfs = ["--fs", "xfs", "--carry", "carried", "--out", "results"]
    done = vm(
        *("run", "--kernel", version, *devices, *xfs, "--", "sh", "tour.sh"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "io_poll 1\nfrom the host\n"
    assert done.stderr == "to-stderr\n"
    found = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "results").iterdir()}
    assert len(found) == 7
    assert {job["error"] for one in found.values() for job in one["jobs"]} == {0}
    assert found["plain"]["jobs"][0]["read"]["total_ios"] == 300
    polled = found["polled"]["jobs"][0]
    assert polled["read"]["total_ios"] == 300
    assert kernel.name.startswith(version)


def virtual(path: Path, folder: Path, *more: object) -> Results:
    """A sweep under the virtual clock, into a store of its own."""
    done = vm(
        *("sweep", path, "--kernel", "6.12", "--clock", "virtual", "--null-blk", "--mem", "512M"),
        *("--order-seed", 7, "--replicas", 1, "--store", folder, *more),
    )
    assert done.returncode == 0, done.stderr
    assert "virtual: ratios only" in done.stderr
    return store.load(folder)


def test_two_boots_of_one_seed_have_the_same_figures_and_another_seed_has_others(
    make_sweep: SweepMaker, tmp_path: Path
) -> None:
    guests.kernel("6.12")
    path = make_sweep(
        replace={'"null"': '"sluice"', "[1, 8]": "[1, 16]", '"200ms"': '"20ms"'},
        job="[reader]\nrw=randread\nbs=4k\ndirect=1\n",
    )
    first = virtual(path, tmp_path / "one")
    second = virtual(path, tmp_path / "two")
    assert [run.status for run in first.runs] == [Status.OK] * 4
    for one, other in zip(first.runs, second.runs, strict=True):
        assert one.samples == other.samples
        figures = one.sample()
        assert figures is not None
        assert figures.values["ios"] > 100
        assert figures.values["instr"] > 1000
    values = first.environments[0].values
    assert values["kernel.release"].startswith("6.12.")
    assert values["guest.clock"] == "virtual"
    assert values["guest.qemu"] and values["guest.devices"]
    page = write(first, tmp_path / "report").read_text(encoding="utf-8")
    assert "Virtual: ratios only" in page
    missed = next((tmp_path / "one").glob("*/runs/*/run.json"))
    missed.unlink()  # as if the sweep had been interrupted there
    resumed = vm("sweep", "--resume", first.campaign, "--store", tmp_path / "one")
    assert resumed.returncode == 0, resumed.stderr
    assert store.load(tmp_path / "one").complete
    other = virtual(path, tmp_path / "three", "--seed", 2)
    assert [run.samples for run in other.runs] != [run.samples for run in first.runs]


def test_a_crash_and_a_hang_cost_one_run_each_and_the_sweep_goes_on(
    make_sweep: SweepMaker, tmp_path: Path
) -> None:
    path = make_sweep(
        'timeout = "8s"\n' + SWEEP,
        replace={'"200ms"': '"50ms"', "blocks = 2": "blocks = 1", "[1, 8]": "[1, 2, 4]"},
    )

    def change(script: str) -> str:
        """Run 1 makes the kernel panic, run 3 never ends."""
        for number, instead in (
            ("00001", "echo c >/proc/sysrq-trigger"),
            ("00003", "sleep 1000"),
        ):
            script = re.sub(f"fio_run {number} .*", instead, script)
        return script

    with guests.session(path, tmp_path / "store", "6.12", change) as (session, boots):
        session.executor.prime()  # type: ignore[attr-defined]
        results = runner.run(session, harnessing.Quiet())
    states = [run.status for run in results.runs]
    ok = Status.OK
    assert states == [ok, Status.FAILED, ok, Status.TIMEOUT, ok, ok]
    assert len(boots) == 3
    crashed, hung = results.runs[1], results.runs[3]
    assert "crashed: Kernel panic - not syncing: sysrq triggered crash" in crashed.reason
    assert "Call Trace" in crashed.reason
    assert "hung: no end after 8 s" in hung.reason
    assert "Kernel panic" in (crashed.folder / "console.txt").read_text()
    assert (crashed.folder / JOB).is_file()
    assert process.marked(str(os.getpid())) == []


OOPS = """\
dmsetup create two --noudevsync --table '0 24 linear /dev/nvme0n1 0
24 24 linear /dev/nvme1n1 0'
dmsetup mknodes two
fio --name=a --filename=/dev/mapper/two --ioengine=io_uring --hipri --direct=1 --bs=8k --rw=read \\
  --offset=8k --size=8k --iodepth=1
"""


def test_an_oops_of_the_kernel_ends_the_guest_with_its_trace(tmp_path: Path) -> None:
    """Known of 6.12.117: a polled I/O that device-mapper must split."""
    kernel = guests.kernel("6.12")
    if guests.shutil.which("dmsetup") is None:
        pytest.skip("no dmsetup here (ci/setup test installs it)")
    (tmp_path / "oops.sh").write_text(OOPS)
    done = vm(
        *("run", "--kernel", "6.12", "--nvme", 2, "--nvme-size", "16M", "--poll-queues", 1),
        *("--module", "dm_mod", "--carry", "dmsetup", "--timeout", "2m", "--", "sh", "oops.sh"),
        cwd=tmp_path,
    )
    if done.returncode == 0:
        pytest.skip(f"{kernel.name} splits polled I/O without an oops")
    assert done.returncode == 1, done.stderr
    assert re.search(r"^sluice: guest 6\.12\S+ crashed: .*", done.stderr, re.MULTILINE)
    assert "Call Trace" in done.stderr


RECORDED = """\
set -e
i=1
while [ $i -le 3 ]; do
  tr '\\0' $i </dev/zero | dd of=$LOGGED bs=4096 count=1 seek=$i conv=fsync,notrunc 2>/dev/null
  log-writes mark $i
  i=$((i + 1))
done
tr '\\0' 9 </dev/zero | dd of=$LOGGED bs=4096 count=1 seek=9 conv=notrunc 2>/dev/null
log-writes mark unflushed
mkfs.ext4 -q -F $LOGGED
mkdir -p /run/m
mount -t ext4 $LOGGED /run/m
echo precious >/run/m/file
sync /run/m/file
log-writes mark ext4
umount /run/m
"""
LOOKED = """\
if [ $MARK = ext4 ]; then
  mkdir -p /run/c
  mount -t ext4 $LOGGED /run/c && [ "$(cat /run/c/file)" = precious ] && umount /run/c
  exit
fi
last=$MARK
[ $last != unflushed ] || last=3
for i in 1 2 3 4 5 6 7 8 9; do
  found=$(dd if=$LOGGED bs=4096 count=1 skip=$i 2>/dev/null | tr -d '\\0' | head -c 1)
  want=
  [ $i -gt $last ] || want=$i
  [ "$found" = "$want" ] || exit 1
done
dd if=/dev/zero of=$LOGGED bs=4096 count=20 2>/dev/null # the next state is made anew
"""


def test_every_state_that_a_power_cut_could_leave_is_looked_at(tmp_path: Path) -> None:
    """dm-log-writes: what was flushed before a mark is there at it, what wasn't isn't; and a check
    that fails is said."""
    guests.kernel("6.1")
    for name in ("dmsetup", "mkfs.ext4"):
        if guests.shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
            pytest.skip(f"no {name} here")
    (tmp_path / "recorded").write_text(RECORDED)
    (tmp_path / "looked").write_text(LOOKED)
    (tmp_path / "all").write_text(
        f"set -e\nlog-writes record sh {tmp_path}/recorded\nlog-writes check sh {tmp_path}/looked\n"
        "! log-writes check false\n"
    )
    done = vm(
        *("run", "--kernel", "6.1", "--nvme", 2, "--nvme-size", "24M", "--log-writes"),
        *("--carry", "recorded", "--carry", "looked", "--carry", "mkfs.ext4", "--", "sh", "all"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    names = ("1", "2", "3", "unflushed", "ext4")
    good = "".join(f"mark {name}: ok\n" for name in names) + "5 marks, 0 failed\n"
    assert done.stdout.startswith(good), done.stdout
    assert done.stdout.endswith("5 marks, 5 failed\n")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_guest_whose_harness_ends(how: signal.Signals) -> None:
    guests.kernel("6.1")
    words = ["run", "--kernel", "6.1", "--nvme", "1", "--", "sleep", "1000"]
    harness = subprocess.Popen(
        [sys.executable, "-m", "sluice", "vm", *words], stderr=subprocess.DEVNULL
    )
    limit = time.monotonic() + guests.SECONDS
    while not (mine := process.marked(str(harness.pid))):
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert set(mine) <= {pid for pid, _ in guest.running()}
    harness.send_signal(how)
    assert harness.wait(30) == (-9 if how is signal.SIGKILL else 130)
    while process.marked(str(harness.pid)):
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert list((guests.cache.folder("images")).iterdir()) == []


def test_an_image_in_use_is_refused(tmp_path: Path) -> None:
    guests.kernel("6.1")
    image = tmp_path / "disk"
    image.write_bytes(b"\0" * (8 << 20))
    with image.open() as held:
        guests.fcntl.flock(held, guests.fcntl.LOCK_EX)
        done = vm("run", "--kernel", "6.1", "--image", image, "--", "true")
    assert done.returncode == 1
    assert done.stderr == (
        f"sluice: --image {image}: another guest uses it: wait for that, or take a copy\n"
    )
