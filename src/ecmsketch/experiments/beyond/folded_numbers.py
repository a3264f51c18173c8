"""Items folded to numbers of few bits, which have an order, and prefix sketches of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.experiments.beyond.engine_settings import cases, feed_all
from ecmsketch.experiments.beyond.heavy_precision import exact_ranges
from ecmsketch.experiments.data.event_stream import Stream
from ecmsketch.experiments.data.exact_counts import Truth
from ecmsketch.experiments.spec import Context
from ecmsketch.sketch import PrefixSketch


class Ordered(NamedTuple):
    """The exact distribution of numbers in one range."""

    last: int
    numbers: NDArray[np.int64]
    """Each number that came, in order."""
    until: NDArray[np.int64]
    """How many arrivals are not greater than each."""

    @property
    def total(self) -> int:
        return int(self.until[-1])

    def below(self, number: int) -> int:
        """How many arrivals are less than a number."""
        place = int(np.searchsorted(self.numbers, number))
        return int(self.until[place - 1]) if place else 0


def fold(items: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """The lowest bits of each item: all of a small number, and a random number for a hash."""
    return (items & np.uint64((1 << bits) - 1)).astype(np.int64)


@lru_cache(maxsize=1)
def exact_orders(stream: Stream, bits: int) -> list[Ordered]:
    """The exact distributions of all ranges."""
    return [_ordered(truth, bits) for truth in exact_ranges(stream)]


def _ordered(truth: Truth, bits: int) -> Ordered:
    numbers, where = np.unique(fold(truth.items, bits), return_inverse=True)
    return Ordered(truth.last, numbers, np.cumsum(np.bincount(where, truth.counts).astype(np.int64)))


def prefix_sketches(context: Context, parameters: Mapping[str, Any]) -> list[tuple[str, float, PrefixSketch]]:
    """A prefix sketch of the whole stream for every engine and epsilon, with their names."""
    bits, settings = parameters["bits"], cases(parameters["epsilons"])
    sketches = [
        PrefixSketch(engine.config(epsilon, parameters["delta"], context.seed), bits=bits)
        for engine, epsilon in settings
    ]
    context.say(f"filling {len(sketches)} sketches")
    feed_all(context.stream, sketches, lambda sketch, batch: sketch.update_many(fold(batch.items, bits), batch.ticks))
    return [(engine.name, epsilon, sketch) for (engine, epsilon), sketch in zip(settings, sketches, strict=True)]
