"""What the page shows, without a browser: against exact counts, for every kind of store, and made once for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from served import BEGIN, HOSTILE, SITES, exact, read, write
from starlette.datastructures import QueryParams

import ecmsketch as ecm
from ecmsketch.alerts import AlertStore
from ecmsketch.monitor import Alert, Contribution
from ecmsketch.serve.page.choice import Choice, Range, first_range, presets
from ecmsketch.serve.page.freshness import notice, status
from ecmsketch.serve.page.page_model import PageModel, matching_sites, site_of
from ecmsketch.serve.page.wording import key_of
from ecmsketch.store import SketchRow, SketchStore


@pytest.fixture
def model(known_store):
    return PageModel(read(known_store))


def named(listing):
    return [(listing.items[row["key"]], row["value"]) for row in listing.rows]


@pytest.mark.parametrize("sites", [(), ("berlin",), ("berlin", HOSTILE)])
@pytest.mark.parametrize("last", [60, 300, 3600])
def test_the_busiest_items_are_the_true_ones(model, sites, last):
    screen = model.screen(model.live.view(), Range(last, sites))
    truth = exact(sites or SITES, since=600 - last)
    found = {item: int(value.replace(",", "")) for item, value in named(screen.busiest)}
    assert found == dict(truth)
    values = list(found.values())
    assert values == sorted(values, reverse=True)
    assert screen.tiles[0]["value"] == f"{truth.total():,}"
    assert sum(screen.tiles[0]["points"]) <= truth.total()


def test_what_rose_and_fell_is_true(model):
    screen = model.screen(model.live.view(), Range(250))
    newer, older = exact(since=350), exact(since=100, until=350)
    for listing, sign in ((screen.risen, 1), (screen.fallen, -1)):
        for item, value in named(listing):
            change = newer[item] - older[item]
            assert sign * change > 0
            assert value == f"{'+' if sign > 0 else '−'}{abs(change)}"


def test_bars_and_whiskers_lie_inside_their_list(model):
    for row in model.screen(model.live.view(), Range(3600)).busiest.rows:
        assert 0 <= row["low"] <= row["bar"] <= row["high"] <= 1


def test_silent_sites_are_counted(model):
    (tile,) = [tile for tile in model.screen(model.live.view(), Range(60)).tiles if "speak" in tile["label"]]
    assert (tile["value"], tile["note"]) == ("2", "of 3; 1 silent in the range")


def test_a_history_adds_up_and_lies_in_its_band(model):
    view = model.live.view()
    found = model.histories(view, Range(600), ("/1", "/2"))
    assert found.problem is None
    for text, line in zip(("/1", "/2"), found.chart["lines"], strict=True):
        assert sum(line["value"]) == exact()[text]
        assert all(
            low <= value <= high for low, value, high in zip(line["low"], line["value"], line["high"], strict=True)
        )
    assert [subject["value"] for subject in found.subjects] == [str(exact()["/1"]), str(exact()["/2"])]
    assert {site["text"]: int(site["value"]) for site in found.sites if site["text"] in SITES} == {
        site: exact((site,))["/1"] for site in ("berlin", "paris") if exact((site,))["/1"]
    }


def test_an_item_of_the_wrong_kind_is_a_message(tmp_path):
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100))
    sketch.update_many([1, 2, 3], [1, 2, 3])
    SketchStore(tmp_path / "numbers").append([SketchRow("a", sketch)])
    model = PageModel(read(tmp_path / "numbers"))
    found = model.histories(model.live.view(), Range(10), ("seven",))
    assert "expected integer" in found.problem
    assert found.subjects[0]["text"] == "seven"


def test_a_screen_is_made_once_however_many_look(model, monkeypatch):
    view, asked = model.live.view(), Range(123)
    with ThreadPoolExecutor(20) as threads:
        screens = set(map(id, threads.map(lambda _: model.screen(view, asked), range(100))))
    assert len(screens) == 1
    assert model.shared.made == 1


def test_a_new_version_changes_the_stamp_and_the_screen(tmp_path):
    write(tmp_path / "store", until=300)
    live = read(tmp_path / "store")
    model = PageModel(live)
    stamp, first = model.stamp(), model.screen(live.view(), Range(3600))
    live.refresh()
    assert model.stamp() == stamp
    write(tmp_path / "store", batch=1)
    live.refresh()
    assert model.stamp() != stamp
    second = model.screen(live.view(), Range(3600))
    assert second.tiles[0]["value"] == f"{exact().total():,}" != first.tiles[0]["value"]


def test_a_new_alert_changes_the_stamp_and_is_listed_as_text(tmp_path, known_store):
    alerts = AlertStore(tmp_path / "alerts")
    live = read(known_store, tmp_path / "alerts")
    model = PageModel(live)
    stamp = model.stamp()
    assert model.screen(live.view(), Range(60)).tiles[3]["value"] == "–"
    alerts.append_once([Alert(BEGIN, 0, None, 1.0, 1), Alert(BEGIN + 9, 1, 0, 77.0, 2)], HOSTILE, 0)
    live.refresh()
    assert model.stamp() != stamp
    screen = model.screen(live.view(), Range(60))
    assert screen.tiles[3]["value"] == "1 raised"
    assert [row["when"] for row in screen.alarms] == ["2023-11-14 22:13:29 UTC"]
    assert screen.alarms[0]["text"].startswith("<script>alert(1)</script>\\n")
    alerts.append_once([Alert(BEGIN + 20, 0, 1, 3.0, 3)], HOSTILE, 1)
    live.refresh()
    assert model.screen(live.view(), Range(60)).tiles[3]["value"] == "None"


def test_numbers_have_quantiles_within_their_bounds(tmp_path):
    numbers = np.random.default_rng(3).integers(0, 1000, 5000)
    sketch = ecm.PrefixSketch(ecm.SketchConfig(epsilon=0.01, delta=0.01, window=10_000), bits=16)
    sketch.update_many(numbers, np.arange(5000))
    SketchStore(tmp_path / "numbers").append([SketchRow("a", sketch)])
    model = PageModel(read(tmp_path / "numbers"))
    screen = model.screen(model.live.view(), Range(10_000))
    row = screen.quantiles.rows[0]
    assert row["text"] == "50%"
    assert abs(int(row["value"].replace(",", "")) - np.median(numbers)) < 30
    assert screen.risen.rows == []


@pytest.mark.parametrize("config", [{"model": "count"}, {"unit": None}, {"heavy_hitters": False}, {"counter": "eh"}])
def test_every_kind_of_store_has_a_page(tmp_path, config):
    given = {"epsilon": 0.1, "delta": 0.1, "window": 1000, "unit": "s", "heavy_hitters": True, **config}
    if config.get("model") == "count":
        given["unit"] = None
    sketch = ecm.EcmSketch(ecm.SketchConfig(**given))
    sketch.update_many(["a", "b", "a"], None if config.get("model") == "count" else [1, 2, 3])
    SketchStore(tmp_path / "store").append([SketchRow("a", sketch)])
    model = PageModel(read(tmp_path / "store"))
    view = model.live.view()
    asked = model.asked(view, Choice())
    screen = model.screen(view, asked)
    assert screen.tiles[0]["value"] == "3"
    assert bool(screen.busiest.rows) == given["heavy_hitters"]
    assert model.histories(view, asked, ("a",)).subjects[0]["value"] == "2"
    assert status(view, None)["state"] == "live"


def test_problems_are_said(tmp_path):
    live = read(tmp_path / "nowhere")
    assert status(live.view(), live.problem)["state"] == "waiting"
    assert "there is no store here" in notice(live.view(), live.problem)["words"]
    write(tmp_path / "nowhere")
    live.refresh()
    assert notice(live.view(), live.problem) is None
    gone = notice(live.view(), "gone")
    assert gone["words"] == "gone"
    assert "version 0" in gone["advice"] or "version 1" in gone["advice"]
    assert status(live.view(), "gone")["state"] == "stale"


def test_sites_are_found_by_parts_of_their_names(model):
    view = model.live.view()
    rows, more = matching_sites(view, "AR", ("berlin",))
    assert ([row["text"] for row in rows], more) == (["paris"], "")
    rows, _ = matching_sites(view, "", ("paris",))
    assert [row["on"] for row in rows] == [True, False, False]
    assert site_of(view, rows[0]["key"]) == "paris"
    assert site_of(view, key_of("nowhere")) is None
    assert matching_sites(view, "nowhere", ())[1] == "No site has this in its name."


def test_choices_survive_their_address():
    choice = Choice(300, (HOSTILE, "b"), "a&b=ü", "<x>")
    assert Choice.of(QueryParams(choice.address[1:])) == choice
    assert Choice.of(QueryParams("last=x&site=&item=")) == Choice(None, ("",))
    assert "item" not in Choice(item="x" * 5000).address
    assert choice.toggled("b").sites == (HOSTILE,)


def test_ranges_stay_inside_the_window():
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=7200, unit="s")
    assert [preset["text"] for preset in presets(config)] == ["1m", "5m", "15m", "1h", "2h"]
    assert Choice(10**15).range_of(config, frozenset()) == Range(7200)
    assert first_range(config) == 300
    plain = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=50)
    assert [preset["text"] for preset in presets(plain)] == ["10", "50"]
    assert first_range(plain) == 5


def test_answers_of_older_versions_are_dropped(tmp_path):
    write(tmp_path / "s")
    live = read(tmp_path / "s")
    model = PageModel(live)
    for batch in range(1, 6):
        for last in (60, 300):
            model.answer(live.view(), Range(last), ())
            assert model.known(live.view(), Range(last), ()) is not None
        assert len(model.shared.known()) == 4, "only those of the newest version"
        write(tmp_path / "s", batch=batch, until=600 + batch)
        live.refresh()


def test_alarms_about_items_name_them_with_bounds_and_sites(tmp_path, known_store):
    store = AlertStore(tmp_path / "alerts")
    sites = tuple(Contribution(site, 40.0 - place) for place, site in enumerate([HOSTILE, "paris", "berlin", "oslo"]))
    raised = Alert(BEGIN, 1, 0, 5120.0, 1, item="<b>/x", lower=5000.0, upper=5300.0, share=0.12, sites=sites)
    store.append_once([raised, Alert(BEGIN, 1, 0, 9.0, 1, item="/y", lower=8.0, upper=9.5)], "any", 0)
    store.append_once([Alert(BEGIN + 1, 0, 1, 1.0, 2, item="/y", lower=0.0, upper=2.0)], "any", 1)
    live = read(known_store, tmp_path / "alerts")
    screen = PageModel(live).screen(live.view(), Range(60))
    assert screen.tiles[3]["value"] == "1 raised", "that /y is calm again says nothing about /x"
    assert screen.alarms[0]["text"] == "any: /y: back to normal"
    (row,) = [row for row in screen.alarms if "/x" in row["text"]]
    assert row["text"] == "any: <b>/x: above the threshold"
    assert row["note"].startswith("value 5,120 (5,000 to 5,300) · 12 % of all · at <script>alert(1)</script>\\n")
    assert row["note"].endswith("paris 39, berlin 38 and 1 more")
