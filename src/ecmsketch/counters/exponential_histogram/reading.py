"""What cells hold over a range, and all their buckets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.counters.exponential_histogram.layout import Cells, first_after, level_count, newest_buckets
from ecmsketch.kernels import kernel

UNKNOWN = -(2**62)


@kernel
def oldest_in_range(state: Cells, cell: Any, since: Any, limit: Any, k: Any) -> Any:
    """The bucket that a range starting after `since` begins in: (newer arrivals, size, start, end).

    A bucket starts where the next older one ends. If that has expired at `limit`, the start is UNKNOWN: whether
    it is still stored is chance, and must not change an answer.
    """
    first, past = state.first[cell], state.first[cell] + state.length[cell]
    start = int64(UNKNOWN)
    if state.frozen_offset.shape[0] > 0:
        low, high = state.frozen_offset[cell], state.frozen_offset[cell + 1]
        at = first_after(state.frozen_ends, low, high, since)
        if at > low and state.frozen_ends[at - 1] > limit:
            start = state.frozen_ends[at - 1]
        if at < high:
            newer = state.frozen_tail[at + 1] if at + 1 < high else int64(0)
            size = state.frozen_tail[at] - newer
            return state.arrivals[cell] + newer, size, start, state.frozen_ends[at]
    at = first_after(state.ends, first, past, since)
    if at == past:
        return int64(0), int64(0), start, int64(0)
    if at > first and int64(state.ends[at - 1]) > limit:
        start = int64(state.ends[at - 1])
    newer, size = newest_buckets(state.arrivals[cell], past - at, k)
    return newer, size, start, int64(state.ends[at])


@kernel
def share_after(
    state: Cells, cell: Any, since: Any, limit: Any, newer: Any, size: Any, start: Any, end: Any, k: Any
) -> Any:
    """How much of the straddling bucket lies after `since`, if its arrivals are spread evenly.

    If its start is unknown, they are taken to be as dense as the arrivals just after it.
    """
    if start != int64(UNKNOWN):
        return np.float64(end - since) / np.float64(end - start)
    newer_still, next_size, _, next_end = oldest_in_range(state, cell, end, limit, k)
    if next_size == int64(0):
        return 0.5
    span = np.float64(next_end - end) * np.float64(size) / np.float64(newer - newer_still)
    return min(np.float64(end - since) / span, 1.0)


@kernel
def read_cells(state: Cells, cells: Any, since: Any, limit: Any, origin: Any, k: Any, epsilon: Any, half: Any) -> Any:
    """Estimate and bounds of each cell over (since, now]. Only the bucket that straddles `since` is unsure."""
    value = np.empty(cells.shape[0], np.float64)
    lower = np.empty(cells.shape[0], np.float64)
    upper = np.empty(cells.shape[0], np.float64)
    for i in range(cells.shape[0]):
        cell = int64(cells[i])
        newer, size, start, end = oldest_in_range(state, cell, since, limit, k)
        if size <= int64(1) or origin > since:
            value[i] = lower[i] = upper[i] = newer + size
            continue
        least, most = np.float64(newer + int64(1)), np.float64(newer + size)
        if half:
            guess = newer + size / 2.0
        else:
            guess = least + (most - least) * share_after(state, cell, since, limit, newer, size, start, end, k)
            guess = max(min(guess, least * (1.0 + epsilon)), most * (1.0 - epsilon))
        value[i], lower[i], upper[i] = guess, least, most
    return value, lower, upper


@kernel
def history(state: Cells, shift: Any, k: Any) -> Any:
    """Every stored bucket, frozen and live, oldest first: (offset, end + shift, size)."""
    cells = state.arrivals.shape[0]
    offset = np.zeros(cells + 1, np.int64)
    has_frozen = state.frozen_offset.shape[0] > 0
    for cell in range(cells):
        frozen = state.frozen_offset[cell + 1] - state.frozen_offset[cell] if has_frozen else int64(0)
        offset[cell + 1] = offset[cell] + frozen + state.length[cell]
    end = np.empty(offset[cells], np.int64)
    size = np.empty(offset[cells], np.int64)
    half = (k + int64(1)) >> int64(1)
    for cell in range(cells):
        at = offset[cell]
        if has_frozen:
            past = state.frozen_offset[cell + 1]
            for i in range(state.frozen_offset[cell], past):
                newer = state.frozen_tail[i + 1] if i + 1 < past else int64(0)
                end[at], size[at] = state.frozen_ends[i] + shift, state.frozen_tail[i] - newer
                at += int64(1)
        arrived = state.arrivals[cell]
        left, level = level_count(arrived, k), int64(0)
        arrived = (arrived - left) >> int64(1)
        for back in range(state.length[cell]):
            while left == int64(0):
                left, level = level_count(arrived, half), level + int64(1)
                arrived = (arrived - left) >> int64(1)
            i = state.length[cell] - 1 - back
            end[at + i] = int64(state.ends[state.first[cell] + i]) + shift
            size[at + i] = int64(1) << level
            left -= int64(1)
    return offset, end, size


@kernel
def in_window(offset: Any, end: Any, size: Any, limit: Any, origin: Any) -> Any:
    """Of a history's buckets those that end after `limit`, as the arrays of `Buckets`."""
    start = np.empty(end.shape[0], np.int64)
    kept_offset = np.zeros(offset.shape[0], np.int64)
    kept = int64(0)
    for cell in range(offset.shape[0] - 1):
        before = max(origin, limit)
        for i in range(offset[cell], offset[cell + 1]):
            if end[i] > limit:
                start[kept], end[kept], size[kept] = before, end[i], size[i]
                before = end[i]
                kept += int64(1)
        kept_offset[cell + 1] = kept
    return kept_offset, start[:kept], end[:kept], size[:kept]
