"""report.html: one file that needs nothing else, no network and no script."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sluice.report.page import Page
from sluice.report.svg import colour_rules
from sluice.report.templating import TEMPLATES
from sluice.report.theme import DARK, LIGHT
from sluice.report.words import clean

__all__ = ["html_text"]


def html_text(page: Page) -> str:
    """The page. All text is escaped; only drawings and the style sheet are let through."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = environment.get_template("report.html.j2").render(
        page=page, light=LIGHT, dark=DARK, colour_rules=Markup(colour_rules()), markup=Markup
    )
    return clean(text)
