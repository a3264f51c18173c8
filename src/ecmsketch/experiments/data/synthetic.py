"""The stream of experiments that make their own events: items by a Zipf law, one event per tick."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ecmsketch.experiments.data.event_stream import BATCH_EVENTS, Stream, StreamBatch

EVENTS, ITEMS, EXPONENT = 2_000_000, 90_000, 1.0
"""The stream on which sliding-window sketches were compared in the design of slices."""
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: multiplied by it, small numbers are spread over 64 bits, and no two become equal."""


@lru_cache(maxsize=1)
def zipf_items(events: int, seed: int = 0) -> NDArray[np.uint64]:
    """Items drawn by the Zipf law, spread over 64 bits. Fewer events are not the first of more."""
    shares = np.cumsum(np.arange(1, ITEMS + 1, dtype=np.float64) ** -EXPONENT)
    ranks = np.searchsorted(shares / shares[-1], np.random.default_rng(seed).random(events))
    return ranks.astype(np.uint64) * SPREAD


def _batches() -> Iterator[StreamBatch]:
    items = zipf_items(EVENTS)
    for begin in range(0, EVENTS, BATCH_EVENTS):
        part = items[begin : begin + BATCH_EVENTS]
        ticks = np.arange(begin, begin + len(part))
        yield StreamBatch(part, ticks, np.zeros(len(part), np.int64))


SYNTHETIC = Stream(
    name="synthetic",
    real=False,
    what=f"generated: {ITEMS:,} items by a Zipf law of exponent {EXPONENT:g}, one event per tick; some experiments "
    "draw fewer or more events of the same law, and say how many",
    events=EVENTS,
    first=0,
    now=EVENTS - 1,
    sites=1,
    batches=_batches,
)
