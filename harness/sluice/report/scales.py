"""Where an axis value lies along a chart, and where the ticks of the other axis are.

Ticks are chosen here and not by matplotlib, so that they are few enough for a telephone's width,
the same in all charts that share an axis, and labelled like the tables.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sluice.model import Axis, Value
from sluice.report.digits import figure

__all__ = ["Ticks", "XScale", "latency_ticks", "linear_ticks", "ratio_ticks", "x_scale"]

WIDE_SPAN = 16.0
"""From this ratio of largest to smallest value on, a numeric axis is drawn on log2."""


@dataclass(frozen=True, slots=True)
class XScale:
    """Positions of the values of one axis."""

    kind: str
    """``category``, ``log2`` or ``linear``."""
    at: dict[str, float]
    """Value text -> position, in the units of the chart."""
    step: float
    """Room between the closest neighbours: what dots may spread over."""
    zero: str | None = None
    """Text of the value 0 on a log2 axis: it stands apart, and no line leads to it."""

    @property
    def ticks(self) -> dict[str, float]:
        """One text for each position, the sweep's own where two write one number differently."""
        first: dict[float, str] = {}
        for text, at in self.at.items():
            first.setdefault(at, text)
        return {text: at for at, text in first.items()}

    @property
    def joined(self) -> bool:
        """Whether a line through the means says something: never between categories."""
        return self.kind != "category"

    @property
    def note(self) -> str:
        """The kind of axis, for the axis's label."""
        return {"log2": "log2 axis", "category": "categories"}.get(self.kind, "")


@dataclass(frozen=True, slots=True)
class Ticks:
    """Limits, tick positions and their labels of a y axis."""

    low: float
    high: float
    at: tuple[float, ...]
    labels: tuple[str, ...]


def x_scale(axis: Axis, extra: Sequence[Value] = ()) -> XScale:
    """The scale for `axis`, with room for further values (those of published figures)."""
    values = list(axis.values)
    seen = {value.text for value in values}
    for value in extra:
        if value.text not in seen:
            seen.add(value.text)
            values.append(value)
    numbers = [value.number for value in values if value.number is not None]
    if not axis.numeric or len(numbers) < len(values) or len(set(numbers)) < 2:
        order = values
        return XScale("category", {v.text: float(i) for i, v in enumerate(order)}, 1.0)
    pairs = sorted(
        zip(numbers, (value.text for value in values), strict=True), key=lambda pair: pair[0]
    )
    positive = [number for number in numbers if number > 0]
    logarithmic = (
        min(numbers) >= 0
        and len(set(positive)) > 1
        and (
            all(math.log2(number).is_integer() for number in positive)
            or max(positive) / min(positive) >= WIDE_SPAN
        )
    )
    if not logarithmic:
        return XScale("linear", {text: number for number, text in pairs}, _step(numbers))
    logs = [math.log2(number) for number in positive]
    step = _step(logs)
    apart = min(logs) - max(step, 1.0)
    at = {text: math.log2(number) if number > 0 else apart for number, text in pairs}
    zero = next((text for number, text in pairs if number == 0), None)
    return XScale("log2", at, step, zero)


def linear_ticks(metric: str, top: float, goal: int = 4) -> Ticks:
    """From 0 to a little above `top`, which may be 0: then up to 1."""
    high = top * 1.06 if top > 0 else 1.0
    raw = high / goal
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)
    at = tuple(step * index for index in range(math.floor(high / step) + 1))
    return Ticks(0.0, high, at, tuple(_label(metric, value) for value in at))


def latency_ticks(metric: str, low: float, high: float, goal: int = 3) -> Ticks:
    """Logarithmic ticks around low..high (both above 0): the sparsest that are `goal` or more."""
    bottom, top = low / 1.15, high * 1.15
    if top / bottom < 2.0:  # a flat response: don't blow noise up to full height
        middle = math.sqrt(top * bottom)
        bottom, top = middle / math.sqrt(2.0), middle * math.sqrt(2.0)
    at: list[float] = []
    for factors in (
        (1.0,),
        (1.0, 3.0),
        (1.0, 2.0, 5.0),
        (1, 1.5, 2, 3, 4, 5, 7),
        (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
    ):
        at = [
            10.0**decade * factor
            for decade in range(math.floor(math.log10(bottom)), math.ceil(math.log10(top)) + 1)
            for factor in factors
        ]
        at = [value for value in at if bottom <= value <= top]
        if len(at) >= goal:
            break
    return Ticks(bottom, top, tuple(at), tuple(_label(metric, value) for value in at))


def ratio_ticks(low: float, high: float, most: int = 6) -> Ticks:
    """Logarithmic ticks of ratios around low..high (both above 0): the densest of at most `most`,
    with 1 among them."""
    bottom, top = min(low / 1.05, 0.98), max(high * 1.05, 1.02)
    at: list[float] = []
    for candidates in _ratios():
        at = [value for value in candidates if bottom <= value <= top]
        if len(at) <= most:
            break
    return Ticks(bottom, top, tuple(at), tuple(_times(value) for value in at))


def _ratios() -> Iterator[list[float]]:
    """Sets of ratios at which ticks may stand, ever sparser; each has 1."""
    for step in (0.01, 0.02, 0.05, 0.1, 0.2):
        yield [step * number for number in range(1, round(3.0 / step))]
    yield [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0]
    for base in (2.0, 4.0, 10.0, 100.0, 1000.0, 1e6):
        yield [base**number for number in range(-12, 13)]


def _times(value: float) -> str:
    """``x1.25``, ``x0.001``, ``x100``."""
    return "\N{MULTIPLICATION SIGN}" + (f"{value:.3g}" if value < 1000 else f"{value:.0e}")


def _label(metric: str, value: float) -> str:
    """As `figure`, without the trailing zeros that only tables need."""
    text = figure(metric, value)
    digits = text.rstrip("".join(set(text) - set("0123456789.,")))
    short = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return (short or "0") + text[len(digits) :] if value else "0"


def _step(positions: Sequence[float]) -> float:
    ordered = sorted(set(positions))
    return min(b - a for a, b in itertools.pairwise(ordered))
