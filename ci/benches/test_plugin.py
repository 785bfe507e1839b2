from pathlib import Path

from benches.plugin import held
from benches.sides import EXTERNAL


def test_a_plugin_built_anew_in_the_middle_changes_nothing(tmp_path):
    source = tmp_path / "sluice.so"
    source.write_bytes(b"first")
    with held(f"{EXTERNAL}{source}") as plugin:
        source.write_bytes(b"second")
        copy = Path(plugin.engine.removeprefix(EXTERNAL))
        assert copy.read_bytes() == b"first"
        assert plugin.sha256 and len(plugin.sha256) == 64
    assert not copy.exists()


def test_a_missing_plugin_is_left_for_fio_to_tell():
    with held(f"{EXTERNAL}/nowhere/sluice.so") as plugin:
        assert plugin.engine == "external:/nowhere/sluice.so"


def test_a_built_in_engine_needs_no_holding():
    with held("io_uring") as plugin:
        assert (plugin.engine, plugin.sha256) == ("io_uring", None)
