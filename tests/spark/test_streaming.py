"""Streams: the same sketches as one process builds, however the events were cut into files and triggers."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.store import Rejected, SketchStore
from ecmsketch.worldcup98 import SERVERS

SCHEMA = "site string, page string, number bigint, tick bigint, weight bigint"
DOCS = Path(__file__).parents[2] / "docs"
SITES = ("athens", "berlin", "cairo")
HOSTILE = (" ", "a\0b", "é" * 500, "'; drop table", "\U0001f600", "None", "all", "\n", "../..", "7", "%2F", "x=1/y")


@pytest.fixture(scope="module")
def live(spark):
    """Run a stream of files to its end, a number of files per trigger; returns the query."""
    ecm_spark.use_rocksdb(spark)
    ecm_spark.register_sources(spark)

    def run(folder, config, store, checkpoint, files=1, item="page", source=None, tidy_every=100, name="test", **more):
        events = source or (
            spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder))
        )  # fmt: skip
        sketches = ecm_spark.stream_sketches(events, config, item, "tick", "site", **more)
        writer = ecm_spark.write_to_store(sketches, str(store), str(checkpoint), name, tidy_every=tidy_every)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    return run


def write(folder, stream, cuts):
    folder.mkdir(exist_ok=True)
    table = pa.table({name: stream[name] for name in ("site", "page", "number", "tick", "weight")})
    for i, (begin, end) in enumerate(cuts):
        path = folder / f"part-{i:03d}.parquet"
        if not path.exists():
            pq.write_table(table.slice(begin, end - begin), path)
            os.utime(path, (1_000_000 + i, 1_000_000 + i))  # Spark reads files by their age


def pieces(total, count, seed):
    marks = np.sort(np.random.default_rng(seed).integers(1, total, count - 1)).tolist()
    return list(zip([0, *marks], [*marks, total], strict=True))


def same(found, expected):
    """Equal once both have the same clock: an idle site is moved on by the others."""
    now = max(found.now, expected.now)
    found, expected = found.copy(), expected.copy()
    found.advance(now)
    expected.advance(now)
    return found.serialize() == expected.serialize()


@pytest.mark.parametrize(
    ("counter", "item", "heavy_hitters"),
    [
        ("eh", "page", True),
        ("slices", "page", True),
        pytest.param("dw", "number", False, marks=pytest.mark.slow),
        pytest.param("rw", "page", False, marks=pytest.mark.slow),
    ],
)
def test_events_in_order_give_the_very_sketch_of_one_process(
    live, stream, one_process, make_config, tmp_path, counter, item, heavy_hitters
):
    epsilon = 0.2 if counter == "rw" else 0.05
    config = make_config(counter=counter, epsilon=epsilon, unit="s", late="side", heavy_hitters=heavy_hitters)
    write(tmp_path / "log", stream, pieces(60_000, 2, seed=1))
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint", item=item, weight="weight")
    found = SketchStore(tmp_path / "store").latest()
    assert sorted(found) == list(SITES)
    for site in SITES:
        assert same(found[site], one_process(config, site, item=item, weight="weight", name=site))


def test_files_and_triggers_do_not_matter(live, stream, one_process, make_config, tmp_path):
    """Several files a trigger, and a query that is stopped and started again with its checkpoint."""
    config = make_config(unit="s", late="side")
    cuts = pieces(60_000, 4, seed=2)
    write(tmp_path / "log", stream, cuts[:2])
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint", files=2)
    write(tmp_path / "log", stream, cuts)
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint", files=2)
    found = SketchStore(tmp_path / "store").latest()
    for site in SITES:
        assert same(found[site], one_process(config, site))
    written = SketchStore(tmp_path / "store").history("athens")
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "new checkpoint", files=4)
    assert len(SketchStore(tmp_path / "store").history("athens")) == 1 + len(written)
    for site, sketch in SketchStore(tmp_path / "store").latest().items():
        assert same(sketch, one_process(config, site))
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "beside", files=4, name="other")
    counted = sum(found[site].total().value for site in SITES)
    both = SketchStore(tmp_path / "store").latest()
    assert sum(both[site].total().value for site in SITES) == 2 * counted
    write(tmp_path / "log", stream, [*cuts, (59_000, 60_000)])
    with pytest.raises(PySparkException, match=r"generation .* of 'test' may not write"):
        live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint")
    with pytest.raises(PySparkException, match="another epsilon"):
        live(tmp_path / "log", config.replace(epsilon=0.04), tmp_path / "store", tmp_path / "checkpoint")


def test_many_sites_and_a_restart_with_another_number_of_partitions(live, spark, make_config, tmp_path):
    """Spark keeps the number of partitions of a checkpoint, and no site may be looked for in a wrong group."""
    config = make_config(unit="s", late="side")
    rng = np.random.default_rng(7)
    count = 6000
    sites = np.array([*HOSTILE, *(f"s{i}" for i in range(900))], object)  # Arrow cuts texts of numpy at a zero
    numbers = rng.integers(0, 500, count)
    stream = {
        "site": sites[rng.integers(0, len(sites), count)], "page": numbers.astype(str), "number": numbers,
        "tick": np.sort(rng.integers(0, 3000, count)), "weight": np.ones(count, np.int64),
    }  # fmt: skip
    cuts = [(0, 2000), (2000, 4000), (4000, 6000)]
    write(tmp_path / "log", stream, cuts[:2])
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint", item="number")
    write(tmp_path / "log", stream, cuts)
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        query = live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint", item="number")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert query.lastProgress["stateOperators"][0]["numShufflePartitions"] == 2
    found = SketchStore(tmp_path / "store").latest()
    assert sorted(found) == sorted(set(stream["site"].tolist()))
    for site, sketch in found.items():
        mine = stream["site"] == site
        expected = ecm.EcmSketch(config)
        expected.update_many(stream["number"][mine], stream["tick"][mine])
        assert same(sketch, expected)


def test_late_events_are_counted_in_their_place_or_as_dropped(live, stream, make_config, tmp_path, check):
    config = make_config(unit="s", late="side", lateness=3000)
    rng = np.random.default_rng(3)
    order = np.argsort(stream["tick"] + rng.integers(0, 2000, 60_000), kind="stable")
    shuffled = {name: column[order] for name, column in stream.items()}
    nothing = {"site": ["athens"], "page": pa.array([None], pa.string()), "number": [1], "tick": [1], "weight": [1]}
    write(tmp_path / "log", shuffled, pieces(60_000, 3, seed=4))
    pq.write_table(pa.table(nothing), tmp_path / "log" / "nothing.parquet")
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint")
    found = SketchStore(tmp_path / "store").latest()
    assert sum(sketch.late_counted for sketch in found.values()) > 100
    for site in SITES:
        assert found[site].late_dropped == 0
        check(found[site], site)
    strict = config.replace(lateness=10, counter="slices", resolution=0.2)
    live(tmp_path / "log", strict, tmp_path / "strict", tmp_path / "other")
    found = SketchStore(tmp_path / "strict").latest()
    dropped = sum(sketch.late_dropped for sketch in found.values())
    assert dropped > 100
    assert sum(sketch.late_counted for sketch in found.values()) > 10
    held = sum(sketch.total(last=20_000).value for sketch in found.values())
    assert held + dropped == 60_000
    counted = sum(sketch.late_counted for sketch in found.values())
    assert SketchStore(tmp_path / "strict").rejected() == Rejected({"null item": 1}, counted, dropped)


def test_what_cannot_be_counted_is_reported_and_idle_sites_move_on(live, spark, make_config, tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    names = ["site", "page", "number", "tick", "weight"]
    batches = [
        [
            ["a", "b", "a", None, "", "z" * 1025, *["a"] * 4],
            ["x", "x", None, *["x"] * 7],
            [1] * 10,
            [10, 11, 12, 13, 14, 15, 16, 2**61, 1_700_000_000_000, 253_402_300_799],
            [*[1] * 6, 2**53 + 1, 1, 1, 1],
        ],
        [["b", "b"], ["y", "y"], [1, 1], [8999, 9000], [1, 1]],
        [["b", "b"], ["y", "y"], [1, 1], [18_999, 19_000], [1, 1]],
        [["b", "b"], ["y", "y"], [1, 1], [19_499, 19_500], [1, 1]],
    ]
    kinds = [pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64()]
    for i, columns in enumerate(batches):
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        pq.write_table(pa.table(arrays, names=names), folder / f"{i}.parquet")
        os.utime(folder / f"{i}.parquet", (1_000_000 + i, 1_000_000 + i))
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    sketches = ecm_spark.stream_sketches(
        events, make_config(unit="s", late="side", lateness=500), "page", "tick", "site", "weight"
    )
    rows = []
    query = (
        sketches.writeStream.outputMode("update")
        .foreachBatch(lambda batch, number: rows.extend((number, row) for row in batch.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    first = {row["site"]: row for number, row in rows if number == 0}
    assert (first["a"]["events"], first["a"]["rejected"]) == (1, 5)
    assert first["a"]["reasons"] == {"null item": 1, "weight above 2**53": 1, "tick too far ahead": 3}
    assert first[None]["sketch"] is None
    assert first[None]["reasons"] == {"null site": 1, "empty site": 1, "site name over 1024 bytes": 1}
    last = {row["site"]: row for _, row in rows}
    added, reasons = Counter(), Counter()
    for _, row in rows:
        added.update(row["added"] or {})
    for row in last.values():
        reasons.update(row["reasons"])
    assert added == reasons
    assert last["a"]["now"] >= 18_500  # nothing came for it since 10
    assert ecm.load(last["a"]["sketch"]).total(last=1000).value == 0


def test_a_replayed_log_keeps_its_ticks_and_the_store_is_tidied(live, spark, stream, make_config, tmp_path):
    """With PrefixSketches."""
    config = make_config(unit="s", late="side")
    write(tmp_path / "log", stream, pieces(60_000, 3, seed=5))
    reader = spark.readStream.format("replay").option("tick", "tick")
    source = reader.option("speed", "max").option("step", 7000).load(str(tmp_path / "log"))
    query = live(
        None, config, tmp_path / "store", tmp_path / "checkpoint", source=source, item="number", bits=9, tidy_every=1
    )
    assert query.exception() is None
    store = SketchStore(tmp_path / "store")
    found = store.latest()
    for site in SITES:
        expected = ecm.PrefixSketch(config, bits=9)
        mine = stream["site"] == site
        expected.update_many(stream["number"][mine], stream["tick"][mine])
        assert same(found[site], expected)
        assert len(store.history(site)) == 1  # three or more were written
    for options, says in (({"speed": "fast"}, "expects a number above 0"), ({"tick": "nope"}, "no column 'nope'")):
        broken = spark.readStream.format("replay").options(**{"tick": "tick", **options}).load(str(tmp_path / "log"))
        with pytest.raises(PySparkException, match=says):
            live(None, config, tmp_path / "s2", tmp_path / "c2", source=broken)


def test_the_recipe_for_kafka_with_messages_as_its_connector_gives_them(live, spark, make_config, tmp_path):
    """All but the connector: docs/streaming.md's own lines, on rows with the schema of format("kafka")."""
    recipe = (DOCS / "streaming.md").read_text().split('format("kafka")')[1].split("```")[0]
    lines = recipe[recipe.index("events = ") : recipe.index("sketches = ")]
    moment = datetime(1998, 6, 10, 12, tzinfo=UTC)
    values = [
        json.dumps({"url": url, "server": "paris", "ts": (moment + timedelta(seconds=i)).isoformat()}).encode()
        for i, url in enumerate(["/a", "/b", "/a"])
    ]
    raw = pa.table(
        {"key": [b"paris"] * 4, "value": [*values, b"no JSON"], "topic": ["requests"] * 4, "offset": range(4)}
    )
    (tmp_path / "topic").mkdir()
    pq.write_table(raw, tmp_path / "topic" / "0.parquet")
    schema = "key binary, value binary, topic string, offset bigint"
    config = make_config(unit="s", late="side", heavy_hitters=True)
    names = {
        "config": config,
        "ecm_spark": ecm_spark,
        "messages": spark.readStream.schema(schema).parquet(str(tmp_path / "topic")),
    }
    exec(lines, names)
    sketches = ecm_spark.stream_sketches(names["events"], config, item="url", tick="ts", site="server")
    rows = []
    writer = sketches.writeStream.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.foreachBatch(lambda batch, _: rows.extend(batch.collect())).trigger(
        availableNow=True
    ).start().awaitTermination()
    found = {row["site"]: row for row in rows}
    paris = ecm.load(found["paris"]["sketch"])
    assert [(row.item, row.estimate.value) for row in paris.top(2)] == [("/a", 2), ("/b", 1)]
    assert paris.now == int(moment.timestamp()) + 2
    assert found[None]["rejected"] == 1


def test_generated_events_as_they_would_come_now(spark, tmp_path):
    events = ecm_spark.generated_stream(spark, 1000)
    query = events.writeStream.format("memory").queryName("generated").start()
    try:
        while spark.table("generated").count() < 1000:
            assert query.exception() is None
        found = spark.table("generated").toPandas()
    finally:
        query.stop()
    assert set(found["server"]) <= set(SERVERS)
    assert len(set(found["server"])) > 20
    assert found["object"].between(1, 89_997).all()
    assert 0.03 < (found["object"] == 1).mean() < 0.1  # log 2 / log 89,997 = 0.061
    assert abs(found["timestamp"].max() - time.time()) < 60
    with pytest.raises(InputError, match="1 or more events a second"):
        ecm_spark.generated_stream(spark, 0)


def test_refusals(spark, events, make_config, tmp_path):
    with pytest.raises(InputError, match="expected a streaming DataFrame"):
        ecm_spark.stream_sketches(events, make_config(unit="s", late="side"), "page", "tick")
    source = spark.readStream.format("rate").load()
    with pytest.raises(ConfigError, match="set unit='s'"):
        ecm_spark.stream_sketches(source, make_config(late="side"), "value", "timestamp")
    with pytest.raises(ConfigError, match="set late='side'"):
        ecm_spark.stream_sketches(source, make_config(unit="s"), "value", "timestamp")
    with pytest.raises(InputError, match="there is no column"):
        ecm_spark.stream_sketches(source, make_config(unit="s", late="side"), "nope", "timestamp")
