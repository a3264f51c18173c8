"""Sketches from any streaming DataFrame, one per site, kept as Spark's state: constant in size, exact across restarts.

Workers pack events by groups of sites (group_packing.py). The state of a group is the sketches of its sites
(group_state.py), to which the unpacked events are fed in order of time (group_sketching.py). A sketch itself decides,
event by event, what is late (`late="side"`); Spark never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.inputs.ticks import Span, Tick
from ecmsketch.spark.cleaning import Reasons, add_reasons
from ecmsketch.spark.event_columns import hashed_kind
from ecmsketch.spark.group_packing import BY_GROUP
from ecmsketch.spark.group_sketching import OUTPUT, GroupSketcher
from ecmsketch.spark.packing import Packed
from ecmsketch.spark.query_identity import query_id
from ecmsketch.spark.recipe import AHEAD, ahead_ticks, make_recipe
from ecmsketch.spark.site_feeding import LATE_COUNTED, LATE_DROPPED
from ecmsketch.spark.spark_clock import with_clock
from ecmsketch.spark.workers import use_driver_python

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
    ahead: Span | None = AHEAD,
    bits: int | None = None,
    radix: int = 16,
    idle_after: int | None = None,
) -> DataFrame:
    """A streaming DataFrame of the sketches that changed in each trigger.

    Rows: (site, sketch, events, now, late_counted, late_dropped, rejected, reasons, added); `added` is what the trigger
    added to the numbers of late and rejected rows. Columns as for `build_sketches`; the config needs a `unit`, and
    late="side" to count late events in their place (up to `lateness` ticks behind). Write it with outputMode("update"),
    for example with `write_to_store`. A site without events for `idle_after` ticks (default: a hundredth of the window)
    is moved on to the newest event of all sites, less `lateness`. Ticks more than `ahead` (default: a day; None: no
    limit) after the trigger's own time, or after the clocks of the site and of the others, are rejected as "tick too
    far ahead" (docs/streaming.md). State needs RocksDB: `use_rocksdb(spark)` before the query is started.
    """
    if not events.isStreaming:
        raise InputError("events: expected a streaming DataFrame (readStream); use build_sketches for others")
    if config.unit is None:
        raise ConfigError("unit: a stream's ticks are compared with Spark's clock; set unit='s', for example")
    check_late(config)
    use_driver_python(events.sparkSession)
    recipe = make_recipe(config, bits, radix, until)._replace(kind=hashed_kind(events, config, item))
    limit = ahead_ticks(ahead, config.unit)
    packed = Packed(events, recipe, item, tick, site, weight, limit, BY_GROUP)
    sketcher = GroupSketcher(recipe, packed.key_type, max(idle_after or config.window // 100, 1), limit)
    return (
        with_clock(packed.rows, config.unit, limit)
        .groupBy("group")
        .transformWithState(sketcher, OUTPUT.format(site=packed.key_type), "Update", "EventTime")
        .withColumn("site", F.col("site").cast(packed.site_type))
    )


def check_late(config: SketchConfig) -> None:
    """Raise an error if late events would stop a running query."""
    if config.late == "raise":
        raise ConfigError("late: a stream that has begun cannot be refused; set late='side' or late='drop'")


def use_rocksdb(spark: Any) -> None:
    """Let a session keep streaming state in RocksDB, write only what changed, and keep few old versions of it.

    Spark's own choice, a hundred versions looked through once a minute, lets checkpoints grow for as long.
    """
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "10")
    spark.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "10s")


def write_to_store(sketches: DataFrame, store: str, checkpoint: str, name: str, *, tidy_every: int | None = 100) -> Any:
    """A DataStreamWriter, to be started, that puts each trigger's sketches into a store, once.

    A trigger that is done again after a crash writes nothing twice: the store remembers (name, query, batch). The
    query is that of the checkpoint: with a new checkpoint everything is written again, and replaces what the old one
    wrote. Queries of other names count other streams: their sketches of one site are united when they are read. Every
    `tidy_every` triggers, sketches that newer ones replaced are dropped, and files unused for a day are deleted. So
    whoever opened the store within a day can read on.
    """
    session = sketches.sparkSession

    def put(batch: DataFrame, number: int) -> None:
        from ecmsketch.store import READER_HOURS, SketchRow, SketchStore

        changed, rejected = _to_store(batch)
        live = SketchStore(store)
        query = query_id(batch, session, name)
        live.append_once(
            (SketchRow(*row) for row in changed), name, number, generation=query, own=True, rejected=rejected
        )
        if tidy_every is not None and number % tidy_every == tidy_every - 1:
            live.compact()
            live.vacuum(keep_hours=READER_HOURS)

    writer = sketches.writeStream.queryName(name).outputMode("update").foreachBatch(put)
    return writer.option("checkpointLocation", checkpoint)


def _to_store(batch: DataFrame) -> tuple[list[tuple[str, bytes, int, str]], Any]:
    """What a trigger says: the sketches that changed, and what it has rejected; both from one run of its tasks."""
    from ecmsketch.store import Rejected

    added = "added" if "added" in batch.columns else F.lit(None).alias("added")
    known = batch.select(F.col("site").cast("string"), "sketch", "events", added).toArrow()
    sites, blobs, events, more = (column.to_pylist() for column in known.columns)
    changed = [(*row, "snapshot") for row in zip(sites, blobs, events, strict=True) if row[1] is not None]
    reasons: Reasons = {}
    for some in more:
        add_reasons(reasons, dict(some or ()))
    late = reasons.pop(LATE_COUNTED, 0), reasons.pop(LATE_DROPPED, 0)
    return changed, Rejected(reasons, *late)
