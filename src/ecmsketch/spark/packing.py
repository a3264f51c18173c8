"""Events of a stream, packed: one row of Arrow bytes per site and some batches, with a clock by which none is late.

Rows handed to a stateful Python function one by one are several times slower than rows of many events each. The event
time that Spark sees is set forward by as much as its watermark lags behind, so that no row is ever late, and its
watermark is the newest event of all sites.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ecmsketch.spark.batch import reader_of, use_large_batches
from ecmsketch.spark.columns import choose
from ecmsketch.spark.partials import PartialSketches, Recipe, Rows
from ecmsketch.ticks import TICKS_PER_DAY

_AHEAD_DAYS = 36_500
"""By which event times are set forward, and the watermark lags behind."""
_PACKED = 2**20
"""Events that a worker gathers before it packs them."""


class Packed:
    """A stream of packed events: columns site, part, events, reasons, newest.

    site_type  of the site in the events; in the packs it is a string or a bigint
    """

    def __init__(
        self,
        events: DataFrame,
        recipe: Recipe,
        item: str | Sequence[str],
        tick: str,
        site: str | None,
        weight: str | None,
    ) -> None:
        chosen = choose(events, recipe.config, item, tick, site, weight, numbers_only=recipe.bits is not None)
        use_large_batches(events.sparkSession)
        text = isinstance(chosen.site_type, T.StringType)
        self.site_type = chosen.site_type
        self.key_type = "string" if text else "bigint"
        pack = _packer(chosen.items, chosen.has_site, chosen.has_weight, recipe, text)
        self.rows = chosen.events.mapInArrow(
            pack, f"site {self.key_type}, part bigint, events binary, reasons map<string, bigint>, newest bigint"
        )


def millis_of(unit: str | None) -> float:
    """A tick in milliseconds."""
    assert unit is not None
    return TICKS_PER_DAY["ms"] / TICKS_PER_DAY[unit]


def with_clock(packed: DataFrame, unit: str | None) -> DataFrame:
    """Packs with an event time "at" and a watermark that is the newest event of all."""
    moment = (F.col("newest") * F.lit(millis_of(unit))).cast("bigint") + F.lit(_AHEAD_DAYS * 86_400_000)
    return packed.withColumn("at", F.timestamp_millis(moment)).withWatermark("at", f"{_AHEAD_DAYS} days")


def unpack(rows: Iterable[Row]) -> list[Rows]:
    """The events of some packs as one batch in order of time, if there are any."""
    given = sorted(rows, key=lambda row: row["part"])
    return PartialSketches.ordered([_from_bytes(bytes(row["events"])) for row in given if row["events"] is not None])


def add_reasons(reasons: dict[str, int], rows: Iterable[Row]) -> None:
    """Count why events of some packs could not be counted."""
    for row in rows:
        for reason, count in dict(row["reasons"] or {}).items():
            reasons[reason] = reasons.get(reason, 0) + count


def _packer(items: list[str], has_site: bool, has_weight: bool, recipe: Recipe, text: bool) -> Any:
    """What can be counted as Arrow, the rest by reason."""
    read = reader_of(items, has_site, has_weight)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        part = (0 if context is None else context.partitionId()) << 32
        partials = PartialSketches(recipe)
        for batch in batches:
            if partials.gather(read(batch)) >= _PACKED:
                yield _packed_batch(list(partials.packed()), part, text)
                part += 1
        rest = list(partials.packed())
        if rest:
            yield _packed_batch(rest, part, text)

    return pack


def _packed_batch(rows: list[tuple[Any, Rows | None, dict[str, int]]], part: int, text: bool) -> pa.RecordBatch:
    counted = [None if events is None else _to_bytes(events) for _, events, _ in rows]
    newest = [None if events is None else int(events.ticks.max()) for _, events, _ in rows]
    columns = [
        pa.array([site for site, _, _ in rows], pa.string() if text else pa.int64()),
        pa.array([part] * len(rows), pa.int64()),
        pa.array(counted, pa.binary()),
        pa.array([list(reasons.items()) for _, _, reasons in rows], pa.map_(pa.string(), pa.int64())),
        pa.array(newest, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["site", "part", "events", "reasons", "newest"])


def _to_bytes(rows: Rows) -> bytes:
    """Integers that span less than 2**32 take four bytes, above the least of them, which the schema says."""
    columns = rows.items if isinstance(rows.items, dict) else {"item": rows.items}
    given: dict[str, Any] = {f"item_{i}": column for i, column in enumerate(columns.values())}
    given["tick"] = rows.ticks
    if rows.weights is not None:
        given["weight"] = rows.weights
    least: dict[str, str] = {}
    for name, column in given.items():
        if isinstance(column, np.ndarray) and int(column.max()) - (low := int(column.min())) < 2**32:
            given[name] = np.subtract(column, low, dtype=np.int64).astype(np.uint32)
            least[name] = str(low)
    batch = pa.table(given, metadata=least)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_table(batch)
    return bytes(sink.getvalue())


def _from_bytes(data: bytes) -> Rows:
    table = pa.ipc.open_stream(data).read_all()
    least = table.schema.metadata or {}
    columns = {name: _column(table[name], least.get(name.encode())) for name in table.column_names}
    items = {name: column for name, column in columns.items() if name.startswith("item_")}
    return Rows(
        next(iter(items.values())) if len(items) == 1 else items, columns["tick"], columns.get("weight")
    )  # fmt: skip


def _column(column: Any, least: bytes | None) -> Any:
    whole = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_integer(whole.type):
        return whole
    numbers = whole.to_numpy(zero_copy_only=False)
    return numbers if least is None else numbers.astype(np.int64) + int(least)
