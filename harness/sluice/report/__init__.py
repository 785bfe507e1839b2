"""Reports: from the results of a sweep to a folder that a colleague can open offline.

`write` is the whole interface. It reads :class:`sluice.model.Results`, runs nothing, asks nobody
and takes no time of day: equal results give equal files.

    page         what is said            html, markdown    how it is written down
    answer       verdicts in words       tidy, export      the same for programs
    charts       which figures           canvas, svg       how they are drawn
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from sluice.aa.record import Record
from sluice.model import Results

__all__ = ["write"]


def write(results: Results, out_dir: Path, sessions: Sequence[Record] = ()) -> Path:
    """Write report.html, report.md, results.csv, results.json, sweep.toml and one SVG file for
    each chart into `out_dir`, which is made if missing. Returns the path of report.html.
    `sessions` are what `sluice aa` measured on the machine of the results.

    Files of an earlier report are replaced, and SVG files that its results.json names and this one
    doesn't are removed; nothing else in the folder is touched. report.html comes last: where it is
    new, so is the rest. Results without a single good run give a report too, which says so.
    OSError when the folder can't be written.
    """
    from sluice.report.export import charts_of, json_text  # here: no other verb needs matplotlib
    from sluice.report.html import html_text
    from sluice.report.markdown import markdown_text
    from sluice.report.page import build
    from sluice.report.tidy import csv_text

    page = build(results, sessions)
    files = {f"{chart.name}.svg": chart.drawing.alone for chart in page.charts}
    names = tuple(files)
    files |= {
        "results.csv": csv_text(results),
        "results.json": json_text(results, page.comparisons, names, sessions),
        "sweep.toml": results.sweep.toml_text,
        "report.md": markdown_text(page),
        "report.html": html_text(page),
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    for name in set(charts_of(out_dir / "results.json")) - set(names):
        (out_dir / name).unlink(missing_ok=True)
    for name, text in files.items():
        _replace(out_dir / name, text)
    return out_dir / "report.html"


def _replace(path: Path, text: str) -> None:
    """Write by way of a temporary file, so that a reader never sees half of it."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        error.filename = error.filename or str(path)  # a full disk names none
        raise
