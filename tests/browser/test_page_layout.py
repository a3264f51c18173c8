"""The page fits a phone and a desk, follows the system's colours, and can be used with the keyboard alone."""

from __future__ import annotations

import pytest
from known_stores import CONFIG, known_sketches, write
from page_reading import BUSIEST

SIZES = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
WIDER = """() => [...document.querySelectorAll('.ecm-main *')]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.outerHTML.slice(0, 80))"""
CONTRAST = """() => {
  const light = (text) => {
    const parts = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (!/rgba\\(.*, 0\\)/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll(".ecm-header *, .ecm-main *")]
    .filter((e) => e.offsetParent && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()))
    .map((e) => {
      const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), e.className + ": " + e.textContent.slice(0, 40)];
    })
    .filter(([ratio]) => ratio < 4.5);
}"""


@pytest.fixture(scope="module")
def address(serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("layout")
    write(folder / "store", known_sketches())
    return serve(folder / "store", folder / "alerts").address


@pytest.mark.parametrize("width", [390, 768, 1440])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_is_wider_than_the_window_and_all_text_has_contrast(open_page, address, width, colours):
    page = open_page(address + "?item=/index&item=/news", width, color_scheme=colours)
    page.wait_for_selector(".ecm-chart canvas")
    scroll, window = page.evaluate(SIZES)
    assert scroll <= window == width
    assert page.evaluate(WIDER) == []
    assert page.evaluate(CONTRAST) == []


def test_colours_follow_the_system_until_someone_chooses(open_page, address):
    page = open_page(address, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(14, 18, 23)"
    page.locator(".ecm-theme").click()
    page.wait_for_function(f"{background} === 'rgb(245, 246, 248)'")
    page.reload()
    page.wait_for_function(f"{background} === 'rgb(245, 246, 248)'")


def test_the_keyboard_is_enough(open_page, address):
    page = open_page(address)
    page.wait_for_selector(".ecm-chart canvas")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.closest('section, .ecm-card, header')?.className ?? ''"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", reached
        if "ecm-busiest" in reached[-1]:
            break
    order = list(dict.fromkeys(reached))
    assert [name.split()[-1] for name in order] == ["ecm-header", "ecm-controls", "ecm-busiest"]
    page.keyboard.press("ArrowDown")
    second = page.locator(BUSIEST).nth(1).locator(".ecm-name").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(f".ecm-about .ecm-name:text-is('{second}')")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_every_control_has_a_name(open_page, address):
    page = open_page(address)
    nameless = """() => [...document.querySelectorAll("button, input, [role=img]")]
      .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML.slice(0, 80))"""
    assert page.evaluate(nameless) == []


def test_a_store_without_names_says_so_and_answers(open_page, serve, tmp_path):
    write(tmp_path / "plain", known_sketches(CONFIG.replace(heavy_hitters=False)))
    page = open_page(serve(tmp_path / "plain", tmp_path / "alerts").address)
    page.wait_for_selector(".ecm-busiest:has-text('keeps no names')")
    page.get_by_role("searchbox", name="Ask about any item").fill("/index")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ecm-about .ecm-name:text-is('/index')")
    assert page.locator(".ecm-about .ecm-count").inner_text() == "60"
