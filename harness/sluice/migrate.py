"""The store's schema: its number, its history, and how an older document becomes a current one.

Documents are upgraded when they are read and never rewritten: the folder is append-only, and an
older harness can still read what it wrote.

History
    1  first form: campaign.json, env/*.json, runs/*/run.json
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sluice.errors import SluiceError

SCHEMA = 1

Step = Callable[[str, dict[str, Any]], dict[str, Any]]
"""(kind of document, document of version n) -> document of version n + 1; the kind is ``campaign``,
``environment``, ``step``, ``blocks`` or ``run``."""

STEPS: dict[int, Step] = {}
"""By the version that a step starts from. A schema change adds one line here and one above."""


def upgrade(
    kind: str, document: dict[str, Any], origin: str, current: int = SCHEMA
) -> dict[str, Any]:
    """The document in the form of `current`. SluiceError when it is from a newer harness or has no
    version at all."""
    version = document.get("schema")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise SluiceError(f"{origin}: no schema version: not written by sluice, or damaged")
    if version > current:
        raise SluiceError(
            f"{origin}: schema {version}, this harness reads up to {current}: "
            "use the harness that wrote it, or a newer one"
        )
    while version < current:
        document = STEPS[version](kind, document)
        version += 1
        document["schema"] = version
    return document
