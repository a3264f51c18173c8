"""`make live` in a browser: a flood that nobody named is on the page together with the alarm that names it."""

from __future__ import annotations

import re

import pytest
from page_reading import rows, wait_for_first

from live_example import FLOODED, ask, playing, wait_for


@pytest.mark.slow
def test_the_alarm_names_the_flood_that_the_page_shows(open_page, tmp_path):
    with playing(tmp_path) as (address, _):
        wait_for(lambda: (ask(f"{address}/api/v1/sites") or {}).get("sites"), 150)
        page = open_page(address)
        assert FLOODED not in dict(rows(page)), "before the flood nobody knows it"
        alarm = page.locator(".ecm-alarms li.alarm").first
        alarm.wait_for(timeout=150_000)
        wait_for_first(page, FLOODED, timeout=40_000)
        assert f"{FLOODED}: above the threshold" in alarm.inner_text()
        value = re.search(r"value ([\d,]+) \([\d,]+ to [\d,]+\) · at server \d+ [\d,]+, server", alarm.inner_text())
        assert value is not None, alarm.inner_text()
        assert int(value[1].replace(",", "")) > 3000
        assert page.locator(".ecm-big").all_inner_texts()[3] == "1 raised"
        page.screenshot(path=tmp_path / "flood.png", full_page=True)
        page.close()  # it would complain that the server is gone
