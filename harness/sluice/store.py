"""The store: an append-only folder of raw results. (Writing side follows; the signature is fixed.)"""

from __future__ import annotations

from pathlib import Path

from sluice.model import Results


def load(path: Path) -> Results:
    """Read one sweep's results. `path` is a campaign's folder, or a store (its newest campaign)."""
    raise NotImplementedError(path)
