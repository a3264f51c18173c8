"""Reading exponential histograms: the bucket in which a range begins, and all buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.counters.buckets.straddling import UNKNOWN, Straddling, first_after
from ecmsketch.counters.exponential_histogram.layout import Cells, bucket_count, level_count, newest_buckets
from ecmsketch.kernels import kernel


@kernel
def straddling(state: Cells, cells: Any, since: Any, limit: Any, k: Any) -> Straddling:
    """See `BucketCounters.straddling`. A bucket starts where the next older one ends, unless that has expired."""
    asked = cells.shape[0]
    found = Straddling(
        np.zeros(asked, np.int64), np.zeros(asked, np.int64), np.empty(asked, np.int64), np.zeros(asked, np.int64)
    )
    for i in range(asked):
        cell = int64(cells[i])
        first, past = state.first[cell], state.first[cell] + state.length[cell]
        at = first_after(state.ends, first, past, since[i])
        found.start[i] = int64(UNKNOWN)
        if at > first and int64(state.ends[at - 1]) > limit:
            found.start[i] = int64(state.ends[at - 1])
        if at < past:
            found.newer[i], found.size[i] = newest_buckets(state.arrivals[cell], past - at, k)
            found.end[i] = int64(state.ends[at])
    return found


@kernel
def history(state: Cells, k: Any) -> Any:
    """Every stored bucket, oldest first: (offset, end, size)."""
    cells = state.arrivals.shape[0]
    offset = np.zeros(cells + 1, np.int64)
    for cell in range(cells):
        offset[cell + 1] = offset[cell] + state.length[cell]
    end = np.empty(offset[cells], np.int64)
    size = np.empty(offset[cells], np.int64)
    half = (k + int64(1)) >> int64(1)
    for cell in range(cells):
        arrived = state.arrivals[cell]
        left, level = level_count(arrived, k), int64(0)
        arrived = (arrived - left) >> int64(1)
        for back in range(state.length[cell]):
            while left == int64(0):
                left, level = level_count(arrived, half), level + int64(1)
                arrived = (arrived - left) >> int64(1)
            i = state.length[cell] - 1 - back
            end[offset[cell] + i] = int64(state.ends[state.first[cell] + i])
            size[offset[cell] + i] = int64(1) << level
            left -= int64(1)
    return offset, end, size


@kernel
def bucket_counts(arrivals: Any, k: Any) -> Any:
    """Buckets of each cell with that many arrivals."""
    counts = np.empty(arrivals.shape[0], np.int64)
    for cell in range(arrivals.shape[0]):
        counts[cell] = bucket_count(arrivals[cell], k)
    return counts


@kernel
def arrivals_within(arrivals: Any, buckets: Any, k: Any) -> Any:
    """Arrivals in the newest buckets[cell] buckets of each cell."""
    held = np.zeros(arrivals.shape[0], np.int64)
    for cell in range(arrivals.shape[0]):
        if buckets[cell] > int64(0):
            newer, size = newest_buckets(arrivals[cell], buckets[cell], k)
            held[cell] = newer + size
    return held
