"""The API against exact counts of a known store."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from served import BEGIN, HOSTILE, SITES, client, config, exact, read, write

import ecmsketch as ecm
from ecmsketch.alerts import AlertStore
from ecmsketch.monitor import Alert
from ecmsketch.store import SketchRow, SketchStore


def ask(api, question, **parameters):
    response = api.get(f"/api/v1/{question}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def is_about(answer, since, until, sites=3, now=600):
    moment = datetime.fromtimestamp(BEGIN + until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert (answer["range"]["since"], answer["range"]["until"]) == (BEGIN + since, BEGIN + until)
    assert answer["range"]["until_time"] == moment
    assert (answer["as_of"]["version"], answer["as_of"]["now"], answer["as_of"]["stale"]) == (1, BEGIN + now, False)
    assert answer["sites"] == sites


def covers(answer, count):
    return answer["lower"] <= count <= answer["upper"] and answer["value"] == count and answer["confidence"] == 1


RANGES = [
    ({}, -3000, 600),
    ({"last": "100"}, 500, 600),
    ({"last": "5m"}, 300, 600),
    ({"between": f"{BEGIN + 100},{BEGIN + 250}"}, 100, 250),
    ({"between": "2023-11-14T22:15:00Z,2023-11-14T22:20:00+00:00"}, 100, 400),
]
CHOICES = [SITES, ("berlin",), (HOSTILE,), ("paris", HOSTILE)]


@pytest.mark.parametrize("sites", CHOICES)
@pytest.mark.parametrize(("range_", "since", "until"), RANGES)
def test_total_estimate_top_and_self_join_are_exact(api, sites, range_, since, until):
    counts = exact(sites, since, until)
    where = {**range_, **({} if sites == SITES else {"site": list(sites)})}
    total = ask(api, "total", **where)
    is_about(total, since, until, len(sites))
    assert covers(total, counts.total())
    asked = ask(api, "estimate", item=["/1", "/2", "/nosuch"], **where)
    is_about(asked, since, until, len(sites))
    assert [each["item"] for each in asked["items"]] == ["/1", "/2", "/nosuch"]
    assert all(covers(each, counts[each["item"]]) for each in asked["items"])
    listed = ask(api, "top", k=3, **where)
    best = sorted(counts.values(), reverse=True)[:3]
    assert [each["value"] for each in listed["items"]] == best
    assert all(covers(each, counts[each["item"]]) for each in listed["items"])
    assert listed["total"]["value"] == counts.total()
    join = ask(api, "self_join", **where)
    assert covers(join, sum(count * count for count in counts.values()))


def test_an_idle_site_is_asked_about_the_same_ticks_as_the_others(api):
    answer = ask(api, "total", site=HOSTILE, last="300")
    is_about(answer, 300, 600, 1)
    assert answer["value"] == 0  # its own last 300 ticks would hold 300 arrivals


def test_heavy_hitters(api):
    counts = exact(since=300)
    found = ask(api, "heavy_hitters", phi=0.2, last="5m")
    assert {each["item"] for each in found["items"]} == {
        item for item, count in counts.items() if count >= 0.2 * counts.total()
    }
    assert len(ask(api, "heavy_hitters", phi=0.05, k=1)["items"]) == 1


@pytest.mark.parametrize("by", ["change", "rise", "fall"])
def test_heavy_changes(api, by):
    newer, older = exact(since=400), exact(since=100, until=400)
    found = ask(api, "heavy_changes", last="200", before="300", by=by, k=5)
    is_about(found, 400, 600)
    assert (found["before"]["since"], found["before"]["until"]) == (BEGIN + 100, BEGIN + 400)
    changes = {item: newer[item] - older[item] for item in newer | older}
    sign = {"change": abs, "rise": lambda change: change, "fall": lambda change: -change}[by]
    best = sorted((sign(change) for change in changes.values() if sign(change) > 0), reverse=True)[:5]
    assert [sign(each["value"]) for each in found["items"]] == best
    for each in found["items"]:
        assert covers(each, changes[each["item"]])
        assert covers(each["newer"], newer[each["item"]])
        assert covers(each["older"], older[each["item"]])


@pytest.mark.parametrize("steps", [{"steps": 6}, {"step": "100"}, {"step": "100s"}])
def test_history(api, steps):
    found = ask(api, "history", item="/1", last="10m", **steps)
    assert (found["step"], len(found["steps"])) == (100, 6)
    for number, step in enumerate(found["steps"]):
        assert (step["since"], step["until"]) == (BEGIN + 100 * number, BEGIN + 100 * number + 100)
        assert covers(step, exact(since=100 * number, until=100 * number + 100)["/1"])


def test_sites_say_what_the_store_promises(api):
    answer = ask(api, "sites")
    assert answer["sites"] == sorted(SITES)
    assert (answer["epsilon"], answer["window"], answer["unit"], answer["names"]) == (0.01, 3600, "s", True)
    assert (answer["kind"], answer["items"]) == ("EcmSketch", ["t"])


def test_certain_bounds_can_be_asked_for(api):
    assert ask(api, "estimate", item="/1", confidence=1)["items"][0]["confidence"] == 1


def test_quantiles_of_numbers(tmp_path):
    numbers = np.arange(1000) % 256
    sketch = ecm.PrefixSketch(config(heavy_hitters=False), bits=8)
    sketch.update_many(numbers, BEGIN + np.arange(1000))
    SketchStore(tmp_path / "s").append([SketchRow("x", sketch)])
    api = client(read(tmp_path / "s"))
    found = ask(api, "quantile", q=[0.5, 0.99])
    for each in found["quantiles"]:
        truth = np.quantile(numbers, each["share"], method="inverted_cdf")
        assert each["lower"] <= truth <= each["upper"]
    assert ask(api, "estimate", item="7")["items"][0]["item"] == 7
    assert ask(api, "sites")["names"] is False
    assert len(ask(api, "history", item="7", steps=3)["steps"]) == 3
    for question in ("top", "self_join", "heavy_changes?last=10"):
        answer = api.get(f"/api/v1/{question}")
        assert answer.status_code == 422
        assert "PrefixSketches" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("items", "asked", "found"),
    [
        ([7, 7, 8], "7", [7]),
        (["7", "7", "8"], "7", ["7"]),
        ([("a", 1), ("a", 1), ("b", 2)], "a,1", [["a", 1]]),
        ([("a", 1), ("a", 1), ("b", 2)], '["a", 1]', [["a", 1]]),
    ],
)
def test_the_kind_of_the_items_decides_how_a_text_is_read(tmp_path, items, asked, found):
    sketch = ecm.EcmSketch(config())
    for item in items:
        sketch.update(item, BEGIN)
    SketchStore(tmp_path / "s").append([SketchRow("x", sketch)])
    api = client(read(tmp_path / "s"))
    answer = ask(api, "estimate", item=asked)["items"]
    assert [each["item"] for each in answer] == found
    assert answer[0]["value"] == 2
    top = ask(api, "top", k=1)["items"][0]
    assert ask(api, "estimate", item=top["text"])["items"][0]["value"] == 2


def test_a_store_that_counts_arrivals(tmp_path):
    sketch = ecm.EcmSketch(config(model="count", unit=None, window=100, heavy_hitters=False))
    sketch.update_many(["a", "b"] * 100, None)
    SketchStore(tmp_path / "s").append([SketchRow("x", sketch)])
    api = client(read(tmp_path / "s"))
    answer = ask(api, "estimate", item="a", last="50")
    assert (answer["range"]["since"], answer["range"]["until"]) == (150, 200)
    assert answer["range"]["until_time"] is None
    assert abs(answer["items"][0]["value"] - 25) <= 1


def test_alerts_are_listed_in_order_and_limited(tmp_path, known_store):
    store = AlertStore(tmp_path / "alerts")
    for batch in range(5):
        store.append_once([Alert(BEGIN + batch, batch % 2, None, 10.0 * batch, batch)], "m", batch)
    api = client(read(known_store, tmp_path / "alerts"))
    found = ask(api, "alerts", limit=3)
    assert [alert["value"] for alert in found["alerts"]] == [20.0, 30.0, 40.0]
    assert found["hidden"] == 2
    assert found["alerts"][0]["time"] == "2023-11-14T22:13:22Z"
    assert ask(api, "alerts", monitor="other")["alerts"] == []


def test_a_table_of_alerts_that_is_not_there_yet_has_none(tmp_path, known_store):
    live = read(known_store, tmp_path / "alerts")
    assert (live.alerts_problem, live.view().alerts()) == (None, ())
    AlertStore(tmp_path / "alerts").append_once([Alert(1, 1, None, 1.0, 1)], "m", 0)
    live.refresh()
    assert len(live.view().alerts()) == 1


def test_answers_are_those_of_the_newest_version(tmp_path):
    write(tmp_path / "s", until=100)
    live = read(tmp_path / "s")
    api = client(live)
    assert ask(api, "total")["value"] == exact(written=100, until=100).total()
    write(tmp_path / "s", batch=1)
    live.refresh()
    answer = ask(api, "total")
    assert (answer["value"], answer["as_of"]["version"]) == (exact().total(), 2)
