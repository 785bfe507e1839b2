"""The comparisons of a report: `sluice.verdicts.family`, as the parts of a report know it."""

from __future__ import annotations

from sluice.verdicts.family import Comparisons, compare, gates_of

__all__ = ["Comparisons", "compare", "gates_of"]
