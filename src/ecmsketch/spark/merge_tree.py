"""Merging the sketches of many sites into one, in a tree whose nodes are Spark tasks."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ecmsketch.errors import MergeError
from ecmsketch.inputs.columns import is_integer
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.merging import merge
from ecmsketch.spark.arrow_batches import small_batches
from ecmsketch.spark.event_columns import quoted
from ecmsketch.spark.failures import spark_errors
from ecmsketch.spark.workers import use_driver_python

FAN_IN = 64
_SCHEMA = "node bigint, sketch binary, moved array<bigint>"


class MergeLevel(NamedTuple):
    """What one level of the tree did."""

    level: int
    inputs: int
    outputs: int
    bytes_moved: int


def merge_sketches(
    sketches: DataFrame,
    fan_in: int | None = None,
    *,
    site: str = "site",
    sketch: str = "sketch",
    report: Callable[[MergeLevel], None] | None = None,
) -> AnySketch:
    """One sketch of all sites, from a DataFrame with a row for each.

    Every level of merging adds error, which the result carries (`epsilon`, `merge_levels`); so the default merges up
    to 64 at a time: one level for 64 sites, two for 4,096. `fan_in=2` is the paper's binary tree. `report` is called
    for every level with the sketches and the bytes that it moved. Rows without a sketch are left out.
    """
    if fan_in is not None and (not is_integer(fan_in) or fan_in < 2):
        raise MergeError(f"fan_in: expected 2 or more, got {fan_in!r}")
    for name in (site, sketch):
        if name not in sketches.columns:
            raise MergeError(f"there is no column {name!r}; the columns are {', '.join(sketches.columns)}")
    use_driver_python(sketches.sparkSession)
    width = fan_in or FAN_IN
    chosen = sketches.select(quoted(site).alias("site"), quoted(sketch).alias("sketch"))
    known = chosen.where(F.col("sketch").isNotNull())
    with spark_errors(), small_batches(sketches.sparkSession):
        names = sorted((row["site"] for row in known.select("site").collect()), key=lambda name: (name is None, name))
        if not names:
            raise MergeError("no sketches were given to be merged; give at least one row")
        row = _tree(known, names, width).collect()[0]
    counts = [len(names)]
    for level, moved in enumerate(row["moved"], start=1):
        counts.append(ceil(counts[-1] / width))
        if report is not None:
            report(MergeLevel(level, counts[-2], counts[-1], moved))
    return load(row["sketch"], max_nbytes=None)


def _tree(known: DataFrame, names: list[Any], width: int) -> DataFrame:
    """Plan all levels as one query. Leaves are numbered by site; the parent of a node is number // width."""
    order = {name: number for number, name in enumerate(names)}
    kind = known.schema["site"].dataType.simpleString()
    numbers = known.sparkSession.createDataFrame(list(order.items()), f"site {kind}, node bigint")
    nodes = known.join(F.broadcast(numbers), known["site"].eqNullSafe(numbers["site"])).select(
        "node", "sketch", F.expr("array()").cast("array<bigint>").alias("moved")
    )
    count = len(names)
    while True:
        nodes = nodes.withColumn("node", F.expr(f"node div {width}")).groupBy("node").applyInArrow(_merge, _SCHEMA)
        count = ceil(count / width)
        if count <= 1:
            return nodes


def _merge(group: pa.Table) -> pa.Table:
    """Merge the children of one node. `moved` sums, by level, the bytes that were sent to it and to nodes below."""
    pieces = group["sketch"].to_pylist()
    below = [sum(level) for level in zip(*group["moved"].to_pylist(), strict=True)]
    sketches = [load(piece, max_nbytes=None) for piece in pieces]
    merged = merge(sketches) if len(sketches) > 1 else sketches[0]
    moved = [*below, sum(map(len, pieces))]
    return pa.table(
        {
            "node": group["node"][:1],
            "sketch": pa.array([merged.serialize()], pa.binary()),
            "moved": pa.array([moved], pa.list_(pa.int64())),
        }
    )
