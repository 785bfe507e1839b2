"""The page in a real browser: both themes, a telephone's and a desk's width."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_kept import furnish
from report_loads import gated, open_loop
from report_synthetic import BYPASS, DEPTH, blemished, published_bypass, results, sweep
from test_aa import a_record
from test_report_verdicts import MIXED

from sluice.report import write

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is missing")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium or chromedriver is missing"),
    pytest.mark.filterwarnings("ignore"),  # selenium's own
]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER or ""))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that a report of a closed loop can show, once."""
    whole = furnish(blemished(), tmp_path_factory.mktemp("runs"))
    whole = replace(whole, sweep=replace(whole.sweep, published=published_bypass()))
    return write(whole, tmp_path_factory.mktemp("report"), [a_record()])


@pytest.fixture(scope="module")
def load_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An open loop behind a steady-state gate."""
    gate = gated()
    whole = open_loop()
    whole = replace(
        whole,
        preparation=gate.preparation,
        sweep=replace(whole.sweep, steady=gate.sweep.steady),
    )
    return write(whole, tmp_path_factory.mktemp("load"))


@pytest.fixture(scope="module")
def mixed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every verdict; charts that are folded."""
    return write(MIXED, tmp_path_factory.mktemp("mixed"))


@pytest.fixture(scope="module")
def wide_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two axes: several lines in a panel, a numeric axis, large tables."""
    return write(results(sweep((BYPASS, DEPTH), blocks=2)), tmp_path_factory.mktemp("wide"))


def show(browser: Any, path: Path, width: int, theme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "", "features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
    browser.get(path.as_uri())


def unfold(browser: Any) -> None:
    browser.execute_script(
        "document.querySelectorAll('details.more').forEach(d => { d.open = true })"
    )


def overflowing(browser: Any) -> list[str]:
    """Elements that reach beyond the window, but for what scrolls in a box of its own."""
    return list(
        browser.execute_script("""
        const edge = document.documentElement.clientWidth + 0.5;
        return [...document.querySelectorAll('body *')]
          .filter(e => !e.closest('.scroll table') && e.getClientRects().length
                       && e.getBoundingClientRect().right > edge)
          .map(e => e.tagName + '#' + e.id + '.' + e.getAttribute('class'));""")
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("which", "width"),
    [
        ("page", 390),
        ("page", 1280),
        ("wide_page", 390),
        ("wide_page", 1280),
        ("load_page", 390),
        ("mixed_page", 390),
    ],
)
def test_page(
    browser: Any, which: str, width: int, theme: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(which)
    show(browser, path, width, theme)
    assert browser.get_log("browser") == []
    ask = browser.execute_script
    assert ask("return document.documentElement.scrollWidth") <= width
    assert overflowing(browser) == []
    ground = ask("return getComputedStyle(document.documentElement).backgroundColor")
    assert ground == GROUND[theme]
    unfold(browser)
    assert overflowing(browser) == []
    expected = {file.stem for file in path.parent.glob("*.svg")}
    sizes = ask("""return [...document.querySelectorAll('svg.chart')].map(e =>
        [e.id, e.getBoundingClientRect().width, e.getBoundingClientRect().height])""")
    assert {name for name, _, _ in sizes} == expected
    assert all(w > 250 and h > 100 for _, w, h in sizes), sizes


def luminance(colour: str) -> float:
    """Relative luminance of ``rgb(r, g, b)`` as WCAG 2 defines it."""
    parts = [int(text) / 255 for text in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("which", ["page", "load_page", "mixed_page"])
def test_words_and_marks_stand_out_in_both_themes(
    browser: Any, which: str, theme: str, request: pytest.FixtureRequest
) -> None:
    show(browser, request.getfixturevalue(which), 1280, theme)
    texts = browser.execute_script("""
        return [...document.querySelectorAll('svg.chart text, p, td, th, dt, dd, a, summary, h2')]
          .map(e => e.tagName === 'text' ? getComputedStyle(e).fill : getComputedStyle(e).color)""")
    assert len(texts) > 100
    assert min(contrast(colour, GROUND[theme]) for colour in texts) >= 4.5
    marks = browser.execute_script("""
        return [...document.querySelectorAll('svg.chart use')]
          .filter(e => !/f-(better|worse|even)/.test(e.closest('[class*="f-"]')?.classList))
          .map(e => getComputedStyle(e)).map(s => [s.fill, s.stroke])
          .flat().filter(colour => colour !== 'none' && colour !== 'rgb(0, 0, 0)')""")
    marks = [colour for colour in marks if colour != GROUND[theme]]  # edges between marks
    assert len(marks) > 100
    assert min(contrast(colour, GROUND[theme]) for colour in marks) >= 3.0


def test_the_switch_works_without_script(browser: Any, page: Path) -> None:
    show(browser, page, 1280, "light")
    for name, theme in (
        ("theme-dark", "dark"),
        ("theme-light", "light"),
        ("theme-system", "light"),
    ):
        browser.find_element("id", name).click()
        ground = browser.execute_script(
            "return getComputedStyle(document.documentElement).backgroundColor"
        )
        assert ground == GROUND[theme]


def test_every_table_opens_without_breaking_the_page(browser: Any, wide_page: Path) -> None:
    show(browser, wide_page, 390, "light")
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert overflowing(browser) == []


def test_print_is_light(browser: Any, page: Path) -> None:
    show(browser, page, 800, "dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [
        {"name": "prefers-color-scheme", "value": "dark"}]})  # fmt: skip
    ground = browser.execute_script(
        "return getComputedStyle(document.documentElement).backgroundColor"
    )
    assert ground == GROUND["light"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chart_opens_on_its_own(browser: Any, page: Path, theme: str) -> None:
    show(browser, page.with_name("throughput-solo.svg"), 500, theme)
    assert browser.get_log("browser") == []
    fill = browser.execute_script("return getComputedStyle(document.querySelector('text')).fill")
    assert fill == {"light": "rgb(87, 96, 106)", "dark": "rgb(155, 167, 180)"}[theme]


TEXTS = """
    return [...document.querySelectorAll('svg.chart')].map(svg => [svg.id,
      [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()])
        .map(([text, r]) => [text, r.left, r.top, r.right, r.bottom])]);"""


@pytest.mark.parametrize("which", ["page", "load_page", "mixed_page"])
def test_no_two_words_of_a_chart_overlap(
    browser: Any, which: str, request: pytest.FixtureRequest
) -> None:
    show(browser, request.getfixturevalue(which), 1280, "light")
    unfold(browser)
    for name, texts in browser.execute_script(TEXTS):
        upright = [t for t in texts if t[3] - t[1] > 0 and "\N{HORIZONTAL ELLIPSIS}" not in t[0]]
        for index, (one, left, top, right, bottom) in enumerate(upright):
            for other, left2, top2, right2, bottom2 in upright[index + 1 :]:
                wide = min(right, right2) - max(left, left2)
                high = min(bottom, bottom2) - max(top, top2)
                # Boxes hold room above and below the letters.
                assert not (wide > 1.0 and high > 4.0), (name, one, other)


def test_folded_charts_are_printed(browser: Any, mixed_page: Path) -> None:
    show(browser, mixed_page, 800, "light")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    heights = browser.execute_script("""
        return [...document.querySelectorAll('details.more svg.chart')]
          .map(e => e.getBoundingClientRect().height)""")
    assert heights
    assert all(height > 100 for height in heights)
