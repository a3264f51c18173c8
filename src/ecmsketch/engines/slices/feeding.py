"""Feeding a stream: events become slices, slices are joined, and at the end each gets its table.

A Feed drafts new slices beside those of the stream. First it is only planned: a slice of the draft has a range of
tables (`sources`) and a range of events. Then its events are counted and its tables added up, once, however often it
was joined. Tables are never changed, so nothing that anybody else sees changes before the draft is done.

The newest events stay as they are. After every `block` events the older ones become slices, or are counted in the slice
that covers their ticks if they are late. An event stays an event, however old, while it alone has more arrivals than
a slice may have: so no heavy event blurs a range. Where events may stay, they move, in columns that are copies.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.counting import count_all, count_some, own_source, weigh_fed
from cython.cimports.ecmsketch.engines.slices.events import copy_ticks, tick_of
from cython.cimports.ecmsketch.engines.slices.growth import join_scratch, join_slices, make_slices, most_slices
from cython.cimports.ecmsketch.engines.slices.inside import inside_scratch, inside_tail, place_inside
from cython.cimports.ecmsketch.engines.slices.profile import SLICE_WORDS
from cython.cimports.ecmsketch.engines.slices.slice_blocks import new_slices, slices_of, sum_tables
from cython.cimports.ecmsketch.engines.slices.tables import release, retain, sum_words
from cython.cimports.ecmsketch.engines.slices.types import Batch, Feed, Plan, Slice
from cython.cimports.ecmsketch.kernels.memory import allocate, reallocate
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memmove, memset

PATIENCE = cython.declare(int64_t, 10_000_000)
"""After about so many nanoseconds of work, signals are looked at."""


# The draft


@cython.cfunc
@cython.nogil
def clear_feed(feed: cython.pointer(Feed), plan: cython.pointer(Plan)) -> cython.void:
    """A feed that has nothing yet. Call `end_feed` in the end."""
    memset(feed, 0, cython.sizeof(Feed))
    feed[0].plan = plan[0]


@cython.cfunc
@cython.nogil
def begin_feed(feed: cython.pointer(Feed), slices: int64_t) -> cython.bint:
    """Begin a draft that will take so many slices; False without memory."""
    words: int64_t = feed[0].plan.words
    feed[0].sources = cython.cast(cython.pointer(cython.pointer(uint64_t)), allocate(8 * slices))
    feed[0].source_capacity = slices
    feed[0].shared = cython.cast(cython.pointer(cython.pointer(uint64_t)), allocate(8 * slices))
    feed[0].cells = cython.cast(cython.pointer(uint64_t), allocate(8 * (sum_words(words) + 4 * words)))
    return (
        reserve_slices(feed, slices + 16)
        and feed[0].sources != cython.NULL
        and feed[0].shared != cython.NULL
        and feed[0].cells != cython.NULL
    )


@cython.cfunc
def take_slice(feed: cython.pointer(Feed), taken: cython.pointer(Slice)) -> cython.void:
    """Take a slice of somebody else into the draft, as the newest."""
    slot: int64_t = feed[0].used
    feed[0].slices[slot] = taken[0]
    retain(taken[0].table)
    feed[0].sources[slot] = taken[0].table
    feed[0].source_count = feed[0].used = slot + 1
    own_source(feed, slot)


@cython.cfunc
def end_feed(feed: cython.pointer(Feed)) -> cython.void:
    """Give back everything that the feed still has."""
    i: int64_t
    for i in range(feed[0].used):
        release(feed[0].slices[i].table)
    for i in range(feed[0].source_count):
        release(feed[0].sources[i])
    for i in range(feed[0].shared_count):
        release(feed[0].shared[i])
    free(feed[0].slices)
    free(feed[0].sources)
    free(feed[0].shared)
    free(feed[0].stays)
    free(feed[0].scratch)
    free(feed[0].cells)
    free(feed[0].columns)


@cython.cfunc
@cython.nogil
def finished_slices(feed: cython.pointer(Feed)) -> cython.p_void:
    """A block of the slices of a counted draft, which gives them away; NULL without memory."""
    memory: cython.p_void = new_slices(feed[0].used)
    slices: cython.pointer(Slice)
    i: int64_t
    if memory == cython.NULL:
        return memory
    slices = slices_of(memory)
    for i in range(feed[0].used):
        slices[i] = feed[0].slices[i]
        slices[i].table = feed[0].sources[i]
        slices[i].low, slices[i].high = 0, 0
        feed[0].sources[i] = cython.NULL
    sum_tables(memory, feed[0].plan.words)
    return memory


@cython.cfunc
@cython.nogil
def reserve_slices(feed: cython.pointer(Feed), capacity: int64_t) -> cython.bint:
    """Have space for so many slices; False without memory."""
    if capacity <= feed[0].capacity:
        return True
    capacity += capacity // 4
    memory: cython.p_void = reallocate(feed[0].slices, 8 * SLICE_WORDS * capacity)
    if memory == cython.NULL:
        return False
    feed[0].slices = cython.cast(cython.pointer(Slice), memory)
    feed[0].capacity = capacity
    return True


@cython.cfunc
@cython.nogil
def reserve_scratch(feed: cython.pointer(Feed), words: int64_t) -> cython.bint:
    """Have so much memory to decide in; what was there is lost. False without memory."""
    if words <= feed[0].scratch_words:
        return True
    words += words // 4
    free(feed[0].scratch)
    feed[0].scratch_words = 0
    feed[0].scratch = cython.cast(cython.pointer(int64_t), allocate(8 * words))
    if feed[0].scratch == cython.NULL:
        return False
    feed[0].scratch_words = words
    return True


@cython.cfunc
@cython.nogil
def reserve_stays(feed: cython.pointer(Feed), events: int64_t) -> cython.bint:
    """Have space to note that so many events stay, and that they are left out; False without memory."""
    if 2 * events > feed[0].stays_words:
        free(feed[0].stays)
        feed[0].stays_words = 0
        feed[0].stays = cython.cast(cython.pointer(int64_t), allocate(16 * events))
        if feed[0].stays == cython.NULL:
            return False
        feed[0].stays_words = 2 * events
    feed[0].left_out = feed[0].stays + feed[0].stays_words // 2
    return True


@cython.cfunc
@cython.nogil
def drop_oldest(feed: cython.pointer(Feed), limit: int64_t) -> cython.void:
    """Forget slices whose last tick is not after `limit`. Their tables stay sources until the draft is counted."""
    gone: int64_t = 0
    while gone < feed[0].used and feed[0].slices[gone].last <= limit:
        gone += 1
    if gone:
        feed[0].used -= gone
        memmove(feed[0].slices, feed[0].slices + gone, cython.cast(cython.size_t, 8 * SLICE_WORDS * feed[0].used))


@cython.cfunc
@cython.nogil
def join_draft(feed: cython.pointer(Feed), newer: int64_t) -> cython.bint:
    """Join neighbours as far as the promises allow; False without memory."""
    if not reserve_scratch(feed, join_scratch(feed[0].used)):
        return False
    feed[0].used = join_slices(
        feed[0].slices, feed[0].used, newer, feed[0].plan.epsilon_t, feed[0].plan.carried, feed[0].scratch
    )
    return True


# Planning


@cython.cfunc
@cython.nogil
def tick_at(feed: cython.pointer(Feed), i: int64_t) -> int64_t:
    """The tick of an event."""
    return tick_of(feed[0].packed, i) if i < feed[0].known else feed[0].ticks[i - feed[0].known]


@cython.cfunc
@cython.nogil
def absorb(feed: cython.pointer(Feed), total: int64_t) -> cython.int:
    """Take in the events end .. total - 1, sorted by tick and not before others; 1, 0 or -1 (feeding.pxd).

    The state depends on events alone, not on how they were cut: slices are made after every block of them.
    """
    taken: int64_t
    good: cython.bint
    while feed[0].end + (feed[0].plan.block - feed[0].fresh) <= total:
        if feed[0].work > PATIENCE:
            return 0
        taken = feed[0].plan.block - feed[0].fresh
        if feed[0].columns == cython.NULL:
            feed[0].end += taken
            good = age_plain(feed)
        else:
            feed[0].arrivals += weigh_fed(feed, feed[0].end, feed[0].end + taken)
            feed[0].end += taken
            good = age_moved(feed)
        if not good:
            return -1
        feed[0].fresh = 0
        feed[0].work += 200 + 10 * feed[0].used
    feed[0].fresh += total - feed[0].end
    feed[0].end = total
    return 1


@cython.cfunc
@cython.nogil
def absorb_late(feed: cython.pointer(Feed), late: cython.pointer(Batch), at: cython.pointer(int64_t)) -> cython.int:
    """Take in late events from `at` on, sorted by tick, among those that the columns have; else as `absorb`.

    The columns have space for all.
    """
    taken: int64_t
    while at[0] < late[0].count:
        if feed[0].work > PATIENCE:
            return 0
        taken = min(feed[0].plan.block - feed[0].fresh, late[0].count - at[0])
        merge_sorted(feed, late, at[0], taken)
        feed[0].end += taken
        feed[0].fresh += taken
        at[0] += taken
        if feed[0].fresh == feed[0].plan.block:
            feed[0].fresh = 0
            feed[0].arrivals = weigh_fed(feed, feed[0].start, feed[0].end)
            if not age_moved(feed):
                return -1
        feed[0].work += 2 * (feed[0].end - feed[0].start)
    return 1


@cython.cfunc
@cython.nogil
def merge_sorted(
    feed: cython.pointer(Feed), late: cython.pointer(Batch), begin: int64_t, count: int64_t
) -> cython.void:
    """Merge some late events into the events start .. end - 1; those on the tick of others come after them."""
    source: int64_t = feed[0].end - 1
    other: int64_t = begin + count - 1
    target: int64_t = feed[0].end + count - 1
    while other >= begin:
        if source >= feed[0].start and feed[0].ticks[source] > late[0].ticks[other]:
            move_event(feed, source, target)
            source -= 1
        else:
            feed[0].keys[target], feed[0].ticks[target] = late[0].keys[other], late[0].ticks[other]
            if feed[0].weights != cython.NULL:
                feed[0].weights[target] = 1 if late[0].weights == cython.NULL else late[0].weights[other]
            other -= 1
        target -= 1


@cython.cfunc
@cython.nogil
def move_event(feed: cython.pointer(Feed), source: int64_t, target: int64_t) -> cython.void:
    """Copy an event to another place."""
    feed[0].keys[target], feed[0].ticks[target] = feed[0].keys[source], feed[0].ticks[source]
    if feed[0].weights != cython.NULL:
        feed[0].weights[target] = feed[0].weights[source]


@cython.cfunc
@cython.nogil
def age_plain(feed: cython.pointer(Feed)) -> cython.bint:
    """Forget what is outside the window; let all but the newest of the events start .. end - 1 become slices.

    No event has a weight or lies before the end of a slice, so none stays (a slice of one arrival is always allowed)
    and none is moved. False without memory.
    """
    window = cython.declare(Batch)
    limit: int64_t = tick_at(feed, feed[0].end - 1) - feed[0].plan.window
    old: int64_t = feed[0].end - feed[0].plan.recent
    count: int64_t
    made: int64_t
    middle: int64_t
    slot: int64_t
    kept = cython.declare(int64_t[1])
    kept[0] = 0
    drop_oldest(feed, limit)
    while feed[0].start < feed[0].end and tick_at(feed, feed[0].start) <= limit:
        feed[0].start += 1
    count = old - feed[0].start
    if count <= 0:
        return True
    made = most_slices(count, False, feed[0].plan.recent, feed[0].plan.epsilon_t)
    if not reserve_stays(feed, count) or not reserve_slices(feed, feed[0].used + made):
        return False
    window.keys, window.weights, window.count = cython.NULL, cython.NULL, count
    if feed[0].start >= feed[0].known:
        window.ticks = feed[0].ticks + (feed[0].start - feed[0].known)
    else:
        middle = min(old, feed[0].known)
        window.ticks = feed[0].left_out  # not used else, and of the right size
        copy_ticks(feed[0].packed, feed[0].start, middle, window.ticks)
        if old > middle:
            memcpy(
                window.ticks + (middle - feed[0].start), feed[0].ticks, cython.cast(cython.size_t, 8 * (old - middle))
            )
    made = make_slices(
        feed[0].slices + feed[0].used, cython.address(window), 0, count, feed[0].stays, kept,
        feed[0].plan.recent + count, cython.address(feed[0].plan), INFINITY,
    )  # fmt: skip
    for slot in range(feed[0].used, feed[0].used + made):
        feed[0].slices[slot].begin += feed[0].start
        feed[0].slices[slot].end += feed[0].start
    feed[0].used += made
    feed[0].start = old
    return join_draft(feed, feed[0].plan.recent)


@cython.cfunc
@cython.nogil
def age_moved(feed: cython.pointer(Feed)) -> cython.bint:
    """The same where events have weights, or lie before the end of a slice: those that stay are moved together.

    `feed.arrivals` are those of the events start .. end - 1, before and after.
    """
    events = cython.declare(Batch)
    left_out = cython.declare(int64_t[1])
    limit: int64_t = feed[0].ticks[feed[0].end - 1] - feed[0].plan.window
    old: int64_t = feed[0].end - feed[0].plan.recent
    start: int64_t = feed[0].start
    tail: int64_t
    newest: int64_t
    made: int64_t
    i: int64_t
    kept = cython.declare(int64_t[1])
    kept[0], left_out[0] = 0, 0
    drop_oldest(feed, limit)
    while start < feed[0].end and feed[0].ticks[start] <= limit:
        feed[0].arrivals -= weigh_fed(feed, start, start + 1)
        start += 1
    feed[0].start = start
    if old <= start:
        return True
    events.keys, events.ticks, events.weights = feed[0].keys, feed[0].ticks, feed[0].weights
    events.count = feed[0].end
    newest = feed[0].arrivals - weigh_fed(feed, start, old)
    tail = start
    if not reserve_stays(feed, old - start):
        return False
    if feed[0].used and feed[0].ticks[start] < feed[0].slices[feed[0].used - 1].last:
        if not count_all(feed):
            return False
        tail = inside_tail(feed[0].slices, feed[0].used, cython.address(events), start, old)
        if not reserve_slices(feed, feed[0].used + (tail - start)):
            return False
        if not reserve_scratch(feed, inside_scratch(feed[0].used, tail - start)):
            return False
        feed[0].used = place_inside(
            feed[0].slices, feed[0].used, cython.address(events), start, tail, old, feed[0].stays, kept,
            feed[0].left_out, left_out, newest, cython.address(feed[0].plan), feed[0].scratch,
        )  # fmt: skip
        feed[0].left_out_count = left_out[0]
        if not count_all(feed):
            return False
    made = most_slices(old - tail, feed[0].weights != cython.NULL, newest, feed[0].plan.epsilon_t)
    if not reserve_slices(feed, feed[0].used + made):
        return False
    feed[0].used += make_slices(
        feed[0].slices + feed[0].used, cython.address(events), tail, old, feed[0].stays, kept,
        newest + weigh_fed(feed, tail, old), cython.address(feed[0].plan), INFINITY,
    )  # fmt: skip
    if kept[0]:  # these move up to the newest ones, once the others are counted
        if not count_all(feed):
            return False
        for i in range(1, kept[0] + 1):
            move_event(feed, feed[0].stays[kept[0] - i], old - i)
    feed[0].start = old - kept[0]
    feed[0].arrivals = newest + weigh_fed(feed, old - kept[0], old)
    return join_draft(feed, newest)


@cython.cfunc
@cython.nogil
def count_slices(feed: cython.pointer(Feed)) -> cython.int:
    """Let each slice consist of one table and no events; 1, 0 or -1 (feeding.pxd)."""
    return count_some(feed, PATIENCE)
