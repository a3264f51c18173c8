"""Rows that writers rejected, and late ones: in the API, in the metrics and on the page, also without a new version."""

from __future__ import annotations

import pytest
from served import HOSTILE, client, read, sketch_of, write
from test_served_metrics import samples

from ecmsketch.serve.page.choice import Range
from ecmsketch.serve.page.freshness import status
from ecmsketch.serve.page.page_model import PageModel
from ecmsketch.store import Rejected, SketchRow, SketchStore

NOTED = Rejected({"tick too far ahead": 1200, HOSTILE: 4}, late_counted=30, late_dropped=5)


@pytest.fixture
def live(tmp_path):
    write(tmp_path / "s")
    live = read(tmp_path / "s")
    SketchStore(tmp_path / "s").append([SketchRow("x", sketch_of([("a", 1_700_000_600)]))], rejected=NOTED)
    live._rejected_read = -1e9
    live.refresh()
    return live


def test_a_store_without_notes_rejected_nothing(known_store):
    live = read(known_store)
    found = client(live).get("/api/v1/rejected").json()
    assert (found["rows"], found["reasons"], found["late_dropped"], found["problem"]) == (0, [], 0, None)
    assert status(live.view(), None)["rejected"] == ""


def test_the_api_says_how_many_and_why(live):
    found = client(live).get("/api/v1/rejected").json()
    assert found["rows"] == 1204
    assert {each["reason"]: each["rows"] for each in found["reasons"]} == dict(NOTED.reasons)
    assert (found["late_counted"], found["late_dropped"]) == (30, 5)


def test_metrics_count_them_by_reason(live):
    found = samples(client(live).get("/metrics").text)
    assert found["ecmsketch_rejected_rows_total", ("reason", "tick too far ahead")] == 1200
    assert found["ecmsketch_rejected_rows_total", ("reason", HOSTILE)] == 4
    assert found["ecmsketch_late_rows_total", ("fate", "counted")] == 30
    assert found["ecmsketch_late_rows_total", ("fate", "dropped")] == 5


def test_the_page_says_it(live):
    assert status(live.view(), None)["rejected"] == "1,204 rejected"
    facts = {fact["term"]: fact["words"] for fact in PageModel(live).screen(live.view(), Range(60)).sure}
    assert facts["Not counted"].startswith("1,204 rows of the writers' input: tick too far ahead (1,200), <script>")
    assert facts["Not counted"].endswith("5 came too late.")


def test_rows_that_are_rejected_without_a_new_version_are_seen(live, tmp_path):
    version, stamp = live.view().version, PageModel(live).stamp()
    SketchStore(tmp_path / "s").append_once([], "w", 0, rejected=Rejected({"no item": 6}))
    live._rejected_read = -1e9
    live.refresh()
    assert live.view().rejected.rows == 1210
    assert PageModel(live).stamp() != stamp, "pages must be told"
    assert live.view().version >= version
