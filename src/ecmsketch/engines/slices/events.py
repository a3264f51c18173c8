"""The newest events of a stream, exactly as they came, in as few bytes as their ticks and weights allow.

Events lie in a block of memory: [references, filled, capacity, bytes of an offset, weighted], then keys, offsets and
weights, each `capacity` long. Offsets are ticks less a base: of 32 bits if they fit, of 64 bits else, and left out
while ticks are consecutive. Weights are left out if all are one.

What is in a block is never changed. A stream has some of its events; another one may append behind them if nobody has
yet (`filled` says so), which costs it only what it appends.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.slices.types import Batch, Events
from cython.cimports.ecmsketch.kernels.hashing import xxhash64
from cython.cimports.ecmsketch.kernels.memory import allocate, doubles, int64s, uint64s
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

HEAD = cython.declare(int64_t, 5)
"""Words before the columns."""
REFERENCES = cython.declare(int64_t, 0)
FILLED = cython.declare(int64_t, 1)
CAPACITY = cython.declare(int64_t, 2)
OFFSET = cython.declare(int64_t, 3)
WEIGHTED = cython.declare(int64_t, 4)
MOST_OFFSET = cython.declare(int64_t, 2**32 - 1)


# Reading


@cython.cfunc
@cython.nogil
def tick_of(events: cython.pointer(Events), i: int64_t) -> int64_t:
    """The tick of an event."""
    if events[0].offsets != cython.NULL:
        return events[0].base + cython.cast(int64_t, events[0].offsets[i])
    if events[0].wide != cython.NULL:
        return events[0].base + events[0].wide[i]
    return events[0].base + i


@cython.cfunc
@cython.nogil
def weight_of(events: cython.pointer(Events), i: int64_t) -> int64_t:
    """How many arrivals an event stands for."""
    return 1 if events[0].weights == cython.NULL else events[0].weights[i]


@cython.cfunc
@cython.nogil
def part_of(tick: int64_t, weight: int64_t, since: int64_t, until: int64_t, counted: cython.bint) -> int64_t:
    """How much of one event lies in (since, until].

    A weight counts whole at its tick. If ticks number arrivals (`counted`), it counts at as many ticks up to its own.
    """
    if counted:
        return max(min(tick, until) - max(tick - weight, since), 0)
    return weight if since < tick and tick <= until else 0


@cython.cfunc
@cython.nogil
def first_after(events: cython.pointer(Events), tick: int64_t) -> int64_t:
    """The first event whose tick is later than one, or how many events there are."""
    low: int64_t = 0
    high: int64_t = events[0].count
    middle: int64_t
    while low < high:
        middle = (low + high) // 2
        if tick_of(events, middle) <= tick:
            low = middle + 1
        else:
            high = middle
    return low


@cython.cfunc
@cython.nogil
def events_between(
    events: cython.pointer(Events), since: int64_t, until: int64_t, begin: cython.pointer(int64_t),
    end: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Write the events that lie in (since, until], if a weight counts whole at its tick: begin .. end - 1."""
    begin[0] = first_after(events, since)
    end[0] = max(begin[0], first_after(events, until))


@cython.cfunc
@cython.nogil
def count_key(
    events: cython.pointer(Events), key: uint64_t, since: int64_t, until: int64_t, counted: cython.bint
) -> int64_t:
    """How often an item came in (since, until]."""
    begin = cython.declare(int64_t[1])
    end = cython.declare(int64_t[1])
    i: int64_t
    found: int64_t = 0
    if counted and events[0].weights != cython.NULL:
        for i in range(events[0].count):
            if events[0].keys[i] == key:
                found += part_of(tick_of(events, i), events[0].weights[i], since, until, counted)
        return found
    events_between(events, since, until, begin, end)
    return count_key_among(events, key, begin[0], end[0])


@cython.cfunc
@cython.nogil
def count_key_among(events: cython.pointer(Events), key: uint64_t, begin: int64_t, end: int64_t) -> int64_t:
    """How often an item came among the events begin .. end - 1. Simple loops: the compiler makes them parallel."""
    keys: cython.pointer(uint64_t) = events[0].keys
    weights: cython.pointer(int64_t) = events[0].weights
    found: int64_t = 0
    i: int64_t
    if weights == cython.NULL:
        for i in range(begin, end):
            found += 1 if keys[i] == key else 0
        return found
    for i in range(begin, end):
        found += weights[i] if keys[i] == key else 0
    return found


@cython.cfunc
@cython.nogil
def arrivals_between(events: cython.pointer(Events), since: int64_t, until: int64_t, counted: cython.bint) -> int64_t:
    """How many arrivals lie in (since, until]."""
    begin = cython.declare(int64_t[1])
    end = cython.declare(int64_t[1])
    i: int64_t
    found: int64_t = 0
    events_between(events, since, until, begin, end)
    if events[0].weights == cython.NULL:
        return end[0] - begin[0]
    if not counted:
        for i in range(begin[0], end[0]):
            found += events[0].weights[i]
        return found
    for i in range(events[0].count):
        found += part_of(tick_of(events, i), events[0].weights[i], since, until, counted)
    return found


@cython.cfunc
@cython.nogil
def count_by_step(
    events: cython.pointer(Events), key: uint64_t, first: int64_t, length: int64_t, steps: int64_t,
    counted: cython.bint, found: cython.pointer(cython.double), everything: cython.pointer(cython.double),
) -> cython.void:  # fmt: skip
    """Add an item's events, and all events, to those of each step of equal length after the tick `first`.

    If ticks number arrivals, an event may lie in several steps.
    """
    tick: int64_t
    weight: int64_t
    before: int64_t
    step: int64_t
    since: int64_t
    begin: int64_t
    end: int64_t
    i: int64_t
    part: cython.double
    for i in range(events[0].count):
        tick = tick_of(events, i)
        weight = weight_of(events, i)
        before = tick - (weight if counted else 1) - first
        begin = before // length if before > 0 else 0
        end = (tick - first - 1) // length + 1 if tick > first else 0
        for step in range(begin, min(end, steps)):
            since = first + step * length
            part = cython.cast(cython.double, part_of(tick, weight, since, since + length, counted))
            everything[step] += part
            if events[0].keys[i] == key:
                found[step] += part


@cython.cfunc
@cython.nogil
def copy_ticks(
    events: cython.pointer(Events), begin: int64_t, end: int64_t, ticks: cython.pointer(int64_t)
) -> cython.void:
    """Write the ticks of the events begin .. end - 1."""
    base: int64_t = events[0].base
    offsets: cython.pointer(uint32_t) = events[0].offsets
    wide: cython.pointer(int64_t) = events[0].wide
    i: int64_t
    if offsets != cython.NULL:
        for i in range(begin, end):
            ticks[i - begin] = base + cython.cast(int64_t, offsets[i])
    elif wide != cython.NULL:
        for i in range(begin, end):
            ticks[i - begin] = base + wide[i]
    else:
        for i in range(begin, end):
            ticks[i - begin] = base + i


@cython.cfunc
@cython.nogil
def copy_weights(
    events: cython.pointer(Events), begin: int64_t, end: int64_t, weights: cython.pointer(int64_t)
) -> cython.void:
    """Write the weights of the events begin .. end - 1, with ones spelled out."""
    i: int64_t
    if events[0].weights == cython.NULL:
        for i in range(end - begin):
            weights[i] = 1
    elif end > begin:
        memcpy(weights, events[0].weights + begin, cython.cast(cython.size_t, 8 * (end - begin)))


@cython.cfunc
@cython.nogil
def all_ones(weights: cython.pointer(int64_t), count: int64_t) -> cython.bint:
    """Whether each weight is one."""
    i: int64_t
    for i in range(count):  # noqa: SIM110
        if weights[i] != 1:
            return False
    return True


# Blocks of memory


@cython.cfunc
@cython.nogil
def retain_events(memory: cython.p_void) -> cython.void:
    """Count one more reference."""
    cython.cast(cython.pointer(int64_t), memory)[0] += 1


@cython.cfunc
@cython.nogil
def release_events(memory: cython.p_void) -> cython.void:
    """Count one reference less; the last one takes the block along."""
    head: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    if memory == cython.NULL:
        return
    head[REFERENCES] -= 1
    if head[REFERENCES] == 0:
        free(memory)


@cython.cfunc
@cython.nogil
def block_size(capacity: int64_t, offset: int64_t, weighted: cython.bint) -> int64_t:
    """Bytes of a block. Offsets of 32 bits take whole words."""
    return 8 * (HEAD + capacity + (capacity * offset + 7) // 8 + (capacity if weighted else 0))


@cython.cfunc
@cython.nogil
def events_nbytes(memory: cython.p_void) -> int64_t:
    """Bytes of a block."""
    head: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    if memory == cython.NULL:
        return 0
    return block_size(head[CAPACITY], head[OFFSET], head[WEIGHTED] != 0)


@cython.cfunc
@cython.nogil
def new_block(
    capacity: int64_t, offset: int64_t, weighted: cython.bint, base: int64_t, events: cython.pointer(Events)
) -> cython.p_void:
    """A block with one reference, and the columns of no events in it; NULL without memory."""
    head: cython.pointer(int64_t) = cython.cast(
        cython.pointer(int64_t), allocate(block_size(capacity, offset, weighted))
    )
    if head == cython.NULL:
        return cython.NULL
    head[REFERENCES], head[FILLED], head[CAPACITY], head[OFFSET] = 1, 0, capacity, offset
    head[WEIGHTED] = 1 if weighted else 0
    columns: cython.pointer(int64_t) = head + HEAD + capacity
    events[0].keys = cython.cast(cython.pointer(uint64_t), head + HEAD)
    events[0].base, events[0].count = base, 0
    events[0].offsets, events[0].wide, events[0].weights = cython.NULL, cython.NULL, cython.NULL
    if offset == 4:
        events[0].offsets = cython.cast(cython.pointer(uint32_t), columns)
    elif offset == 8:
        events[0].wide = columns
    if weighted:
        events[0].weights = columns + (capacity * offset + 7) // 8
    return cython.cast(cython.p_void, head)


@cython.cfunc
@cython.nogil
def consecutive(ticks: cython.pointer(int64_t), count: int64_t) -> cython.bint:
    """Whether each tick is the one after the tick before. Ticks are sorted."""
    i: int64_t
    if count == 0 or ticks[count - 1] - ticks[0] != count - 1:
        return count == 0
    for i in range(1, count):  # noqa: SIM110
        if ticks[i] != ticks[i - 1] + 1:
            return False
    return True


@cython.cfunc
@cython.nogil
def write_events(events: cython.pointer(Events), batch: cython.pointer(Batch)) -> cython.void:
    """Write a batch behind events, for which there is space."""
    i: int64_t
    base: int64_t = events[0].base
    count: int64_t = batch[0].count
    known: int64_t = events[0].count
    ticks: cython.pointer(int64_t) = batch[0].ticks
    offsets: cython.pointer(uint32_t)
    wide: cython.pointer(int64_t)
    if count == 0:
        return
    memcpy(events[0].keys + known, batch[0].keys, cython.cast(cython.size_t, 8 * count))
    if events[0].offsets != cython.NULL:
        offsets = events[0].offsets + known
        for i in range(count):
            offsets[i] = cython.cast(uint32_t, ticks[i] - base)
    elif events[0].wide != cython.NULL:
        wide = events[0].wide + known
        for i in range(count):
            wide[i] = ticks[i] - base
    if events[0].weights != cython.NULL:
        memcpy(events[0].weights + known, batch[0].weights, cython.cast(cython.size_t, 8 * count))
    events[0].count = known + count


@cython.cfunc
@cython.nogil
def pack_events(batch: cython.pointer(Batch), spare: int64_t, events: cython.pointer(Events)) -> cython.p_void:
    """A block of a batch with space for more; NULL without memory."""
    count: int64_t = batch[0].count
    weighted: cython.bint = batch[0].weights != cython.NULL and not all_ones(batch[0].weights, count)
    offset: int64_t = 0
    base: int64_t = 0
    if count:
        base = batch[0].ticks[0]
        if not consecutive(batch[0].ticks, count):
            offset = 4 if batch[0].ticks[count - 1] - base <= MOST_OFFSET else 8
    memory: cython.p_void = new_block(count + spare, offset, weighted, base, events)
    if memory == cython.NULL:
        return memory
    write_events(events, batch)
    cython.cast(cython.pointer(int64_t), memory)[FILLED] = count
    return memory


@cython.cfunc
@cython.nogil
def filled_by(memory: cython.p_void, events: cython.pointer(Events)) -> int64_t:
    """Where in a block some events end."""
    first: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), memory) + HEAD
    return (events[0].keys - first) + events[0].count


@cython.cfunc
@cython.nogil
def append_events(
    memory: cython.p_void, events: cython.pointer(Events), more: cython.pointer(Batch), spare: int64_t
) -> cython.p_void:
    """The block of events and more of them, none with weights: the same one if there is space; NULL without memory."""
    head: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    end: int64_t
    offset: int64_t = 0
    count: int64_t = more[0].count
    known: int64_t = events[0].count
    first: int64_t
    last: int64_t
    moved = cython.declare(Events)
    block: cython.p_void
    if known == 0:
        return pack_events(more, spare, events)
    last = more[0].ticks[count - 1]
    follows: cython.bint = more[0].ticks[0] == tick_of(events, known - 1) + 1 and consecutive(more[0].ticks, count)
    end = filled_by(memory, events)
    if (
        head[WEIGHTED] == 0
        and end == head[FILLED]
        and end + count <= head[CAPACITY]
        and (follows if head[OFFSET] == 0 else head[OFFSET] == 8 or last - events[0].base <= MOST_OFFSET)
    ):
        head[FILLED] = end + count
        head[REFERENCES] += 1
        write_events(events, more)
        return memory
    first = tick_of(events, 0)
    if events[0].offsets != cython.NULL or events[0].wide != cython.NULL or not follows:
        offset = 4 if last - first <= MOST_OFFSET else 8
    block = new_block(known + count + spare, offset, False, first, cython.address(moved))
    if block == cython.NULL:
        return block
    memcpy(moved.keys, events[0].keys, cython.cast(cython.size_t, 8 * known))
    copy_offsets(events, cython.address(moved))
    moved.count = known
    write_events(cython.address(moved), more)
    cython.cast(cython.pointer(int64_t), block)[FILLED] = known + count
    events[0] = moved
    return block


@cython.cfunc
@cython.nogil
def copy_offsets(events: cython.pointer(Events), target: cython.pointer(Events)) -> cython.void:
    """Write the offsets of events into other memory, whose base is the first tick."""
    count: int64_t = events[0].count
    base: int64_t = target[0].base
    first: uint32_t
    i: int64_t
    if target[0].wide != cython.NULL:
        for i in range(count):
            target[0].wide[i] = tick_of(events, i) - base
    elif target[0].offsets != cython.NULL:
        if events[0].offsets != cython.NULL:
            first = events[0].offsets[0]
            for i in range(count):
                target[0].offsets[i] = events[0].offsets[i] - first
        else:
            for i in range(count):
                target[0].offsets[i] = cython.cast(uint32_t, tick_of(events, i) - base)


@cython.cfunc
def digest_events(events: cython.pointer(Events)) -> tuple:
    """An xxHash64 of each column that is not empty: keys, offsets and weights as `pack_events` would write them."""
    batch = cython.declare(Batch)
    packed = cython.declare(Events)
    count: int64_t = events[0].count
    found: list[object] = []
    if count == 0:
        return ()
    batch.keys, batch.weights, batch.count = events[0].keys, cython.NULL, count
    batch.ticks = cython.cast(cython.pointer(int64_t), allocate(8 * count))
    if batch.ticks == cython.NULL:
        raise MemoryError
    copy_ticks(events, 0, count, batch.ticks)
    block: cython.p_void = pack_events(cython.address(batch), 0, cython.address(packed))
    free(batch.ticks)
    if block == cython.NULL:
        raise MemoryError
    keys: uint64_t = xxhash64(cython.cast(cython.pointer(uint8_t), packed.keys), 8 * count, 0)
    offsets: uint64_t = 0
    if packed.offsets != cython.NULL:
        offsets = xxhash64(cython.cast(cython.pointer(uint8_t), packed.offsets), 4 * count, 0)
    elif packed.wide != cython.NULL:
        offsets = xxhash64(cython.cast(cython.pointer(uint8_t), packed.wide), 8 * count, 0)
    any_offsets: cython.bint = packed.offsets != cython.NULL or packed.wide != cython.NULL
    release_events(block)
    found.append(keys)
    if any_offsets:
        found.append(offsets)
    if events[0].weights != cython.NULL:
        found.append(xxhash64(cython.cast(cython.pointer(uint8_t), events[0].weights), 8 * count, 0))
    return tuple(found)


# A door for tests


def read_events(
    keys: Keys, ticks: Ints, weights: Ints | None, key: int, since: int, until: int, steps: int, counted: bool
) -> tuple[int, int, tuple[int, int], int, Floats, Floats]:
    """What events in a block say: an item's count and all arrivals in (since, until], the events there, the item's
    count among these, and both by step of `until - since` ticks after `since`.
    """
    batch = cython.declare(Batch)
    events = cython.declare(Events)
    begin = cython.declare(int64_t[1])
    end = cython.declare(int64_t[1])
    batch.keys, batch.ticks, batch.weights, batch.count = uint64s(keys), int64s(ticks), cython.NULL, len(keys)
    if weights is not None:
        batch.weights = int64s(weights)
    found, everything = np.zeros(steps), np.zeros(steps)
    some, total = doubles(found), doubles(everything)
    memory: cython.p_void = pack_events(cython.address(batch), 0, cython.address(events))
    if memory == cython.NULL:
        raise MemoryError
    one = cython.address(events)
    count: int64_t = count_key(one, key, since, until, counted)
    arrivals: int64_t = arrivals_between(one, since, until, counted)
    events_between(one, since, until, begin, end)
    among: int64_t = count_key_among(one, key, begin[0], end[0])
    count_by_step(one, key, since, until - since, steps, counted, some, total)
    release_events(memory)
    return count, arrivals, (begin[0], end[0]), among, found, everything
