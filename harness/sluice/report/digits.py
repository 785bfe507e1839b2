"""Figures as text. One place, so that a chart, its table and the answer say the same digits.

Rates and bytes are decimal (1 MB/s = 10^6 B/s, 1k = 1000). Digits follow the interval where there
is one: two significant digits of its half width, and three to five of the figure.
"""

from __future__ import annotations

import math

from sluice.model import METRICS
from sluice.report.estimate import Estimate

__all__ = ["THIN", "axis_unit", "figure", "interval", "percent", "ratio", "unit_for"]

THIN = "\N{NO-BREAK SPACE}"
DASH = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"

_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "I/O/s": ((1e6, "M"), (1e3, "k"), (1.0, "")),
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "\N{MICRO SIGN}s"), (1.0, "ns")),
    "us": ((1e6, "s"), (1e3, "ms"), (1.0, "\N{MICRO SIGN}s"), (1e-3, "ns")),
}


def unit_for(unit: str, value: float) -> tuple[float, str]:
    """Divisor and name of the unit in which `value` reads well, e.g. (1000, "us") for 12,000 ns."""
    steps = _STEPS.get(unit, ((1.0, ""),))
    for step in steps:
        if abs(value) >= step[0] * 0.9995:  # 999,999 is 1.00M, not 1,000k
            return step
    return steps[-1]


def axis_unit(metric: str) -> str:
    """The unit of a metric, or nothing for one that the harness doesn't know."""
    known = METRICS.get(metric)
    return known.unit if known else ""


def figure(metric: str, value: float | None, digits: int = 3) -> str:
    """A single figure with its unit, or a dash for one that wasn't measured."""
    if value is None or math.isnan(value):
        return DASH
    scale, name = unit_for(axis_unit(metric), value)
    return _join(_significant(value / scale, digits), name)


def interval(metric: str, estimate: Estimate | None) -> str:
    """A mean with its interval in one unit: ``123.4 [121.9, 124.9] us``; bare without one."""
    if estimate is None:
        return DASH
    ends = estimate.interval
    if ends is None:
        return figure(metric, estimate.mean)
    scale, name = unit_for(axis_unit(metric), estimate.mean)
    places = _places(estimate.mean / scale, (ends[1] - ends[0]) / 2 / scale)
    low, high = (_fixed(end / scale, places) for end in ends)
    if name in ("k", "M"):
        return f"{_fixed(estimate.mean / scale, places)}{name} [{low}, {high}]"
    return _join(f"{_fixed(estimate.mean / scale, places)} [{low}, {high}]", name)


def ratio(estimate: Estimate | None) -> str:
    """A ratio with its interval: ``x1.42 [1.38, 1.47]``."""
    if estimate is None:
        return DASH
    ends = estimate.interval
    if ends is None:
        return f"{TIMES}{_significant(estimate.mean, 3)}"
    places = min(3, _places(estimate.mean, (ends[1] - ends[0]) / 2))
    low, high = (_bound(end, places) for end in ends)
    return f"{TIMES}{_fixed(estimate.mean, max(2, places))} [{low}, {high}]"


def percent(share: float) -> str:
    """A relative margin, e.g. 0.03 as ``3 %``."""
    return f"{share * 100:.3g}{THIN}%"


def _bound(value: float, places: int) -> str:
    """An end of a ratio's interval; those of few blocks can be absurdly far away, and it shows."""
    if value > 1000.0:
        return "over 1000"
    return _fixed(value, max(2, places))


def _places(value: float, half: float) -> int:
    """Decimals that give `half` two significant digits and `value` three to five."""
    size = _magnitude(value)
    wanted = 1 - _magnitude(half) if half > 0.0 and math.isfinite(half) else 2 - size
    return min(max(wanted, 2 - size, 0), max(4 - size, 0))


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _significant(value: float, digits: int) -> str:
    size = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded figure: 999.9 is 1,000
    return _fixed(value, max(0, digits - 1 - size) if value else 0)


def _fixed(value: float, places: int) -> str:
    if math.isinf(value):
        return "unbounded"
    return f"{value:,.{places}f}"


def _join(text: str, unit: str) -> str:
    if unit in ("", "k", "M"):
        return text + unit
    return f"{text}{THIN}{unit}"
