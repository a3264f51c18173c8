"""Table 2 in microseconds: what one update, one batch, one point query and one self-join take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median
from typing import Any

import numpy as np

from ecmsketch.experiments.data.event_stream import Stream, StreamBatch
from ecmsketch.experiments.paper.table3 import timed_variants
from ecmsketch.experiments.paper.variants import Variant, read_with
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch

BATCH = 1000
UPDATE, BATCH_UPDATE = "one update", f"a batch of {BATCH:,} updates"
POINT, POINT_AGAIN = "a point query, after an update", "a point query, nothing new since the last"
JOIN = "a self-join, after an update"
ACTIONS = (UPDATE, BATCH_UPDATE, POINT, POINT_AGAIN, JOIN)
"""What is timed. An answer may be remembered until something arrives, so queries are asked after an update."""


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every variant and action: the median of many times, and the time that one in a hundred exceeds."""
    parameters = spec.parameters
    batches = list(islice(context.stream.batches(), parameters["batches"]))
    rows: list[Row] = []
    for variant in timed_variants(parameters["counters"]):
        context.say(variant.name)
        sketch = EcmSketch(variant.config(parameters["epsilon"], parameters["delta"], context.seed), site="here")
        sketch = read_with(sketch, variant.reader)
        for batch in batches:
            sketch.update_many(batch.items, batch.ticks)
        times = _times(sketch, variant, context.stream, batches[-1], parameters["times"])
        rows += [_row(variant, action, found) for action, found in times.items() if found]
    return rows


def _times(
    sketch: EcmSketch, variant: Variant, stream: Stream, batch: StreamBatch, times: int
) -> dict[str, list[float]]:
    """The seconds of every action; its first few calls do not count."""
    items, now = batch.items, int(batch.ticks[-1])
    ranges, random = stream.ranges, np.random.default_rng(0)
    found: dict[str, list[float]] = {action: [] for action in ACTIONS}

    def ask(action: str, question: Callable[[], Any]) -> None:
        begin = time.perf_counter()
        question()
        found[action].append(time.perf_counter() - begin)

    for number, one in zip(range(times + 5), _forever(items, random), strict=False):
        last = ranges[number % len(ranges)]
        ask(UPDATE, lambda one=one: sketch.update(one, now))  # type: ignore[misc]
        ask(POINT, lambda one=one, last=last: _point(sketch, variant, one, last))  # type: ignore[misc]
        ask(POINT_AGAIN, lambda one=one, last=last: _point(sketch, variant, one, last))  # type: ignore[misc]
        some = items[random.integers(0, len(items), BATCH)]
        ask(BATCH_UPDATE, lambda some=some: sketch.update_many(some, np.full(BATCH, now)))  # type: ignore[misc]
        if variant.counter != "rw":
            ask(JOIN, lambda last=last: _join(sketch, variant, last))  # type: ignore[misc]
    return {action: seconds[5:] for action, seconds in found.items()}


def _forever(items: Any, random: np.random.Generator) -> Iterator[int]:
    while True:
        yield int(items[random.integers(len(items))])


def _point(sketch: EcmSketch, variant: Variant, item: int, last: int) -> float:
    """The paper's answer, or ours."""
    return float(sketch.cells(item, last=last).value.min() if variant.published else sketch.estimate(item, last).value)


def _join(sketch: EcmSketch, variant: Variant, last: int) -> float:
    if variant.published:
        return float((sketch.table(last=last).value ** 2).sum(axis=1).min())
    return float(sketch.self_join(last=last).value)


def _row(variant: Variant, action: str, seconds: list[float]) -> Row:
    return {
        "variant": variant.name, "counter": variant.counter, "action": action, "times": len(seconds),
        "median_us": round(1e6 * median(seconds), 2), "p99_us": round(1e6 * float(np.quantile(seconds, 0.99)), 2),
    }  # fmt: skip


TABLE2 = Experiment(
    name="table2",
    title="Table 2: the time of an update and of a query",
    paper="how the time of updates and queries grows with epsilon, delta and the window; it names no times",
    parameters={"epsilon": 0.1, "delta": 0.1, "counters": ("eh", "dw", "rw"), "batches": 20, "times": 500},
    columns=("variant", "counter", "action", "times", "median_us", "p99_us"),
    run=run,
    least_events=10_000,
    scales={"small": {"times": 200}},
)
