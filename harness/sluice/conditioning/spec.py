"""``[precondition]`` and ``[steady]`` of a sweep file."""

from __future__ import annotations

from sluice import conditions
from sluice.conditions import Precondition, SteadyRule
from sluice.errors import SluiceError, near
from sluice.metrics import METRICS
from sluice.toml import Table, scalar
from sluice.units import parse_seconds, parse_size

MAX_FILL = 100


def precondition(table: Table) -> Precondition | None:
    """None when the table isn't there, or asks for nothing."""
    one = table.table("precondition")
    purge = one.any("purge", False)
    if purge not in (True, False, "discard", "format"):
        raise SluiceError(
            f'{one.where}: purge = {purge!r}: must be true, false, "discard" or "format"'
        )
    times = one.whole("seq_fill", 0, 0, MAX_FILL)
    size = one.any("random", "")
    text = scalar(size, f"{one.where}: random") if size != "" else ""
    if text:
        try:
            fits = 512 <= parse_size(text) <= 1 << 26
        except ValueError as error:
            raise SluiceError(f"{one.where}: random: {error}") from error
        if not fits:
            raise SluiceError(f"{one.where}: random = {text}: must be from 512 to 64M")
    random_times = one.whole("random_fill", 1 if text else 0, 0, MAX_FILL)
    one.done()
    if random_times and not text:
        raise SluiceError(f'{one.where}: random_fill without random: add e.g. random = "4k"')
    asked = Precondition(
        {True: "discard", False: ""}.get(purge, purge),
        times,
        text if random_times else "",
        random_times,
    )
    return asked if asked.name != "none" else None


def steady(table: Table, usual_s: float, workloads: tuple[str, ...]) -> SteadyRule | None:
    """None when the table isn't there. `usual_s` is a round's time unless it says another."""
    if not isinstance(found := table.any("steady"), dict):
        if found is not None:
            raise SluiceError(f"{table.where}: steady: must be a table")
        return None
    one = Table(found, f"{table.where}: steady")
    metric = one.text("metric", "iops")
    if metric not in METRICS:
        raise SluiceError(f"{one.where}: no metric '{metric}'{near(metric, METRICS)}")
    text = scalar(one.any("round", f"{usual_s}s"), f"{one.where}: round")
    try:
        round_s = parse_seconds(text)
    except ValueError as error:
        raise SluiceError(f"{one.where}: round: {error}") from error
    if not 0 < round_s <= 86400:
        raise SluiceError(f"{one.where}: round = {text}: must be more than 0 and at most 1d")
    workload = one.choice("workload", workloads[0], workloads)
    rounds = one.whole("rounds", conditions.WINDOW, 3, 100)
    rule = SteadyRule(
        metric,
        rounds,
        one.number("range", conditions.RANGE),
        one.number("slope", conditions.SLOPE),
        one.whole("cap", max(conditions.CAP, rounds), rounds, 10_000),
        round_s,
        workload,
    )
    one.done()
    return rule
