"""Thresholds over all sites on Spark: the alarms of the simulator, also if the query is stopped on the way."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.alerts import AlertStore
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.monitor import Above, AnyItem, Events, Frequency, InnerProduct, SelfJoin, Watch, simulate
from ecmsketch.spark.coordinator_folder import CoordinatorFolder
from ecmsketch.spark.monitoring import _streams

STEP, LAST, END = 250, 500, 2500
VICTIM = 7


@pytest.fixture(scope="module")
def flood(tmp_path_factory):
    """Five sites; from 800 to 1200 four of them send to one address; the fifth falls silent at 500."""
    rng = np.random.default_rng(5)
    usual = 8000
    ticks = rng.integers(0, END, usual)
    sites = rng.integers(0, 5, usual)
    keep = (sites != 4) | (ticks < 500)
    many = 2000
    columns = {
        "site": np.concatenate([sites[keep], rng.integers(0, 4, many)]),
        "address": np.concatenate([rng.integers(0, 300, usual)[keep], np.full(many, VICTIM)]),
        "tick": np.concatenate([ticks[keep], rng.integers(800, 1200, many)]),
    }
    order = np.argsort(columns["tick"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    columns["way"] = np.where(rng.random(len(order)) < 0.5, "in", "out")
    folder = tmp_path_factory.mktemp("flood")
    pq.write_table(pa.table(columns), folder / "log.parquet")
    return folder, columns


def make_watch(function, tau, **changes):
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=LAST, unit="s", late="side", lateness=10, **changes)
    return Watch(function, Above(tau), LAST, config, balance="eager")


def run(spark, log, folder, watch, until, **more):
    """Play the log, a step a trigger, until the coordinator's clock is there and nothing is being resolved."""
    ecm_spark.use_rocksdb(spark)
    ecm_spark.register_sources(spark)
    reader = spark.readStream.format("replay").option("tick", "tick").option("speed", "max").option("step", STEP)
    seen = []
    writer = ecm_spark.monitor_sites(
        reader.load(str(log)), watch, "address", "tick", "site", folder=str(folder), name="flood",
        alerts=str(folder / "alerts"), on_status=seen.append, **more,
    )  # fmt: skip
    query = writer.start()
    try:
        end = time.monotonic() + 180
        while not seen or (seen[-1].now or 0) < until or seen[-1].syncing:
            assert query.exception() is None
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        query.stop()
    return seen


def alarms(folder):
    return [(row["region"], row["tick"]) for row in AlertStore(folder / "alerts").read("flood")]


def test_a_flood_raises_the_simulators_alarms_also_after_a_restart(spark, flood, tmp_path):
    log, columns = flood
    watch = make_watch(Frequency(VICTIM), 800)
    simulated = simulate(watch, Events(columns["site"], columns["address"], columns["tick"]), every=STEP, until=END)
    expected = [(alert.region, alert.tick) for alert in simulated.alerts]
    assert [region for region, _ in expected] == [0, 1, 0]
    first = run(spark, log, tmp_path, watch, until=1200)
    second = run(spark, log, tmp_path, watch, until=END - STEP)
    assert second[0].batch <= first[-1].batch + 2
    found = alarms(tmp_path)
    assert [region for region, _ in found] == [0, 1, 0]
    for (_, at), (_, reference) in zip(found[1:], expected[1:], strict=True):
        assert 0 <= at - reference <= 2 * STEP
    last = second[-1]
    assert last.sites == 5
    assert last.events == len(columns["tick"]) or last.now < END
    assert 0 < last.messages < 200
    assert last.bytes < 16 * last.events / 10


def test_all_there_is_at_once_is_resolved_before_the_query_ends(spark, flood, tmp_path):
    """trigger(availableNow=True): answers written during the run reach the sites during the run, and it alarms."""
    log, _ = flood
    table = pq.read_table(log / "log.parquet")
    table = table.set_column(0, "site", table["site"].cast(pa.string()))
    bad = {"site": ["", "x" * 1025, "1"], "address": [VICTIM] * 3, "tick": [900, 900, 2**61], "way": ["in"] * 3}
    calm, height = pc.less(table["tick"], 700), pc.less(table["tick"], 1200)
    parts = [
        table.filter(calm),
        pa.concat_tables([table.filter(pc.and_(height, pc.invert(calm))), pa.table(bad).cast(table.schema)]),
    ]
    (tmp_path / "log").mkdir()
    for number, part in enumerate(parts):
        path = tmp_path / "log" / f"{number}.parquet"
        pq.write_table(part, path)
        os.utime(path, (number, number))  # Spark takes the oldest first
    ecm_spark.use_rocksdb(spark)
    reader = spark.readStream.schema(spark.read.parquet(str(tmp_path / "log")).schema)
    events = reader.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "log"))
    seen = []
    watch = make_watch(Frequency(VICTIM), 800, counter="slices", resolution=0.4)
    writer = ecm_spark.monitor_sites(
        events, watch, "address", "tick", "site", folder=str(tmp_path / "watching"), name="flood",
        alerts=str(tmp_path / "alerts"), on_status=seen.append, ahead=timedelta(hours=1),
    )  # fmt: skip
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert seen[0].syncing
    assert not seen[-1].syncing
    assert [region for region, _ in alarms(tmp_path)] == [0, 1]
    assert seen[-1].events == sum(map(len, parts)) - 3
    assert seen[-1].reasons == {"empty site": 1, "site name over 1024 bytes": 1, "tick too far ahead": 1}


def test_an_address_that_nobody_named_is_found_and_named(spark, flood, tmp_path):
    log, columns = flood
    table = pq.read_table(log / "log.parquet").filter(pc.less(pc.field("tick"), 1200))
    names = pc.binary_join_element_wise("10.0.0.", table["address"].cast(pa.string()), "")
    (tmp_path / "log").mkdir()
    pq.write_table(table.set_column(1, "address", names), tmp_path / "log" / "0.parquet")
    ecm_spark.use_rocksdb(spark)
    events = spark.readStream.schema(spark.read.parquet(str(tmp_path / "log")).schema).parquet(str(tmp_path / "log"))
    config = ecm.SketchConfig(
        epsilon=0.1, delta=0.1, window=LAST, unit="s", late="side", lateness=10, heavy_hitters=True
    )
    writer = ecm_spark.monitor_sites(
        events, Watch(AnyItem(800), last=LAST, sketch=config, balance="eager"), "address", "tick", "site",
        folder=str(tmp_path / "watching"), name="flood", alerts=str(tmp_path / "alerts"),
    )  # fmt: skip
    writer.trigger(availableNow=True).start().awaitTermination()
    (alert,) = AlertStore(tmp_path / "alerts").read("flood")
    assert (alert["item"], alert["region"]) == (f"10.0.0.{VICTIM}", 1)
    assert {site["site"] for site in alert["sites"]} >= {"0", "1", "2", "3"}
    inside = (columns["tick"] > 1199 - LAST) & (columns["tick"] < 1200)
    assert alert["lower"] <= (inside & (columns["address"] == VICTIM)).sum() <= alert["upper"]


@pytest.mark.slow
def test_two_streams_and_the_whole_vector(spark, flood, tmp_path):
    log, columns = flood
    for function, tau, stream in ((SelfJoin(), 500_000.0, None), (InnerProduct("in", "out"), 120_000.0, "way")):
        watch = make_watch(function, tau)
        streams = None if stream is None else columns[stream]
        events = Events(columns["site"], columns["address"], columns["tick"], stream=streams)
        simulated = simulate(watch, events, every=STEP, until=END)
        folder = tmp_path / type(function).__name__
        run(spark, log, folder, watch, until=END - STEP, stream=stream)
        found = alarms(folder)
        assert [region for region, _ in found] == [alert.region for alert in simulated.alerts]
        assert len(found) == 3
        for (_, at), alert in zip(found[1:], simulated.alerts[1:], strict=True):
            assert 0 <= at - alert.tick <= 2 * STEP


def test_a_folder_is_of_one_watch(tmp_path):
    for _ in range(2):
        CoordinatorFolder(str(tmp_path), make_watch(Frequency(VICTIM), 800))
    for other in (make_watch(Frequency(VICTIM), 900), make_watch(Frequency(8), 800), make_watch(SelfJoin(), 800)):
        with pytest.raises(ConfigError, match="belongs to another watch"):
            CoordinatorFolder(str(tmp_path), other)


def test_a_column_of_any_name_says_which_stream(spark):
    frame = spark.createDataFrame([("in", 1), ("out", 2), ("in", 3)], "name string, n int")
    watch = make_watch(InnerProduct("in", "out"), 5.0)
    for name in ("a.b", "a `way`"):
        renamed = frame.toDF(name, "n")
        found = {which: [row["n"] for row in part.collect()] for which, part in _streams(renamed, watch, name)}
        assert found == {"in": [1, 3], "out": [2]}
    with pytest.raises(InputError, match="stream: there is no column 'nope'; the columns are timestamp, value"):
        ecm_spark.monitor_sites(
            spark.readStream.format("rate").load(), watch, "value", "timestamp", "value", stream="nope", folder="x",
            name="x",
        )  # fmt: skip


def test_refusals(spark, events, tmp_path):
    source = spark.readStream.format("rate").load()
    watch = make_watch(SelfJoin(), 5.0)
    for frame, changed, error, says in (
        (events, watch, InputError, "expected a streaming DataFrame"),
        (source, make_watch(InnerProduct("a", "b"), 5.0), ConfigError, "expected a column's name"),
        (source, Watch(SelfJoin(), Above(5), LAST, watch.sketch), ConfigError, "expected 'eager'"),
        (
            source,
            Watch(SelfJoin(), Above(5), LAST, watch.sketch.replace(unit=None), balance="eager"),
            ConfigError,
            "unit",
        ),
    ):
        with pytest.raises(error, match=says):
            ecm_spark.monitor_sites(frame, changed, "value", "timestamp", "value", folder=str(tmp_path), name="x")
