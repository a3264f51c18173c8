"""Batches as Spark hands them to Python: ticks are divided there, and a limit that the user has chosen stays."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch import spark as ecm_spark
from ecmsketch.spark.arrow_batches import reader_of, small_batches, use_large_batches

LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
LEAST, MOST = -(2**63), 2**63 - 1
SECOND = 10**6


@given(
    st.lists(st.none() | st.integers(LEAST, MOST) | st.sampled_from([LEAST, MOST, -1, 0, -SECOND])),
    st.sampled_from([1, 1000, SECOND, 86_400 * SECOND]),
    st.integers(0, 3),
)
def test_ticks_are_rounded_down_and_nulls_stay(values, size, skipped):
    """Also those of a batch that is a part of a larger one."""
    ticks = pa.array([7] * skipped + values, pa.int64())
    batch = pa.RecordBatch.from_arrays([pa.array([1] * len(ticks), pa.int64()), ticks], names=["item_0", "tick"])
    found = reader_of(["item_0"], False, False, size)(batch.slice(skipped))
    assert found.ticks.to_pylist() == [None if value is None else value // size for value in values]


@pytest.fixture
def limit(spark):
    """The session's setting, put back afterwards."""
    before = spark.conf.get(LIMIT, "64m")
    yield spark.conf
    spark.conf.set(LIMIT, before)


@pytest.mark.parametrize(("given_limit", "then"), [("64m", str(2**31 - 1)), ("63m", "63m"), ("1024", "1024")])
def test_only_the_default_limit_is_lifted(spark, limit, given_limit, then):
    limit.set(LIMIT, given_limit)
    use_large_batches(spark)
    assert limit.get(LIMIT) == then


def test_the_default_of_spark_is_known(spark, limit):
    """If Spark changes it, `use_large_batches` has to know."""
    limit.unset(LIMIT)
    use_large_batches(spark)
    assert limit.get(LIMIT) == str(2**31 - 1)


@pytest.mark.parametrize(("given_limit", "inside"), [(str(2**31 - 1), "64m"), ("63m", "63m"), ("1024", "1024")])
def test_a_lifted_limit_is_there_for_an_action_and_lifted_again(spark, limit, given_limit, inside):
    limit.set(LIMIT, given_limit)
    with suppress(RuntimeError), small_batches(spark):
        assert limit.get(LIMIT) == inside
        raise RuntimeError("the action failed")
    assert limit.get(LIMIT) == given_limit


def test_merging_limits_the_bytes_of_a_batch(spark, limit, monkeypatch):
    seen = []
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000))
    frame = spark.createDataFrame([(1, sketch.serialize())], "site bigint, sketch binary").selectExpr(
        "site", "sketch", "array(1L) as moved"
    )
    monkeypatch.setattr("ecmsketch.spark.merge_tree._tree", lambda known, *_: seen.append(limit.get(LIMIT)) or frame)
    limit.set(LIMIT, str(2**31 - 1))
    ecm_spark.merge_sketches(frame)
    assert seen == ["64m"]


def test_extreme_rows_are_counted_or_rejected_whatever_the_limit_is(spark, limit):
    rows = [(LEAST, 5, LEAST), (MOST, 6, MOST), (-1, -7, -1), (None, 1, 0), (1, None, 0), (1, MOST, 0), (1, 1, None)]
    frame = spark.createDataFrame(rows, "item bigint, tick bigint, site bigint").coalesce(1)
    config = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)
    sketches = ecm_spark.build_sketches(frame, config, "item", "tick", "site")
    found = []
    for bytes_of_a_batch in ("63m", "1", str(2**31 - 1)):  # with one byte, every row is a batch
        limit.set(LIMIT, bytes_of_a_batch)
        found.append({row["site"]: (row["events"], row["first_tick"], row["reasons"]) for row in sketches.collect()})
    assert found[0] == found[1] == found[2] == {
        LEAST: (1, 5, {}), MOST: (1, 6, {}), -1: (1, -7, {}), None: (0, None, {"null site": 1}),
        0: (0, None, {"null item": 1, "null tick": 1, "tick out of range": 1}),
    }  # fmt: skip
