"""report.md: the report for a pull request, a wiki or a terminal.

GitHub refuses a comment of more than 64 KiB, so tables under charts are left out when the text
would grow beyond :data:`MAX_BYTES`, and the table of ratios never has more than twenty rows.
"""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sluice.report.page import Page
from sluice.report.tables import Table
from sluice.report.templating import TEMPLATES
from sluice.report.words import clean

__all__ = ["MAX_BYTES", "markdown_text"]

MAX_BYTES = 60_000
MAX_ROWS = 20
MAX_TROUBLES = 12
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>|#"})


def markdown_text(page: Page) -> str:
    """The report, with its charts as links to the SVG files beside it."""
    text = _render(page, tables=True)
    return text if len(text.encode("utf-8")) <= MAX_BYTES else _render(page, tables=False)


def _render(page: Page, *, tables: bool) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"line": _line, "cell": _cell, "table": _table, "fenced": _fenced}
    many = len(page.ratios.rows) > MAX_ROWS
    full = page.worst if many else page.ratios
    shown = Table(full.head, full.rows[:MAX_ROWS], full.words, full.note)
    groups = [one for one in (page.verdicts, *page.groups, page.published) if one is not None]
    text = environment.get_template("report.md.j2").render(
        page=page,
        groups=groups,
        shown=shown,
        left=len(full.rows) - len(shown.rows),
        tables=tables,
        troubles=page.troubles[:MAX_TROUBLES],
        troubles_left=max(0, len(page.troubles) - MAX_TROUBLES),
    )
    return clean(text)


def _line(text: str) -> str:
    """One line of text in which nothing is markup."""
    return " ".join(text.split()).translate(_SPECIAL)


def _cell(text: str) -> str:
    return _line(text) or " "


def _table(table: Table) -> str:
    rule = [":--" if index in table.words else "--:" for index in range(len(table.head))]
    lines = [
        [_cell(text) for text in table.head],
        rule,
        *([_cell(text) for text in row] for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fenced(text: str) -> str:
    """A block of code whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
