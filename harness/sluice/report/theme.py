"""Colours, marker shapes and dashes: one table for charts, page and stand-alone SVG files.

Charts are drawn with the light theme's colours; :mod:`sluice.report.svg` then replaces each by a
class, so that one drawing follows the page's theme. Every colour therefore stands for one role and
occurs once in :data:`LIGHT`.

Differences use a scale of their own, ``better4`` .. ``even`` .. ``worse4``: blue is better, orange
is worse, and text in ``ink`` has a contrast of 4.5:1 or more on each step in both themes.

Series use the first four colours of Okabe and Ito: distinct under colour blindness, and the only
ones of the eight with a contrast of 3:1 or nearly so on white *and* on the dark ground (blue 5.2
and 3.7, vermillion 3.9 and 4.9, green 3.4 and 5.5, purple 3.1 and 6.2). Shape and dash repeat what
the colour says. A fifth series would need a colour that fails on white: it opens another panel.
"""

from __future__ import annotations

__all__ = ["DARK", "DASHES", "LIGHT", "MARKERS", "MAX_SERIES", "SERIES", "STEPS", "step_role"]

LIGHT: dict[str, str] = {
    "s1": "#0072b2",
    "s2": "#d55e00",
    "s3": "#009e73",
    "s4": "#cc79a7",
    "ink": "#1b1f24",
    "soft": "#57606a",
    "line": "#8c959f",
    "grid": "#dfe3e8",
    "ground": "#ffffff",
    "raised": "#f5f7f9",
    "link": "#0a58ab",
    "warn": "#8a4b00",
    "warn-ground": "#fff4e0",
    "better4": "#5a9fd4",
    "better3": "#84b8e0",
    "better2": "#b3d3ec",
    "better1": "#dbeaf6",
    "even": "#f1f3f5",
    "worse1": "#fde6d3",
    "worse2": "#fbcba3",
    "worse3": "#f7ab6c",
    "worse4": "#ee8f43",
    "shade": "#eceff3",
}
"""Role -> colour. ``ink`` text, ``soft`` secondary text, ``line`` axes,
``ground`` the page, ``shade`` a stretch of a panel that is set apart."""

DARK: dict[str, str] = {
    **{name: LIGHT[name] for name in ("s1", "s2", "s3", "s4")},
    "ink": "#e6edf3",
    "soft": "#9ba7b4",
    "line": "#7d8590",
    "grid": "#262c34",
    "ground": "#0d1117",
    "raised": "#161b22",
    "link": "#6cb0ff",
    "warn": "#f0b45c",
    "warn-ground": "#2a2112",
    "better4": "#1f609e",
    "better3": "#1a4c7c",
    "better2": "#16395a",
    "better1": "#12283b",
    "even": "#1b2129",
    "worse1": "#33210f",
    "worse2": "#4d2f12",
    "worse3": "#6b3f14",
    "worse4": "#8a5015",
    "shade": "#191f27",
}

SERIES = tuple(LIGHT[name] for name in ("s1", "s2", "s3", "s4"))
MAX_SERIES = len(SERIES)
STEPS = 4
"""Of the scale of differences, to each side."""
MARKERS = ("o", "s", "^", "D")
Dash = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = ("solid", (0, (5.0, 2.0)), (0, (1.2, 1.6)), (0, (7.0, 2.0, 1.2, 2.0)))


def step_role(step: int) -> str:
    """The role of a step: -STEPS is much worse, 0 no difference, STEPS much better."""
    if step == 0:
        return "even"
    return f"better{min(step, STEPS)}" if step > 0 else f"worse{min(-step, STEPS)}"
