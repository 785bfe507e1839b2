"""The section that checks that valgrind changed nothing of the rings whose users are counted."""

from functools import partial

from . import ringsetup
from .job import Workload
from .settings import Settings
from .sides import Sides
from .step import FIO_S, VALGRIND_S, Step
from .verdict import Case

IOS = 64


class SameUnderValgrind:
    name = "ring set-up"
    tools: tuple[str, ...] = ("strace", "valgrind")

    def __init__(self, settings: Settings, workload: Workload, sides: Sides, arms: tuple[str, ...]):
        self._settings = settings
        self._workload = workload
        self._sides = sides
        self._arms = arms
        self._found: list[dict] = []

    def steps(self) -> list[Step]:
        return [
            Step(
                f"ring set-up of {arm} under valgrind",
                FIO_S + VALGRIND_S,
                partial(self._run, arm),
            )
            for arm in self._arms
        ]

    def _run(self, arm: str) -> None:
        job = self._settings.counted(self._sides[arm], self._workload, IOS)
        native, traced = ringsetup.seen(job), ringsetup.seen(job, under_valgrind=True)
        self._found.append(
            {
                "engine": job.arm.label,
                "native": native.calls,
                "valgrind": traced.calls,
                "difference": ringsetup.difference(native, traced),
            }
        )

    def cases(self) -> list[Case]:
        return []

    def notes(self) -> list[str]:
        """One line an engine: what valgrind made it do otherwise."""
        return list(
            dict.fromkeys(
                f"{each['engine']} under valgrind: "
                + ("; ".join(each["difference"]) or "sets up its ring as without")
                for each in self._found
            )
        )

    def raw(self) -> list[dict]:
        return self._found
