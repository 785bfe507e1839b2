"""Peak resident memory of a whole fio process, in MiB above the baseline engine's."""

from functools import partial

from . import fio
from .group import Group
from .ratios import percentile, spread
from .settings import Settings
from .sides import BASE
from .step import FIO_S, Step
from .verdict import Case


class PeakMemory:
    name = "memory"
    tools: tuple[str, ...] = ()

    def __init__(self, settings: Settings, groups: list[Group]):
        self._settings = settings
        self._groups = groups
        self._peaks_mib: dict[tuple[Group, str], list[float]] = {}

    def steps(self) -> list[Step]:
        expected_s = self._settings.seconds + FIO_S
        return [
            Step(group.case_name(arm), expected_s, partial(self._run, group, arm))
            for _ in range(self._settings.repeats)
            for group in self._groups
            for arm in (BASE, *group.arms)
        ]

    def _run(self, group: Group, arm: str) -> None:
        job = self._settings.timed(group.sides[arm], group.workload, self._settings.seed)
        run = fio.run(job, watch_memory=True)
        self._peaks_mib.setdefault((group, arm), []).append((run.peak_rss_kib or 0) / 1024)

    def cases(self) -> list[Case]:
        return [self._case(group, arm) for group in self._groups for arm in group.arms]

    def _case(self, group: Group, arm: str) -> Case:
        base, side = self._peaks_mib[group, BASE], self._peaks_mib[group, arm]
        before, after = percentile(base, 0.5), percentile(side, 0.5)
        return Case(
            group.case_name(arm),
            after - before,
            max(spread(base), spread(side)),
            group.bars.get(arm),
            at_least=False,
            slack=0.0,
            unit="MiB",
            note=f"{before:.1f} -> {after:.1f} MiB",
        )

    def notes(self) -> list[str]:
        return []

    def raw(self) -> list[dict]:
        return [
            {"case": group.case_name(arm), "peak_mib": peaks}
            for (group, arm), peaks in self._peaks_mib.items()
        ]
