"""Uniting the slices and events of several streams, which are given in an order that does not matter.

All slices are put in one draft, sorted by their last ticks, and all events in one column, sorted by tick. Then old
events become slices, and slices are joined, once. Sorting costs O(slices + events), joining as in growth.py.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.events import all_ones, copy_ticks, copy_weights, first_after
from cython.cimports.ecmsketch.engines.slices.feeding import age_moved, begin_feed, join_draft, take_slice
from cython.cimports.ecmsketch.engines.slices.types import Feed, Part, Slice
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.ecmsketch.kernels.sorting import in_order, sort_ticks
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy

FINENESS = cython.declare(cython.double, 0.85)
"""Slices of several streams are joined to this share of what one stream's may be. Else fewer would be left than one
stream has, since they are joined all at once, and the ends of ranges would blur.
"""
MOST_ARRIVALS = cython.declare(cython.double, 2.0**62)
"""More arrivals might overflow. A sketch refuses fewer."""


@cython.cfunc
def gather_slices(
    feed: cython.pointer(Feed), parts: cython.pointer(Part), count: int64_t, limit: int64_t
) -> cython.int:
    """Let a feed have the slices of all parts that end after a limit; 1, 0 or -1 (merging.pxd)."""
    total: int64_t = 0
    at: int64_t = 0
    i: int64_t
    k: int64_t
    arrivals: cython.double = 0.0
    for k in range(count):
        for i in range(parts[k].used):
            if parts[k].slices[i].last > limit:
                total += 1
                arrivals += cython.cast(cython.double, parts[k].slices[i].arrivals)
    if arrivals > MOST_ARRIVALS:
        return -1
    memory: cython.p_void = allocate(40 * total)
    if memory == cython.NULL or not begin_feed(feed, total):
        free(memory)
        return 0
    lasts: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    order: cython.pointer(int64_t) = lasts + total
    found: cython.pointer(cython.pointer(Slice)) = cython.cast(cython.pointer(cython.pointer(Slice)), lasts + 4 * total)
    for k in range(count):
        for i in range(parts[k].used):
            if parts[k].slices[i].last > limit:
                lasts[at], order[at], found[at] = parts[k].slices[i].last, at, parts[k].slices + i
                at += 1
    sort_ticks(lasts, order, total, lasts + 2 * total)
    for i in range(total):
        take_slice(feed, found[order[i]])
    free(memory)
    return 1


@cython.cfunc
@cython.nogil
def gather_events(
    feed: cython.pointer(Feed), parts: cython.pointer(Part), count: int64_t, limit: int64_t
) -> cython.int:
    """Let a feed have columns of the events of all parts that are after a limit; False without memory."""
    total: int64_t = 0
    at: int64_t = 0
    begin: int64_t
    some: int64_t
    i: int64_t
    k: int64_t
    weighted: cython.bint = False
    for k in range(count):
        total += parts[k].events[0].count - first_after(parts[k].events, limit)
        if parts[k].events[0].weights != cython.NULL:
            weighted = True
    feed[0].columns = allocate(24 * total)
    if feed[0].columns == cython.NULL:
        return 0
    feed[0].keys = cython.cast(cython.pointer(uint64_t), feed[0].columns)
    feed[0].ticks = cython.cast(cython.pointer(int64_t), feed[0].columns) + total
    if weighted:
        feed[0].weights = feed[0].ticks + total
    for k in range(count):
        begin = first_after(parts[k].events, limit)
        some = parts[k].events[0].count - begin
        if some:
            memcpy(feed[0].keys + at, parts[k].events[0].keys + begin, cython.cast(cython.size_t, 8 * some))
            copy_ticks(parts[k].events, begin, begin + some, feed[0].ticks + at)
            if weighted:
                copy_weights(parts[k].events, begin, begin + some, feed[0].weights + at)
            at += some
    if weighted and all_ones(feed[0].weights, total):
        feed[0].weights = cython.NULL
    if not in_order(feed[0].ticks, total) and not sort_columns(feed, total):
        return 0
    feed[0].end, feed[0].arrivals = total, total
    if feed[0].weights != cython.NULL:
        feed[0].arrivals = 0
        for i in range(total):
            feed[0].arrivals += feed[0].weights[i]
    return 1


@cython.cfunc
@cython.nogil
def join_gathered(feed: cython.pointer(Feed)) -> cython.int:
    """Let old events become slices, and join these; False without memory."""
    feed[0].plan.epsilon_t = FINENESS * feed[0].plan.epsilon_t
    if feed[0].end > feed[0].plan.recent:
        return age_moved(feed)
    return join_draft(feed, feed[0].arrivals)


@cython.cfunc
@cython.nogil
def sort_columns(feed: cython.pointer(Feed), count: int64_t) -> cython.bint:
    """Sort events by tick; those on one tick keep their order. False without memory."""
    i: int64_t
    order: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), allocate(24 * count))
    if order == cython.NULL:
        return False
    for i in range(count):
        order[i] = i
    sort_ticks(feed[0].ticks, order, count, order + count)
    reorder(cython.cast(cython.pointer(int64_t), feed[0].keys), order, count, order + count)
    if feed[0].weights != cython.NULL:
        reorder(feed[0].weights, order, count, order + count)
    free(order)
    return True


@cython.cfunc
@cython.nogil
def reorder(
    column: cython.pointer(int64_t), order: cython.pointer(int64_t), count: int64_t, scratch: cython.pointer(int64_t)
) -> cython.void:
    """Put a column in order."""
    i: int64_t
    for i in range(count):
        scratch[i] = column[order[i]]
    memcpy(column, scratch, cython.cast(cython.size_t, 8 * count))
