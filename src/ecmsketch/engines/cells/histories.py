"""Histories: the buckets of all cells as arrays, to be frozen under a later segment, or replayed in a merge.

Frozen buckets hold older segments of a stream below its live buckets, without added error. Their sizes are explicit,
since older segments end in small buckets. They are older than all live buckets, so later arrivals only make them
smaller in comparison with everything newer.

A merge replays the buckets of many streams as one stream (paper section 5.1). A bucket's arrivals lie somewhere between
its start and its end, the newest of them at its end. About half of them are put at each. If a range begins inside the
bucket, 1 to C of its C arrivals are in the range. With a of them at the start the range gets C - a, which is off by at
most C/2 if a is C/2 or C/2 - 1 (for an odd C, (C - 1)/2). The paper takes the first, and every level of merging then
moves counts into the past. Here every third bucket takes the second, which was measured to leave almost no bias
(docs/decisions/020-sharper-cells.md).
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import allocate, int64s, uint32s
from cython.cimports.ecmsketch.kernels.sorting import sort_ticks
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.libc.stdlib import free
from numpy.typing import NDArray

from ecmsketch.engines.cells.counters import MAX_HELD
from ecmsketch.errors import MergeError

Ints = NDArray[np.int64]


class History(NamedTuple):
    """Cell c has buckets offset[c] .. offset[c+1]-1, oldest first, known by their end and size."""

    offset: Ints
    end: Ints
    size: Ints


class Frozen(NamedTuple):
    """A history whose `tail` counts a bucket and all newer frozen ones of its cell; None if there are none."""

    offset: Ints
    end: Ints
    tail: Ints


class Buckets(NamedTuple):
    """A history with the start of each bucket: `size` arrivals lie in [start, end], the newest of them at `end`."""

    offset: Ints
    start: Ints
    end: Ints
    size: Ints


def frozen_history(frozen: Frozen | None, cells: int) -> History:
    """Frozen buckets with their sizes."""
    if frozen is None:
        none = np.empty(0, np.int64)
        return History(np.zeros(cells + 1, np.int64), none, none)
    size = frozen.tail.copy()
    size[:-1] -= frozen.tail[1:]
    newest = frozen.offset[1:][np.diff(frozen.offset) > 0] - 1
    size[newest] = frozen.tail[newest]
    return History(frozen.offset, frozen.end, size)


def chain(histories: list[History]) -> History:
    """Histories of consecutive segments as one, in memory of its own: each cell's buckets one after the other."""
    cells = len(histories[0].offset) - 1
    owner = np.concatenate([np.repeat(np.arange(cells), np.diff(history.offset)) for history in histories])
    order = np.argsort(owner, kind="stable")
    offset = np.zeros(cells + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=cells), out=offset[1:])
    end = np.concatenate([history.end for history in histories])[order]
    size = np.concatenate([history.size for history in histories])[order]
    return History(offset, end, size)


def freeze(arrivals: Ints, history: History, limit: int, epsilon: float) -> Frozen | None:
    """A history, whose arrays are used up, as frozen buckets under a live part with that many `arrivals` per cell.

    Buckets that expired at `limit` are left out.
    """
    cells: int64_t = len(arrivals)
    tail, joined = np.empty(len(history.size), np.int64), np.zeros(cells + 1, np.int64)
    numbers, offsets, ends, sizes = int64s(arrivals), int64s(history.offset), int64s(history.end), int64s(history.size)
    tails, kept = int64s(tail), int64s(joined)
    expired: int64_t = limit
    share: cython.double = epsilon
    first: int64_t
    past: int64_t
    cell: int64_t
    with cython.nogil:
        for cell in range(cells):
            first, past = offsets[cell], offsets[cell + 1]
            kept[cell + 1] = join_cell(numbers[cell], first, past, ends, sizes, tails, expired, share)
        for cell in range(cells):
            kept[cell + 1] += kept[cell]
    count: int64_t = kept[cells]
    if count == 0:
        return None
    frozen = Frozen(joined, np.empty(count, np.int64), np.empty(count, np.int64))
    new_ends, new_tails = int64s(frozen.end), int64s(frozen.tail)
    i: int64_t
    by: int64_t
    with cython.nogil:
        for cell in range(cells):
            by = offsets[cell + 1] - kept[cell + 1]
            for i in range(kept[cell], kept[cell + 1]):
                new_ends[i] = ends[i + by]
                new_tails[i] = tails[i + by]
    return frozen


@cython.cfunc
@cython.nogil
def join_cell(
    arrivals: int64_t, first: int64_t, past: int64_t, end: cython.pointer(int64_t), size: cython.pointer(int64_t),
    tail: cython.pointer(int64_t), limit: int64_t, epsilon: cython.double,
) -> int64_t:  # fmt: skip
    """Join neighbours, newest first, while size <= 2 epsilon (1 + newer): paper section 3, invariant 1.

    Joins in place, towards `past`; returns how many are left.
    """
    newer: int64_t = arrivals
    at: int64_t = past - 1
    into: int64_t = past
    joined: int64_t
    joined_end: int64_t
    most: cython.double
    while at >= first and end[at] > limit:
        joined, joined_end = size[at], end[at]
        at -= 1
        most = 2.0 * epsilon * cython.cast(cython.double, newer + 1)
        while at >= first and end[at] > limit and cython.cast(cython.double, joined + size[at]) <= most:
            joined += size[at]
            at -= 1
        newer += joined
        into -= 1
        end[into], tail[into] = joined_end, newer - arrivals
    return past - into


def in_window(history: History, limit: int, origin: int) -> Buckets:
    """Those buckets of a history that end after `limit`. The oldest of a cell starts at `limit` or `origin`."""
    cells: int64_t = len(history.offset) - 1
    offset = np.zeros(cells + 1, np.int64)
    start, end, size = (np.empty(len(history.end), np.int64) for _ in range(3))
    offsets, ends, sizes = int64s(history.offset), int64s(history.end), int64s(history.size)
    new_offsets, starts, new_ends, new_sizes = int64s(offset), int64s(start), int64s(end), int64s(size)
    expired: int64_t = limit
    oldest: int64_t = max(origin, limit)
    kept: int64_t = 0
    before: int64_t
    cell: int64_t
    i: int64_t
    with cython.nogil:
        for cell in range(cells):
            before = oldest
            for i in range(offsets[cell], offsets[cell + 1]):
                if ends[i] > expired:
                    starts[kept], new_ends[kept], new_sizes[kept] = before, ends[i], sizes[i]
                    before = ends[i]
                    kept += 1
            new_offsets[cell + 1] = kept
    return Buckets(offset, start[:kept], end[:kept], size[:kept])


def replay_points(sources: list[Buckets], halves: bool) -> tuple[NDArray[np.uint32], Ints, Ints]:
    """All buckets as points in time, each cell's in order: (cells, ticks, weights), as `Counters.add` takes them.

    With `halves`, every bucket has half of its arrivals at its start, as in the paper.
    """
    bases = np.cumsum([0, *[len(source.end) for source in sources]])
    offset = np.stack([source.offset + base for source, base in zip(sources, bases[:-1], strict=True)])
    start, end, size = (np.concatenate(columns) for columns in list(zip(*sources, strict=True))[1:])
    running = np.concatenate([[0.0], np.cumsum(size, dtype=np.float64)])
    if (running[offset[:, 1:]] - running[offset[:, :-1]]).sum(axis=0).max() > MAX_HELD:
        raise MergeError("the sketches have more than 2**53 arrivals in one window, and no more can be counted")
    return points(offset, start, end, size, halves)


def points(offset: Ints, start: Ints, end: Ints, size: Ints, halves: bool) -> tuple[NDArray[np.uint32], Ints, Ints]:
    """See `replay_points`."""
    sources: int64_t = offset.shape[0]
    cells: int64_t = offset.shape[1] - 1
    most: int64_t = 2 * len(end)
    ticks, weights = np.empty(most, np.int64), np.empty(most, np.int64)
    owner = np.empty((1, most), np.uint32)
    offsets, starts, ends, sizes = int64s(offset), int64s(start), int64s(end), int64s(size)
    tick, weight, owners = int64s(ticks), int64s(weights), uint32s(owner)
    half: cython.bint = halves
    begin: int64_t
    filled: int64_t = 0
    longest: int64_t = 0
    i: int64_t
    cell: int64_t
    counts = 2 * (offset[:, 1:] - offset[:, :-1]).sum(axis=0)
    longest = counts.max() if cells else 0
    scratch = cython.cast(cython.pointer(int64_t), allocate(16 * longest))
    if scratch == cython.NULL:
        raise MemoryError
    with cython.nogil:
        for cell in range(cells):
            begin = filled
            filled = put_cell(cell, sources, cells, offsets, starts, ends, sizes, half, tick, weight, filled)
            sort_ticks(tick + begin, weight + begin, filled - begin, scratch)
            for i in range(begin, filled):
                owners[i] = cython.cast(uint32_t, cell)
        free(scratch)
    return owner[:, :filled].copy(), ticks[:filled].copy(), weights[:filled].copy()


@cython.cfunc
@cython.nogil
def put_cell(
    cell: int64_t, sources: int64_t, cells: int64_t, offsets: cython.pointer(int64_t), starts: cython.pointer(int64_t),
    ends: cython.pointer(int64_t), sizes: cython.pointer(int64_t), halves: cython.bint,
    ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t), filled: int64_t,
) -> int64_t:  # fmt: skip
    """Append the points of one cell in all sources; returns the new length.

    Every third bucket, counted from the newest, has one arrival less at its start.
    """
    source: int64_t
    first: int64_t
    past: int64_t
    less: int64_t
    at_start: int64_t
    i: int64_t
    for source in range(sources):
        first, past = filled, offsets[source * (cells + 1) + cell + 1]
        for i in range(offsets[source * (cells + 1) + cell], past):
            less = 1 if not halves and (past - i) % 3 == 0 else 0
            at_start = (sizes[i] - less) >> 1
            filled = put_point(ticks, weights, first, filled, starts[i], at_start)
            filled = put_point(ticks, weights, first, filled, ends[i], sizes[i] - at_start)
    return filled


@cython.cfunc
@cython.nogil
def put_point(
    ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t), first: int64_t, filled: int64_t, tick: int64_t,
    weight: int64_t,
) -> int64_t:  # fmt: skip
    """Append a point, or add to the last one if it lies on the same tick; returns the new length."""
    if weight == 0:
        return filled
    if filled > first and ticks[filled - 1] == tick:
        weights[filled - 1] += weight
        return filled
    ticks[filled], weights[filled] = tick, weight
    return filled + 1
