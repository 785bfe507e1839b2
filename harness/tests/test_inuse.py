"""A device or file that somebody uses isn't given away, whatever its name and however deep."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice import inuse, target
from sluice.errors import SluiceError


@pytest.fixture()
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a disk; its /sys and /proc can be written."""
    for name in ("SYSFS", "PROC", "DEV"):
        monkeypatch.setattr(inuse, name, tmp_path / name.lower())
    for folder in ("sysfs/dev/block", "sysfs/block", "proc/self", "dev"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/swaps").write_text("Filename Type Size Used Priority\n")
    monkeypatch.setattr(inuse, "_claimed", lambda node: False)
    return tmp_path


def disk(machine: Path, name: str, number: str, parent: str = "", upon: str = "") -> None:
    """A device in sysfs: partition of `parent`, or built upon `upon` (names)."""
    folder = machine / "sysfs/devices" / parent / name
    (folder / "holders").mkdir(parents=True)
    (folder / "dev").write_text(number + "\n")
    if parent:
        (folder / "partition").write_text("1\n")
    (machine / "sysfs/dev/block" / number).symlink_to(folder)
    if upon:
        named = (machine / "sysfs/devices").rglob(upon)
        (found,) = (one for one in named if not one.is_symlink())
        (found / "holders" / name).symlink_to(folder)


def mounted(machine: Path, number: str, point: str, source: str = "/dev/root") -> None:
    with (machine / "proc/self/mountinfo").open("a") as file:
        file.write(f"22 1 {number} / {point} rw - ext4 {source} rw\n")


def user(number: str) -> str | None:
    return inuse._user_of_device(number, Path("/nowhere/given"))


def test_a_disk_that_nobody_uses_is_free(machine: Path) -> None:
    disk(machine, "sda", "8:0")
    disk(machine, "sda1", "8:1", parent="sda")
    mounted(machine, "9:0", "/home")
    assert user("8:0") is None
    assert user("8:1") is None


@pytest.mark.parametrize("number", ["8:0", "8:1"])
def test_a_mount_counts_by_its_number_whatever_it_is_called(machine: Path, number: str) -> None:
    """The kernel calls the root's device /dev/root, and no such name exists."""
    disk(machine, "sda", "8:0")
    disk(machine, "sda1", "8:1", parent="sda")
    mounted(machine, "8:1", "/with\\040blank")
    assert user(number) == "sda1 is mounted at /with blank: unmount it first"


def test_a_mounted_whole_is_in_use_by_its_partition_too(machine: Path) -> None:
    disk(machine, "sda", "8:0")
    disk(machine, "sda1", "8:1", parent="sda")
    disk(machine, "sda2", "8:2", parent="sda")
    mounted(machine, "8:0", "/home")
    assert user("8:1") == "sda is mounted at /home: unmount it first"


def test_a_partition_is_free_beside_one_that_is_mounted(machine: Path) -> None:
    disk(machine, "sda", "8:0")
    disk(machine, "sda1", "8:1", parent="sda")
    disk(machine, "sda2", "8:2", parent="sda")
    mounted(machine, "8:1", "/")
    assert user("8:2") is None


@pytest.mark.parametrize("number", ["8:0", "8:1"])
def test_volumes_are_followed_to_the_top(machine: Path, number: str) -> None:
    """Partition, array, encryption, volume, mount: LVM on dm-crypt on md."""
    disk(machine, "sda", "8:0")
    disk(machine, "sda1", "8:1", parent="sda")
    disk(machine, "md0", "9:0", upon="sda1")
    disk(machine, "dm-0", "253:0", upon="md0")
    disk(machine, "dm-1", "253:1", upon="dm-0")
    assert user(number) == "dm-1 is built upon it: take that apart first"
    mounted(machine, "253:1", "/home")
    assert user(number) == "dm-1 is mounted at /home: unmount it first"


def test_a_claimed_partition_counts(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk(machine, "sda", "8:0")
    disk(machine, "sda1", "8:1", parent="sda")
    monkeypatch.setattr(inuse, "_claimed", lambda node: node == machine / "dev/sda1")
    assert user("8:0") == "another program or the kernel has claimed sda1: end that first"


def test_a_swap_file_is_in_use_by_any_of_its_names(machine: Path) -> None:
    swap, other = machine / "swap", machine / "other"
    swap.write_text("")
    os.link(swap, other)
    assert inuse.user_of(other) is None
    (machine / "proc/swaps").write_text(f"Filename Type\n{swap} file 1 0 -2\n")
    assert inuse.user_of(other) == "other is swap: swapoff it first"


def test_the_file_behind_a_loop_device_is_in_use(machine: Path) -> None:
    image = machine / "image"
    image.write_text("")
    loop = machine / "sysfs/block/loop3/loop"
    loop.mkdir(parents=True)
    (loop / "backing_file").write_text(f"{image}\n")
    with pytest.raises(SluiceError, match=f"--destructive {image}: loop3 is built upon it"):
        target.check_destructive([str(image)])


def test_a_folder_cant_be_given_away(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="is a folder: name files or devices"):
        target.check_destructive([str(tmp_path)])


def test_scsi_and_nvme_have_a_second_door(machine: Path) -> None:
    """/dev/sg0 and /dev/ng0n1 reach the disks that /dev/sda and /dev/nvme0n1 are."""
    for door, number in (("sg0", "21:0"), ("ng0n1", "240:0")):
        (machine / "sysfs/devices" / door).mkdir(parents=True)
        (machine / "sysfs/dev/char").mkdir(exist_ok=True)
        (machine / "sysfs/dev/char" / number).symlink_to(machine / "sysfs/devices" / door)
    (machine / "sysfs/devices/sg0/device/block/sda").mkdir(parents=True)
    assert inuse._blocks_of(os.makedev(21, 0)) == ["sda"]
    assert inuse._blocks_of(os.makedev(240, 0)) == ["nvme0n1"]


def device_of_root() -> int:
    number = os.stat("/").st_dev
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not folder.exists():
        pytest.skip("the root is on no block device")
    return number


def node(path: Path, number: int) -> Path:
    """A node of a device under another name."""
    try:
        os.mknod(path, stat.S_IFBLK | 0o600, number)
    except OSError:
        pytest.skip("no right to make a node")
    return path


def test_the_root_is_in_use_under_any_name(tmp_path: Path) -> None:
    made = node(tmp_path / "innocent", device_of_root())
    with pytest.raises(SluiceError, match=f"--destructive {made}: .* is mounted at /"):
        target.check_destructive([str(made)])


def test_the_kernel_knows_what_no_table_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a mount in another namespace."""
    made = node(tmp_path / "innocent", device_of_root())
    try:
        os.close(os.open(made, os.O_RDONLY))
    except OSError:
        pytest.skip("no right to open the device")
    monkeypatch.setattr(inuse, "PROC", tmp_path / "proc")
    assert "has claimed innocent: end that first" in (inuse.user_of(made) or "")


@pytest.fixture()
def loop(tmp_path: Path) -> Iterator[Path]:
    """A real loop device of 1 MiB."""
    image = tmp_path / "image"
    image.write_bytes(bytes(1 << 20))
    try:
        made = subprocess.run(
            ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
        )
    except OSError:
        pytest.skip("no losetup")
    if made.returncode:
        pytest.skip("no right to make a loop device")
    yield Path(made.stdout.strip())
    subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


def test_a_real_loop_device(loop: Path, tmp_path: Path) -> None:
    target.check_destructive([str(loop)])
    with pytest.raises(SluiceError, match=f"{loop.name} is built upon it"):
        target.check_destructive([str(tmp_path / "image")])
    held = os.open(loop, os.O_RDWR | os.O_EXCL)
    try:
        with pytest.raises(SluiceError, match=f"has claimed {loop.name}"):
            target.check_destructive([str(loop)])
    finally:
        os.close(held)
