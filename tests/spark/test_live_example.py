"""`make live`: a log with floods is played, watched and shown, and Ctrl-C ends everything."""

from __future__ import annotations

import pytest

from live_example import FLOODED, ask, playing, wait_for

pytestmark = pytest.mark.slow


def test_a_flood_that_nobody_named_is_noticed_and_ctrl_c_ends_all(tmp_path):
    with playing(tmp_path) as (address, said):
        api = f"{address}/api/v1"
        wait_for(lambda: (ask(f"{api}/sites") or {}).get("sites"), 150)
        alerts = wait_for(
            lambda: [alert for alert in (ask(f"{api}/alerts") or {}).get("alerts", []) if alert["region"] == 1], 120
        )
        assert {alert["item"] for alert in alerts} == {FLOODED}
        assert alerts[0]["lower"] <= alerts[0]["value"] <= alerts[0]["upper"]
        assert alerts[0]["value"] > 3000
        assert sum(part["value"] for part in alerts[0]["sites"]) == alerts[0]["value"]
        top = wait_for(lambda: ask(f"{api}/top?k=1&last=5m"), 20)
        assert str(top["items"][0]["item"]) == FLOODED
        assert f"ALARM: page {FLOODED} has" in said()


@pytest.mark.parametrize("said", ["Writing a log", "Starting Spark"])
def test_ctrl_c_ends_it_while_it_starts(tmp_path, said):
    with playing(tmp_path) as (_, log):
        wait_for(lambda: said in log(), 60)
