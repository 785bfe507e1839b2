"""What is written to a knob, and whether what is read back means the same."""

from __future__ import annotations

from sluice import block
from sluice.knobs.names import Knob
from sluice.units import parse_size

_IO_MAX = ("rbps", "wbps", "riops", "wiops")
_TRUE = {"1", "y", "yes", "on", "true", "enabled"}
_FALSE = {"0", "n", "no", "off", "false", "disabled"}


def written(knob: Knob, text: str) -> str:
    """The text for the kernel. ValueError when it makes no sense for this knob.

    ``io.max`` takes ``max`` or e.g. ``rbps=10M riops=100``; what isn't named there is unlimited, so
    that a value doesn't depend on the one before."""
    if not knob.device:
        return text
    if knob.path.name == "io.latency":
        return f"{knob.device} {text if '=' in text else f'target={text}'}"
    limits = dict.fromkeys(_IO_MAX, "max")
    for part in [] if text == "max" else text.split():
        key, _, value = part.partition("=")
        if key not in limits:
            raise ValueError(f"'{part}': write max, or some of {', '.join(_IO_MAX)} as NAME=N")
        limits[key] = "max" if value == "max" else str(int(parse_size(value)))
    return f"{knob.device} " + " ".join(f"{key}={value}" for key, value in limits.items())


def shown(knob: Knob, read: str) -> str:
    """What the knob says, in the words in which it is set."""
    if knob.device:
        for line in read.splitlines():
            number, _, rest = line.partition(" ")
            if number == knob.device:
                parts = [part for part in rest.split() if not part.endswith("=max")]
                return " ".join(parts) or "max"
        return "max"
    if knob.path.name in ("io.weight", "io.bfq.weight") and read.startswith("default "):
        return read.splitlines()[0].removeprefix("default ")
    return block.chosen(read)


def same(knob: Knob, text: str, read: str) -> bool:
    """Whether the knob, of which `read` was read, is at `text`."""
    if knob.device:
        wanted = shown(knob, written(knob, text))
        return sorted(wanted.split()) == sorted(shown(knob, read).split())
    have = shown(knob, read).split()
    want = text.split()
    if len(want) < len(have) and knob.path.name == "cpu.max":
        have = have[: len(want)]  # the period that wasn't said
    return len(have) == len(want) and all(map(equal, want, have))


def choices(read: str) -> list[str]:
    """The values that an attribute with brackets takes; empty for any other."""
    if block.chosen(read) == read:
        return []
    return [word.strip("[]") for word in read.split()]


def equal(want: str, have: str) -> bool:
    """Whether two words mean the same: numbers in any spelling, on and off in any form."""
    if want == have or {want.lower(), have.lower()} <= _TRUE:
        return True
    if {want.lower(), have.lower()} <= _FALSE:
        return True
    try:
        return number(want) == number(have)
    except ValueError:
        return False


def number(text: str) -> float:
    """A number as a person or the kernel writes it: ``16M``, ``0x10``, ``-1``. ValueError when it
    is none."""
    try:
        return float(int(text, 0))
    except ValueError:
        return parse_size(text)
