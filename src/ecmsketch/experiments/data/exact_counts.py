"""The exact answers for a stream: how often every item arrived in every range."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.experiments.data.event_stream import Stream


class Truth(NamedTuple):
    """The exact counts of one range: each distinct item and its number of arrivals."""

    last: int
    items: NDArray[np.uint64]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """The arrivals of all items in the range."""
        return int(self.counts.sum())

    @property
    def self_join(self) -> float:
        """The sum of all squared counts."""
        return float((self.counts.astype(np.float64) ** 2).sum())


def count_exactly(stream: Stream, ranges: list[int] | None = None) -> list[Truth]:
    """Count ranges that end with the stream, in one pass over the longest. Memory grows with the distinct items."""
    found = {last: Truth(last, np.empty(0, np.uint64), np.empty(0, np.int64)) for last in ranges or stream.ranges}
    for batch in stream.batches_from(stream.now - max(found) + 1):
        for last, before in found.items():
            begin = int(np.searchsorted(batch.ticks, stream.now - last, side="right"))
            if begin < len(batch.ticks):
                found[last] = _add(before, batch.items[begin:])
    return list(found.values())


def _add(before: Truth, items: NDArray[np.uint64]) -> Truth:
    new, counts = np.unique(items, return_counts=True)
    names, where = np.unique(np.concatenate([before.items, new]), return_inverse=True)
    sums = np.bincount(where, np.concatenate([before.counts, counts])).astype(np.int64)
    return Truth(before.last, names, sums)
