"""Thresholds over all sites on Structured Streaming: sites are keyed state, the coordinator runs in the driver.

What sites tell the coordinator is a trigger's output; what it tells them is a file in a folder that the same query
reads, and so reaches them with the next trigger. A violation is known in the trigger it happens in; the trigger after
it all sites have reported, so the new value and its region are known; with the next they go by it.

The coordinator's state after every trigger is a file too. A trigger that is done again after a crash begins with the
state before it, takes the same reports, and writes the same files again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ecmsketch.alerts import AlertStore
from ecmsketch.errors import ConfigError, InputError
from ecmsketch.monitor import Alert, Coordinator, Custom, Site, Total, Watch
from ecmsketch.monitor.messages import kind_of
from ecmsketch.spark.batch import make_recipe
from ecmsketch.spark.packing import Packed, add_reasons, millis_of, unpack, with_clock
from ecmsketch.spark.streaming import writer_of

_OUTPUT = "site string, message binary, now bigint, events bigint, rejected bigint"
_CONTROL = "site string, message binary"
_KEPT = 3
"""States of the coordinator that are kept: that of the trigger at work, and some before it."""


class Status(NamedTuple):
    """How a monitor stands after a trigger. Counts are of all triggers so far."""

    batch: int
    now: int | None
    value: float | None
    region: int | None
    low: float
    high: float
    syncing: bool
    epoch: int
    synchronised: int | None
    """The tick of the last synchronisation."""
    sites: int
    events: int
    rejected: int
    messages: int
    bytes: int


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
    alerts: str | None = None,
    on_alert: Callable[[Alert], Any] | None = None,
    on_status: Callable[[Status], Any] | None = None,
) -> Any:
    """A writer that watches a threshold over all sites of a stream: DataStreamWriter, to be started.

    folder     on this machine, of this watch alone: checkpoint, messages and the coordinator's state
    name       of the query, and of its alerts in the Delta table `alerts`, into which each is written once
    stream     the column that says of which stream an event is, for InnerProduct(a, b); events of others are left out
    every      ticks after which a site without events is checked too; default: a hundredth of watch.last
    on_alert, on_status
               called in the driver; after a crash perhaps a second time for the same trigger

    The watch must have balance="eager", since asking sites one by one takes a trigger for each. State needs RocksDB:
    `use_rocksdb(spark)` before the query is started.
    """
    _check(events, watch, stream)
    assert watch.sketch is not None
    assert watch.last is not None
    control = _Control(Path(folder), watch)
    packed = [
        Packed(chosen, make_recipe(watch.sketch, None, 16, None), item, tick, site, weight).rows.select(
            F.col("site").cast("string").alias("site"),
            "part",
            "events",
            "reasons",
            "newest",
            F.lit(which).alias("stream"),
        )
        for which, chosen in _streams(events, watch, stream)
    ]
    told = (
        events.sparkSession.readStream.schema(_CONTROL)
        .option("cleanSource", "delete")
        .parquet(control.outbox)
        .withColumn("part", F.lit(-1).cast("bigint"))
    )
    rows = told
    for other in packed:
        rows = rows.unionByName(other, allowMissingColumns=True)
    processor = _SiteProcessor(watch, max(every or watch.last // 100, 1))
    said = (
        with_clock(rows, watch.sketch.unit)
        .groupBy("site")
        .transformWithState(processor, _OUTPUT, "Update", "EventTime")
    )

    def act(batch: DataFrame, number: int) -> None:
        status, raised = control.take(number, batch.collect())
        if alerts is not None and raised:
            AlertStore(alerts).append_once(raised, name, number, writer_of(batch, name))
        if on_alert is not None:
            for alert in raised:
                on_alert(alert)
        if on_status is not None:
            on_status(status)

    writer = said.writeStream.queryName(name).outputMode("update").foreachBatch(act)
    return writer.option("checkpointLocation", str(Path(folder) / "checkpoint"))


def _check(events: DataFrame, watch: Watch, stream: str | None) -> None:
    if not events.isStreaming:
        raise InputError("events: expected a streaming DataFrame (readStream); use monitor.simulate for others")
    if watch.sketch is None or watch.sketch.unit is None:
        raise ConfigError(
            "watch: expected sketch=SketchConfig(..., unit='s'), for example: ticks are compared with Spark's"
        )
    if watch.sketch.late == "raise":
        raise ConfigError("late: a stream that has begun cannot be refused; set late='side' or late='drop'")
    if watch.balance != "eager":
        raise ConfigError("balance: expected 'eager'; on Spark every question to a site takes a trigger")
    if watch.patience is not None or watch.give_up is not None:
        raise ConfigError("patience, give_up: expected None; Spark loses no messages")
    if (stream is None) != (watch.function.streams == ("",)):
        raise ConfigError(
            f"stream: {watch.function!r} is of the streams {watch.function.streams}; name their column, if two"
        )


def _streams(events: DataFrame, watch: Watch, stream: str | None) -> Iterator[tuple[str, DataFrame]]:
    """Each stream's events."""
    if stream is None:
        yield "", events
        return
    for which in watch.function.streams:
        yield which, events.where(F.col(stream) == which)


class _SiteProcessor(StatefulProcessor):
    """A monitor's site is its state."""

    def __init__(self, watch: Watch, every: int) -> None:
        assert watch.sketch is not None
        self._watch, self._every, self._millis = watch, every, millis_of(watch.sketch.unit)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """The state: bytes of the site."""
        self._handle = handle
        self._state = handle.getValueState("site", "site binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Go by the coordinator's answers, observe, check, and answer its questions with what is newest."""
        (name,) = key
        given = list(rows)
        messages = [bytes(row["message"]) for row in given if row["message"] is not None]
        reasons: dict[str, int] = {}
        add_reasons(reasons, given)
        if name is None:
            yield self._row(name, None, None, 0, sum(reasons.values()))
            return
        site, said, events = self._load(name), [], 0
        for message in messages:
            if kind_of(message) != "request":
                said += site.receive(message)
        for stream in self._watch.function.streams:
            for batch in unpack(row for row in given if row["stream"] == stream):
                said += site.observe(*batch, stream=stream)
                events += len(batch.ticks)
        said += self._check(site, timerValues)
        for message in messages:
            if kind_of(message) == "request":
                said += site.receive(message)
        yield from self._keep(site, said, events, sum(reasons.values()), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Nothing came for a while: what expires is noticed too."""
        site = self._load(key[0])
        yield from self._keep(site, self._check(site, timerValues), 0, 0, timerValues)

    def close(self) -> None:
        """Nothing to do."""

    def _load(self, name: str) -> Site:
        kept = self._state.get()
        return Site(name, self._watch) if kept is None else Site.deserialize(bytes(kept[0]), self._watch)

    def _check(self, site: Site, timers: Any) -> list[bytes]:
        newest = int(timers.getCurrentWatermarkInMs() / self._millis)
        return [] if site.now is None else site.tick(max(newest, site.now))

    def _keep(self, site: Site, said: list[bytes], events: int, rejected: int, timers: Any) -> Iterator[Row]:
        self._state.update((site.serialize(),))
        for timer in self._handle.listTimers():
            self._handle.deleteTimer(timer)
        newest = int(timers.getCurrentWatermarkInMs() / self._millis)
        self._handle.registerTimer(int((newest + self._every) * self._millis) + 1)
        yield self._row(site.name, None, site.now, events, rejected)
        for message in said:
            yield self._row(site.name, message, site.now, 0, 0)

    @staticmethod
    def _row(site: str | None, message: bytes | None, now: int | None, events: int, rejected: int) -> Row:
        return Row(site=site, message=message, now=now, events=events, rejected=rejected)


class _Control:
    """The coordinator, trigger by trigger, in a folder: `outbox` has its messages, `states` what it knew after each."""

    def __init__(self, folder: Path, watch: Watch) -> None:
        self._watch = watch
        self.outbox, self._states = str(folder / "outbox"), folder / "states"
        for made in (Path(self.outbox), self._states):
            made.mkdir(parents=True, exist_ok=True)
        self._claim(folder / "watch.txt")

    def _claim(self, path: Path) -> None:
        """A folder is of one watch: sites and coordinator go on with what they had agreed upon."""
        function = self._watch.function
        same = "Custom" if isinstance(function, Custom) else repr(function)
        watch = f"{same} {replace(self._watch, function=Total())!r}"
        if path.exists() and path.read_text() != watch:
            raise ConfigError(
                f"folder: {path.parent} is of another watch, {path.read_text()}; give a folder of its own to {watch}"
            )
        path.write_text(watch)

    def take(self, number: int, rows: Iterable[Row]) -> tuple[Status, list[Alert]]:
        """A trigger's reports; what was there before the trigger decides, whether or not it was done already."""
        found = sorted(rows, key=lambda row: (row["site"] or "", row["message"] or b""))
        coordinator, before = self._before(number)
        reports = [bytes(row["message"]) for row in found if row["message"] is not None]
        clocks = [row["now"] for row in found if row["now"] is not None]
        out = coordinator.receive(*reports) if reports else []
        if clocks:
            out += coordinator.tick(max(clocks))
        synchronised = coordinator.now if coordinator.counts["syncs"] else before["synchronised"]
        low, high = coordinator.bounds or (-float("inf"), float("inf"))
        status = Status(
            number, coordinator.now, coordinator.value, coordinator.region, low, high, coordinator.syncing,
            coordinator.epoch, synchronised, len(coordinator.sites),
            before["events"] + sum(row["events"] for row in found),
            before["rejected"] + sum(row["rejected"] for row in found),
            before["messages"] + len(reports) + len(out),
            before["bytes"] + sum(map(len, reports)) + sum(len(message) for _, message in out),
        )  # fmt: skip
        totals = {name: getattr(status, name) for name in ("events", "rejected", "messages", "bytes", "synchronised")}
        _put(self._states, number, {"coordinator": coordinator.serialize(), **totals})
        if out:
            _put(Path(self.outbox), number, *({"site": site, "message": message} for site, message in out))
        for old in self._numbers():
            if old <= number - _KEPT:
                (self._states / _name(old)).unlink(missing_ok=True)
        return status, list(coordinator.alerts)

    def _before(self, number: int) -> tuple[Coordinator, dict[str, Any]]:
        known = [old for old in self._numbers() if old < number]
        if not known:
            if number:
                raise InputError(f"{self._states}: the coordinator's state is gone, but the checkpoint is at {number}")
            return Coordinator(self._watch), {
                "events": 0, "rejected": 0, "messages": 0, "bytes": 0, "synchronised": None,
            }  # fmt: skip
        (row,) = pq.read_table(self._states / _name(max(known))).to_pylist()
        return Coordinator.deserialize(row.pop("coordinator"), self._watch), row

    def _numbers(self) -> list[int]:
        return sorted(int(path.stem) for path in self._states.glob("*.parquet"))


def _name(number: int) -> str:
    return f"{number:012d}.parquet"


def _put(folder: Path, number: int, *rows: dict[str, Any]) -> None:
    """Under another name first, so that nobody reads half a file."""
    part = folder / f".{_name(number)}.part"
    pq.write_table(pa.Table.from_pylist(list(rows)), part)
    os.replace(part, folder / _name(number))
