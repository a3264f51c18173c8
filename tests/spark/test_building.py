"""Sketches built on Spark: those of one process, or no worse than they say."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import ConfigError, InputError

SITES = ("athens", "berlin", "cairo")


def built(frame):
    return {row["site"]: row for row in frame.collect()}


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_a_site_in_one_task_gives_the_very_sketch_of_one_process(in_order, make_config, one_process, counter):
    config = make_config(counter=counter, epsilon=0.2 if counter == "rw" else 0.05)
    rows = built(ecm_spark.build_sketches(in_order, config, "page", "tick", "site"))
    assert sorted(rows) == list(SITES)
    for site, row in rows.items():
        expected = one_process(config, site, name=f"{site}/0/0")
        assert bytes(row["sketch"]) == expected.serialize()
        assert (row["first_tick"], row["last_tick"]) == (expected.first_tick, expected.now)
        assert (row["rejected"], row["reasons"]) == (0, {})
    assert sum(row["events"] for row in rows.values()) == 60_000


@pytest.mark.parametrize("counter", ["eh", "slices"])
def test_nearly_ordered_events_add_no_error(spark, stream, make_config, check, counter):
    rng = np.random.default_rng(1)
    order = np.argsort(stream["tick"] + rng.integers(0, 200, 60_000), kind="stable")
    import pandas as pd

    frame = spark.createDataFrame(pd.DataFrame({"page": stream["page"][order], "tick": stream["tick"][order]}))
    config = make_config(counter=counter)
    (row,) = ecm_spark.build_sketches(frame.coalesce(1), config, "page", "tick").collect()
    assert row["site"] == "all"
    sketch = ecm.load(row["sketch"])
    assert sketch.merge_levels == 0
    assert (sketch.config, sketch.late_counted, sketch.late_dropped) == (config, 0, 0)
    check(sketch)


@pytest.mark.parametrize("counter", ["eh", "dw", "rw", "slices"])
def test_a_stream_cut_by_time_over_tasks_adds_no_error(events, make_config, check, counter):
    config = make_config(counter=counter, epsilon=0.2 if counter == "rw" else 0.05)
    rows = built(ecm_spark.build_sketches(events.repartition(5), config, "page", "tick", "site", sort=True))
    for site in SITES:
        sketch = ecm.load(rows[site]["sketch"])
        assert sketch.merge_levels == 0
        if counter != "rw":
            check(sketch, site)


@pytest.mark.parametrize("counter", ["eh", "slices"])
def test_shuffled_events_stay_within_what_is_carried(events, make_config, check, counter):
    resolution = 0.2 if counter == "slices" else None  # so that pieces have slices, not only events
    config = make_config(merge_depth=1, counter=counter, resolution=resolution)
    rows = built(ecm_spark.build_sketches(events.repartition(4), config, "page", "tick", "site"))
    for site in SITES:
        sketch = ecm.load(rows[site]["sketch"])
        assert sketch.merge_levels == 1
        assert sketch.total().value == rows[site]["events"]
        assert sketch.epsilon <= 0.05 + (resolution or 0) + 1e-12
        check(sketch, site)


@pytest.mark.parametrize(
    ("item", "counter", "heavy_hitters"),
    [
        *((item, "eh", names) for item in ("page", "number", ("page", "port")) for names in (False, True)),
        ("page", "slices", True),
    ],
)
def test_items_of_every_kind(in_order, make_config, one_process, item, counter, heavy_hitters):
    config = make_config(counter=counter, heavy_hitters=heavy_hitters)
    (row,) = ecm_spark.build_sketches(in_order, config, item, "tick", weight="weight").collect()
    expected = one_process(config, item=item, weight="weight")
    assert bytes(row["sketch"]) == expected.serialize()
    if heavy_hitters:
        name = {"page": "/page/0", "number": 0}.get(item, ("/page/0", 0)) if isinstance(item, str) else ("/page/0", 0)
        assert ecm.load(row["sketch"]).top(1)[0].item == name


def test_prefix_sketches(in_order, stream, make_config):
    for config in (make_config(), make_config(counter="slices")):
        (row,) = ecm_spark.build_sketches(in_order, config, "number", "tick", bits=10, radix=4).collect()
        expected = ecm.PrefixSketch(config, bits=10, radix=4)
        expected.update_many(stream["number"], stream["tick"])
        assert ecm.load(row["sketch"]) == expected
    rows = ecm_spark.build_sketches(in_order, make_config(), "number", "tick", bits=5).collect()
    assert rows[0]["reasons"] == {"item outside the domain": int((stream["number"] >= 32).sum())}


@pytest.mark.parametrize("unit", ["ns", "ms", "D"])
def test_moments_become_ticks_whatever_the_time_zone(spark, unit):
    moments = [
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2026, 3, 8, 2, 30),
        datetime(2026, 11, 1, 1, 59, 59),
    ]
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=2**40 if unit not in ("ns", "us") else 2**58, unit=unit)
    frame = spark.createDataFrame([("x", moment) for moment in moments], "item string, at timestamp_ntz")
    for given in (frame, frame.selectExpr("item", "timestamp_micros(timestampdiff(MICROSECOND, "
                                          "timestamp_ntz'1970-01-01', at)) as at")):  # fmt: skip
        (row,) = ecm_spark.build_sketches(given, config, "item", "at", ahead=None).collect()
        expected = ecm.EcmSketch(config)
        expected.update_many(["x"] * 3, moments)
        assert (row["first_tick"], row["last_tick"]) == (expected.first_tick, expected.now)
    days = spark.createDataFrame([("x", date(2026, 1, 1)), ("x", date(1969, 12, 31))], "item string, at date")
    (row,) = ecm_spark.build_sketches(days, config, "item", "at", ahead=None).collect()
    expected = ecm.EcmSketch(config)
    expected.update_many(["x", "x"], [date(2026, 1, 1), date(1969, 12, 31)])
    assert (row["first_tick"], row["last_tick"]) == (expected.first_tick, expected.now)


def test_what_cannot_be_counted_is_counted_as_rejected(spark, make_config):
    rows = [
        ("a", "x", 1, 1), ("a", None, 2, 1), ("a", "x", None, 1), ("a", "x", 4, None), ("a", "x", 5, -1),
        (None, "x", 6, 1), ("a", "x", 2**62 + 1, 1), ("b", None, 7, 1), ("a", "x", 9000, 1), ("a", "y", 8, 3),
        ("", "x", 9, 1), ("z" * 1025, "x", 9, 1), ("a", "x", 9, 2**53 + 1),
    ]  # fmt: skip
    frame = spark.createDataFrame(rows, "site string, item string, tick bigint, weight bigint")
    for heavy_hitters in (False, True):
        found = built(
            ecm_spark.build_sketches(
                frame, make_config(heavy_hitters=heavy_hitters), "item", "tick", "site", "weight", until=1000
            )
        )
        assert found["a"]["events"] == 2
        assert found["a"]["rejected"] == 7
        assert found["a"]["reasons"] == {
            "null item": 1, "null tick": 1, "null weight": 1, "negative weight": 1,
            "tick out of range": 1, "tick in the future": 1, "weight above 2**53": 1,
        }  # fmt: skip
        assert ecm.load(found["a"]["sketch"]).total().value == 4
        assert ecm.load(found["b"]["sketch"]).is_empty  # a site without events that count
        assert found["b"]["reasons"] == {"null item": 1}
        assert found[None]["sketch"] is None
        assert found[None]["reasons"] == {"null site": 1, "empty site": 1, "site name over 1024 bytes": 1}


def test_moments_that_no_clock_should_show_are_counted_as_rejected(spark):
    """9999-12-31, the year 1, and what 64 bits cannot hold: an error of the JVM's arithmetic, once."""
    moments = ["9999-12-31 23:59:59", "0001-01-01 00:00:00", "2020-05-05 12:00:00"]
    for unit, counted, reasons in (
        ("ns", 1, {"tick out of range": 2}),
        ("s", 2, {"tick too far ahead": 1}),
    ):
        config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000, unit=unit)
        for kind in ("timestamp", "timestamp_ntz", "date"):
            frame = spark.createDataFrame([(moment,) for moment in moments], "at string")
            given = frame.selectExpr("'x' as item", f"cast(at as {kind}) as at")
            (row,) = ecm_spark.build_sketches(given.coalesce(1), config, "item", "at").collect()
            assert (row["events"], row["reasons"]) == (counted, reasons)


def test_nothing_at_all(spark, make_config):
    frame = spark.createDataFrame([], "site string, item string, tick bigint")
    assert ecm_spark.build_sketches(frame, make_config(), "item", "tick", "site").collect() == []


class TestRefusals:
    def test_columns(self, spark, make_config):
        frame = spark.createDataFrame(
            [("a", 1.5, 1, datetime(2026, 1, 1))], "item string, x double, tick int, at timestamp"
        )
        for arguments, says in (
            (("nope", "tick"), "item: there is no column 'nope'; the columns are at, item, tick, x"),
            (("item", "nope"), "tick: there is no column 'nope'"),
            (("item", "tick", "nope"), "site: there is no column"),
            (("item", "tick", None, "nope"), "weight: there is no column"),
            (
                ("x", "tick"),
                "item: expected a column of strings, binaries or integers, got 'x' of double; cast it first",
            ),
            (("item", "x"), "tick: expected integers, timestamps or dates, got 'x' of double"),
            (("item", "item"), "tick: expected integers, timestamps or dates, got 'item' of string"),
            (("item", "at"), "the config has no unit"),
            (("item", "tick", "x"), "site: expected a column of strings or integers"),
            (("item", "tick", None, "x"), "weight: expected a column of integers"),
            (([], "tick"), "item: expected the name of a column"),
        ):
            with pytest.raises(InputError, match=says):
                ecm_spark.build_sketches(frame, make_config(), *arguments)
        with pytest.raises(InputError, match="expected a column of integers, got 'item'"):
            ecm_spark.build_sketches(frame, make_config(), "item", "tick", bits=8)

    def test_configs(self, events, make_config):
        with pytest.raises(ConfigError, match="only model='time'"):
            ecm_spark.build_sketches(events, make_config(model="count"), "page", "tick")
        with pytest.raises(ConfigError, match="expected a SketchConfig"):
            ecm_spark.build_sketches(events, {"epsilon": 0.1}, "page", "tick")
        with pytest.raises(ConfigError, match="bits"):
            ecm_spark.build_sketches(events, make_config(), "number", "tick", bits=99)


@pytest.mark.parametrize("counter", ["eh", "slices"])
def test_partial_sketches_are_handed_on_before_memory_runs_out(monkeypatch, stream, make_config, check, counter):
    import pyarrow as pa

    from ecmsketch.spark import partials
    from ecmsketch.spark.recipe import Recipe

    monkeypatch.setattr(partials, "GATHERED", 5000)
    monkeypatch.setattr(partials, "HELD_BYTES", 100_000)
    making = partials.PartialSketches(Recipe(make_config(counter=counter)))
    pieces = []
    for i in range(0, 60_000, 2000):
        batch = {name: pa.array(column[i : i + 2000]) for name, column in stream.items()}
        pieces += making.add(partials.Events(batch["page"], batch["tick"], batch["site"]))
        assert making.nbytes < 400_000
    pieces += making.finish()
    assert len(pieces) > 6
    from ecmsketch.sketch.merging import unite

    for site in SITES:
        sketch = unite([ecm.load(piece.sketch) for piece in pieces if piece.site == site])
        assert sketch.merge_levels == 0
        check(sketch, site)
