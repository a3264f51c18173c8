"""Streams: the same sketches as one process builds, however the events were cut into files and triggers."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.store import SketchStore

SCHEMA = "site string, page string, number bigint, tick bigint, weight bigint"
SITES = ("athens", "berlin", "cairo")


@pytest.fixture(scope="module")
def live(spark):
    """Run a stream of files to its end, a number of files per trigger; returns the query."""
    ecm_spark.use_rocksdb(spark)
    ecm_spark.register_sources(spark)

    def run(folder, config, store, checkpoint, files=1, item="page", source=None, **more):
        events = source or (
            spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder))
        )  # fmt: skip
        sketches = ecm_spark.stream_sketches(events, config, item, "tick", "site", **more)
        query = (
            ecm_spark.write_to_store(sketches, str(store), str(checkpoint), "test").trigger(availableNow=True).start()
        )
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
    write(tmp_path / "log", stream, [*cuts, (59_000, 60_000)])
    with pytest.raises(PySparkException, match="another epsilon"):
        live(tmp_path / "log", config.replace(epsilon=0.04), tmp_path / "store", tmp_path / "checkpoint")


def test_late_events_are_counted_in_their_place_or_as_dropped(live, stream, make_config, tmp_path, check):
    config = make_config(unit="s", late="side", lateness=3000)
    rng = np.random.default_rng(3)
    order = np.argsort(stream["tick"] + rng.integers(0, 2000, 60_000), kind="stable")
    shuffled = {name: column[order] for name, column in stream.items()}
    write(tmp_path / "log", shuffled, pieces(60_000, 3, seed=4))
    live(tmp_path / "log", config, tmp_path / "store", tmp_path / "checkpoint")
    found = SketchStore(tmp_path / "store").latest()
    assert sum(sketch.late_counted for sketch in found.values()) > 100
    for site in SITES:
        assert found[site].late_dropped == 0
        check(found[site], site)
    strict = config.replace(lateness=10)
    live(tmp_path / "log", strict, tmp_path / "strict", tmp_path / "other")
    found = SketchStore(tmp_path / "strict").latest()
    dropped = sum(sketch.late_dropped for sketch in found.values())
    assert dropped > 100
    held = sum(sketch.total(last=20_000).value for sketch in found.values())
    assert abs(held + dropped - 60_000) < 0.06 * 60_000


def test_what_cannot_be_counted_is_reported_and_idle_sites_move_on(live, spark, make_config, tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    names = ["site", "page", "number", "tick", "weight"]
    batches = [
        [["a", "b", "a", None], ["x", "x", None, "x"], [1, 1, 1, 1], [10, 11, 12, 13], [1, 1, 1, 1]],
        [["b"], ["y"], [1], [9000], [1]],
        [["b"], ["y"], [1], [19_000], [1]],
        [["b"], ["y"], [1], [19_500], [1]],
    ]
    kinds = [pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64()]
    for i, columns in enumerate(batches):
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        pq.write_table(pa.table(arrays, names=names), folder / f"{i}.parquet")
        os.utime(folder / f"{i}.parquet", (1_000_000 + i, 1_000_000 + i))
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    sketches = ecm_spark.stream_sketches(
        events, make_config(unit="s", late="side", lateness=500), "page", "tick", "site"
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
    assert (first["a"]["events"], first["a"]["rejected"], first["a"]["reasons"]) == (1, 1, {"null item": 1})
    assert (first[None]["sketch"], first[None]["reasons"]) == (None, {"null site": 1})
    last = {row["site"]: row for _, row in rows}
    assert last["a"]["now"] >= 18_500  # nothing came for it since 10
    assert ecm.load(last["a"]["sketch"]).total(last=1000).value == 0


def test_a_replayed_log_keeps_its_ticks(live, spark, stream, one_process, make_config, tmp_path):
    config = make_config(unit="s", late="side")
    write(tmp_path / "log", stream, pieces(60_000, 3, seed=5))
    reader = spark.readStream.format("replay").option("tick", "tick")
    source = reader.option("speed", "max").option("step", 7000).load(str(tmp_path / "log"))
    query = live(None, config, tmp_path / "store", tmp_path / "checkpoint", source=source)
    assert query.exception() is None
    found = SketchStore(tmp_path / "store").latest()
    for site in SITES:
        assert same(found[site], one_process(config, site))
    for options, says in (({"speed": "fast"}, "expects a number above 0"), ({"tick": "nope"}, "no column 'nope'")):
        broken = spark.readStream.format("replay").options(**{"tick": "tick", **options}).load(str(tmp_path / "log"))
        with pytest.raises(PySparkException, match=says):
            live(None, config, tmp_path / "s2", tmp_path / "c2", source=broken)


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
