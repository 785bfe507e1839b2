"""Whether two moments, sessions or campaigns may be compared: their environments, key by key.

A *hard* key decides what is measured: when it differs and nobody declared the difference, the
figures aren't comparable. A *soft* key may move them: it is named, and the reader judges. The
declared difference, the arm of a comparison (another kernel, another build of the engine), is no
difference here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sluice.model import Environment, Results, SweepInfo

HARD = (
    "machine.id",
    "cpu.model",
    "cpu.mitigations",
    "kernel.release",
    "kernel.config",
    "fio.version",
    "fio.sha256",
    "engine.sha256",
    "target.model",
    "target.firmware",
    "target.lba",
    "target.bytes",
    "target.pcie",
    "target.filesystem",
    "target.mount_options",
    "target.mkfs",
    "job.hash",
    "precondition.class",
)
"""And every ``option.*``: an option or a knob that is the same in all cells. The rest is soft."""

GUEST = ("guest.accelerator", "guest.clock", "guest.devices", "guest.memory", "guest.qemu")
"""Hard as well, and of guests only: a guest and a host don't compare either."""

ARMS: Mapping[str, tuple[str, ...]] = {
    "kernel": ("kernel.*", "cpu.mitigations", "boot.id", "sysctl.*", "module.*"),
    "engine": ("engine.*",),
    "fio": ("fio.*",),
}
"""What an arm changes by its nature: declare these when it is what is compared."""

_TOLERATED = {"now.temperature.*": 10.0, "now.free_percent": 10.0, "now.wear_percent": 0.5}
"""Keys that drift by nature: a smaller change is none. (Degrees Celsius, percentage points.)"""
_FLEETING = "now.*"
"""Any other key of this kind differs from one moment to the next and says nothing."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One key that isn't the same, or isn't known to be."""

    key: str
    hard: bool
    """Nobody may compare across it. A hard key that one side didn't record is soft: that the two
    differ isn't known."""
    first: str
    """Its text; empty: not recorded."""
    second: str

    @property
    def text(self) -> str:
        """For messages, e.g. ``fio.version was 3.33, now is 3.35``."""
        return (
            f"{self.key} was {self.first or 'not recorded'}, now is {self.second or 'not recorded'}"
        )


def differences(
    a: Environment, b: Environment, declared: Iterable[str] = ()
) -> tuple[Difference, ...]:
    """What differs between two environments, hard keys first, then by name. `declared` are keys, or
    patterns such as ``kernel.*``, whose difference is meant (see :data:`ARMS`)."""
    patterns = tuple(declared)
    found = [
        Difference(key, _is_hard(key, a, b), a.values.get(key, ""), b.values.get(key, ""))
        for key in sorted(a.values.keys() | b.values.keys())
        if not _same(key, a.values.get(key, ""), b.values.get(key, ""))
        and not any(fnmatchcase(key, pattern) for pattern in patterns)
    ]
    return tuple(sorted(found, key=lambda one: (not one.hard, one.key)))


def within(results: Results, declared: Iterable[str] = ()) -> tuple[Difference, ...]:
    """What changed in a campaign: each of its environments (before and after every session) against
    its first, every key once."""
    patterns = (*declared, *declared_by(results.sweep))
    found: dict[str, Difference] = {}
    for environment in results.environments[1:]:
        for one in differences(results.environments[0], environment, patterns):
            if one.key not in found or (one.hard and not found[one.key].hard):
                found[one.key] = one
    return tuple(sorted(found.values(), key=lambda one: (not one.hard, one.key)))


def between(a: Results, b: Results, declared: Iterable[str] = ()) -> tuple[Difference, ...]:
    """What differs between two campaigns when they began. A campaign without any environment has
    nothing that could be compared: every key of the other counts as not recorded."""
    nothing = Environment("before", 0.0, {})
    both = set(declared_by(a.sweep)) & set(declared_by(b.sweep))
    return differences(
        a.environments[0] if a.environments else nothing,
        b.environments[0] if b.environments else nothing,
        (*declared, *both),
    )


def unknown(environment: Environment) -> tuple[str, ...]:
    """Hard keys that couldn't be read there: said once, never guessed."""
    return tuple(key for key in HARD if key not in environment.values)


def declared_by(sweep: SweepInfo) -> Iterator[str]:
    """The environment's keys of the knobs that a sweep sets by itself."""
    for axis in sweep.axes:
        if axis.scope == "knob":
            yield knob_key(axis.name)
    yield from map(knob_key, sweep.knobs)


def knob_key(knob: str) -> str:
    """The environment's key of a knob: ``queue/scheduler`` is ``target.queue.scheduler``."""
    if knob.startswith("queue/"):
        return f"target.{knob.replace('/', '.')}"
    return knob.replace(":", ".", 1)


def _is_hard(key: str, a: Environment, b: Environment) -> bool:
    if key.startswith("option."):  # not set is known, by whoever tells of the job at all
        return "job.hash" in a.values and "job.hash" in b.values
    if key in GUEST:
        return True
    return key in HARD and key in a.values and key in b.values


def _same(key: str, a: str, b: str) -> bool:
    if a == b:
        return True
    for pattern, tolerance in _TOLERATED.items():
        if fnmatchcase(key, pattern):
            try:
                return abs(float(a) - float(b)) < tolerance
            except ValueError:
                return not (a and b)  # a sensor that comes and goes
    return fnmatchcase(key, _FLEETING)
