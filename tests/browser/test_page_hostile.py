"""Items and names of sites are text from outside: the page shows them as text, whatever is in them."""

from __future__ import annotations

import pytest
from known_stores import CONFIG, NOW, write
from page_reading import BUSIEST, pick, rows

import ecmsketch as ecm
from ecmsketch.alerts import AlertStore
from ecmsketch.monitor import Alert

SCRIPT, IMAGE, BRACES, RAW = "<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "{{ 7 * 7 }}", "`${alert(3)}`"
LONG = "0123456789" * 1000
CONTROLS = "\u202egnp.exe\x1b[31m"
ITEMS = {SCRIPT: 90, IMAGE: 80, BRACES: 70, RAW: 60, LONG: 50, CONTROLS: 40, "</script><b>x": 30, ":onclick": 20}


@pytest.fixture(scope="module")
def address(serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    sketches = {}
    for site in (SCRIPT, IMAGE, "s" * 5000):
        sketch = ecm.EcmSketch(CONFIG)
        for item, count in ITEMS.items():
            sketch.update_many([item] * count, [NOW] * count)
        sketches[site] = sketch
    write(folder / "store", sketches)
    AlertStore(folder / "alerts").append_once([Alert(NOW, 1, 0, 1.0, 1)], IMAGE, 0)
    return serve(folder / "store", folder / "alerts").address


def test_everything_is_shown_as_text(open_page, address):
    page = open_page(address)
    names = [name for name, _ in rows(page)]
    assert names[:4] == [SCRIPT, IMAGE, BRACES, RAW]
    assert names[4] == LONG[:119] + "…"
    assert names[5] == "\\u202egnp.exe\\x1b[31m"
    for item in (SCRIPT, IMAGE, BRACES):
        pick(page, item)
    sites = page.locator(".ecm-multiples li .ecm-name").all_inner_texts()
    assert {SCRIPT, IMAGE} <= set(sites)
    assert page.locator("img, main script, main b:not(.ecm-bar b)").count() == 0
    page.locator(".ecm-sites").click()
    page.locator(".ecm-site").get_by_text(SCRIPT).click()
    page.wait_for_selector(f".ecm-sites:has-text('{SCRIPT}')")
    page.wait_for_function("document.querySelector('.ecm-busiest .ecm-count').textContent === '90'")
    again = open_page(page.url)
    assert rows(again)[0] == (SCRIPT, 90)


def test_the_whole_text_of_a_long_item_is_there_on_demand(open_page, address):
    page = open_page(address)
    page.locator(BUSIEST).nth(4).click()
    page.get_by_role("button", name="whole text").click()
    assert page.locator(".ecm-whole pre").inner_text() == LONG
    page.keyboard.press("Escape")
    page.wait_for_selector(".ecm-whole", state="detached")
    assert len(page.url) < 3000
