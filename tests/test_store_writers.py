"""Several writers of one store: which rows count, whatever their clocks say, before and after compacting."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.alerts import AlertStore, alert_store
from ecmsketch.alerts.alert_store import SCHEMA as ALERTS
from ecmsketch.errors import StoreError
from ecmsketch.monitor import Alert, Contribution
from ecmsketch.store import SketchRow, SketchStore, given_rows

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=100_000)


class Clock(datetime):
    """The clock of the machine that writes."""

    minutes = 0

    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(minutes=cls.minutes)


@pytest.fixture
def clock(monkeypatch):
    for module in (given_rows, alert_store):
        monkeypatch.setattr(module, "datetime", Clock)
    Clock.minutes = 0
    return Clock


@pytest.fixture
def store(tmp_path):
    return SketchStore(tmp_path / "sketches")


def sketch(events):
    """A sketch of {item: ticks}."""
    made = ecm.EcmSketch(CONFIG)
    pairs = sorted((tick, item) for item, ticks in events.items() for tick in ticks)
    made.update_many([item for _, item in pairs], [tick for tick, _ in pairs])
    return made


def snapshot(site, events):
    return SketchRow(site, sketch(events), part="snapshot")


def total(store, site="x"):
    return store.latest()[site].total().value


class TestTwoQueries:
    def test_what_they_count_of_one_site_is_united(self, store):
        store.append_once([snapshot("x", {1: range(100)})], "web", 0)
        store.append_once([snapshot("x", {1: range(50, 57)}), snapshot("y", {2: [3]})], "mail", 0)
        assert total(store) == 107
        assert store.read("x").total().value == 107
        assert store.compact().rows_after == 3
        assert total(store) == 107
        store.append_once([snapshot("x", {1: range(60)})], "mail", 1)
        assert total(store) == 160
        assert total(store, "y") == 1

    def test_a_snapshot_leaves_segments_of_others_as_they_are(self, store):
        store.append([SketchRow("x", sketch({1: [1, 2, 3]}))])
        store.append_once([SketchRow("x", sketch({1: [4]}))], "job", 0)
        store.append_once([snapshot("x", {1: range(10, 20)})], "web", 0)
        assert total(store) == 14
        store.append_once([snapshot("x", {1: range(10)})], "job", 1)
        assert total(store) == 23
        store.compact()
        assert total(store) == 23

    def test_segments_of_two_writers_are_not_joined(self, store):
        store.append_once([SketchRow("x", sketch({1: [1]}))], "a", 0)
        store.append_once([SketchRow("x", sketch({1: [2]}))], "b", 0)
        store.append_once([SketchRow("x", sketch({1: [3]}))], "b", 1)
        assert store.compact().rows_after == 2
        assert [(row.writer, row.generation, row.batch) for row in store.history("x")] == [("a", 1, 0), ("b", 1, 1)]
        store.append_once([snapshot("x", {1: [2, 3, 4]})], "b", 2)
        assert total(store) == 4

    def test_joining_keeps_the_order_of_count_based_rows(self, store):
        config = CONFIG.replace(model="count")
        for i, writer in enumerate(("a", "b", "b", "a")):
            part = ecm.EcmSketch(config)
            part.update_many([i] * 5)
            store.append_once([SketchRow("x", part)], writer, i)
        before = store.latest()["x"]
        assert store.compact().rows_after == 3
        assert store.latest()["x"] == before

    def test_a_writer_can_be_forgotten(self, store):
        """A query that was renamed counts all again under its new name."""
        store.append_once([snapshot("x", {1: range(10)})], "it's web", 0)
        store.append_once([snapshot("x", {1: range(12)}), snapshot("y", {1: [1]})], "web", 0)
        store.append([SketchRow("x", sketch({1: [20]}))])
        assert total(store) == 23
        store.forget("it's web")
        assert total(store) == 13
        assert store.sites() == ["x", "y"]


class TestGenerations:
    def test_a_new_one_is_written_anew_and_replaces_the_sites_it_has_written(self, store):
        rows = [snapshot("x", {1: range(10)}), snapshot("y", {1: range(5)})]
        assert store.append_once(rows, "web", 0, generation="old")
        assert store.append_once([snapshot("x", {1: range(20)})], "web", 1, generation="old")
        assert store.append_once([snapshot("x", {1: range(3)})], "web", 0, generation="new")
        assert not store.append_once([snapshot("x", {1: range(4)})], "web", 0, generation="new")
        assert (total(store), total(store, "y")) == (3, 5)
        assert store.compact().rows_after == 2
        assert (total(store), total(store, "y")) == (3, 5)
        assert [(row.writer, row.generation, row.batch) for row in store.history("y")] == [("web", 1, 0)]

    def test_segments_too(self, store):
        for generation, ticks in (("old", [1, 2]), ("old", [3]), ("new", [1])):
            batch = int(ticks == [3])
            assert store.append_once([SketchRow("x", sketch({1: ticks}))], "job", batch, generation=generation)
        assert total(store) == 1

    def test_an_older_one_is_refused_as_soon_as_a_newer_one_has_written(self, store):
        store.append_once([snapshot("x", {1: range(10)})], "web", 0, generation="old")
        store.append_once([snapshot("x", {1: range(3)})], "web", 0, generation="new")
        with pytest.raises(StoreError, match=r"generation 'old' of 'web' may not write .* names of their own"):
            store.append_once([snapshot("x", {1: range(11)})], "web", 1, generation="old")
        assert not store.append_once([], "web", 0, generation="old")  # done again after a crash
        assert store.append_once([snapshot("x", {1: range(4)})], "web", 1, generation="new")
        assert total(store) == 4

    def test_names_that_look_alike_are_not_mixed_up(self, store):
        pairs = [("a", "b/c"), ("a/b", "c"), ("a", "b"), ('a", "b', ""), ("a b", "")]
        for i, (writer, generation) in enumerate(pairs):
            assert store.append_once([snapshot("x", {i: [1]})], writer, 0, generation=generation)
        assert total(store) == 4  # of those of "a" the newer one


class TestClocks:
    def test_one_that_is_set_back_changes_nothing(self, store, clock):
        store.append_once([snapshot("x", {1: range(10)})], "web", 0)
        clock.minutes = -10
        store.append_once([snapshot("x", {1: range(20)})], "web", 1)
        assert total(store) == 20
        assert store.compact().rows_after == 1
        assert total(store) == 20
        clock.minutes = -20
        store.append_once([snapshot("x", {1: range(5)})], "web", 0, generation="new")
        assert total(store) == 5
        store.compact()
        assert total(store) == 5
        assert store.history("x")[0].written == clock.now()

    def test_rows_without_a_writer(self, store, clock):
        store.append([SketchRow("x", sketch({1: [1, 2]}))])
        clock.minutes = -10
        store.append([snapshot("x", {1: range(1, 5)})])
        assert total(store) == 4
        clock.minutes = -20
        store.append([SketchRow("x", sketch({1: [3]}))])
        assert total(store) == 5
        store.compact()
        assert total(store) == 5


class TestAlerts:
    def test_a_new_generation_is_written_though_the_clock_was_set_back(self, tmp_path, clock):
        store = AlertStore(tmp_path / "alerts")
        alert = Alert(tick=5, region=1, previous=0, value=2.0, epoch=1)
        assert store.append_once([alert], "flood", 3, generation="old")
        assert not store.append_once([alert], "flood", 3, generation="old")
        clock.minutes = -10
        assert store.append_once([alert], "flood", 0, generation="new")
        assert [(row["generation"], row["batch"]) for row in store.read("flood")] == [(1, 3), (2, 0)]
        with pytest.raises(StoreError, match="may not write"):
            store.append_once([alert], "flood", 4, generation="old")

    def test_alerts_about_items_say_which_and_where(self, tmp_path):
        store = AlertStore(tmp_path / "alerts")
        sites = (Contribution("paris", 7.0), Contribution("lyon", 3.0))
        named = Alert(5, 1, 0, 10.0, 1, ("10.0.0.1", 443), 8.0, 11.0, None, sites)
        store.append_once([named, Alert(6, 0, 1, 2.0, 2), named._replace(item=b"\xff")], "flood", 0)
        first, binary, plain = store.read()
        assert (first["item"], first["lower"], first["upper"], first["share"]) == ("10.0.0.1,443", 8.0, 11.0, None)
        assert first["sites"] == [{"site": "paris", "value": 7.0}, {"site": "lyon", "value": 3.0}]
        assert binary["item"] == r"\xff"
        assert (plain["item"], plain["sites"], plain["lower"]) == (None, None, None)

    def test_tables_of_earlier_versions_are_read_and_written(self, tmp_path):
        path = str(tmp_path / "alerts")
        old = pa.schema([field for field in ALERTS if field.name not in ("item", "lower", "upper", "share", "sites")])
        row = {"monitor": "m", "generation": 1, "batch": 0, "tick": 4, "region": 1, "previous": 0, "value": 1.0}
        write_deltalake(path, pa.Table.from_pylist([{**row, "epoch": 1, "written": datetime.now(UTC)}], old))
        store = AlertStore(path)
        assert [(alert["tick"], alert["item"], alert["sites"]) for alert in store.read()] == [(4, None, None)]
        assert store.append_once([Alert(5, 1, 0, 9.0, 2, "x", 8.0, 9.0)], "m", 1, generation="new")
        assert [(alert["tick"], alert["item"]) for alert in AlertStore(path).read("m")] == [(4, None), (5, "x")]


class Oracle:
    """What is live, kept up with every append, as plain counts."""

    def __init__(self):
        self.streams = {}

    def append(self, site, writer, generation, part, end, counts):
        known, rows = self.streams.get((site, writer), (generation, []))
        if generation != known:
            rows = []
        if part == "snapshot":
            rows = [row for row in rows if row[0] == "segment" and row[1] > end]
        self.streams[site, writer] = generation, [*rows, (part, end, counts)]

    def latest(self):
        sites = {}
        for (site, _), (_, rows) in self.streams.items():
            for _, _, counts in rows:
                sites.setdefault(site, Counter()).update(counts)
        return sites


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["segment", "segment", "snapshot", "snapshot", "anew", "compact", "compact old", "vacuum"]),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from(["x", "y"]),
        st.integers(0, 3),
        st.integers(-60, 60),
    ),
    min_size=3,
    max_size=10,
)


@given(STEPS)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_history_means_what_it_says(tmp_path_factory, monkeypatch_module, steps):
    """Against an oracle that never compacts. A snapshot knows all that its writer's generation counted of the site."""
    store = SketchStore(tmp_path_factory.mktemp("store") / "sketches", create=True)
    oracle, seen, batches, generations, ticks = Oracle(), {}, count(), {"a": 0, "b": 0, None: 0}, count(0, 10)
    for kind, writer, site, item, minutes in steps:
        Clock.minutes = minutes
        tick = next(ticks)
        if kind in ("segment", "snapshot"):
            key = site, writer, generations[writer]
            new = {item: [tick - 15 if kind == "segment" and item == 3 else tick]}
            counted = seen.setdefault(key, {})
            for name, when in new.items():
                counted.setdefault(name, []).extend(when)
            events = new if kind == "segment" else counted
            row = SketchRow(site, sketch(events), part=kind)
            if writer is None:
                store.append([row], again=True)
            else:
                assert store.append_once([row], writer, next(batches), generation=str(generations[writer]))
            counts = Counter({name: len(when) for name, when in events.items()})
            oracle.append(site, writer, generations[writer], kind, row.sketch.now, counts)
        elif kind == "anew" and writer is not None:
            generations[writer] += 1
        elif kind == "compact":
            store.compact()
        elif kind == "compact old":
            store.compact(before_tick=tick // 2)
        elif kind == "vacuum":
            store.vacuum(0, force=True)
    check(store, oracle)
    ranges = {site: read_all(store, site) for site in store.sites()}
    store.compact()
    store.vacuum(0, force=True)
    check(store, oracle)
    assert {site: read_all(store, site) for site in store.sites()} == ranges


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(given_rows, "datetime", Clock)
        yield


def check(store, oracle):
    found = {site: Counter({i: int(made.estimate(i).value) for i in range(4)}) for site, made in store.latest().items()}
    assert found == oracle.latest()


def read_all(store, site):
    """Answers about ranges of the past. A range that no row touches is refused; a joined row may touch it, with 0."""
    answers = [store.read(site).total().value]
    for since, until in ((-20, 25), (25, 55)):
        try:
            answers.append(store.read(site, since, until).total(between=(since, until)).value)
        except StoreError:
            answers.append(0)
    return answers
