"""The inner product of two streams (section 5), which the paper bounds and does not measure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.experiments.beyond.engine_settings import cases, feed_all
from ecmsketch.experiments.data.event_stream import Stream, StreamBatch
from ecmsketch.experiments.data.exact_counts import Truth, count_exactly
from ecmsketch.experiments.spec import Context, Experiment, Row
from ecmsketch.sketch import EcmSketch


class Exact(NamedTuple):
    """The exact answer for one range: the arrivals of both streams, and their inner product."""

    last: int
    arrivals: tuple[int, int]
    product: float


def parts_of(stream: Stream, batch: StreamBatch) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which events belong to each of two streams: sites with odd and even numbers, or every other event."""
    first = batch.sites % 2 == 0 if stream.sites > 1 else np.arange(len(batch.ticks)) % 2 == 0
    return first, ~first


def half_of(stream: Stream, half: int) -> Stream:
    """One of the two streams. It ends with the whole stream, so that both are asked over the same ticks."""

    def batches() -> Iterator[StreamBatch]:
        for batch in stream.batches():
            mine = parts_of(stream, batch)[half]
            if mine.any():
                yield StreamBatch(batch.items[mine], batch.ticks[mine], batch.sites[mine])

    return Stream(stream.name, stream.real, "", stream.events, stream.first, stream.now, 1, batches)


@lru_cache(maxsize=1)
def exact_products(stream: Stream) -> list[Exact]:
    """The exact inner products of all ranges."""
    one, other = (count_exactly(half_of(stream, half), stream.ranges) for half in (0, 1))
    return [_product(*pair) for pair in zip(one, other, strict=True)]


def _product(one: Truth, other: Truth) -> Exact:
    _, here, there = np.intersect1d(one.items, other.items, assume_unique=True, return_indices=True)
    product = float(one.counts[here].astype(np.float64) @ other.counts[there])
    return Exact(one.last, (one.total, other.total), product)


def run(spec: Experiment, context: Context) -> list[Row]:
    """A row for every engine, epsilon and range."""
    parameters = spec.parameters
    exact = exact_products(context.stream)
    settings = cases(parameters["epsilons"])
    configs = [
        engine.config(epsilon, parameters["delta"], context.seed, optimize_for="inner") for engine, epsilon in settings
    ]
    context.say(f"filling {2 * len(configs)} sketches")
    pairs = [(EcmSketch(config), EcmSketch(config)) for config in configs]
    feed_all(context.stream, pairs, partial(_feed, context.stream))
    return [
        {"engine": engine.name, "epsilon": epsilon, **_row(*pair, answer)}
        for (engine, epsilon), pair in zip(settings, pairs, strict=True)
        for answer in exact
    ]


def _feed(stream: Stream, pair: tuple[EcmSketch, EcmSketch], batch: StreamBatch) -> None:
    for sketch, mine in zip(pair, parts_of(stream, batch), strict=True):
        sketch.update_many(batch.items[mine], batch.ticks[mine])


def promised(sketch: EcmSketch) -> float:
    """The error that both sketches together may have: epsilon, or theorem 2 where the resolution is set apart."""
    config = sketch.config
    apart: float = (1 + config.epsilon_t) ** 2 * (1 + config.epsilon_cm) - 1
    return config.epsilon if config.resolution is None else apart


def _row(one: EcmSketch, other: EcmSketch, exact: Exact) -> Row:
    found = one.inner_product(other, last=exact.last)
    scale = max(exact.arrivals[0] * exact.arrivals[1], 1)
    return {
        "range_s": exact.last, "arrivals_a": exact.arrivals[0], "arrivals_b": exact.arrivals[1],
        "exact": exact.product / scale, "error": abs(found.value - exact.product) / scale,
        "promised": promised(one), "bound": max(found.upper - found.value, found.value - found.lower) / scale,
        "covered": bool(found.covers(exact.product)), "memory_bytes": one.nbytes + other.nbytes,
    }  # fmt: skip


INNER_PRODUCT = Experiment(
    name="inner_product",
    title="Beyond: the inner product of two streams",
    paper="section 5 proves a bound of epsilon of the product of both streams' arrivals, without an experiment",
    parameters={"epsilons": (0.02, 0.05, 0.1), "delta": 0.1},
    columns=(
        "engine", "epsilon", "range_s", "arrivals_a", "arrivals_b", "exact", "error", "promised", "bound",
        "covered", "memory_bytes",
    ),
    run=run,
    seeds=5,
    least_events=1000,
)  # fmt: skip
