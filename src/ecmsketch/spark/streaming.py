"""Any streaming DataFrame into one sketch per site, kept as Spark's state: constant in size, exact across restarts.

Workers pack a batch's events of one site into one row of bytes, since rows handed to a stateful Python function one by
one are several times slower. The function of a site unpacks, sorts and feeds them to the site's sketch, which is the
state. What is late is judged event by event by the sketch itself (`late="side"`), never by Spark: the event time that
Spark sees is set forward by as much as its watermark lags behind, so that Spark drops nothing, and its watermark is
the newest event of all sites.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.loading import Sketch, load
from ecmsketch.spark.batch import make_recipe, reader_of, use_large_batches
from ecmsketch.spark.columns import choose
from ecmsketch.spark.partials import PartialSketches, Recipe, Rows
from ecmsketch.ticks import TICKS_PER_DAY, Tick

_AHEAD_DAYS = 36_500
"""By which event times are set forward, and the watermark lags behind."""
_OUTPUT = (
    "site {site}, sketch binary, events bigint, now bigint, late_counted bigint, late_dropped bigint, rejected bigint, "
    "reasons map<string, bigint>"
)
_STATE = "sketch binary, events bigint, reasons map<string, bigint>"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def stream_sketches(
    events: DataFrame,
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None = None,
    weight: str | None = None,
    *,
    until: Tick | None = None,
    bits: int | None = None,
    radix: int = 16,
    idle_after: int | None = None,
) -> DataFrame:
    """The sketches that changed, per trigger.

    Rows: (site, sketch, events, now, late_counted, late_dropped, rejected, reasons). Columns as for `build_sketches`;
    the config needs a `unit`, and late="side" to count late events in their place (up to `lateness` ticks behind).
    Write it with outputMode("update"), for example with `write_to_store`. A site without events for `idle_after` ticks
    (default: a hundredth of the window) is moved on to the newest event of all sites, less `lateness`. State needs
    RocksDB: `use_rocksdb(spark)` before the query is started.
    """
    if not events.isStreaming:
        raise InputError("events: expected a streaming DataFrame (readStream); use build_sketches for others")
    if config.unit is None:
        raise ConfigError("unit: a stream's ticks are compared with Spark's clock; set unit='s', for example")
    if config.late == "raise":
        raise ConfigError("late: a stream that has begun cannot be refused; set late='side' or late='drop'")
    recipe = make_recipe(config, bits, radix, until)
    chosen = choose(events, config, item, tick, site, weight, numbers_only=bits is not None)
    use_large_batches(events.sparkSession)
    text = isinstance(chosen.site_type, T.StringType)
    site_type = "string" if text else "bigint"
    pack = _packer(chosen.items, chosen.has_site, chosen.has_weight, recipe, text)
    packed = chosen.events.mapInArrow(
        pack, f"site {site_type}, part bigint, events binary, reasons map<string, bigint>, newest bigint"
    )
    millis = TICKS_PER_DAY["ms"] / TICKS_PER_DAY[config.unit]
    ahead = packed.withColumn(
        "at", F.timestamp_millis((F.col("newest") * F.lit(millis)).cast("bigint") + F.lit(_AHEAD_DAYS * 86_400_000))
    ).withWatermark("at", f"{_AHEAD_DAYS} days")
    processor = _SiteProcessor(recipe, max(idle_after or config.window // 100, 1), millis)
    return (
        ahead.groupBy("site")
        .transformWithState(processor, _OUTPUT.format(site=site_type), "Update", "EventTime")
        .withColumn("site", F.col("site").cast(chosen.site_type))
    )


def use_rocksdb(spark: Any) -> None:
    """Let a session keep streaming state in RocksDB, and write only what changed to checkpoints."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")


def write_to_store(sketches: DataFrame, store: str, checkpoint: str, name: str) -> Any:
    """A writer that puts each trigger's sketches into a store, once: DataStreamWriter, to be started.

    A trigger that is done again after a crash writes nothing twice: the store remembers (name, batch).
    """

    def put(batch: DataFrame, number: int) -> None:
        from ecmsketch.store import SketchRow, SketchStore

        rows = batch.select("site", "sketch", "events").collect()
        changed = [SketchRow(str(row[0]), bytes(row[1]), row[2], "snapshot") for row in rows if row[1] is not None]
        SketchStore(store).append_once(changed, name, number)

    writer = sketches.writeStream.queryName(name).outputMode("update").foreachBatch(put)
    return writer.option("checkpointLocation", checkpoint)


def _packer(items: list[str], has_site: bool, has_weight: bool, recipe: Recipe, text: bool) -> Any:
    """Rows of one site as one row of bytes, per batch: what can be counted as Arrow, the rest by reason."""
    read = reader_of(items, has_site, has_weight)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        part = (0 if context is None else context.partitionId()) << 32
        for batch in batches:
            rows = list(PartialSketches(recipe).packed(read(batch)))
            if rows:
                yield _packed_batch(rows, part, text)
            part += 1

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
    columns = rows.items if isinstance(rows.items, dict) else {"item": rows.items}
    table: dict[str, Any] = {f"item_{i}": column for i, column in enumerate(columns.values())}
    table["tick"] = rows.ticks
    if rows.weights is not None:
        table["weight"] = rows.weights
    sink = pa.BufferOutputStream()
    batch = pa.table(table)
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_table(batch)
    return bytes(sink.getvalue())


def _from_bytes(data: bytes) -> Rows:
    table = pa.ipc.open_stream(data).read_all()
    items = {name: _column(table[name]) for name in table.column_names if name.startswith("item_")}
    weights = _column(table["weight"]) if "weight" in table.column_names else None
    return Rows(next(iter(items.values())) if len(items) == 1 else items, _column(table["tick"]), weights)


def _column(column: Any) -> Any:
    whole = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    return whole.to_numpy(zero_copy_only=False) if pa.types.is_integer(whole.type) else whole


class _SiteProcessor(StatefulProcessor):
    """A site's sketch is its state."""

    def __init__(self, recipe: Recipe, idle_after: int, millis: float) -> None:
        self._recipe, self._idle_after, self._millis = recipe, idle_after, millis

    def init(self, handle: StatefulProcessorHandle) -> None:
        """The state: bytes of the sketch, and what was counted and rejected."""
        self._handle = handle
        self._state = handle.getValueState("site", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Feed what came in this trigger, in order of time."""
        (site,) = key
        given = sorted(rows, key=lambda row: row["part"])
        sketch, events, reasons = self._load(site)
        for row in given:
            for reason, count in dict(row["reasons"] or {}).items():
                reasons[reason] = reasons.get(reason, 0) + count
        batches = [_from_bytes(bytes(row["events"])) for row in given if row["events"] is not None]
        for batch in PartialSketches.ordered(batches):
            if sketch is None:
                sketch = self._recipe.new(str(site))
            sketch.update_many(*batch)
            events += len(batch.ticks)
        yield from self._keep(site, sketch, events, reasons, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Nothing came for a while: the site's clock follows the others'."""
        (site,) = key
        yield from self._keep(site, *self._load(site), timerValues)

    def close(self) -> None:
        """Nothing to do."""

    def _load(self, site: Any) -> tuple[Sketch | None, int, dict[str, int]]:
        kept = self._state.get()
        if kept is None:
            return None, 0, {}
        if kept[0] is None:
            return None, kept[1], dict(kept[2])
        sketch = load(bytes(kept[0]))
        different = self._recipe.new("").config.differences(sketch.config)
        if different:
            raise ConfigError(
                f"site {site!r}: the running query keeps sketches with another {', '.join(different)}; "
                "a query's config cannot change. Start one with the new config beside it, with a checkpoint of its own"
            )
        return sketch, kept[1], dict(kept[2])

    def _keep(
        self, site: Any, sketch: Sketch | None, events: int, reasons: dict[str, int], timers: Any
    ) -> Iterator[Row]:
        newest = int(timers.getCurrentWatermarkInMs() / self._millis)
        config = self._recipe.config
        idle = newest - (config.allowed_lateness if config.late == "side" else 0)
        if sketch is not None and sketch.now is not None and newest > 0 and idle > sketch.now:
            sketch.advance(idle)
        data = None if sketch is None else sketch.serialize()
        self._state.update((data, events, reasons))
        for timer in self._handle.listTimers():
            self._handle.deleteTimer(timer)
        self._handle.registerTimer(int((newest + self._idle_after) * self._millis) + 1)
        yield Row(
            site=site,
            sketch=data,
            events=events,
            now=None if sketch is None else sketch.now,
            late_counted=0 if sketch is None else sketch.late_counted,
            late_dropped=0 if sketch is None else sketch.late_dropped,
            rejected=sum(reasons.values()),
            reasons=reasons,
        )
