"""Counting the slices of a draft: each gets one table, of its events and of the tables that it was joined of.

However often a slice was joined while it was planned, its events are counted and its tables added up once. A table
that others have too is never changed, only given up. One step costs O(events + tables of the slice).
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.tables import added, count_events, pack, release, sum_words, unpack_many
from cython.cimports.ecmsketch.engines.slices.types import Cell, Feed, Slice
from cython.cimports.ecmsketch.kernels.memory import reallocate
from cython.cimports.libc.stdint import int32_t, int64_t, uint64_t

FEW_TABLES = cython.declare(int64_t, 3)
"""So many tables of a slice are added to each other in planes. More are added up in plain cells."""
MOST_SMALL = cython.declare(int64_t, 2**31 - 1)
"""The most arrivals that are counted in cells of 32 bits."""
ENDLESS = cython.declare(int64_t, 2**62)
"""Patience that does not end: signals are not looked at."""


@cython.cfunc
@cython.nogil
def own_source(feed: cython.pointer(Feed), slot: int64_t) -> cython.void:
    """Let a slice consist of the source of its number, and of no events."""
    feed[0].slices[slot].table = cython.NULL
    feed[0].slices[slot].low, feed[0].slices[slot].high = slot, slot + 1
    feed[0].slices[slot].begin, feed[0].slices[slot].end = 0, 0


@cython.cfunc
@cython.nogil
def weigh_fed(feed: cython.pointer(Feed), begin: int64_t, end: int64_t) -> int64_t:
    """How many arrivals some events stand for."""
    arrivals: int64_t = 0
    i: int64_t
    if feed[0].weights == cython.NULL:
        return end - begin
    for i in range(begin, end):
        arrivals += feed[0].weights[i]
    return arrivals


@cython.cfunc
@cython.nogil
def count_all(feed: cython.pointer(Feed)) -> cython.bint:
    """Let each slice consist of one table and no events, without a look at signals; False without memory."""
    done: cython.int = 0
    while done == 0:
        done = count_some(feed, ENDLESS)
    return done > 0


@cython.cfunc
@cython.nogil
def count_some(feed: cython.pointer(Feed), patience: int64_t) -> cython.int:
    """Count slices, as long as patience lasts; once all are counted, their tables are the sources."""
    slot: int64_t
    i: int64_t
    sources: cython.p_void
    if feed[0].used > feed[0].source_capacity:
        sources = reallocate(feed[0].sources, 8 * (feed[0].used + feed[0].used // 4))
        if sources == cython.NULL:
            return -1
        feed[0].sources = cython.cast(cython.pointer(cython.pointer(uint64_t)), sources)
        feed[0].source_capacity = feed[0].used + feed[0].used // 4
    while feed[0].counted < feed[0].used:
        if feed[0].work > patience:
            return 0
        slot = feed[0].counted
        if not unchanged(feed[0].slices + slot):
            feed[0].slices[slot].table = table_of(feed, slot)
            if feed[0].slices[slot].table == cython.NULL:
                return -1
        feed[0].counted += 1
    for slot in range(feed[0].used):
        if unchanged(feed[0].slices + slot):
            i = feed[0].slices[slot].low
            feed[0].slices[slot].table = feed[0].sources[i]
            feed[0].sources[i] = cython.NULL
    for i in range(feed[0].source_count):
        give_up(feed, feed[0].sources[i])
    for slot in range(feed[0].used):
        feed[0].sources[slot] = feed[0].slices[slot].table
        own_source(feed, slot)
    feed[0].source_count = feed[0].used
    feed[0].counted = 0
    feed[0].left_out_count = 0
    return 1


@cython.cfunc
@cython.nogil
def unchanged(one: cython.pointer(Slice)) -> cython.bint:
    """Whether a slice of the draft has one table and nothing else."""
    return one[0].high - one[0].low == 1 and one[0].end == one[0].begin


@cython.cfunc
@cython.nogil
def give_up(feed: cython.pointer(Feed), table: cython.pointer(uint64_t)) -> cython.void:
    """Give up a reference: at once if it is the only one, else when the GIL is there again.

    Only tables that the feed began with can have others, so there is space to note them.
    """
    if table == cython.NULL:
        return
    if table[0] == 1:
        release(table)
    else:
        feed[0].shared[feed[0].shared_count] = table
        feed[0].shared_count += 1


@cython.cfunc
@cython.nogil
def table_of(feed: cython.pointer(Feed), slot: int64_t) -> cython.pointer(uint64_t):
    """The table of a slice of the draft; NULL without memory."""
    low: int64_t = feed[0].slices[slot].low
    high: int64_t = feed[0].slices[slot].high
    begin: int64_t = feed[0].slices[slot].begin
    end: int64_t = feed[0].slices[slot].end
    words: int64_t = feed[0].plan.words
    small: cython.pointer(int32_t) = cython.cast(cython.pointer(int32_t), feed[0].cells)
    large: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), feed[0].cells)
    arrivals: int64_t
    i: int64_t
    table: cython.pointer(uint64_t) = cython.NULL
    total: cython.pointer(uint64_t)
    many: cython.bint = high - low > FEW_TABLES
    feed[0].work += (end - begin) * 2 * feed[0].plan.depth + (high - low + 4) * 8 * words
    if many or end > begin:
        arrivals = feed[0].slices[slot].arrivals if many else weigh_fed(feed, begin, end)
        if arrivals <= MOST_SMALL:
            table = counted_table(feed, slot, many, small)
        else:
            table = counted_table(feed, slot, many, large)
        if many or table == cython.NULL:
            return table
    for i in range(low, high):
        if table == cython.NULL:
            table = feed[0].sources[i]
            continue
        total = added(table, feed[0].sources[i], words, feed[0].cells)
        if end > begin or i > low + 1:
            release(table)
        if total == cython.NULL:
            return total
        table = total
    return table


@cython.cfunc
@cython.nogil
def counted_table(
    feed: cython.pointer(Feed), slot: int64_t, with_tables: cython.bint, cells: cython.pointer(Cell)
) -> cython.pointer(uint64_t):
    """A table of the events of a slice, and of its tables if wanted; NULL without memory."""
    words: int64_t = feed[0].plan.words
    low: int64_t = feed[0].slices[slot].low
    high: int64_t = feed[0].slices[slot].high
    begin: int64_t = feed[0].slices[slot].begin
    end: int64_t = feed[0].slices[slot].end
    i: int64_t
    for i in range(32 * words):
        cells[i] = 0
    if high > low:  # a slice that was there leaves some events out, a new one has all of its range
        for i in range(first_left_out(feed, begin), feed[0].left_out_count):
            if feed[0].left_out[i] >= end:
                break
            count_range(feed, begin, feed[0].left_out[i], cells)
            begin = feed[0].left_out[i] + 1
    count_range(feed, begin, end, cells)
    if with_tables:
        unpack_many(feed[0].sources + low, high - low, words, cells, feed[0].cells + sum_words(words))
    return pack(cells, words)


@cython.cfunc
@cython.nogil
def count_range(feed: cython.pointer(Feed), begin: int64_t, end: int64_t, cells: cython.pointer(Cell)) -> cython.void:
    """Count the events begin .. end - 1."""
    weights: cython.pointer(int64_t) = cython.NULL
    depth: int64_t = feed[0].plan.depth
    middle: int64_t = min(max(begin, feed[0].known), end)
    if middle > begin:
        count_events(feed[0].packed[0].keys + begin, weights, middle - begin, feed[0].plan.rows, depth, cells)
    if end > middle:
        middle -= feed[0].known
        end -= feed[0].known
        if feed[0].weights != cython.NULL:
            weights = feed[0].weights + middle
        count_events(feed[0].keys + middle, weights, end - middle, feed[0].plan.rows, depth, cells)


@cython.cfunc
@cython.nogil
def first_left_out(feed: cython.pointer(Feed), event: int64_t) -> int64_t:
    """The first of the events left out that is not before an event. They are in order."""
    low: int64_t = 0
    high: int64_t = feed[0].left_out_count
    middle: int64_t
    while low < high:
        middle = (low + high) // 2
        if feed[0].left_out[middle] < event:
            low = middle + 1
        else:
            high = middle
    return low
