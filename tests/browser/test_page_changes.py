"""The page follows its store: new versions, a store that appears, is deleted, or is damaged."""

from __future__ import annotations

import shutil

from known_stores import known_sketches, write, write_more
from page_reading import rows, wait_for_first

BOXES = "[...document.querySelectorAll('.ecm-card')].map((e) => Object.values(e.getBoundingClientRect().toJSON()))"


def test_a_store_that_appears_changes_and_goes(open_page, serve, tmp_path):
    store = tmp_path / "store"
    page = open_page(serve(store, tmp_path / "alerts").address)
    notice = page.locator(".ecm-notice")
    assert "There is nothing to show yet" in notice.inner_text()
    assert not page.locator(".ecm-main").is_visible()

    write(store, known_sketches())
    wait_for_first(page, "/index")
    assert not notice.is_visible()
    boxes = page.evaluate(BOXES)
    write_more(store, "berlin", "/flood", 1000)
    wait_for_first(page, "/flood", timeout=40_000)
    assert rows(page)[0] == ("/flood", 1000)
    assert page.evaluate(BOXES) == boxes, "nothing may jump"
    assert "Live" in page.locator(".ecm-status").inner_text()

    shutil.rmtree(store)
    page.wait_for_selector(".ecm-notice:has-text('cannot be read')", timeout=40_000)
    assert rows(page)[0] == ("/flood", 1000), "the last good answers stay"
    assert "Stale" in page.locator(".ecm-status").inner_text()

    write(store, known_sketches())
    wait_for_first(page, "/index")
    page.wait_for_selector(".ecm-notice", state="hidden")

    (newest,) = sorted((store / "_delta_log").glob("*.json"))[-1:]
    newest.with_name(f"{int(newest.stem) + 1:020}.json").write_bytes(newest.read_bytes()[:40])
    page.wait_for_selector(".ecm-notice:has-text('cannot be read')", timeout=40_000)
    assert str(store) in page.locator(".ecm-notice").inner_text()
