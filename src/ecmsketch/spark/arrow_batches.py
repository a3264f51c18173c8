"""Batches of events as Spark hands them to Python: how large they are, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from ecmsketch.spark.cleaning import Events

_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_DEFAULT_ROWS, _FAST_ROWS = "10000", "100000"


def use_large_batches(spark: SparkSession) -> None:
    """Make Arrow batches larger, unless the user has chosen a size."""
    if spark.conf.get(_BATCH_ROWS, _DEFAULT_ROWS) == _DEFAULT_ROWS:
        spark.conf.set(_BATCH_ROWS, _FAST_ROWS)


def reader_of(items: list[str], has_site: bool, has_weight: bool) -> Callable[[Any], Events]:
    """A function that makes events from a batch of the chosen columns (event_columns.py)."""

    def read(batch: Any) -> Events:
        columns = {name: batch.column(name) for name in items}
        return Events(
            columns[items[0]] if len(items) == 1 else columns,
            batch.column("tick"),
            batch.column("site") if has_site else None,
            batch.column("weight") if has_weight else None,
        )

    return read
