"""Data is sacred: nothing of anybody's is written without its name having been said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sluice import jobfile, process, target
from sluice.errors import SluiceError
from sluice.target import MARKER, DataFolder


@pytest.fixture()
def data(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path / "own")
    folder.acquire()
    folder.release()
    return folder


def check(text: str, data: DataFolder, *destructive: str) -> None:
    target.check_harmless(jobfile.parse(text), data, destructive, data.path)


def job(rw: str, filename: object, more: str = "") -> str:
    return f"[a]\nrw={rw}\nfilename={filename}\n{more}\n"


WRITERS = [
    "write",
    "randwrite",
    "randrw",
    "rw",
    "readwrite",
    "trim",
    "randtrim",
    "trimwrite",
    "rw:4k",
]


@pytest.mark.parametrize("rw", WRITERS)
def test_an_existing_file_is_refused(data: DataFolder, tmp_path: Path, rw: str) -> None:
    precious = tmp_path / "precious"
    precious.write_text("thesis", encoding="utf-8")
    with pytest.raises(SluiceError, match=f"is an existing file .* --destructive {precious}"):
        check(job(rw, precious), data)
    check(job(rw, precious), data, str(precious))


@pytest.mark.parametrize("rw", ["read", "randread"])
def test_reading_is_free(data: DataFolder, tmp_path: Path, rw: str) -> None:
    (tmp_path / "precious").write_text("thesis", encoding="utf-8")
    check(job(rw, tmp_path / "precious"), data)


def test_own_and_new_files_are_free(data: DataFolder, tmp_path: Path) -> None:
    (data.path / "mine").write_text("", encoding="utf-8")
    check(job("write", data.path / "mine"), data)
    check(job("write", "mine"), data)
    check(job("write", tmp_path / "new"), data)


def test_a_link_out_of_the_folder_counts_as_what_it_points_to(
    data: DataFolder, tmp_path: Path
) -> None:
    (tmp_path / "precious").write_text("thesis", encoding="utf-8")
    (data.path / "link").symlink_to(tmp_path / "precious")
    with pytest.raises(SluiceError, match="--destructive"):
        check(job("write", "link"), data)


def test_one_of_several_names_is_enough(data: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("thesis", encoding="utf-8")
    with pytest.raises(SluiceError, match="precious is an existing file"):
        check(job("write", f"{data.path}/mine:{tmp_path}/precious"), data)


@pytest.mark.parametrize("option", ["slog", "write_iolog", "some_new_option"])
def test_any_option_may_name_a_file(data: DataFolder, tmp_path: Path, option: str) -> None:
    (tmp_path / "precious").write_text("thesis", encoding="utf-8")
    with pytest.raises(SluiceError, match=f"{option}=.*precious"):
        check(job("write", "mine", f"{option}={tmp_path}/precious"), data)


def test_a_pool_files_devices_count(data: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("thesis", encoding="utf-8")
    pool = tmp_path / "pool.json"
    pool.write_text(json.dumps({"leaves": [{"path": f"{tmp_path}/precious"}]}), encoding="utf-8")
    with pytest.raises(SluiceError, match="precious is an existing file"):
        check(job("write", "vol0", f"pool={pool}"), data)
    check(job("write", "vol0", f"pool={pool}"), data, f"{tmp_path}/precious")


def test_a_folder_elsewhere_is_refused(data: DataFolder, tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="lies outside"):
        check(f"[a]\nrw=write\ndirectory={tmp_path}\n", data)


@pytest.mark.parametrize("option", ["filename", "opendir", "slog", "some_new_option"])
def test_a_folder_of_files_is_refused_whatever_was_said(
    data: DataFolder, tmp_path: Path, option: str
) -> None:
    """fio's opendir adds every file below it."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "precious").write_text("thesis", encoding="utf-8")
    text = f"[a]\nrw=write\n{option}={folder}\n"
    with pytest.raises(SluiceError, match=r"is a folder and the job writes|lies outside"):
        check(text, data)
    with pytest.raises(SluiceError, match=r"is a folder and the job writes|lies outside"):
        check(text, data, str(folder))
    check(f"[a]\nrw=read\n{option}={folder}\n", data)


def test_one_folder_of_several_is_enough(data: DataFolder, tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="lies outside"):
        check(f"[a]\nrw=write\ndirectory={data.path}/a:{tmp_path}/b\n", data)


def test_the_other_name_of_rw_counts_too(data: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("thesis", encoding="utf-8")
    with pytest.raises(SluiceError, match="precious is an existing file"):
        check(f"[a]\nrw=read\nreadwrite=write\nslog={tmp_path}/precious\n", data)


def test_a_block_device_is_refused(data: DataFolder) -> None:
    devices = [
        entry.path
        for entry in os.scandir("/dev")
        if not entry.is_symlink() and Path(entry.path).is_block_device()
    ]
    if not devices:
        pytest.skip("no block device here")
    with pytest.raises(SluiceError, match="is a block device and the job writes"):
        check(job("write", devices[0]), data)


def test_a_name_that_doesnt_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(SluiceError, match="doesn't exist: check the name"):
        target.check_destructive([str(tmp_path / "sdz")])


def test_a_folder_with_other_files_isnt_taken(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("", encoding="utf-8")
    with pytest.raises(SluiceError, match=f"no {MARKER} in it"):
        DataFolder(tmp_path).acquire()


def test_two_harnesses_dont_share_test_files(data: DataFolder) -> None:
    data.acquire()
    code = (
        "import sys\nfrom pathlib import Path\nfrom sluice.target import DataFolder\n"
        f"DataFolder(Path({str(data.path)!r})).acquire()"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    data.release()
    assert "another sweep is running on these test files" in other.stderr


@pytest.mark.parametrize("what", ["layout/17", "other-0001@abc/00003-aa"])
def test_whoever_gets_the_test_files_has_them_alone(data: DataFolder, what: str) -> None:
    """A harness that was killed leaves its fio on them: the filler's, or any campaign's."""
    left = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        env={**os.environ, process.MARK: f"{data.mark}/{what}"},
    )
    while left.pid not in process.marked(data.mark):
        time.sleep(0.01)
    link = data.path.with_name("link")
    link.symlink_to(data.path)
    again = DataFolder(link)  # another name of the same folder
    again.acquire()
    again.release()
    assert left.wait(5) == -signal.SIGKILL


def test_who_waits_for_the_test_files_ends_nobody(data: DataFolder) -> None:
    data.acquire()
    left = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        env={**os.environ, process.MARK: f"{data.mark}/layout/17"},
    )
    try:
        while left.pid not in process.marked(data.mark):
            time.sleep(0.01)
        with pytest.raises(SluiceError, match="another sweep is running"):
            DataFolder(data.path).acquire()
        assert left.poll() is None
    finally:
        data.release()
        left.kill()
        left.wait()
