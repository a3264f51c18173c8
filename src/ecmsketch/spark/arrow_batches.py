"""Batches of events as Spark hands them to Python: how large they are, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from ecmsketch.spark.cleaning import Events

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_DEFAULT_BYTES, _NO_LIMIT = ("64m", "67108864", "67108864b"), str(2**31 - 1)


def use_large_batches(spark: SparkSession) -> None:
    """Let only the number of rows limit an Arrow batch, unless the user has chosen how many bytes it may have.

    With a limit, Spark reckons the bytes of the whole batch anew for every row, which takes longer than all else.
    """
    if spark.conf.get(_BYTES, _DEFAULT_BYTES[0]) in _DEFAULT_BYTES:
        spark.conf.set(_BYTES, _NO_LIMIT)


@contextmanager
def small_batches(spark: SparkSession) -> Iterator[None]:
    """Let Spark limit the bytes of Arrow batches during an action, even if `use_large_batches` has lifted the limit.

    Rows that hold large sketches need it: no batch may have more than 2 GB.
    """
    lifted = spark.conf.get(_BYTES, "") == _NO_LIMIT
    if lifted:
        spark.conf.set(_BYTES, _DEFAULT_BYTES[0])
    try:
        yield
    finally:
        if lifted:
            spark.conf.set(_BYTES, _NO_LIMIT)


def reader_of(items: list[str], has_site: bool, has_weight: bool, size: int) -> Callable[[Any], Events]:
    """A function that makes events from a batch of the chosen columns, in which `size` is a tick (event_columns.py)."""

    def read(batch: Any) -> Events:
        columns = {name: batch.column(name) for name in items}
        return Events(
            columns[items[0]] if len(items) == 1 else columns,
            _divided(batch.column("tick"), size),
            batch.column("site") if has_site else None,
            batch.column("weight") if has_weight else None,
        )

    return read


def _divided(column: Any, size: int) -> Any:
    """A column of bigints divided by a number, and rounded down; nulls stay."""
    if size == 1 or not len(column):
        return column
    values = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column)]
    unknown = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values // size, pa.int64(), mask=unknown)
