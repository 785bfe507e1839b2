"""Where kernels and initramfs are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

from sluice import paths
from sluice.errors import SluiceError


def folder(*parts: str) -> Path:
    """``$SLUICE_VM_CACHE``, or ``build/vm`` of a checkout, or the user's cache; made if missing.
    SluiceError when it can't be."""
    path = _root().joinpath(*parts)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SluiceError(
            f"{path}: can't hold kernels ({error.strerror}): name another folder with "
            "$SLUICE_VM_CACHE"
        ) from error
    return path


def _root() -> Path:
    named = os.environ.get("SLUICE_VM_CACHE")
    if named:
        return Path(named).absolute()
    checkout = paths.project_root()
    if (checkout / "harness" / "pyproject.toml").is_file():
        return checkout / "build" / "vm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice" / "vm"
