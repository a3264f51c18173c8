"""The layout of buckets: the number of arrivals alone decides, level by level, which buckets exist."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.counters.contract import Ints
from ecmsketch.kernels import kernel


class Cells(NamedTuple):
    """State as a few arrays; ticks are offsets from a base.

    Buckets of cell c end at ends[first[c] : first[c] + length[c]], oldest first, in a segment of the arena that
    spans offset[c] .. offset[c+1].
    """

    ends: NDArray[Any]
    offset: Ints
    first: Ints
    length: Ints
    arrivals: Ints


def empty_cells(cells: int, dtype: type) -> Cells:
    """Cells without arrivals; ticks will be kept as `dtype`."""
    zeros = np.zeros(cells, np.int64)
    return Cells(np.empty(0, dtype), np.zeros(cells + 1, np.int64), zeros, zeros.copy(), zeros.copy())


@kernel
def level_count(arrived: Any, minimum: Any) -> Any:
    """Buckets at a level that `arrived` buckets have come to, with at most minimum + 1 staying."""
    if arrived < minimum + int64(2):
        return arrived
    return minimum + ((arrived - minimum) & int64(1))


@kernel
def next_level(arrived: Any, level: Any, count: Any, minimum: Any) -> Any:
    """One level up from a level where `count` buckets stay: (buckets that came to it, the level, those that stay)."""
    arrived = (arrived - count) >> int64(1)
    return arrived, level + int64(1), level_count(arrived, minimum)


@kernel
def bucket_count(arrivals: Any, k: Any) -> Any:
    """Buckets of a cell with that many arrivals."""
    minimum, arrived, buckets = k, arrivals, int64(0)
    while arrived > int64(0):
        count = level_count(arrived, minimum)
        buckets += count
        arrived = (arrived - count) >> int64(1)
        minimum = (k + int64(1)) >> int64(1)
    return buckets


@kernel
def buckets_within(arrivals: Any, newest: Any, k: Any) -> Any:
    """How many buckets end at one of the `newest` latest arrivals."""
    minimum, arrived, buckets, level, passed = k, arrivals, int64(0), int64(0), int64(0)
    while passed < newest:
        count = level_count(arrived, minimum)
        reached = (newest - passed + (int64(1) << level) - int64(1)) >> level
        if reached <= count:
            return buckets + reached
        buckets += count
        passed += count << level
        arrived = (arrived - count) >> int64(1)
        minimum = (k + int64(1)) >> int64(1)
        level += int64(1)
    return buckets


@kernel
def newest_buckets(arrivals: Any, buckets: Any, k: Any) -> Any:
    """Arrivals in all but the oldest of the newest `buckets` (at least one), and in that oldest one."""
    minimum, arrived, level, total = k, arrivals, int64(0), int64(0)
    while True:
        count = level_count(arrived, minimum)
        if buckets <= count:
            return total + ((buckets - int64(1)) << level), int64(1) << level
        buckets -= count
        total += count << level
        arrived = (arrived - count) >> int64(1)
        minimum = (k + int64(1)) >> int64(1)
        level += int64(1)
