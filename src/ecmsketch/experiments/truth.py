"""What is exactly true of a stream: how often every item came in every range."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.experiments.stream import Stream


class Truth(NamedTuple):
    """One range: each distinct item in it, and how often it came."""

    last: int
    items: NDArray[np.uint64]
    counts: NDArray[np.int64]

    @property
    def total(self) -> int:
        """Arrivals in the range, of all items."""
        return int(self.counts.sum())

    @property
    def self_join(self) -> float:
        """The sum of all squared counts."""
        return float((self.counts.astype(np.float64) ** 2).sum())


def exact(stream: Stream, ranges: list[int] | None = None) -> list[Truth]:
    """Exact counts over ranges that end with the stream, in one pass; memory goes with the distinct items."""
    found = {last: Truth(last, np.empty(0, np.uint64), np.empty(0, np.int64)) for last in ranges or stream.ranges}
    for batch in stream.batches():
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
