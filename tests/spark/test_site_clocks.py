"""Streams with wrong clocks, site by site: what Spark does with packs, watermarks and timers is played here."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

import ecmsketch as ecm
from ecmsketch.monitor import Above, Coordinator, Frequency, Total, Watch
from ecmsketch.spark.cleaning import REFUSED, TOO_FAR_AHEAD, Rows
from ecmsketch.spark.coordinator_folder import CoordinatorFolder
from ecmsketch.spark.gathered_rows import Together
from ecmsketch.spark.group_packing import grouped_batch
from ecmsketch.spark.group_sketching import GroupSketcher
from ecmsketch.spark.outbox import OutboxSource
from ecmsketch.spark.packing import packed_batch
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import join_rows
from ecmsketch.spark.site_groups import group_of, hash_sites
from ecmsketch.spark.site_watching import SiteWatcher
from ecmsketch.spark.spark_clock import to_millis

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=3600, unit="s", late="side", lateness=60)
DAY = 86_400
START = 900_000_000
WALL = 1_800_000_000


class Stream:
    """Triggers of a query, one after the other; a trigger is the ticks of every site that has any."""

    def __init__(self, processor, wall=WALL, ahead=DAY):
        self.tester = TwsTester(processor, timeMode="EventTime", eventTimeExtractor=lambda row: 2**62)
        self.watermark, self.wall, self.ahead = 0, wall, ahead
        self.last = {}

    def trigger(self, messages=(), weights=None, **sites):
        batches = [
            (site, Rows(np.full(len(ticks), 7), np.array(ticks, np.int64), weights), {})
            for site, ticks in sites.items()
            if len(ticks)
        ]
        packs = self.packed(batches) if batches else []
        self.tester._currentWatermarkMs = self.watermark
        given = {}
        for pack in packs:
            row = {**pack, "wall": 1000 * self.wall, "message": None, "stream": ""}
            given.setdefault(pack[self.key], []).append(Row(**row))
        for site, message in messages:
            empty = dict.fromkeys(("part", "events", "reasons", "newest", "alone", "stream"))
            given.setdefault(site, []).append(Row(site=site, message=message, wall=1000 * self.wall, **empty))
        said = [row for site, rows in given.items() for row in self.tester.test(site, rows)]
        said += self.tester._handleExpiredTimers()
        for pack in packs[:1]:  # as packing.with_clock says it to Spark
            limit = 10**18 if self.ahead is None else 1000 * self.ahead
            alone = pack["alone"] and pack["newest"] < 1000 * self.wall - limit
            if pack["newest"] <= 1000 * self.wall + limit and not alone:
                self.watermark = max(self.watermark, pack["newest"])
        self.last |= {row["site"]: row for row in said}
        return said

    key = "site"

    def packed(self, batches):
        return packed_batch(batches, 0, True, "s", self.ahead).to_pylist()


class GroupedStream(Stream):
    """The same with packs by group."""

    key = "group"

    def packed(self, batches):
        groups = group_of(hash_sites([site for site, _, _ in batches]))
        ordered = [batches[i] for i in np.argsort(groups, kind="stable")]
        rows = join_rows([rows for _, rows, _ in ordered])
        taken = Together(
            [site for site, _, _ in ordered], np.array([len(rows.ticks) for _, rows, _ in ordered]), rows, {}
        )
        return grouped_batch(taken, 0, True, "s", self.ahead).to_pylist()


def sketches(wall=WALL, ahead=DAY, config=CONFIG):
    return GroupedStream(GroupSketcher(Recipe(config), "string", 36, ahead), wall, ahead)


def counted(stream, site):
    row = stream.last[site]
    return ecm.load(row["sketch"]).total().value


@pytest.mark.parametrize("wall", [WALL, START + 100])
@pytest.mark.parametrize("wrong", [2 * DAY, 400 * DAY, 2**61 - START, 2**62 - START])
def test_one_row_far_ahead_harms_neither_its_site_nor_busy_nor_idle_ones(wall, wrong):
    stream = sketches(wall)
    for step in range(12):
        ticks = [START + 30 * step + i for i in range(20)]
        bad = [START + wrong] if step == 4 else []
        stream.trigger(a=[*ticks, *bad], b=ticks, idle=ticks if step < 3 else [])
    for site in ("a", "b"):
        assert counted(stream, site) == 240
        assert stream.last[site]["now"] == START + 11 * 30 + 19
        assert (stream.last[site]["late_dropped"], stream.last[site]["events"]) == (0, 240)
    assert stream.last["a"]["reasons"] == {TOO_FAR_AHEAD: 1}
    assert stream.last["b"]["reasons"] == {}
    assert counted(stream, "idle") == 60
    assert START + 200 < stream.last["idle"]["now"] <= START + 11 * 30 + 19  # it follows the others, and only them


def test_a_wrong_row_alone_in_its_trigger_and_in_the_first_one():
    stream = sketches()
    stream.trigger(a=[START + 5 * DAY, *range(START, START + 10)])
    stream.trigger(b=[START + 3 * DAY])
    stream.trigger(a=[START + 4 * DAY])
    for step in range(3):
        stream.trigger(a=range(START + 10 * step + 10, START + 10 * step + 20))
    assert counted(stream, "a") == 40
    assert stream.last["a"]["reasons"] == {TOO_FAR_AHEAD: 2}
    assert stream.watermark == 1000 * (START + 39)


def test_a_site_whose_very_first_row_is_wrong_begins_anew():
    stream = sketches()
    stream.trigger(a=[START + 2 * DAY])
    for step in range(5):
        stream.trigger(a=range(START + 10 * step, START + 10 * step + 10), b=[START + 10 * step])
    assert counted(stream, "a") == stream.last["a"]["events"] == 50
    assert stream.last["a"]["reasons"] == {TOO_FAR_AHEAD: 1}
    assert stream.last["a"]["late_dropped"] == 0


def test_clocks_wrong_in_the_past_are_late_and_harm_nobody():
    stream = sketches()
    for step in range(6):
        ticks = [START + 30 * step + i for i in range(20)]
        old = [0, START - 2 * DAY] if step in (0, 3) else []
        stream.trigger(a=[*old, *ticks], b=ticks)
    for site in ("a", "b"):
        assert counted(stream, site) == pytest.approx(120, rel=0.02)
    assert stream.last["a"]["late_dropped"] == 2
    assert stream.last["a"]["rejected"] == stream.last["b"]["rejected"] == 0


def test_a_busy_site_whose_clock_is_slow_keeps_its_own():
    """An hour behind the others, far more than lateness allows: nothing of it is dropped."""
    stream = sketches()
    for step in range(20):
        stream.trigger(
            slow=[START - 3600 + 30 * step + i for i in range(10)], b=[START + 30 * step + i for i in range(10)]
        )
    assert counted(stream, "slow") == 200
    assert stream.last["slow"]["late_dropped"] == 0


def test_a_recorded_log_that_pauses_for_days_goes_on():
    stream = sketches()
    stream.trigger(few=range(START, START + 5), many=range(START, START + 300), idle=[START])
    later = START + 5 * DAY
    for step in range(4):
        stream.trigger(
            few=[later + 30 * step, later + 30 * step + 1], many=range(later + 30 * step, later + 30 * step + 300)
        )
    assert stream.last["many"]["reasons"] == {}
    assert stream.last["few"]["reasons"] == {TOO_FAR_AHEAD: 2}  # the first trigger after the pause
    assert counted(stream, "few") == 6
    assert stream.last["idle"]["now"] > later


def test_live_events_go_on_after_a_pause_at_once():
    stream = sketches(wall=START)
    stream.trigger(a=[START - 1])
    stream.wall = START + 3 * DAY
    stream.trigger(a=[START + 3 * DAY - 5])
    assert stream.last["a"]["now"] == START + 3 * DAY - 5
    assert stream.last["a"]["rejected"] == 0


def test_a_site_that_cannot_be_believed_yet_has_no_sketch_and_no_harm():
    stream = sketches()
    stream.trigger(a=range(START, START + 10))
    stream.trigger(new=[START + 9 * DAY], a=range(START + 10, START + 20))
    assert stream.last["new"]["sketch"] is None
    assert stream.last["new"]["reasons"] == {TOO_FAR_AHEAD: 1}


def test_weights_that_are_too_many_are_refused_trigger_after_trigger():
    stream = sketches(config=CONFIG.replace(window=2**40))
    stream.trigger(weights=np.array([2**53 - 1, 1, 1]), a=[START, START + 1, START + 2])
    stream.trigger(weights=np.array([5]), a=[START + 3])
    assert stream.last["a"]["events"] == 2
    assert stream.last["a"]["reasons"] == {REFUSED: 2}


def test_without_a_limit_everything_is_believed_and_nothing_ends():
    stream = sketches(ahead=None)
    stream.trigger(a=[START, 2**62], b=[START])
    stream.trigger(a=[START + 1], b=[START + 1, 2**61])
    stream.trigger(b=[2**61 + 1])
    assert stream.last["a"]["now"] == 2**62
    assert stream.last["b"]["now"] == 2**61 + 1
    assert stream.watermark == to_millis(2**62, "s")


def test_a_trigger_done_again_says_the_same():
    rng = np.random.default_rng(3)
    runs = []
    for _ in range(2):
        stream, rng = sketches(), np.random.default_rng(3)
        said = []
        for step in range(10):
            ticks = START + 50 * step + rng.integers(0, 60, 30)
            wrong = START + rng.integers(-3 * DAY, 3 * DAY, 3)
            said.append(stream.trigger(a=[*ticks, *wrong], b=ticks[:3]))
        runs.append(said)
    assert runs[0] == runs[1]


class Monitor:
    """A monitor's sites, and its coordinator, whose messages reach them with the next trigger."""

    def __init__(self, watch, tmp_path):
        self.stream = Stream(SiteWatcher(watch, Recipe(watch.sketch), 10, DAY))
        self.control = CoordinatorFolder(str(tmp_path), watch)
        self.number, self.messages, self.alerts = 0, [], []

    def trigger(self, **sites):
        said = self.stream.trigger(self.messages, **sites)
        status, raised = self.control.take(self.number, said)
        reader = OutboxSource({"path": self.control.outbox}).streamReader(None)
        (part,) = reader.partitions({"number": self.number - 1}, {"number": self.number})
        self.messages = list(reader.read(part))
        self.alerts += raised
        self.number += 1
        return status


@pytest.mark.parametrize("first", [False, True])
def test_a_flood_is_alarmed_although_one_row_had_a_wrong_clock(tmp_path, first):
    watch = Watch(Frequency(7), Above(500), 600, CONFIG.replace(window=600), balance="eager")
    monitor = Monitor(watch, tmp_path)
    if first:
        monitor.trigger(a=[START + 3 * DAY])
    for step in range(30):
        many = 40 if step >= 15 else 2
        ticks = [START + 30 * step + i % 30 for i in range(many)]
        wrong = [START + 2 * DAY] if step in (3, 8) else []
        status = monitor.trigger(a=[*ticks, *wrong], b=ticks, c=ticks if step < 3 else [])
    assert [alert.region for alert in monitor.alerts] == [0, 1]
    assert START + 15 * 30 < monitor.alerts[1].tick < START + 25 * 30
    assert status.reasons == {TOO_FAR_AHEAD: 2 + first}
    assert first or status.now < START + DAY
    assert not status.syncing or monitor.messages


def test_a_monitor_is_resolving_something_while_its_answers_are_under_way(tmp_path):
    watch = Watch(Total(), Above(500), 600, CONFIG.replace(window=600), balance="eager")
    monitor = Monitor(watch, tmp_path)
    status = monitor.trigger(a=range(START, START + 10))
    assert monitor.messages
    assert status.syncing
    assert not monitor.trigger().syncing


def test_a_monitor_that_starts_above_its_threshold_alarms_once(tmp_path):
    watch = Watch(Total(), Above(50), 600, CONFIG.replace(window=600), balance="eager")
    monitor = Monitor(watch, tmp_path)
    monitor.trigger(a=range(START, START + 100))
    assert [(alert.previous, alert.region) for alert in monitor.alerts] == [(0, 1)]
    monitor.control = CoordinatorFolder(str(tmp_path), watch)  # a restart
    for step in range(3):
        monitor.trigger(a=range(START + 100 + step, START + 110 + step))
    assert len(monitor.alerts) == 1
    assert isinstance(monitor.control._before(monitor.number)[0], Coordinator)
