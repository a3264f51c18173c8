"""Any streaming DataFrame into one sketch per site, kept as Spark's state: constant in size, exact across restarts.

Workers pack events (packing.py). The function of a site unpacks, sorts and feeds them to the site's sketch, which is
the state. What is late is judged event by event by the sketch itself (`late="side"`), never by Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.loading import Sketch, load
from ecmsketch.spark.batch import make_recipe
from ecmsketch.spark.packing import Packed, add_reasons, millis_of, unpack, with_clock
from ecmsketch.spark.partials import Recipe
from ecmsketch.ticks import Tick

_OUTPUT = (
    "site {site}, sketch binary, events bigint, now bigint, late_counted bigint, late_dropped bigint, rejected bigint, "
    "reasons map<string, bigint>"
)
_STATE = "sketch binary, events bigint, reasons map<string, bigint>, timer bigint"
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
    packed = Packed(events, recipe, item, tick, site, weight)
    processor = _SiteProcessor(recipe, max(idle_after or config.window // 100, 1), millis_of(config.unit))
    return (
        with_clock(packed.rows, config.unit)
        .groupBy("site")
        .transformWithState(processor, _OUTPUT.format(site=packed.key_type), "Update", "EventTime")
        .withColumn("site", F.col("site").cast(packed.site_type))
    )


def use_rocksdb(spark: Any) -> None:
    """Let a session keep streaming state in RocksDB, write only what changed, and keep few old versions of it.

    Spark's own choice, a hundred versions looked through once a minute, lets checkpoints grow for as long.
    """
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "10")
    spark.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "10s")


def writer_of(batch: DataFrame, name: str) -> str:
    """Who writes a trigger: the name, and the query's id, which lives as long as its checkpoint does."""
    context = getattr(batch.sparkSession, "sparkContext", None)  # Spark Connect has none
    query = None if context is None else context.getLocalProperty("sql.streaming.queryId")
    return name if query is None else f"{name}/{query}"


def write_to_store(sketches: DataFrame, store: str, checkpoint: str, name: str, *, tidy_every: int | None = 100) -> Any:
    """A writer that puts each trigger's sketches into a store, once: DataStreamWriter, to be started.

    A trigger that is done again after a crash writes nothing twice: the store remembers (name, query, batch). The
    query is that of the checkpoint, so with a new checkpoint all is written anew. Every `tidy_every` triggers what
    newer sketches replaced is dropped, and files unused for an hour are deleted.
    """

    def put(batch: DataFrame, number: int) -> None:
        from ecmsketch.store import SketchRow, SketchStore

        rows = batch.select("site", "sketch", "events").collect()
        changed = [SketchRow(str(row[0]), bytes(row[1]), row[2], "snapshot") for row in rows if row[1] is not None]
        live = SketchStore(store)
        live.append_once(changed, writer_of(batch, name), number)
        if tidy_every is not None and number % tidy_every == tidy_every - 1:
            live.compact()
            live.vacuum(keep_hours=1, force=True)

    writer = sketches.writeStream.queryName(name).outputMode("update").foreachBatch(put)
    return writer.option("checkpointLocation", checkpoint)


class _SiteProcessor(StatefulProcessor):
    """A site's sketch is its state."""

    def __init__(self, recipe: Recipe, idle_after: int, millis: float) -> None:
        self._recipe, self._idle_after, self._millis = recipe, idle_after, millis

    def init(self, handle: StatefulProcessorHandle) -> None:
        """The state: bytes of the sketch, and what was counted and rejected."""
        self._handle = handle
        self._state = handle.getValueState("site", _STATE)
        self._timer: int | None = None

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Feed what came in this trigger, in order of time."""
        (site,) = key
        given = list(rows)
        sketch, events, reasons = self._load(site)
        add_reasons(reasons, given)
        for batch in unpack(given):
            if sketch is None:
                sketch = self._recipe.new(str(site))
            sketch.update_many(*batch)
            events += len(batch.ticks)
        yield self._keep(site, sketch, events, reasons, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Nothing came for a while: the site's clock follows the others'."""
        (site,) = key
        sketch, events, reasons = self._load(site)
        before = None if sketch is None else sketch.now
        self._timer = None
        row = self._keep(site, sketch, events, reasons, timerValues)
        if row["now"] != before:
            yield row

    def close(self) -> None:
        """Nothing to do."""

    def _load(self, site: Any) -> tuple[Sketch | None, int, dict[str, int]]:
        kept = self._state.get()
        if kept is None:
            self._timer = None
            return None, 0, {}
        self._timer = kept[3]
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

    def _keep(self, site: Any, sketch: Sketch | None, events: int, reasons: dict[str, int], timers: Any) -> Row:
        """Move the clock if need be, and store all; the timer is set again only if it is due, since that takes time."""
        newest = int(timers.getCurrentWatermarkInMs() / self._millis)
        config = self._recipe.config
        idle = newest - (config.allowed_lateness if config.late == "side" else 0)
        if sketch is not None and sketch.now is not None and newest > 0 and idle > sketch.now:
            sketch.advance(idle)
        data = None if sketch is None else sketch.serialize()
        if self._timer is not None and self._timer <= timers.getCurrentWatermarkInMs():
            self._handle.deleteTimer(self._timer)
            self._timer = None
        if self._timer is None:
            self._timer = int((newest + self._idle_after) * self._millis) + 1
            self._handle.registerTimer(self._timer)
        self._state.update((data, events, reasons, self._timer))
        return Row(
            site=site,
            sketch=data,
            events=events,
            now=None if sketch is None else sketch.now,
            late_counted=0 if sketch is None else sketch.late_counted,
            late_dropped=0 if sketch is None else sketch.late_dropped,
            rejected=sum(reasons.values()),
            reasons=reasons,
        )
