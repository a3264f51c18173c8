"""Groups of sites as state: what is kept of them, where, and that nothing of it shows in the sketches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row

import ecmsketch as ecm
from ecmsketch.spark import group_state
from ecmsketch.spark.cleaning import TOO_FAR_AHEAD, Events
from ecmsketch.spark.gathered_rows import GatheredEvents
from ecmsketch.spark.group_packing import BY_GROUP
from ecmsketch.spark.group_sketching import GroupSketcher
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.site_groups import group_of, hash_sites

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=600, unit="s", late="side", lateness=60)
DAY = 86_400
START = 900_000_000
WALL = 1_800_000_000


class Memory:
    """Spark's state, timers and watermark, as far as groups need them; counts what is written."""

    def __init__(self, recipe, text=True, idle_after=6, ahead=DAY):
        self.values, self.timers, self.written, self.key, self.watermark = {}, set(), [], None, 0
        self.text, self.recipe, self.ahead = text, recipe, ahead
        self.sketcher = GroupSketcher(recipe, "string" if text else "bigint", idle_after, ahead)
        self.sketcher.init(self)
        self.last = {}

    def getValueState(self, name, schema):  # noqa: N802
        return _Entries(self, name)

    def getMapState(self, name, key, value):  # noqa: N802
        return _Entries(self, name)

    def registerTimer(self, moment):  # noqa: N802
        assert moment > self.watermark
        self.timers.add((self.key, moment))

    def deleteTimer(self, moment):  # noqa: N802
        self.timers.remove((self.key, moment))

    def getCurrentWatermarkInMs(self):  # noqa: N802
        return self.watermark

    def trigger(self, sites, items, moments, files=2):
        """Some events, in files; returns the rows of the sites that changed, also by timers."""
        kind = pa.string() if self.text else pa.int64()
        given_packs, newest = {}, 0
        for part in range(files):
            gathered = GatheredEvents(self.recipe)
            columns = [pa.array(column[part::files]) for column in (items, moments)]
            gathered.add(Events(*columns, pa.array(sites[part::files], kind)))
            for pack in BY_GROUP.pack(gathered, part << 32, self.text, "s", self.ahead).to_pylist():
                given_packs.setdefault(pack["group"], []).append(Row(**pack, wall=1000 * WALL))
                alone = pack["alone"] and pack["newest"] < 1000 * (WALL - DAY)  # as spark_clock.with_clock
                newest = max(newest, 0 if alone else pack["newest"] or 0)
        said, self.written = [], []
        for key, packs in given_packs.items():
            self.key = key
            said += self.sketcher.handleInputRows((self.key,), iter(packs), self)
        said += self.fire()
        self.watermark = max(self.watermark, newest)
        self.last |= {row["site"]: row for row in said}
        return said

    def fire(self):
        """What sites whose timers are due say."""
        said = []
        due = sorted(timer for timer in self.timers if timer[1] <= self.watermark)
        for key, moment in due:
            self.key = key
            said += self.sketcher.handleExpiredTimer((key,), self, None)
            self.timers.remove((key, moment))
        self.last |= {row["site"]: row for row in said}
        return said

    def kept(self, state):
        """The keys of what a state holds."""
        return [key for name, _, key in self.values if name == state]


class _Entries:
    def __init__(self, memory, name):
        self.memory, self.name = memory, name

    def getValue(self, key):  # noqa: N802
        return self.memory.values.get((self.name, self.memory.key, key))

    def updateValue(self, key, value):  # noqa: N802
        self.memory.values[self.name, self.memory.key, key] = value
        self.memory.written.append((self.name, key, sum(len(part) for part in value if isinstance(part, bytes))))

    def removeKey(self, key):  # noqa: N802
        del self.memory.values[self.name, self.memory.key, key]

    def get(self):
        return self.getValue(None)

    def update(self, value):
        self.updateValue(None, value)


def events(rng, sites, count, step, seconds=60):
    """Random events of some sites in a minute, in order of time."""
    moments = START + np.sort(rng.integers(seconds * step, seconds * step + seconds, count))
    return [sites[i] for i in rng.integers(0, len(sites), count)], rng.integers(0, 500, count), moments


def same(found, expected):
    now = max(found.now, expected.now)
    found.advance(now)
    expected.advance(now)
    return found.serialize() == expected.serialize()


HOSTILE = ["", " ", "\0", "a\0b", "é" * 500, "'; drop table", "\U0001f600", "None", "all", "\n", "../..", "7"]


@pytest.mark.parametrize("heavy_hitters", [False, True])
@pytest.mark.parametrize("text", [True, False])
def test_many_sites_give_the_sketches_of_one_process(monkeypatch, text, heavy_hitters):
    """With buckets so small that groups are divided, and a limit that some sites go over."""
    monkeypatch.setattr(group_state, "BUCKET_BYTES", 1500)
    monkeypatch.setattr(group_state, "LARGE_BYTES", 500)
    rng = np.random.default_rng(1)
    recipe = Recipe(CONFIG.replace(heavy_hitters=heavy_hitters))
    few = 120 if heavy_hitters else 700
    sites = [*HOSTILE[1:], *(f"s{i}" for i in range(few))] if text else [*range(-5, few), 2**62]
    memory = Memory(recipe, text)
    expected = {site: ecm.EcmSketch(recipe.config) for site in sites}
    total = 0
    for step in range(6):
        busy = sites[: 20 if step in (3, 4) else len(sites)]
        names, items, moments = events(rng, busy, 4000, step)
        memory.trigger(names, items, moments, files=1)
        total += len(names)
        for site in busy:
            mine = np.array([name == site for name in names])
            if mine.any():
                expected[site].update_many(items[mine], moments[mine])
    assert sum(memory.last[site]["events"] for site in memory.last) == total
    counted = {site for site in sites if not expected[site].is_empty}
    assert counted == set(memory.last)
    for site in counted:
        assert same(ecm.load(memory.last[site]["sketch"]), expected[site])
    assert memory.kept("large")
    assert memory.kept("buckets")


def test_a_site_grows_large_and_small_again_as_its_events_expire(monkeypatch):
    monkeypatch.setattr(group_state, "LARGE_BYTES", 4000)
    recipe = Recipe(CONFIG)
    memory = Memory(recipe)
    rng = np.random.default_rng(2)
    expected = ecm.EcmSketch(CONFIG)

    def trigger(count, step):
        names, items, moments = events(rng, ["a"], count, step)
        memory.trigger(names, items, moments, files=1)
        expected.update_many(items, moments)
        assert same(ecm.load(memory.last["a"]["sketch"]), expected)
        return memory.kept("large") == [("a",)]

    assert not trigger(10, 0)
    assert trigger(6000, 1)
    assert len(memory.last["a"]["sketch"]) > group_state.LARGE_BYTES
    assert trigger(10, 2)
    assert not trigger(5, 30)
    assert len(memory.last["a"]["sketch"]) < group_state.LARGE_BYTES / 2
    assert not memory.kept("large")


def test_one_small_site_rewrites_one_small_bucket_and_a_large_one_only_itself(monkeypatch):
    monkeypatch.setattr(group_state, "BUCKET_BYTES", 2**16)
    recipe = Recipe(CONFIG)
    memory = Memory(recipe)
    group = group_of(hash_sites(["a"]))[0]
    names = [f"n{i}" for i in range(400_000)]
    mine = [name for name, found in zip(names, group_of(hash_sites(names)), strict=True) if found == group]
    rng = np.random.default_rng(3)
    memory.trigger(*events(rng, [*mine, "a"], 40 * len(mine), 0, 5))
    buckets = [value for (name, _, _), value in memory.values.items() if name == "buckets"]
    assert len(buckets) > 2
    assert all(len(sites) <= group_state.BUCKET_BYTES for (sites,) in buckets)
    assert len(memory.last) == len(mine) + 1
    memory.trigger(["a"], [1], [START + 6])
    assert sum(size for _, _, size in memory.written) <= group_state.BUCKET_BYTES + 100
    assert sorted(name for name, _, _ in memory.written) == ["buckets", "group"]


def test_idle_sites_are_moved_on_by_one_timer_of_their_group_and_nothing_is_done_before():
    memory = Memory(Recipe(CONFIG))
    names = [f"n{i}" for i in range(20_000)]
    first = group_of(hash_sites(names))
    mine = [name for name, found in zip(names, first, strict=True) if found == first[0]]
    other = next(name for name, found in zip(names, first, strict=True) if found != first[0])
    memory.trigger(mine, [1] * len(mine), [START] * len(mine))
    assert len(memory.timers) == 1
    for later in (10, 20, 50):
        memory.trigger([other] * 4, [1] * 4, [START + later] * 4)
        assert memory.fire() == []
    memory.trigger([other] * 4, [1] * 4, [START + 400] * 4)
    moved = [row for row in memory.fire() if row["site"] != other]
    assert {row["site"] for row in moved} == set(mine)
    assert {row["now"] for row in moved} == {START + 400 - 60}
    assert all(ecm.load(row["sketch"]).now == row["now"] for row in moved)
    assert len([timer for timer in memory.timers if timer[0] == first[0]]) == 1
    memory.trigger([other] * 4, [1] * 4, [START + 2000] * 4)
    memory.fire()
    assert ecm.load(memory.last[mine[0]]["sketch"]).total(last=600).value == 0


def test_a_trigger_done_again_leaves_the_same_state():
    rng = np.random.default_rng(4)
    sites = [f"s{i}" for i in range(300)]
    steps = [events(rng, sites, 1500, step) for step in range(5)]
    runs = []
    for _ in range(2):
        memory = Memory(Recipe(CONFIG))
        said = [memory.trigger(*step) for step in steps]
        runs.append((said, memory.values, memory.timers))
    assert runs[0] == runs[1]


def test_a_site_that_began_wrong_while_large_begins_anew(monkeypatch):
    monkeypatch.setattr(group_state, "LARGE_BYTES", 40)
    memory = Memory(Recipe(CONFIG))
    memory.trigger(["a"], [1], [START + 2 * DAY])
    assert memory.kept("large")
    memory.trigger(["a"] * 3, [1] * 3, [START, START + 1, START + 2])
    assert memory.last["a"]["events"] == 3
    assert memory.last["a"]["reasons"] == {TOO_FAR_AHEAD: 1}
