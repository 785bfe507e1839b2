"""The cases of one workload: a baseline and the arms that are held against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .job import Arm, Workload
from .sides import Sides


@dataclass(frozen=True, eq=False)
class Group:
    """A case is named `prefix/workload/arm`. An arm without an entry in `bars` is only reported."""

    prefix: str
    workload: Workload
    sides: Sides | Mapping[str, Arm]
    arms: tuple[str, ...]
    bars: dict[str, float]

    @property
    def name(self) -> str:
        return f"{self.prefix}/{self.workload.name}"

    def case_name(self, arm: str) -> str:
        return f"{self.name}/{arm}"

    def only(self, wanted: Callable[[str], bool]) -> Group:
        """The group with just those arms whose case names are wanted: maybe none."""
        return replace(self, arms=tuple(arm for arm in self.arms if wanted(self.case_name(arm))))
