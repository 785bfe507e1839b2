"""Files that are whole or not there: written aside, flushed, renamed."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any


def write_bytes(path: Path, data: bytes) -> None:
    """Write a new file in one step. OSError leaves nothing half written under the name."""
    aside = path.with_name(f".{path.name}.part")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write a JSON document, indented so that people can read it. NaN isn't JSON: ValueError."""
    text = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False)
    write_bytes(path, text.encode() + b"\n")


def compress(path: Path) -> None:
    """Replace a file by ``NAME.gz``; nothing when there is no such file. json+ shrinks to a
    twentieth; level 3 does that in a few milliseconds."""
    if path.exists():
        write_bytes(
            path.with_name(path.name + ".gz"),
            gzip.compress(path.read_bytes(), compresslevel=3, mtime=0),
        )
        path.unlink()


def read_text(path: Path) -> str:
    """A file's text, or that of ``NAME.gz``. FileNotFoundError when there is neither."""
    packed = path.with_name(path.name + ".gz")
    if packed.exists():
        return gzip.decompress(packed.read_bytes()).decode("utf-8", "replace")
    return path.read_text(encoding="utf-8", errors="replace")
