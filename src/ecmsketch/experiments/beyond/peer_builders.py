"""The peers: how each is built from the same events, and how it answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.experiments.data.event_stream import WINDOW, StreamBatch
from ecmsketch.experiments.data.exact_counts import Truth
from ecmsketch.experiments.paper.variants import Variant
from ecmsketch.experiments.spec import Context, Experiment
from ecmsketch.sketch import EcmSketch

PANES = 100
"""The number of panes in the window, each with a sketch of its own. Spark's window slides by one pane."""


class Peer(NamedTuple):
    """A built peer: the seconds it took, the bytes it holds (None: unknown), and how it answers."""

    seconds: float
    memory: int | None
    answer: Callable[[Truth], NDArray[np.float64] | None]
    """The estimated count of each item of a range, or None if the peer cannot answer for that range."""


def _config(spec: Experiment, context: Context) -> SketchConfig:
    return Variant("eh").config(spec.parameters["epsilon"], spec.parameters["delta"], context.seed)


def _timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def build_ours(spec: Experiment, context: Context, events: StreamBatch) -> Peer:
    """Our sketch, fed in one batch."""
    config = _config(spec, context)
    sketch = EcmSketch(config)

    def build() -> None:
        sketch.update_many(events.items, events.ticks)
        sketch.total()

    EcmSketch(config).update_many(events.items[:1000], events.ticks[:1000])  # compiles the kernels first
    return Peer(_timed(build), sketch.nbytes, lambda truth: sketch.estimate_many(truth.items, last=truth.last).value)


def build_probstructs(spec: Experiment, context: Context, events: StreamBatch) -> Peer:
    """The exponential Count-Min sketch of probstructs, one call per event."""
    config = _config(spec, context)
    sketch = import_module("probstructs").ExponentialCountMinSketch(config.width, config.depth, WINDOW)
    first, now = int(events.ticks[0]), int(events.ticks[-1] - events.ticks[0])
    calls = list(zip(map(str, events.items.tolist()), (events.ticks - first).tolist(), strict=True))

    def build() -> None:
        for name, tick in calls:
            sketch.inc(name, tick, 1)

    def answer(truth: Truth) -> NDArray[np.float64]:
        return np.array([sketch.get(str(item), truth.last, now) for item in truth.items.tolist()], np.float64)

    return Peer(_timed(build), None, answer)


def build_panes(spec: Experiment, context: Context, events: StreamBatch) -> Peer:
    """A plain Count-Min sketch of datasketches for every pane of the window, one call per event."""
    config = _config(spec, context)
    new = import_module("datasketches").count_min_sketch
    length, now = WINDOW // PANES, int(events.ticks[-1])
    ages = (now - events.ticks) // length
    calls = list(zip(ages.tolist(), events.items.view(np.int64).tolist(), strict=True))
    panes = {age: new(config.depth, config.width) for age in np.unique(ages[ages < PANES]).tolist()}

    def build() -> None:
        for age, item in calls:
            if age in panes:
                panes[age].update(item)

    def answer(truth: Truth) -> NDArray[np.float64]:
        merged = new(config.depth, config.width)
        for age, pane in panes.items():
            if age * length < truth.last:  # a pane counts as a whole
                merged.merge(pane)
        return np.array([merged.get_estimate(item) for item in truth.items.view(np.int64).tolist()])

    return Peer(_timed(build), sum(pane.get_serialized_size_bytes() for pane in panes.values()), answer)


def build_duckdb(events: StreamBatch) -> Peer:
    """All events in a DuckDB table, counted exactly."""
    import pyarrow as pa

    database = import_module("duckdb").connect(":memory:", config={"threads": 1})
    table = pa.table({"item": events.items.view(np.int64), "tick": events.ticks})
    database.register("given", table)
    seconds = _timed(lambda: database.execute("CREATE TABLE events AS SELECT * FROM given"))
    now = int(events.ticks[-1])

    def answer(truth: Truth) -> NDArray[np.float64]:
        question = "SELECT item, count(*) FROM events WHERE tick > ? GROUP BY item"
        found = database.execute(question, [now - truth.last]).fetchall()
        return _in_order(truth, found)

    held = database.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0][0]
    return Peer(seconds, int(held), answer)


def build_spark_windows(spark: Any, events: StreamBatch) -> Peer:
    """Exact counts of Spark's sliding windows."""
    import pyarrow as pa

    now, slide = int(events.ticks[-1]), WINDOW // PANES
    table = pa.table({"item": events.items.view(np.int64), "tick": events.ticks})
    begins = (now + 1 - WINDOW) % slide  # makes one window end with the stream
    window = f"window(timestamp_seconds(tick), '{WINDOW} seconds', '{slide} seconds', '{begins} seconds')"
    events_of = spark.createDataFrame(table).selectExpr(f"{window} AS period", "item")
    counts = events_of.groupBy("period", "item").count().cache()
    spark.range(1000).groupBy("id").count().count()  # warms the session up
    seconds = _timed(counts.count)

    def answer(truth: Truth) -> NDArray[np.float64] | None:
        if truth.last != WINDOW and now - truth.last >= int(events.ticks[0]):
            return None
        found = counts.where(f"period.end = timestamp_seconds({now + 1})").select("item", "count").collect()
        return _in_order(truth, found)

    return Peer(seconds, None, answer)


def _in_order(truth: Truth, found: list[Any]) -> NDArray[np.float64]:
    known = {int(item): count for item, count in found}
    return np.array([known.get(item, 0) for item in truth.items.view(np.int64).tolist()], np.float64)
