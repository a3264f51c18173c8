"""Buckets of many streams replayed as one stream (paper section 5.1).

A bucket's arrivals lie somewhere between its start and its end, the newest of them at its end. About half of them are
put at each. If a range begins inside the bucket, 1 to C of its C arrivals are in the range. With a of them at the start
the range gets C - a, which is off by at most C/2 if a is C/2 or C/2 - 1 (for an odd C, (C - 1)/2). The paper takes the
first, and every level of merging then moves counts into the past. Here every third bucket takes the second, which was
measured to leave almost no bias (docs/decisions/020-sharper-cells.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.counters.contract import Ints
from ecmsketch.counters.numbering import MAX_HELD
from ecmsketch.errors import MergeError
from ecmsketch.kernels import kernel
from ecmsketch.kernels.radix_sort import sort_by_tick


class Buckets(NamedTuple):
    """Cell c has buckets offset[c] .. offset[c+1]-1, oldest first.

    A bucket says that `size` arrivals lie in [start, end], the newest of them at `end`.
    """

    offset: Ints
    start: Ints
    end: Ints
    size: Ints


@kernel
def in_window(offset: Any, end: Any, size: Any, limit: Any, origin: Any) -> Any:
    """Those buckets of a history that end after `limit`, as the arrays of `Buckets`."""
    kept_offset = np.zeros(offset.shape[0], np.int64)
    start = np.empty(end.shape[0], np.int64)
    kept_end = np.empty(end.shape[0], np.int64)
    kept_size = np.empty(end.shape[0], np.int64)
    kept = int64(0)
    for cell in range(offset.shape[0] - 1):
        before = max(origin, limit)
        for i in range(offset[cell], offset[cell + 1]):
            if end[i] > limit:
                start[kept], kept_end[kept], kept_size[kept] = before, end[i], size[i]
                before = end[i]
                kept += int64(1)
        kept_offset[cell + 1] = kept
    return kept_offset, start[:kept], kept_end[:kept], kept_size[:kept]


def replay_points(sources: list[Buckets], halves: bool) -> tuple[NDArray[np.uint32], Ints, Ints]:
    """All buckets as points in time, each cell's in order: (cells, ticks, weights), as `Counters.add` takes them.

    With `halves`, every bucket has half of its arrivals at its start, as in the paper.
    """
    bases = np.cumsum([0, *(len(source.end) for source in sources)])
    offsets = np.stack([source.offset + base for source, base in zip(sources, bases[:-1], strict=True)])
    start, end, size = (
        np.concatenate([getattr(source, name) for source in sources]) for name in ("start", "end", "size")
    )
    running = np.concatenate([[0.0], np.cumsum(size, dtype=np.float64)])
    if (running[offsets[:, 1:]] - running[offsets[:, :-1]]).sum(axis=0).max() > MAX_HELD:
        raise MergeError("the sketches have more than 2**53 arrivals in one window, and no more can be counted")
    cells, ticks, weights = _points(offsets, start, end, size, halves)
    return cells, ticks, weights


@kernel
def _points(offsets: Any, start: Any, end: Any, size: Any, halves: Any) -> Any:
    """See `replay_points`. Every third bucket, counted from the newest, has one arrival less at its start."""
    sources, cells = offsets.shape[0], offsets.shape[1] - 1
    cell_of = np.empty((1, 2 * end.shape[0]), np.uint32)
    ticks = np.empty(2 * end.shape[0], np.int64)
    weights = np.empty(2 * end.shape[0], np.int64)
    filled = int64(0)
    for cell in range(cells):
        begin = filled
        for source in range(sources):
            mine, past = filled, offsets[source, cell + 1]
            for i in range(offsets[source, cell], past):
                less = not halves and (past - i) % int64(3) == int64(0)
                at_start = (size[i] - int64(less)) >> int64(1)
                filled = _put_point(ticks, weights, mine, filled, start[i], at_start)
                filled = _put_point(ticks, weights, mine, filled, end[i], size[i] - at_start)
        sort_by_tick(ticks[begin:filled], weights[begin:filled])
        for i in range(begin, filled):
            cell_of[0, i] = cell
    return cell_of[:, :filled].copy(), ticks[:filled].copy(), weights[:filled].copy()


@kernel
def _put_point(ticks: Any, weights: Any, first: Any, filled: Any, tick: Any, weight: Any) -> Any:
    """Append a point, or add to the last one if it lies on the same tick; returns the new length."""
    if weight == int64(0):
        return filled
    if filled > first and ticks[filled - 1] == tick:
        weights[filled - 1] += weight
        return filled
    ticks[filled], weights[filled] = tick, weight
    return filled + int64(1)
