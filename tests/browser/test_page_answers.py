"""The page shows what is in a store: the true busiest items, for every range and site; histories; comparisons."""

from __future__ import annotations

import pytest
from known_stores import BACKGROUND, EARLIER, LATELY, NOW, exact_top, known_sketches, write
from page_reading import BAND, chart_lines, choose_range, pick, rows, wait_for_first

from ecmsketch.alerts import AlertStore
from ecmsketch.monitor import Alert, Contribution


@pytest.fixture(scope="module")
def address(serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    write(folder / "store", known_sketches())
    alerts = [Alert(NOW - 500, 0, None, 10.0, 1), Alert(NOW - 100, 1, 0, 5321.0, 2)]
    AlertStore(folder / "alerts").append_once(alerts, "<b>flood</b>", 0)
    return serve(folder / "store", folder / "alerts").address


def test_the_true_top_five_and_the_totals_are_there_without_a_click(open_page, address):
    page = open_page(address)
    assert rows(page)[:5] == exact_top(LATELY, 5)
    total = sum(sum(site.values()) for site in LATELY.values())
    assert page.locator(".ecm-big").all_inner_texts()[0] == f"{total:,}"
    assert page.locator(".ecm-big").all_inner_texts()[2:] == ["2", "1 raised"]
    assert "<b>flood</b>: above the threshold" in page.locator(".ecm-alarms").inner_text()
    assert "1998-07-09 16:00:00 UTC" in page.locator(".ecm-status").inner_text()
    assert "wrong by at most 5 %" in page.locator(".ecm-facts").inner_text()


def test_an_alarm_about_an_item_names_it_with_its_value_and_sites(open_page, serve, tmp_path):
    write(tmp_path / "store", known_sketches())
    page = open_page(serve(tmp_path / "store", tmp_path / "alerts").address)
    page.wait_for_selector(".ecm-alarms:has-text('Nothing was noticed so far')")
    parts = tuple(Contribution(site, value) for site, value in (("berlin", 50.0), ("paris", 10.0)))
    raised = Alert(NOW, 1, 0, 60.0, 1, "/index", 58.0, 61.0, None, parts)
    AlertStore(tmp_path / "alerts").append_once([raised], "any page", 0)
    alarm = page.locator(".ecm-alarms li.alarm")
    alarm.wait_for(timeout=40_000)  # by itself, while the page is open
    assert "any page: /index: above the threshold" in alarm.inner_text()
    assert "value 60 (58 to 61) · at berlin 50, paris 10" in alarm.inner_text()
    assert page.locator(".ecm-big").all_inner_texts()[3] == "1 raised"
    assert rows(page)[0] == ("/index", 60)


def test_what_rose_and_fell(open_page, address):
    page = open_page(address)
    choose_range(page, "1h")
    page.wait_for_selector(".ecm-rows.up .ecm-name:text-is('/night')")
    assert "+700" in page.locator(".ecm-rows.up button").first.inner_text()


def test_range_and_sites_change_the_answers(open_page, address):
    page = open_page(address)
    choose_range(page, "1h")
    wait_for_first(page, "/night")
    both = {site: LATELY[site] | EARLIER[site] for site in LATELY}
    assert rows(page)[:5] == exact_top(both, 5)
    page.locator(".ecm-sites").click()
    page.get_by_label("Search sites").fill("PAR")
    page.locator(".ecm-site").get_by_text("paris").click()
    page.wait_for_selector(".ecm-sites:has-text('paris')")
    page.wait_for_function("document.querySelector('.ecm-busiest .ecm-count').textContent === '200'")
    assert rows(page)[:4] == exact_top({"paris": both["paris"]}, 4)
    assert "site=paris" in page.url
    assert "last=3600" in page.url


def test_the_slider_chooses_any_range(open_page, address):
    page = open_page(address)
    slider = page.locator(".ecm-range input")
    slider.focus()
    slider.press("End")
    page.wait_for_function("document.querySelector('.ecm-last').textContent === '1d'")
    wait_for_first(page, "/night")


def test_a_click_shows_the_history_with_its_band(open_page, address):
    page = open_page(address + "?last=86400")
    (everything,) = chart_lines(page)
    assert len(everything[0]) == 60
    wait_for_first(page, "/night")
    name = rows(page)[1][0]
    assert name.startswith("/page/")
    pick(page, name)
    page.wait_for_function(BAND, timeout=40_000)  # what came many hours ago is not counted exactly
    ((low, band, value),) = chart_lines(page)
    assert all(least <= middle <= least + wide + 0.02 for least, wide, middle in zip(low, band, value, strict=True))
    assert sum(low) + sum(band) >= 2 * BACKGROUND / 400, "upper bounds always hold"
    names = page.locator(".ecm-multiples li .ecm-name").all_inner_texts()
    assert sorted(names) == ["berlin", "paris"]


def test_the_band_of_an_item_named_beforehand_holds_the_truth(open_page, address):
    page = open_page(address + "?last=86400&item=/page/7")
    page.wait_for_function(BAND, timeout=40_000)
    ((low, band, _),) = chart_lines(page)
    assert sum(low) <= 2 * BACKGROUND / 400 <= sum(low) + sum(band)


def test_two_items_are_compared(open_page, address):
    page = open_page(address)
    pick(page, "/index")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("button", name="Now pick a second item").wait_for()
    pick(page, "/news")
    assert page.locator(".ecm-about .ecm-count").all_inner_texts() == ["60", "40"]
    page.wait_for_timeout(200)
    assert len(chart_lines(page)) == 2


def test_a_link_shows_the_same(open_page, address):
    page = open_page(address)
    choose_range(page, "1h")
    wait_for_first(page, "/night")
    pick(page, "/login")
    again = open_page(page.url)
    again.wait_for_selector(".ecm-about .ecm-name:text-is('/login')")
    assert rows(again) == rows(page)
    assert again.locator(".ecm-presets [aria-pressed=true]").inner_text() == "1h"


def test_any_item_can_be_asked_about(open_page, address):
    page = open_page(address)
    box = page.get_by_role("searchbox", name="Ask about any item")
    box.fill("/jobs")
    box.press("Enter")
    page.wait_for_selector(".ecm-about .ecm-name:text-is('/jobs')")
    assert page.locator(".ecm-about .ecm-count").inner_text() == "2"


def test_an_address_that_makes_no_sense_shows_the_page(open_page, address):
    page = open_page(address + "?last=nonsense&site=nowhere&item=&last=-4&item=%ff")
    assert rows(page)[:5] == exact_top(LATELY, 5)
