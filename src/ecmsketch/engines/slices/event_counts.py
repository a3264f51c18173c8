"""How often many items came among the newest events, which are kept as they are.

Few items are looked for by looking at every event. For many, the items or the events, whichever are fewer, are put into
a hash table, so that it takes a few nanoseconds for each of both. For questions that are asked again and again there is
an index: each item takes a search among the items of the events.
"""

# mypy: ignore-errors

from __future__ import annotations

import os

import cython
from cython.cimports.ecmsketch.engines.slices.events import (
    count_by_step,
    events_between,
    first_after,
    part_of,
    tick_of,
    weight_of,
)
from cython.cimports.ecmsketch.engines.slices.types import Events
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.ecmsketch.kernels.sorting import sort_words
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset

FEW_KEYS = cython.declare(int64_t, 4)
EMPTY = cython.declare(int64_t, -1)
multiplier = cython.declare(uint64_t, int.from_bytes(os.urandom(8), "little") | 1)
"""Drawn for each process, so that nobody can choose items that all lie in one place. Counts do not depend on it."""


@cython.cfunc
@cython.nogil
def count_keys(
    events: cython.pointer(Events), since: int64_t, until: int64_t, counted: cython.bint,
    keys: cython.pointer(uint64_t), count: int64_t, drop: int64_t, values: cython.pointer(cython.double),
) -> cython.bint:  # fmt: skip
    """Write how often each of some keys came; False without memory."""
    begin: int64_t
    end: int64_t
    i: int64_t
    split: cython.bint = counted and events[0].weights != cython.NULL  # an event may lie in the range in part
    events_between(events, since, until, cython.address(begin), cython.address(end))
    if split:
        begin, end = 0, events[0].count
    if begin == end:
        for i in range(count):
            values[i] = 0.0
        return True
    if count > FEW_KEYS:
        return look_up(events, begin, end, since, until, split, keys, count, drop, values)
    for i in range(count):
        values[i] = cython.cast(cython.double, look_for(events, begin, end, since, until, split, keys[i], drop))
    return True


@cython.cfunc
@cython.nogil
def amount_of(
    events: cython.pointer(Events), i: int64_t, since: int64_t, until: int64_t, split: cython.bint
) -> int64_t:
    """How many arrivals of an event count."""
    if split:
        return part_of(tick_of(events, i), events[0].weights[i], since, until, True)
    return weight_of(events, i)


@cython.cfunc
@cython.nogil
def look_for(
    events: cython.pointer(Events), begin: int64_t, end: int64_t, since: int64_t, until: int64_t, split: cython.bint,
    key: uint64_t, drop: int64_t,
) -> int64_t:  # fmt: skip
    """How often a key came among the events begin .. end - 1."""
    keys: cython.pointer(uint64_t) = events[0].keys
    found: int64_t = 0
    i: int64_t
    if events[0].weights == cython.NULL:
        for i in range(begin, end):
            found += 1 if keys[i] >> drop == key else 0
        return found
    for i in range(begin, end):
        if keys[i] >> drop == key:
            found += amount_of(events, i, since, until, split)
    return found


@cython.cfunc
@cython.nogil
def look_up(
    events: cython.pointer(Events), begin: int64_t, end: int64_t, since: int64_t, until: int64_t, split: cython.bint,
    keys: cython.pointer(uint64_t), count: int64_t, drop: int64_t, values: cython.pointer(cython.double),
) -> cython.bint:  # fmt: skip
    """Count by a hash table of the keys that are asked, or of those of the events."""
    asked: cython.bint = count <= end - begin
    bits: int64_t = bits_for(min(count, end - begin))
    known: cython.pointer(uint64_t) = new_slots(bits)
    slot: int64_t
    i: int64_t
    if known == cython.NULL:
        return False
    came: cython.pointer(int64_t) = came_of(known, bits)
    if asked:
        for i in range(count):
            slot = slot_of(known, came, bits, keys[i])
            known[slot], came[slot] = keys[i], 0
    count_events_in(known, bits, events, begin, end, since, until, split, drop, not asked)
    for i in range(count):
        values[i] = cython.cast(cython.double, max(came[slot_of(known, came, bits, keys[i])], 0))
    free(known)
    return True


@cython.cfunc
@cython.nogil
def count_events_in(
    known: cython.pointer(uint64_t), bits: int64_t, events: cython.pointer(Events), begin: int64_t, end: int64_t,
    since: int64_t, until: int64_t, split: cython.bint, drop: int64_t, adding: cython.bint,
) -> cython.void:  # fmt: skip
    """Count events in a hash table; those whose keys are not in it too, if `adding`."""
    came: cython.pointer(int64_t) = came_of(known, bits)
    plain: cython.bint = events[0].weights == cython.NULL
    key: uint64_t
    slot: int64_t
    i: int64_t
    for i in range(begin, end):
        key = events[0].keys[i] >> drop
        slot = slot_of(known, came, bits, key)
        if came[slot] == EMPTY:
            if not adding:
                continue
            known[slot], came[slot] = key, 0
        came[slot] += 1 if plain else amount_of(events, i, since, until, split)


@cython.cfunc
@cython.nogil
def bits_for(count: int64_t) -> int64_t:
    """The logarithm of the slots for so many keys."""
    bits: int64_t = 4
    while cython.cast(int64_t, 1) << bits < 2 * count:
        bits += 1
    return bits


@cython.cfunc
@cython.nogil
def new_slots(bits: int64_t) -> cython.pointer(uint64_t):
    """A hash table without keys: keys, and how often each came. NULL without memory."""
    size: int64_t = cython.cast(int64_t, 1) << bits
    known: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), allocate(16 * size))
    slot: int64_t
    if known != cython.NULL:
        for slot in range(size):
            came_of(known, bits)[slot] = EMPTY
    return known


@cython.cfunc
@cython.nogil
def came_of(known: cython.pointer(uint64_t), bits: int64_t) -> cython.pointer(int64_t):
    """How often the keys of a hash table came."""
    return cython.cast(cython.pointer(int64_t), known + (cython.cast(int64_t, 1) << bits))


@cython.cfunc
@cython.nogil
def slot_of(known: cython.pointer(uint64_t), came: cython.pointer(int64_t), bits: int64_t, key: uint64_t) -> int64_t:
    """The slot of a key, or the empty one where it would be; at most half of them are used."""
    mask: int64_t = (cython.cast(int64_t, 1) << bits) - 1
    slot: int64_t = cython.cast(int64_t, cython.cast(uint64_t, (key ^ (key >> 32)) * multiplier) >> (64 - bits))
    while came[slot] != EMPTY and known[slot] != key:
        slot = (slot + 1) & mask
    return slot


# An index


@cython.cfunc
@cython.nogil
def new_index(events: cython.pointer(Events), since: int64_t, until: int64_t, counted: cython.bint) -> cython.p_void:
    """The events of a range by key, for many questions: [keys, the keys in order, arrivals of all keys before each]."""
    begin: int64_t
    end: int64_t
    slot: int64_t
    i: int64_t
    count: int64_t = 0
    split: cython.bint = counted and events[0].weights != cython.NULL
    events_between(events, since, until, cython.address(begin), cython.address(end))
    if split:
        begin, end = 0, events[0].count
    bits: int64_t = bits_for(end - begin)
    known: cython.pointer(uint64_t) = new_slots(bits)
    if known == cython.NULL:
        return cython.NULL
    came: cython.pointer(int64_t) = came_of(known, bits)
    count_events_in(known, bits, events, begin, end, since, until, split, 0, True)
    for slot in range(cython.cast(int64_t, 1) << bits):
        count += 1 if came[slot] != EMPTY else 0
    index: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), allocate(16 * (count + 1)))
    if index != cython.NULL:
        index[0], i = count, 1
        for slot in range(cython.cast(int64_t, 1) << bits):
            if came[slot] != EMPTY:
                index[i] = known[slot]
                i += 1
        sort_words(index + 1, count, index + 1 + count)
        arrivals: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), index + 1 + count)
        arrivals[0] = 0
        for i in range(count):
            arrivals[i + 1] = arrivals[i] + came[slot_of(known, came, bits, index[1 + i])]
    free(known)
    return cython.cast(cython.p_void, index)


@cython.cfunc
@cython.nogil
def index_nbytes(index: cython.p_void) -> int64_t:
    """Bytes of an index."""
    if index == cython.NULL:
        return 0
    return 16 * (cython.cast(int64_t, cython.cast(cython.pointer(uint64_t), index)[0]) + 1)


@cython.cfunc
@cython.nogil
def count_by_index(
    index: cython.p_void, keys: cython.pointer(uint64_t), count: int64_t, drop: int64_t,
    values: cython.pointer(cython.double),
) -> cython.void:  # fmt: skip
    """Write how often each of some keys came, by an index of the events."""
    words: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), index)
    known: int64_t = words[0]
    arrivals: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), words + 1 + known)
    rest: uint64_t = (cython.cast(uint64_t, 1) << drop) - 1
    least: uint64_t
    low: int64_t
    high: int64_t
    i: int64_t
    for i in range(count):
        least = keys[i] << drop
        low = place_of(words + 1, known, least)
        high = low
        if drop == 0:
            high += 1 if low < known and words[1 + low] == least else 0
        else:
            high = place_of(words + 1, known, least | rest)
            high += 1 if high < known and words[1 + high] == least | rest else 0
        values[i] = cython.cast(cython.double, arrivals[high] - arrivals[low])


@cython.cfunc
@cython.nogil
def place_of(keys: cython.pointer(uint64_t), count: int64_t, key: uint64_t) -> int64_t:
    """How many of some sorted keys are below another."""
    base: cython.pointer(uint64_t) = keys
    left: int64_t = count
    half: int64_t
    if count == 0:
        return 0
    while left > 1:
        half = left // 2
        base = base + (half if base[half - 1] < key else 0)
        left -= half
    return (base - keys) + (1 if base[0] < key else 0)


# Steps


@cython.cfunc
@cython.nogil
def count_steps(
    events: cython.pointer(Events), key: uint64_t, first: int64_t, length: int64_t, steps: int64_t,
    counted: cython.bint, found: cython.pointer(cython.double), later: cython.pointer(cython.double),
) -> cython.void:  # fmt: skip
    """Write an item's arrivals in each step, and those of all items from each step to the end of the last one."""
    begin: int64_t
    end: int64_t
    step: int64_t
    i: int64_t
    memset(found, 0, cython.cast(cython.size_t, 8 * steps))
    memset(later, 0, cython.cast(cython.size_t, 8 * steps))
    if events[0].weights != cython.NULL:
        count_by_step(events, key, first, length, steps, counted, found, later)
        for step in range(steps - 2, -1, -1):
            later[step] += later[step + 1]
        return
    events_between(events, first, first + steps * length, cython.address(begin), cython.address(end))
    for i in range(begin, end):
        if events[0].keys[i] == key:
            found[(tick_of(events, i) - first - 1) // length] += 1.0
    for step in range(steps):
        later[step] = cython.cast(cython.double, end - first_after(events, first + step * length))
