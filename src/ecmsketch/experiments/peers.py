"""Beyond the paper: what a user would pick instead, on the same events in one run.

Peers that are not installed are reported as such; `pip install 'ecmsketch[peers]'` installs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.experiments.accuracy import Observed, overall
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.experiments.stream import WINDOW, Batch, Stream, of_arrays
from ecmsketch.experiments.truth import Truth, exact
from ecmsketch.experiments.variants import Variant
from ecmsketch.sketch import EcmSketch

PANES = 100
"""Of the window, each a sketch without one; as many slides has Spark's window."""


class Peer(NamedTuple):
    """A built peer: the time that took, the bytes it holds (None: it does not say), and how it answers."""

    seconds: float
    memory: int | None
    answer: Callable[[Truth], NDArray[np.float64] | None]
    """How often each item of a range came; None if it cannot be asked for that range."""


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every peer."""
    parameters = spec.parameters
    events = _last_events(context.stream, parameters["events"])
    last = slice(-parameters["spark_events"], None)
    few = Batch(events.items[last], events.ticks[last], events.sites[last])
    builders: dict[str, tuple[str, str, Callable[[], Peer], Batch]] = {
        "ecmsketch": ("ecmsketch", "any range", lambda: _ours(spec, context, events), events),
        "probstructs ECM": ("probstructs", "any range", lambda: _probstructs(spec, context, events), events),
        "datasketches Count-Min panes": ("datasketches", "whole panes", lambda: _panes(spec, context, events), events),
        "DuckDB, exact": ("duckdb", "any range, exactly", lambda: _duckdb(events), events),
        "Spark windows, exact": ("pyspark", "one range, fixed before", lambda: _spark(context.spark, few), few),
    }
    return [_row(context, name, *builder) for name, builder in builders.items()]


def _row(context: Context, name: str, package: str, answers: str, build: Callable[[], Peer], events: Batch) -> Row:
    row: Row = {"peer": name, "version": "", "state": "measured", "answers": answers, "events": len(events.ticks)}
    empty = dict.fromkeys(("build_s", "events_per_s", "memory_bytes", "queries", "ask_s", "avg_error", "max_error"), "")
    try:
        row["version"] = version(package)
        import_module(package)
    except (PackageNotFoundError, ImportError):
        return row | {"state": "not installed"} | empty
    if package == "pyspark" and context.spark is None:
        return row | {"state": "no Spark session"} | empty
    context.say(name)
    peer = build()
    stream = of_arrays("peers", context.stream.real, "", *events)
    begin, parts = time.perf_counter(), []
    for truth in exact(stream):
        answer = peer.answer(truth)
        if answer is not None:
            errors = np.abs(answer - truth.counts) / truth.total
            parts.append(Observed(len(errors), float(errors.mean()), float(errors.max())))
    found = overall(parts)
    return row | {
        "build_s": peer.seconds, "events_per_s": len(events.ticks) / peer.seconds, "memory_bytes": peer.memory or "",
        "queries": found.queries, "ask_s": time.perf_counter() - begin, "avg_error": found.average,
        "max_error": found.worst,
    }  # fmt: skip


def _last_events(stream: Stream, most: int) -> Batch:
    kept: list[Batch] = []
    for batch in stream.batches():
        kept.append(batch)
        while sum(len(part.ticks) for part in kept[1:]) >= most:
            kept.pop(0)
    return Batch(*(np.concatenate(column)[-most:] for column in zip(*kept, strict=True)))


def _timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _ours(spec: Experiment, context: Context, events: Batch) -> Peer:
    config = Variant("eh").config(spec.parameters["epsilon"], spec.parameters["delta"], context.seed)
    sketch = EcmSketch(config)

    def build() -> None:
        sketch.update_many(events.items, events.ticks)
        sketch.total()

    EcmSketch(config).update_many(events.items[:1000], events.ticks[:1000])  # kernels are compiled once
    return Peer(_timed(build), sketch.nbytes, lambda truth: sketch.estimate_many(truth.items, last=truth.last).value)


def _probstructs(spec: Experiment, context: Context, events: Batch) -> Peer:
    config = Variant("eh").config(spec.parameters["epsilon"], spec.parameters["delta"], context.seed)
    sketch = import_module("probstructs").ExponentialCountMinSketch(config.width, config.depth, WINDOW)
    first, now = int(events.ticks[0]), int(events.ticks[-1] - events.ticks[0])
    calls = list(zip(map(str, events.items.tolist()), (events.ticks - first).tolist(), strict=True))

    def build() -> None:
        for name, tick in calls:
            sketch.inc(name, tick, 1)

    def answer(truth: Truth) -> NDArray[np.float64]:
        return np.array([sketch.get(str(item), truth.last, now) for item in truth.items.tolist()], np.float64)

    return Peer(_timed(build), None, answer)


def _panes(spec: Experiment, context: Context, events: Batch) -> Peer:
    config = Variant("eh").config(spec.parameters["epsilon"], spec.parameters["delta"], context.seed)
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
            if age * length < truth.last:  # panes are taken whole
                merged.merge(pane)
        return np.array([merged.get_estimate(item) for item in truth.items.view(np.int64).tolist()])

    return Peer(_timed(build), sum(pane.get_serialized_size_bytes() for pane in panes.values()), answer)


def _duckdb(events: Batch) -> Peer:
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


def _spark(spark: Any, events: Batch) -> Peer:
    import pyarrow as pa

    now, slide = int(events.ticks[-1]), WINDOW // PANES
    table = pa.table({"item": events.items.view(np.int64), "tick": events.ticks})
    begins = (now + 1 - WINDOW) % slide  # so that one window ends with the stream
    window = f"window(timestamp_seconds(tick), '{WINDOW} seconds', '{slide} seconds', '{begins} seconds')"
    events_of = spark.createDataFrame(table).selectExpr(f"{window} AS period", "item")
    counts = events_of.groupBy("period", "item").count().cache()
    spark.range(1000).groupBy("id").count().count()  # a session that has worked before
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


PEERS = Experiment(
    name="peers",
    title="Peers: what one would pick instead",
    paper="no such table",
    parameters={"epsilon": 0.01, "delta": 0.1, "events": 500_000, "spark_events": 20_000},
    columns=(
        "peer", "version", "state", "answers", "events", "build_s", "events_per_s", "memory_bytes", "queries", "ask_s",
        "avg_error", "max_error",
    ),
    run=run,
    distributed=True,
)  # fmt: skip
