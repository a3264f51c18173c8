"""Thresholds over all sites on Structured Streaming: sites are keyed state, the coordinator runs in the driver.

The messages of sites to the coordinator are a trigger's output. The messages of the coordinator to sites are files in
a folder that the same query reads (outbox.py), so they reach the sites with the next trigger. A violation is known in
the trigger in which it happens. In the next trigger all sites have reported, so the new value and its region are
known. In the one after that the sites use them. With trigger(availableNow=True) the query goes on until no message is
left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ecmsketch.alerts import AlertStore
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.inputs.ticks import Span
from ecmsketch.monitor import Alert, Watch
from ecmsketch.spark.coordinator_folder import CoordinatorFolder, Status
from ecmsketch.spark.event_columns import check_watched, hashed_kind, quoted
from ecmsketch.spark.packing import Packed
from ecmsketch.spark.query_identity import query_id
from ecmsketch.spark.recipe import AHEAD, ahead_ticks, make_recipe
from ecmsketch.spark.site_watching import OUTPUT, SiteWatcher
from ecmsketch.spark.spark_clock import with_clock
from ecmsketch.spark.streaming import check_late
from ecmsketch.spark.workers import use_driver_python


def monitor_sites(
    events: DataFrame,
    watch: Watch,
    item: str | Sequence[str],
    tick: str,
    site: str,
    weight: str | None = None,
    *,
    folder: str,
    name: str,
    stream: str | None = None,
    every: int | None = None,
    ahead: Span | None = AHEAD,
    alerts: str | None = None,
    on_alert: Callable[[Alert], Any] | None = None,
    on_status: Callable[[Status], Any] | None = None,
) -> Any:
    """A DataStreamWriter, to be started, that watches a threshold over all sites of a stream.

    folder     for this watch alone: checkpoint, messages and the coordinator's state; a path of this machine, or a URL
               that both Spark and pyarrow can write to, such as s3://bucket/watch
    name       the query's name, also in the Delta table `alerts`, into which each alert is written once
    stream     the column that names an event's stream, for InnerProduct(a, b); events of other streams are left out
    every      ticks after which a site without events is checked too; default: a hundredth of watch.last
    ahead      how far ahead of the clocks a tick may be, as for `stream_sketches`; default: a day
    on_alert, on_status  called in the driver; after a crash perhaps twice for the same trigger

    The watch must have balance="eager", since asking sites one by one takes a trigger for each. With
    trigger(availableNow=True) the query takes all there is, resolves it, and ends. State needs RocksDB:
    `use_rocksdb(spark)` before the query is started.
    """
    _check(events, watch, stream)
    use_driver_python(events.sparkSession)
    check_watched(events, item, watch.function.items)
    coordinator = CoordinatorFolder(folder, watch)
    columns = _Columns(item, tick, site, weight, stream)
    said = _reports(events, watch, columns, coordinator.outbox, every, ahead)
    act = _each_trigger(coordinator, events.sparkSession, name, alerts, on_alert, on_status)
    writer = said.writeStream.queryName(name).outputMode("update").foreachBatch(act)
    return writer.option("checkpointLocation", f"{folder.rstrip('/')}/checkpoint")


class _Columns(NamedTuple):
    """Which column of the stream has which role."""

    item: str | Sequence[str]
    tick: str
    site: str
    weight: str | None
    stream: str | None


def _reports(
    events: DataFrame, watch: Watch, columns: _Columns, outbox: str, every: int | None, ahead: Span | None
) -> DataFrame:
    """What sites say to the coordinator, from events and the coordinator's messages."""
    assert watch.sketch is not None
    assert watch.last is not None
    unit = watch.sketch.unit
    limit = ahead_ticks(ahead, unit)
    recipe = make_recipe(watch.sketch, None, 16, None)._replace(kind=hashed_kind(events, watch.sketch, columns.item))
    rows = _told(events.sparkSession, outbox)
    for which, chosen in _streams(events, watch, columns.stream):
        packed = Packed(chosen, recipe, columns.item, columns.tick, columns.site, columns.weight, limit).rows
        named = packed.withColumn("site", F.col("site").cast("string")).withColumn("stream", F.lit(which))
        rows = rows.unionByName(named, allowMissingColumns=True)
    watcher = SiteWatcher(watch, recipe, max(every or watch.last // 100, 1), limit)
    return with_clock(rows, unit, limit).groupBy("site").transformWithState(watcher, OUTPUT, "Update", "EventTime")


def _told(spark: SparkSession, outbox: str) -> DataFrame:
    """The coordinator's messages to sites, as a stream. They come before the events of a trigger."""
    try:
        from ecmsketch.spark.outbox import OutboxSource
    except ImportError as error:  # all else works with Spark 4.1 too, where such a source cannot be written
        raise ConfigError(f"monitoring needs Spark 4.2 or newer, and this is {spark.version}") from error
    spark.dataSource.register(OutboxSource)
    return spark.readStream.format(OutboxSource.name()).load(outbox).withColumn("part", F.lit(-1).cast("bigint"))


def _each_trigger(
    coordinator: CoordinatorFolder,
    session: SparkSession,
    name: str,
    alerts: str | None,
    on_alert: Callable[[Alert], Any] | None,
    on_status: Callable[[Status], Any] | None,
) -> Callable[[DataFrame, int], None]:
    """What the driver does with a trigger's reports: ask the coordinator, store alerts, and tell the caller."""

    def act(batch: DataFrame, number: int) -> None:
        status, raised = coordinator.take(number, batch.collect())
        if alerts is not None and raised:
            AlertStore(alerts).append_once(raised, name, number, generation=query_id(batch, session, name))
        if on_alert is not None:
            for alert in raised:
                on_alert(alert)
        if on_status is not None:
            on_status(status)

    return act


def _check(events: DataFrame, watch: Watch, stream: str | None) -> None:
    if not events.isStreaming:
        raise InputError("events: expected a streaming DataFrame (readStream); use monitor.simulate for others")
    if watch.sketch is None or watch.sketch.unit is None:
        raise ConfigError(
            "watch: expected sketch=SketchConfig(..., unit='s'), for example: ticks are compared with Spark's"
        )
    check_late(watch.sketch)
    if watch.balance != "eager":
        raise ConfigError("balance: expected 'eager'; on Spark every question to a site takes a trigger")
    if watch.patience is not None or watch.give_up is not None:
        raise ConfigError("patience, give_up: expected None; Spark loses no messages")
    if stream is not None and stream not in events.columns:
        raise InputError(f"stream: there is no column {stream!r}; the columns are {', '.join(sorted(events.columns))}")
    if (stream is None) != (watch.function.streams == ("",)):
        raise ConfigError(
            f"stream: expected a column's name for a function of two streams, and None for one; got {stream!r} for "
            f"{watch.function!r} of {watch.function.streams}"
        )


def _streams(events: DataFrame, watch: Watch, stream: str | None) -> Iterator[tuple[str, DataFrame]]:
    """The names of the watched streams, each with its events."""
    if stream is None:
        yield "", events
        return
    for which in watch.function.streams:
        yield which, events.where(quoted(stream).cast("string") == which)
