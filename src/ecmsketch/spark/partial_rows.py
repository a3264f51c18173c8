"""Partial sketches, and events of small sites, as rows of Spark; those of one site are united into one sketch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ecmsketch.spark.partials import Part, Partial, PartialEvents
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.sent_events import Layout, blocks
from ecmsketch.spark.site_uniting import SKETCHES, unite_rows

_REASONS = pa.map_(pa.string(), pa.int64())
_ROWS, _BYTES = 4096, 2**22
"""The most sketches, and about the most bytes of them, that are handed to Spark at a time."""
CHUNK = 2**14
"""The most bytes of a sketch in one row. Spark hands rows to Python some thousands at a time, however long they are."""


def partial_schema(layout: Layout) -> str:
    """The schema of partial sketches as rows."""
    sent = "".join(f", {name} binary" for name in layout.columns)
    return _schema(layout, "part bigint, chunk bigint, ") + sent


def _schema(layout: Layout, more: str = "") -> str:
    return (
        f"site {'string' if layout.text else 'bigint'}, {more}sketch binary, events bigint, first_tick bigint, "
        "last_tick bigint, reasons map<string, bigint>"
    )


def to_batches(parts: Iterator[Part], layout: Layout) -> Iterator[pa.RecordBatch]:
    """Partial sketches as Arrow batches of some rows each."""
    gathered: list[Partial] = []
    size = 0
    for part in parts:
        if isinstance(part, PartialEvents):
            yield from _events_batches(part, layout)
            continue
        gathered.append(part)
        size += len(part.sketch or b"")
        if len(gathered) == _ROWS or size >= _BYTES:
            yield _sketches_batch(gathered, layout)
            gathered, size = [], 0
    if gathered:
        yield _sketches_batch(gathered, layout)


def _sketches_batch(partials: list[Partial], layout: Layout) -> pa.RecordBatch:
    rows = [row for partial in partials for row in _chunks(partial)]
    count = len(rows)
    columns = {
        "site": pa.array([row.site for _, row in rows], _site_type(layout)),
        "chunk": pa.array([chunk for chunk, _ in rows], pa.int64()),
        "sketch": pa.array([row.sketch for _, row in rows], pa.binary()),
        "reasons": pa.array([list(row.reasons.items()) for _, row in rows], _REASONS),
    }
    for name in ("part", "events", "first_tick", "last_tick"):
        columns[name] = pa.array([getattr(row, name) for _, row in rows], pa.int64())
    return _batch(columns | {name: pa.nulls(count, pa.binary()) for name in layout.columns}, layout)


def _chunks(partial: Partial) -> Iterator[tuple[int, Partial]]:
    """A partial sketch as numbered rows. The first one says all; the others have only more bytes of the sketch."""
    sketch = partial.sketch
    if sketch is None or len(sketch) <= CHUNK:
        yield 0, partial
        return
    yield 0, partial._replace(sketch=sketch[:CHUNK])
    for number, begin in enumerate(range(CHUNK, len(sketch), CHUNK), 1):
        yield number, Partial(partial.site, partial.part, sketch[begin : begin + CHUNK], 0, None, None, {})


def _events_batches(part: PartialEvents, layout: Layout) -> Iterator[pa.RecordBatch]:
    for names, counts, sent in blocks(part.sites, layout):
        count = len(counts)
        columns = {
            "site": names.cast(_site_type(layout)),
            "part": pa.array(np.full(count, part.part)),
            "chunk": pa.array(np.zeros(count, np.int64)),
            "sketch": pa.nulls(count, pa.binary()),
            "events": pa.array(counts),
            "first_tick": pa.nulls(count, pa.int64()),
            "last_tick": pa.nulls(count, pa.int64()),
            "reasons": pa.nulls(count, _REASONS),
        }
        yield _batch(columns | dict(zip(layout.columns, sent, strict=True)), layout)


def _batch(columns: dict[str, Any], layout: Layout) -> pa.RecordBatch:
    names = ["site", "part", "chunk", *SKETCHES[1:], *layout.columns]
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names=names)


def _site_type(layout: Layout) -> Any:
    return pa.string() if layout.text else pa.int64()


def unite_partials(partials: DataFrame, recipe: Recipe, layout: Layout, site_type: T.DataType) -> DataFrame:
    """Unite what was made of each site into one sketch."""

    def unite(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from unite_rows(batches, recipe, layout)

    together = partials.repartition("site").sortWithinPartitions("site", "part", "chunk")
    united = together.mapInArrow(unite, _schema(layout))
    reasons = united.selectExpr(
        "site", "sketch", "events", "first_tick", "last_tick",
        "aggregate(map_values(reasons), 0L, (a, b) -> a + b) as rejected", "reasons",
    )  # fmt: skip
    return reasons.withColumn("site", reasons["site"].cast(site_type))
