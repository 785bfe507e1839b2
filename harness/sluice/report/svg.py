"""Makes matplotlib's SVG fit to stand in a page: themed, described, small, with unique ids.

- A colour becomes a class, so that the page's theme decides; a stand-alone file carries the two
  themes in a style sheet of its own.
- ``<title>`` and ``<desc>`` say to a screen reader what the chart shows.
- Ids are unique in the page, because all its charts share one name space.
- What matplotlib repeats for each dot (style, eight digits) is written once, or shorter.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sluice.report.theme import DARK, LIGHT
from sluice.report.words import clean

__all__ = ["Drawing", "colour_rules", "finish"]

_NS = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_ROLES = {colour: role for role, colour in LIGHT.items()}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_SPACE = re.compile(r"\s+")
_KEPT = frozenset(
    (
        "opacity",
        "fill-opacity",
        "stroke-opacity",
        "stroke-width",
        "stroke-dasharray",
        "stroke-dashoffset",
        "fill",
        "stroke",
        "font-size",
        "font-weight",
        "text-anchor",
    )
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """One chart's picture."""

    inline: str
    """An ``<svg>`` element for a page that has :func:`colour_rules` and the variables it uses."""
    alone: str
    """A whole file with both themes."""


def colour_rules() -> str:
    """CSS that maps the classes of a drawing to the variables of a theme (``--s1`` ...)."""
    rules = [f".f-{role}{{fill:var(--{role})}}.k-{role}{{stroke:var(--{role})}}" for role in LIGHT]
    return "".join(rules)


def finish(raw: str, name: str, title: str, desc: str, hovers: Mapping[str, str]) -> Drawing:
    """`raw` as matplotlib wrote it -> a drawing. `hovers`: element id -> text to show there."""
    ET.register_namespace("", _NS)
    root = ET.fromstring(clean(raw))
    _drop(root, "metadata")
    for parent in list(root.iter(_tag("defs"))):
        for style in parent.findall(_tag("style")):
            parent.remove(style)  # its rule for '*' would reach the whole page
    for element in list(root.iter(_tag("g"))):
        text = hovers.get(element.get("id", ""))
        if text is not None:
            hover = ET.Element(_tag("title"))
            hover.text = clean(text)
            element.insert(0, hover)
    _rename(root, name)
    for element in root.iter():
        _restyle(element)
        _shorten(element)
    for element in root.iter(_tag("g")):
        _hoist(element)
    _head(root, name, title, desc)
    inline = _text(root)
    for element in root.iter(_tag("svg")):
        style = ET.Element(_tag("style"))
        style.text = _alone_rules()
        element.insert(2, style)
    return Drawing(inline, _text(root) + "\n")


def _text(root: ET.Element) -> str:
    return ET.tostring(root, encoding="unicode").replace(" />", "/>")


def _head(root: ET.Element, name: str, title: str, desc: str) -> None:
    """Size by the view box only, and words for those who can't see it."""
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.attrib.update(
        {
            "id": name,
            "role": "img",
            "class": "chart",
            "aria-labelledby": f"{name}-title {name}-desc",
        }
    )
    for index, (tag, text) in enumerate((("title", title), ("desc", desc))):
        element = ET.Element(_tag(tag), {"id": f"{name}-{tag}"})
        element.text = clean(text)
        root.insert(index, element)


def _restyle(element: ET.Element) -> None:
    """Colours to classes; what only repeats SVG's defaults is dropped."""
    style = element.attrib.pop("style", None)
    if style is None:
        return
    classes: list[str] = []
    kept: list[str] = []
    is_text = element.tag == _tag("text")
    declarations = dict(_split(style))
    if is_text:
        declarations.setdefault("fill", "#000000")
    for prop, value in declarations.items():
        role = _ROLES.get(value)
        if role is not None and prop in ("fill", "stroke"):
            classes.append(("f-" if prop == "fill" else "k-") + role)
        elif prop == "font":
            kept.append(_font(value))
        elif prop.endswith("-opacity") and float(value) == 1.0:
            continue
        elif prop in _KEPT and not (prop == "stroke-dashoffset" and value == "0"):
            kept.append(f"{prop}:{value}")
    if classes:
        element.set("class", " ".join(classes))
    if kept:
        element.set("style", ";".join(kept))


def _font(value: str) -> str:
    """Weight and size; the family is the page's."""
    size = re.search(r"[\d.]+px", value)
    weight = "font-weight:bold;" if re.match(r"(bold|[67]00)\b", value) else ""
    return f"{weight}font-size:{size.group() if size else '11px'}"


def _split(style: str) -> Iterator[tuple[str, str]]:
    for declaration in style.split(";"):
        prop, _, value = declaration.partition(":")
        if prop.strip():
            yield prop.strip(), value.strip()


def _shorten(element: ET.Element) -> None:
    """Two decimals of a pixel are plenty, one for a dot; line feeds in a path are ballast."""
    places = 1 if element.tag == _tag("use") else 2
    for attribute in ("d", "x", "y", "transform", "width", "height"):
        text = element.get(attribute)
        if text is not None:
            text = _NUMBER.sub(lambda match: f"{float(match.group()):.{places}f}", text)
            element.set(attribute, _SPACE.sub(" ", text).strip())
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if element.text is not None and not element.text.strip():
        element.text = None
    if element.tail is not None:
        element.tail = None if not element.tail.strip() else element.tail


def _rename(root: ET.Element, name: str) -> None:
    """Short ids that are unique in a page of charts, and only where something refers to them."""
    links = {element.get(_XLINK, "").removeprefix("#") for element in root.iter()}
    links -= {""}
    links |= {target for element in root.iter() for target in _clip(element)}
    prefix = f"i{zlib.crc32(name.encode()):x}"
    names: dict[str, str] = {}
    for element in root.iter():
        own = element.attrib.pop("id", "")
        if own in links:
            element.set("id", names.setdefault(own, f"{prefix}-{len(names)}"))
    for element in root.iter():
        link = element.attrib.pop(_XLINK, None)
        if link is not None:
            element.set("href", f"#{names[link.removeprefix('#')]}")
        for target in _clip(element):
            element.set("clip-path", f"url(#{names[target]})")


def _clip(element: ET.Element) -> list[str]:
    """Id of the path that clips the element, if one does."""
    return re.findall(r"^url\(#(.+)\)$", element.get("clip-path", ""))


def _hoist(group: ET.Element) -> None:
    """A class or style that all dots of a group share goes to the group."""
    dots = list(group)
    if len(dots) < 2 or any(dot.tag != _tag("use") for dot in dots):
        return
    for attribute in ("class", "style"):
        values = {dot.get(attribute) for dot in dots}
        if len(values) == 1 and None not in values and group.get(attribute) is None:
            group.set(attribute, str(values.pop()))
            for dot in dots:
                del dot.attrib[attribute]


def _alone_rules() -> str:
    """Both themes for a file that is opened, or shown by an ``<img>``, on its own."""

    def rules(palette: Mapping[str, str]) -> str:
        return "".join(
            f".f-{role}{{fill:{colour}}}.k-{role}{{stroke:{colour}}}"
            for role, colour in palette.items()
        )

    base = "svg{font-family:'DejaVu Sans',Verdana,sans-serif;stroke-linejoin:round}"
    dark = f"@media (prefers-color-scheme:dark){{svg{{background:{DARK['ground']}}}{rules(DARK)}}}"
    return f"{base}svg{{background:{LIGHT['ground']}}}{rules(LIGHT)}{dark}"


def _drop(root: ET.Element, tag: str) -> None:
    for element in root.findall(_tag(tag)):
        root.remove(element)


def _tag(name: str) -> str:
    return f"{{{_NS}}}{name}"
