"""Where the templates are."""

from __future__ import annotations

from pathlib import Path

__all__ = ["TEMPLATES"]

TEMPLATES = Path(__file__).parent / "templates"
