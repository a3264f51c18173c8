"""The peers: how each counts the same events in a sliding window, and how it answers.

Every peer is timed from the first event to the last, with what it must do to forget expired events.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.beyond.peer_feed import Built, Feed
from ecmsketch.sketch import EcmSketch

PANES = 100
"""The number of panes in the window, each with a sketch of its own. Spark's window slides by one pane."""


def _timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def build_ours(config: SketchConfig, feed: Feed, one_by_one: bool = False) -> Built:
    """Our sketch, fed in batches or with one call per event."""
    sketch = EcmSketch(config)
    first = EcmSketch(config)
    first.update_many(*next(feed.batches()))
    first.total()  # now all modules are loaded

    def build() -> None:
        for items, ticks in feed.batches():
            if one_by_one:
                for item, tick in zip(items.tolist(), ticks.tolist(), strict=True):
                    sketch.update(item, tick)
            else:
                sketch.update_many(items, ticks)
        sketch.total()

    return Built(_timed(build), sketch.nbytes, lambda item, last: sketch.estimate(item, last=last).value)


def build_probstructs(config: SketchConfig, feed: Feed) -> Built:
    """The exponential Count-Min sketch of probstructs, one call per event. Its memory is what the process grows by."""
    before = _resident()
    sketch = import_module("probstructs").ExponentialCountMinSketch(config.width, config.depth, feed.window)
    seconds = 0.0
    for items, ticks in feed.batches():
        calls = list(zip(map(str, items.tolist()), ticks.tolist(), strict=True))

        def count(calls: list[tuple[str, int]] = calls) -> None:
            for name, tick in calls:
                sketch.inc(name, tick, 1)

        seconds += _timed(count)
        del calls, count
    grown = _resident() - before
    return Built(seconds, grown if grown > 0 else None, lambda item, last: float(sketch.get(str(item), last, feed.now)))


def _resident() -> int:
    """The bytes of this process, after what it has freed is given back to the system."""
    gc.collect()
    with suppress(OSError, AttributeError):  # only glibc can
        CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def build_panes(config: SketchConfig, feed: Feed) -> Built:
    """A plain Count-Min sketch of datasketches for every pane of the window, one call per event."""
    new = import_module("datasketches").count_min_sketch
    length = max(feed.window // PANES, 1)
    panes: dict[int, Any] = {}

    def count(items: list[int], numbers: list[int]) -> None:
        for item, number in zip(items, numbers, strict=True):
            pane = panes.get(number)
            if pane is None:
                pane = panes[number] = new(config.depth, config.width)
                panes.pop(number - PANES - 1, None)
            pane.update(item)

    seconds = 0.0
    for items, ticks in feed.batches():
        lists = items.view(np.int64).tolist(), (ticks // length).tolist()
        seconds += _timed(lambda lists=lists: count(*lists))  # type: ignore[misc]

    def ask(item: int, last: int) -> float:
        name = int(np.uint64(item).view(np.int64))
        first = (feed.now - last + 1) // length  # a pane counts as a whole
        return float(sum(pane.get_estimate(name) for number, pane in panes.items() if number >= first))

    return Built(seconds, sum(pane.get_serialized_size_bytes() for pane in panes.values()), ask)


def build_duckdb(feed: Feed) -> Built:
    """A DuckDB table of the events in the window, counted exactly. Its best case: compressed by a checkpoint."""
    import pyarrow as pa

    database = import_module("duckdb").connect(":memory:", config={"threads": 1})
    database.execute("ATTACH ':memory:' AS events_only (COMPRESS)")
    database.execute("USE events_only")
    database.execute("CREATE TABLE events (item BIGINT, tick BIGINT)")

    def build() -> None:
        for items, ticks in feed.batches():
            database.register("given", pa.table({"item": items.view(np.int64), "tick": ticks}))
            database.execute("INSERT INTO events SELECT * FROM given")
            expired = int(ticks[-1]) - feed.window
            if expired >= 0:
                database.execute("DELETE FROM events WHERE tick <= ?", [expired])
                database.execute("CHECKPOINT")
        database.execute("CHECKPOINT")

    def ask(item: int, last: int) -> float:
        question = "SELECT count(*) FROM events WHERE item = ? AND tick > ?"
        signed = int(np.uint64(item).view(np.int64))
        return float(database.execute(question, [signed, feed.now - last]).fetchall()[0][0])

    seconds = _timed(build)
    held = database.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0][0]
    return Built(seconds, int(held), ask)


def build_spark_windows(spark: Any, feed: Feed) -> Built:
    """Exact counts of Spark's sliding windows; they answer for the whole window only."""
    import pyarrow as pa

    items, ticks = (np.concatenate(part) for part in zip(*feed.batches(), strict=True))
    slide = max(feed.window // PANES, 1)
    table = pa.table({"item": items.view(np.int64), "tick": ticks})
    begins = (feed.now + 1 - feed.window) % slide  # makes one window end with the stream
    window = f"window(timestamp_seconds(tick), '{feed.window} seconds', '{slide} seconds', '{begins} seconds')"
    counts = spark.createDataFrame(table).selectExpr(f"{window} AS period", "item").groupBy("period", "item").count()
    counts = counts.cache()
    spark.range(1000).groupBy("id").count().count()  # warms the session up
    seconds = _timed(counts.count)

    def ask(item: int, last: int) -> float:
        signed = int(np.uint64(item).view(np.int64))
        found = counts.where(f"period.end = timestamp_seconds({feed.now + 1}) AND item = {signed}").collect()
        return float(found[0]["count"]) if found else 0.0

    return Built(seconds, None, ask)
