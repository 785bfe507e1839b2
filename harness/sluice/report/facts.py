"""Facts of the machine and the method: a report's header, notices and environment table."""

from __future__ import annotations

from dataclasses import dataclass

from sluice import fingerprint
from sluice.model import Environment, Results
from sluice.readings import Readings
from sluice.report.digits import THIN
from sluice.report.tables import Table
from sluice.report.words import plural, utc

__all__ = ["Fact", "environment_table", "header", "notices"]

UNKNOWN = "not recorded"
_FLEETING = "now."
"""Keys that differ from one moment to the next by nature (load, temperature)."""
_GUEST = {
    False: "Virtual: ratios only. The runs were made in an emulated guest: which of two is cheaper "
    "may carry over, how fast either is doesn't.",
    True: "Virtual: ratios only. One nanosecond of the guest's clock is one instruction: figures "
    "tell what software costs, without caches, devices and waiting. Between boots they repeat to "
    "the last digit; each block is a guest that was perturbed on purpose (tick phase, seed, layout "
    "of memory), and an effect no larger than the spread between blocks is layout.",
}
"""By whether the clock is the virtual one."""
_BARE_METAL = frozenset(("none", "no", "false", "physical"))


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the header."""

    name: str
    text: str


def header(readings: Readings) -> tuple[Fact, ...]:
    """What an expert wants to know before looking at a chart."""
    results = readings.results
    values = _first(results)
    target = results.target
    device = target.device or values.get("target.device", "")
    method = (
        f"{plural(results.sweep.blocks, 'block')} of randomised order, each replayed "
        f"backwards; {results.sweep.runtime_s:g}{THIN}s a run after "
        f"{results.sweep.ramp_s:g}{THIN}s of ramp"
    )
    parts = [target.path, target.size, target.filesystem or values.get("target.filesystem", "")]
    if device:
        model = " ".join(filter(None, (values.get("target.model"), values.get("target.firmware"))))
        parts.append(f"on {device}" + (f" ({model})" if model else ""))
    else:
        parts.append(f"device: {UNKNOWN}")
    return (
        Fact("Date", utc(results.created_at) or UNKNOWN),
        Fact("fio", values.get("fio.version", UNKNOWN)),
        Fact("Engine", _engine(results, values)),
        Fact("Kernel", values.get("kernel.release", UNKNOWN)),
        Fact("CPU", _cpu(values)),
        Fact("Machine", _machine(values)),
        Fact("Target", ", ".join(filter(None, parts))),
        Fact("State", _state(results)),
        Fact("Method", method),
        Fact("Runs", f"{readings.ok_runs:,} of {results.planned_runs:,} planned ended well"),
        Fact("Seed", str(results.seed)),
    )


def notices(results: Results) -> tuple[str, ...]:
    """What limits the use of every figure, said before any of them."""
    found: list[str] = []
    virtual = _virtual(_first(results))
    clock = _first(results).get("guest.clock")
    if clock:
        found.append(_GUEST[clock == "virtual"])
    elif virtual:
        found.append(
            f"Virtual machine or container ({virtual}): others share the hardware. Ratios "
            "within this report may carry over; absolute figures don't."
        )
    elif virtual is None:
        found.append("It was not recorded whether this machine is virtual.")
    if not results.complete:
        found.append("The sweep is not complete: some planned runs are missing.")
    changed = fingerprint.within(results)
    hard = [one.text for one in changed if one.hard]
    if hard:
        found.append(f"Not comparable within itself: {'; '.join(hard)}.")
    soft = [one.key for one in changed if not one.hard]
    if soft:
        found.append(
            f"The environment changed while the sweep ran: {', '.join(soft)}. See "
            "the environment table."
        )
    return tuple(found)


def environment_table(results: Results) -> Table:
    """Every recorded key; a column for each moment at which anything differed."""
    moments = _distinct(results.environments)
    keys = sorted({key for moment in moments for key in moment.values})
    head = ("key", *(f"{moment.when} {utc(moment.taken_at)}".strip() for moment in moments))
    rows = tuple(
        (key, *(moment.values.get(key, "\N{EN DASH}") for moment in moments)) for key in keys
    )
    notes = []
    if len(results.environments) > 1 and not fingerprint.within(results):
        notes.append("Nothing but load and temperature changed while the sweep ran.")
    if results.environments:
        missing = fingerprint.unknown(results.environments[0])
        if missing:
            notes.append(f"Not recorded, so nothing is told apart by it: {', '.join(missing)}.")
    return Table(head, rows, frozenset(range(len(head))), " ".join(notes))


def _state(results: Results) -> str:
    """How the target was prepared, whether it was steady, and whether the machine was quiet."""
    sweep, tuned = results.sweep, _first(results).get("tune.items", "off")
    parts = [sweep.precondition.name if sweep.precondition else "not preconditioned"]
    if sweep.steady is None:
        parts.append("not shown to be steady")
    else:
        parts.append("transient" if results.transient else "steady")
    parts.append("machine not tuned" if tuned == "off" else f"tuned: {tuned}")
    return "; ".join(parts)


def _distinct(environments: tuple[Environment, ...]) -> list[Environment]:
    """The first, each that differs from the one before in more than what is fleeting, the last."""
    kept: list[Environment] = []
    for environment in environments:
        if (
            not kept
            or environment is environments[-1]
            or _lasting(environment) != _lasting(kept[-1])
        ):
            kept.append(environment)
    return kept


def _lasting(environment: Environment) -> dict[str, str]:
    return {key: text for key, text in environment.values.items() if not key.startswith(_FLEETING)}


def _first(results: Results) -> dict[str, str]:
    return dict(results.environments[0].values) if results.environments else {}


def _engine(results: Results, values: dict[str, str]) -> str:
    known = [values[key] for key in ("engine.version", "engine.commit") if values.get(key)]
    return " ".join([results.sweep.engine, *known])


def _cpu(values: dict[str, str]) -> str:
    model = values.get("cpu.model", UNKNOWN)
    parts = [model]
    if values.get("cpu.count"):
        parts.append(f"{values['cpu.count']} CPUs")
    parts.append(f"governor {values.get('cpu.governor', UNKNOWN)}")
    return ", ".join(parts)


def _machine(values: dict[str, str]) -> str:
    virtual = _virtual(values)
    if virtual is None:
        return f"virtual or not: {UNKNOWN}"
    return f"virtual or container ({virtual})" if virtual else "not virtual"


def _virtual(values: dict[str, str]) -> str | None:
    """Name of the hypervisor; empty on bare metal; None when nobody looked."""
    text = values.get("machine.virtual")
    if text is None:
        return None
    return "" if text.strip().lower() in _BARE_METAL else text
