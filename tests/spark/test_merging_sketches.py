"""Merging up a tree of Spark tasks."""

from __future__ import annotations

import numpy as np
import pytest

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.errors import FormatError, MergeError

SCHEMA = "site string, sketch binary"


@pytest.fixture(scope="module")
def sites():
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000, merge_depth=1, heavy_hitters=True, counter="eh")
    rng = np.random.default_rng(0)
    made = {}
    for i in range(9):
        made[f"site {i}"] = ecm.EcmSketch(config)
        made[f"site {i}"].update_many(
            [f"item {n}" for n in rng.zipf(1.5, 500) % 50], np.sort(rng.integers(0, 1000, 500))
        )
    return made


def frame(spark, sketches):
    return spark.createDataFrame([(site, sketch.serialize()) for site, sketch in sketches.items()], SCHEMA)


def test_all_at_once_is_what_merge_does(spark, sites):
    levels = []
    merged = ecm_spark.merge_sketches(frame(spark, sites), report=levels.append)
    assert merged == ecm.merge(sites.values())
    sizes = sum(len(sketch.serialize()) for sketch in sites.values())
    assert levels == [ecm_spark.MergeLevel(1, 9, 1, sizes)]


def test_the_binary_tree_of_the_paper(spark, sites):
    levels = []
    merged = ecm_spark.merge_sketches(frame(spark, sites), fan_in=2, report=levels.append)
    assert merged == ecm.merge(sites.values(), method="binary")
    assert [(level.inputs, level.outputs) for level in levels] == [(9, 5), (5, 3), (3, 2), (2, 1)]
    assert merged.merge_levels == 4
    assert levels[0].bytes_moved == sum(len(sketch.serialize()) for sketch in sites.values())
    assert all(level.bytes_moved > 0 for level in levels)


def test_fan_in_of_three(spark, sites):
    merged = ecm_spark.merge_sketches(frame(spark, sites), fan_in=3)
    assert merged.merge_levels == 2
    assert merged.total().covers(9 * 500)


def test_prefix_sketches_and_one_sketch(spark):
    for changes in ({"counter": "slices", "resolution": 0.4}, {"counter": "eh"}):
        config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000, merge_depth=1, **changes)
        sketches = {}
        for i in range(3):
            sketches[str(i)] = ecm.PrefixSketch(config, bits=8)
            sketches[str(i)].update_many(np.arange(4000) % 100, np.arange(4000) // 20)
        merged = ecm_spark.merge_sketches(frame(spark, sketches))
        assert merged == ecm.merge(sketches.values())
        assert merged.merge_levels == 1
    assert ecm_spark.merge_sketches(frame(spark, {"0": sketches["0"]})) == sketches["0"]


def test_columns_of_any_name(spark, sites):
    renamed = frame(spark, sites).toDF("a.b", "the `sketch`")
    assert ecm_spark.merge_sketches(renamed, site="a.b", sketch="the `sketch`") == ecm.merge(sites.values())


def test_refusals(spark, sites):
    good = frame(spark, sites)
    with pytest.raises(MergeError, match="fan_in: expected 2 or more"):
        ecm_spark.merge_sketches(good, fan_in=1)
    with pytest.raises(MergeError, match="there is no column 'sketch'"):
        ecm_spark.merge_sketches(good.drop("sketch"))
    with pytest.raises(MergeError, match="no sketches were given"):
        ecm_spark.merge_sketches(good.limit(0))
    other = ecm.EcmSketch(next(iter(sites.values())).config.replace(epsilon=0.2))
    with pytest.raises(MergeError, match=r"epsilon is 0\.\d in one and 0\.\d in another"):
        ecm_spark.merge_sketches(frame(spark, {**sites, "x": other}))
    broken = spark.createDataFrame([("a", b"nonsense"), ("b", b"x")], SCHEMA)
    with pytest.raises(FormatError, match="truncated"):
        ecm_spark.merge_sketches(broken)
