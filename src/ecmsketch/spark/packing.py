"""Events of a stream, packed: one row of Arrow bytes per site, or per group of sites, and some batches.

Rows handed to a stateful Python function one by one are several times slower than rows of many events each. Most of a
pack's events, not one of them, decide what the pack says of the newest event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql import types as T

from ecmsketch.spark import cleaning
from ecmsketch.spark.arrow_batches import reader_of, use_large_batches
from ecmsketch.spark.cleaning import Events, Reasons, Rows
from ecmsketch.spark.clocks import newest_of_most
from ecmsketch.spark.event_columns import choose
from ecmsketch.spark.gathered_rows import GatheredEvents
from ecmsketch.spark.reading_ahead import read_ahead
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import in_order
from ecmsketch.spark.spark_clock import to_millis

_PACKED = 2**20
"""How many events a worker gathers before it packs them."""


class Form(NamedTuple):
    """How packs look: their schema, in which {site} is the type of a site, and how gathered events become packs.

    `pack` takes gathered events, the number of the part, whether sites are texts, and what `newest_arrival` takes.
    """

    schema: str
    pack: Callable[[GatheredEvents, int, bool, str | None, int | None], pa.RecordBatch]


class Packed:
    """A stream of packed events. Every form has columns part, events, newest (in milliseconds) and alone.

    site_type  the type of the site in the events; in the packs it is a string or a bigint
    form       a row for each site (BY_SITE), or for each group of sites (group_packing.py)
    ahead      a gap of more ticks divides a pack's events into clusters; the largest one gives `newest`
    """

    def __init__(
        self,
        events: DataFrame,
        recipe: Recipe,
        item: str | Sequence[str],
        tick: str,
        site: str | None,
        weight: str | None,
        ahead: int | None,
        form: Form | None = None,
    ) -> None:
        form = form or BY_SITE
        chosen = choose(events, recipe.config, item, tick, site, weight, numbers_only=recipe.bits is not None)
        use_large_batches(events.sparkSession)
        text = isinstance(chosen.site_type, T.StringType)
        self.site_type = chosen.site_type
        self.key_type = "string" if text else "bigint"
        read = reader_of(chosen.items, chosen.has_site, chosen.has_weight, chosen.size)
        pack = _packer(read, recipe, text, ahead, form)
        self.rows = chosen.events.mapInArrow(pack, form.schema.format(site=self.key_type))


def unpack(rows: Iterable[Row]) -> list[Rows]:
    """The events of some packs as one batch in order of time, if there are any."""
    given = sorted(rows, key=lambda row: row["part"])
    batches = [rows_from_bytes(bytes(row["events"])) for row in given if row["events"] is not None]
    return [in_order(batches)] if batches else []


def add_reasons(reasons: Reasons, rows: Iterable[Row]) -> None:
    """Count why events of some packs could not be counted."""
    for row in rows:
        cleaning.add_reasons(reasons, dict(row["reasons"] or {}))


def _packer(read: Callable[[Any], Events], recipe: Recipe, text: bool, ahead: int | None, form: Form) -> Any:
    """A function for mapInArrow that packs what can be counted, and says why the rest cannot."""
    unit = recipe.config.unit

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        part = (0 if context is None else context.partitionId()) << 32
        gathered = GatheredEvents(recipe)
        for batch in read_ahead(batches):
            if gathered.add(read(batch)) >= _PACKED:
                yield form.pack(gathered, part, text, unit, ahead)
                part += 1
        rest = form.pack(gathered, part, text, unit, ahead)
        if rest.num_rows:
            yield rest

    return pack


def newest_arrival(ticks: list[NDArray[np.int64]], unit: str | None, ahead: int | None) -> tuple[Any, Any]:
    """The newest tick of most of a pack's arrivals, as Spark's milliseconds, and whether it is that of one alone."""
    if not any(map(len, ticks)):
        return None, None
    tick, count = newest_of_most(np.concatenate(ticks), ahead)
    return to_millis(tick, unit), count == 1


def packed_batch(
    rows: list[tuple[Any, Rows | None, Reasons]], part: int, text: bool, unit: str | None, ahead: int | None
) -> pa.RecordBatch:
    """Gathered events as packs, one row for each site."""
    ticks = [events.arrival_ticks() for _, events, _ in rows if events is not None]
    newest, alone = newest_arrival(ticks, unit, ahead)
    columns = [
        pa.array([site for site, _, _ in rows], pa.string() if text else pa.int64()),
        pa.array([part] * len(rows), pa.int64()),
        pa.array([None if events is None else rows_to_bytes(events) for _, events, _ in rows], pa.binary()),
        pa.array([list(reasons.items()) for _, _, reasons in rows], pa.map_(pa.string(), pa.int64())),
        pa.array([newest] * len(rows), pa.int64()),
        pa.array([alone] * len(rows), pa.bool_()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["site", "part", "events", "reasons", "newest", "alone"])


def _pack_sites(gathered: GatheredEvents, part: int, text: bool, unit: str | None, ahead: int | None) -> pa.RecordBatch:
    return packed_batch(list(gathered.take()), part, text, unit, ahead)


BY_SITE = Form(
    "site {site}, part bigint, events binary, reasons map<string, bigint>, newest bigint, alone boolean", _pack_sites
)
"""A row for each site."""


def rows_to_bytes(rows: Rows) -> bytes:
    """Rows as Arrow bytes. Integers that span less than 2**32 take four bytes; the schema says their least value."""
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


def rows_from_bytes(data: bytes) -> Rows:
    """What `rows_to_bytes` wrote."""
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
