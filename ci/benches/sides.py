"""The arms of the drop-in question: fio's own engines and sluice in its place."""

from dataclasses import dataclass

from .job import Arm

BASE, AGAIN, TUNED, ALL, OFF = "base", "again", "tuned", "all", "off"
EXTERNAL = "external:"
SLUICE = (ALL, OFF)


@dataclass(frozen=True)
class Sides:
    """`again` is `base` under another name: their pair is the A/A pair that shows the noise."""

    base: Arm
    again: Arm
    tuned: Arm
    all: Arm
    off: Arm

    def __getitem__(self, name: str) -> Arm:
        return getattr(self, name)


def is_plugin(engine: str) -> bool:
    """Anything else is a stand-in for a plugin that isn't there yet and knows no sluice option."""
    return engine.startswith(EXTERNAL) or engine == "sluice"


def on_file(baseline: str, sluice: str) -> Sides:
    return _sides(baseline, sluice, ())


def on_null(sluice: str) -> Sides:
    """fio's null engine against sluice's null device: what the software alone costs."""
    return _sides("null", sluice if is_plugin(sluice) else "null", ("--device=null",))


def _sides(baseline: str, sluice: str, options: tuple[str, ...]) -> Sides:
    def bypass(mode: str) -> tuple[str, ...]:
        return (*options, f"--bypass={mode}") if is_plugin(sluice) else ()

    tuned = ("--registerfiles=1", "--fixedbufs=1") if baseline == "io_uring" else ()
    return Sides(
        Arm(BASE, baseline),
        Arm(AGAIN, baseline),
        Arm(TUNED, baseline, tuned),
        Arm(ALL, sluice, bypass(ALL)),
        Arm(OFF, sluice, bypass(OFF)),
    )
