"""What the end-to-end tests share: fio in a temporary folder, and what a machine must offer."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fio_runner import BYPASSES, DEVICES, PLUGIN, Fio, Option


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = ""
    if shutil.which("fio") is None:
        missing = "no fio here (ci/setup test installs it)"
    elif not PLUGIN.exists():
        missing = "no build/lib/sluice.so (cmake --build --preset release makes it)"
    if missing:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture()
def fio(tmp_path: Path) -> Fio:
    """fio with the built plugin, in the test's own folder."""
    return Fio(tmp_path)


@pytest.fixture(params=BYPASSES)
def bypass(request: pytest.FixtureRequest) -> str:
    """Each value of bypass=."""
    return str(request.param)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Each value of device=."""
    return str(request.param)


@pytest.fixture(params=[1, 0], ids=["direct", "buffered"])
def direct(request: pytest.FixtureRequest) -> int:
    """O_DIRECT and buffered."""
    return int(request.param)


TARGETS: dict[str, dict[str, Option]] = {
    "direct": {"device": "auto", "direct": 1},
    "buffered": {"device": "auto", "direct": 0},
    "model": {"device": "model", "direct": 1},
    "null": {"device": "null", "direct": 0},
}


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> dict[str, Option]:
    """A file with and without O_DIRECT, and the devices without a file."""
    return TARGETS[str(request.param)]


@pytest.fixture(params=["direct", "buffered", "model"])
def keeper(request: pytest.FixtureRequest) -> dict[str, Option]:
    """Those of them that keep what is written."""
    return TARGETS[str(request.param)]


@pytest.fixture()
def anybody(tmp_path: Path) -> Iterator[Fio]:
    """fio in a folder that every user may enter, with a copy of the plugin."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-e2e-"))
    folder.chmod(0o777)
    plugin = folder / "sluice.so"
    shutil.copy(PLUGIN, plugin)
    plugin.chmod(0o755)
    yield Fio(folder, plugin)
    shutil.rmtree(folder)


@pytest.fixture()
def as_nobody() -> list[str]:
    """What to put before a command so that it runs without privileges."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root without setpriv: can't become another user")
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Loop:
    """A loop block device over a file."""

    def __init__(self, image: Path, size: int) -> None:
        with image.open("wb") as file:
            file.truncate(size)
        done = subprocess.run(
            ["losetup", "--show", "-f", str(image)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"no loop device: {done.stderr.strip()}")
        self.image = image
        self.path = Path(done.stdout.strip())

    def detach(self) -> None:
        """Gives the device back."""
        subprocess.run(["losetup", "-d", str(self.path)], check=False)


@pytest.fixture()
def loop(tmp_path: Path) -> Iterator[Loop]:
    """A block device of 16 MiB."""
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("a loop device needs root and losetup")
    device = Loop(tmp_path / "loop.img", 16 << 20)
    yield device
    device.detach()


@pytest.fixture()
def small_filesystem(tmp_path: Path) -> Iterator[Path]:
    """An ext4 of 16 MiB, mounted."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("mounting a filesystem needs root and mkfs.ext4")
    image, where = tmp_path / "ext4.img", tmp_path / "small"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    where.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", str(image)], check=True)
    mounted = subprocess.run(
        ["mount", "-o", "loop", str(image), str(where)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"can't mount: {mounted.stderr.strip()}")
    yield where
    subprocess.run(["umount", str(where)], check=True)
