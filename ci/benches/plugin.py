"""A plugin held still: a build that replaces it in the middle must not change what is measured."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .sides import EXTERNAL


@dataclass(frozen=True)
class Held:
    """The engine as fio is told it, and what tells two builds apart."""

    engine: str
    sha256: str | None


@contextmanager
def held(engine: str) -> Iterator[Held]:
    """Yields a copy of an external plugin; other engines, and what isn't there, as they are."""
    source = Path(engine.removeprefix(EXTERNAL))
    if not engine.startswith(EXTERNAL) or not source.is_file():
        yield Held(engine, None)
        return
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        copy = Path(folder) / source.name
        shutil.copy(source, copy)
        yield Held(f"{EXTERNAL}{copy}", hashlib.sha256(copy.read_bytes()).hexdigest())
