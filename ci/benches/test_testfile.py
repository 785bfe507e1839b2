import os

import pytest

from benches.errors import BenchError
from benches.testfile import MIB, TRAILER_BYTES, parse_size, prepared


def make(path, size=MIB):
    with prepared(path, size):
        pass


def test_made_full_of_written_blocks(tmp_path):
    path = tmp_path / "deep" / "file"
    with prepared(path, 2 * MIB):
        stat = os.stat(path)
        assert stat.st_size == 2 * MIB + TRAILER_BYTES
        assert stat.st_blocks * 512 >= 2 * MIB
        assert path.read_bytes()[:4096].strip(b"\0")


def test_own_file_is_used_again(tmp_path):
    path = tmp_path / "file"
    make(path)
    content = path.read_bytes()
    make(path)
    assert path.read_bytes() == content


def test_own_file_of_another_size_is_made_anew(tmp_path):
    path = tmp_path / "file"
    make(path, 2 * MIB)
    make(path, MIB)
    assert path.stat().st_size == MIB + TRAILER_BYTES


def test_a_strangers_file_is_refused_and_whole(tmp_path):
    path = tmp_path / "file"
    for content in (b"", b"precious", b"precious" * MIB):
        path.write_bytes(content)
        with pytest.raises(BenchError, match="did not make it"):
            make(path)
        assert path.read_bytes() == content


def test_a_strangers_data_put_into_our_file_is_refused(tmp_path):
    path = tmp_path / "file"
    make(path)
    path.write_bytes(b"p" * (MIB + TRAILER_BYTES))
    with pytest.raises(BenchError, match="did not make it"):
        make(path)


def test_our_file_grown_by_a_stranger_is_refused(tmp_path):
    path = tmp_path / "file"
    make(path)
    with open(path, "ab") as file:
        file.write(b"precious")
    with pytest.raises(BenchError, match="did not make it"):
        make(path)


def test_links_and_folders_are_refused(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    make(target)
    link.symlink_to(target)
    with pytest.raises(BenchError, match="cannot use"):
        make(link)
    with pytest.raises(BenchError, match="cannot use"):
        make(tmp_path)


def test_an_interrupted_fill_is_ours_and_done_again(tmp_path, monkeypatch):
    path = tmp_path / "file"
    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            make(path)
    assert path.exists()
    make(path)
    assert path.read_bytes()[:4096].strip(b"\0")


def test_two_benches_do_not_share_it(tmp_path):
    path = tmp_path / "file"
    with prepared(path, MIB), pytest.raises(BenchError, match="in use"):
        make(path)


@pytest.mark.parametrize(
    "text, size",
    [
        ("1M", MIB),
        ("256M", 256 * MIB),
        ("1G", 1024 * MIB),
        ("1024k", MIB),
        ("1048576", MIB),
        ("2MiB", 2 * MIB),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "3x", "-1M", "0", "4k", "1.5G"])
def test_sizes_that_are_none(text):
    with pytest.raises(BenchError):
        parse_size(text)
