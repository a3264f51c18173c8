"""Bytes <-> events and slices (docs/format.md, "Slices"). Bytes from outside are never trusted.

The section has the numbers of all events and slices, then the items of the events, then the tables (table_code.py).
Reading takes memory in proportion to the data: an event takes a byte at least, a slice twelve, and a cell a bit.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.ecmsketch.engines.slices.events import copy_ticks, first_after
from cython.cimports.ecmsketch.engines.slices.stream import SliceStream, adopt
from cython.cimports.ecmsketch.engines.slices.table_code import (
    TableWork,
    free_work,
    judge_table,
    new_work,
    put_numbers,
    read_table,
)
from cython.cimports.ecmsketch.engines.slices.tables import pack as pack_table
from cython.cimports.ecmsketch.engines.slices.tables import release
from cython.cimports.ecmsketch.engines.slices.tables import unpack as unpack_table
from cython.cimports.ecmsketch.engines.slices.types import Batch, Events, Slice
from cython.cimports.ecmsketch.kernels.hashing import Row, RowHashes
from cython.cimports.ecmsketch.kernels.memory import allocate, bytes_of, reallocate
from cython.cimports.ecmsketch.kernels.packing import get_varint, most_packed, pack, put_varint, unpack
from cython.cimports.libc.stdint import int64_t, uint8_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memset

from ecmsketch.errors import FormatError

FACTS = cython.declare(int64_t, 12)
"""Numbers of a slice: its last tick, the gaps between its ticks, its arrivals, how its table is written, its bytes."""
CODE = cython.declare(int64_t, 10)
MOST_PARAMETER = cython.declare(int64_t, 53)
MOST_ARRIVALS = cython.declare(int64_t, 2**55)
LEAST_TICK = cython.declare(int64_t, -(2**61))
MOST_SPAN = cython.declare(int64_t, 2**62)

NO_HEADER, NO_FIT, MALFORMED, TOO_EARLY, OUTSIDE, WEIGHTS, TOO_LONG, TICKS, SIZES, ORDER, TABLE, NO_MEMORY = (
    cython.declare(int64_t, 1), cython.declare(int64_t, 2), cython.declare(int64_t, 3), cython.declare(int64_t, 4),
    cython.declare(int64_t, 5), cython.declare(int64_t, 6), cython.declare(int64_t, 7), cython.declare(int64_t, 8),
    cython.declare(int64_t, 9), cython.declare(int64_t, 10), cython.declare(int64_t, 11), cython.declare(int64_t, 12),
)  # fmt: skip
_REASONS = (
    "",
    "their header is missing; the data is truncated",
    "",
    "their numbers are truncated or malformed",
    "expected events after the first tick that there is",
    "expected them and all events inside the window",
    "expected events with positive weights, not all of them one",
    "there are bytes after the last of them",
    "expected ticks from -2**61 to 2**62, and at most 2**55 arrivals",
    "expected arrivals in each, and tables that fill the bytes",
    "expected them in order of their last ticks",
)


@cython.cfunc
@cython.nogil
def open_section(
    data: cython.pointer(uint8_t), begin: int64_t, end: int64_t, block: int64_t, cells: int64_t,
    section: cython.pointer(Section),
) -> int64_t:  # fmt: skip
    """Read how many events and slices there are; what is wrong with that, or 0."""
    at: int64_t = begin
    numbers: int64_t
    section[0].begin = begin
    section[0].end = end
    section[0].count = section[0].fresh = section[0].weighted = section[0].slices = 0
    at = get_varint(data, at, end, cython.address(section[0].count))
    at = get_varint(data, at, end, cython.address(section[0].fresh))
    at = get_varint(data, at, end, cython.address(section[0].weighted))
    at = get_varint(data, at, end, cython.address(section[0].slices))
    section[0].at = at
    if at < 0:
        return NO_HEADER
    if section[0].fresh >= block or section[0].weighted > min(section[0].count, 1):
        return NO_FIT
    if section[0].count > end - begin or section[0].slices > 8 * (end - begin) // cells:
        return NO_FIT
    numbers = section[0].count * (1 + section[0].weighted) + FACTS * section[0].slices
    return MALFORMED if numbers > end - at else 0


@cython.cfunc
@cython.nogil
def read_varints(
    data: cython.pointer(uint8_t), at: int64_t, end: int64_t, count: int64_t, numbers: cython.pointer(int64_t)
) -> int64_t:
    """Read numbers; returns the position after them, or -1."""
    i: int64_t
    for i in range(count):
        if 0 <= at < end and data[at] < 128:
            numbers[i] = data[at]
            at += 1
        else:
            at = get_varint(data, at, end, numbers + i)
            if at < 0:
                return -1
    return at


@cython.cfunc
@cython.nogil
def read_events(
    data: cython.pointer(uint8_t), section: cython.pointer(Section), now: int64_t, window: int64_t,
    ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t), facts: cython.pointer(int64_t),
    keys: cython.pointer(uint64_t), scratch: cython.pointer(uint64_t),
) -> int64_t:  # fmt: skip
    """Read everything before the tables: events, oldest first, and the numbers of slices; what is wrong, or 0."""
    count: int64_t = section[0].count
    end: int64_t = section[0].end
    at: int64_t = read_varints(data, section[0].at, end, count, ticks)
    if section[0].weighted:
        at = read_varints(data, at, end, count, weights)
    if section[0].slices:
        at = read_varints(data, at, end, FACTS * section[0].slices, facts)
    if count:
        at = unpack(data, at, end, count, keys, scratch)
    section[0].at = at
    if at < 0:
        return MALFORMED
    return check_events(section, now, window, ticks, weights, facts)


@cython.cfunc
@cython.nogil
def check_events(
    section: cython.pointer(Section), now: int64_t, window: int64_t, ticks: cython.pointer(int64_t),
    weights: cython.pointer(int64_t), facts: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Turn gaps, newest first, into ticks, oldest first; what is wrong with events, or 0.

    Nothing is added up before it is known that the sum fits.
    """
    count: int64_t = section[0].count
    left: int64_t = now - LEAST_TICK
    total: int64_t = 0
    largest: int64_t = 0
    gap: int64_t
    other: int64_t
    i: int64_t
    for i in range(count):
        if ticks[i] > left:
            return TOO_EARLY
        left -= ticks[i]
        ticks[i] = LEAST_TICK + left
    if count and now - ticks[count - 1] >= window:
        return OUTSIDE
    for i in range(section[0].slices):
        if facts[FACTS * i] >= window:
            return OUTSIDE
    for i in range(count // 2):
        other = count - 1 - i
        gap = ticks[i]
        ticks[i] = ticks[other]
        ticks[other] = gap
    if section[0].weighted:
        for i in range(count):
            if weights[i] < 1 or weights[i] > MOST_ARRIVALS - total:
                return WEIGHTS
            total += weights[i]
            largest = max(largest, weights[i])
        if largest == 1:
            return WEIGHTS
    return 0


@cython.cfunc
@cython.nogil
def most_section(count: int64_t, slices: int64_t) -> int64_t:
    """The most bytes that events and the numbers of slices take."""
    return 9 * (4 + 2 * count + FACTS * slices) + most_packed(count)


@cython.cfunc
@cython.nogil
def put_section(
    out: cython.pointer(uint8_t), at: int64_t, now: int64_t, fresh: int64_t, keys: cython.pointer(uint64_t),
    ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t), count: int64_t, facts: cython.pointer(int64_t),
    slices: int64_t, scratch: cython.pointer(uint64_t),
) -> int64_t:  # fmt: skip
    """Write events, oldest first, and the numbers of slices; returns the position after them."""
    weighted: int64_t = 0
    before: int64_t = now
    i: int64_t
    if weights != cython.NULL:
        for i in range(count):
            weighted |= 1 if weights[i] != 1 else 0
    at = put_varint(out, at, count)
    at = put_varint(out, at, fresh)
    at = put_varint(out, at, weighted)
    at = put_varint(out, at, slices)
    for i in range(count - 1, -1, -1):
        if before - ticks[i] < 128:
            out[at] = cython.cast(uint8_t, before - ticks[i])
            at += 1
        else:
            at = put_varint(out, at, before - ticks[i])
        before = ticks[i]
    if weighted:
        for i in range(count):
            at = put_varint(out, at, weights[i])
    for i in range(FACTS * slices):
        at = put_varint(out, at, facts[i])
    if count:
        at += pack(keys, count, out + at, scratch)
    return at


@cython.cfunc
@cython.nogil
def put_facts(target: cython.pointer(Slice), now: int64_t, facts: cython.pointer(int64_t)) -> cython.void:
    """Write the numbers of a slice, but for how its table is written."""
    after: int64_t = target[0].last
    place: int64_t
    facts[0] = now - target[0].last
    for place in range(7):
        facts[1 + place] = after - target[0].knots[6 - place]
        after = target[0].knots[6 - place]
    facts[8] = after - target[0].first
    facts[9] = target[0].arrivals


@cython.cfunc
@cython.nogil
def get_facts(facts: cython.pointer(int64_t), now: int64_t, target: cython.pointer(Slice)) -> cython.void:
    """A slice from its numbers, without its table."""
    before: int64_t = now - facts[0]
    place: int64_t
    memset(target, 0, cython.sizeof(Slice))
    target[0].last = before
    for place in range(7):
        before -= facts[1 + place]
        target[0].knots[6 - place] = before
    target[0].first = before - facts[8]
    target[0].arrivals = facts[9]


@cython.cfunc
@cython.nogil
def check_facts(section: cython.pointer(Section), now: int64_t, facts: cython.pointer(int64_t)) -> int64_t:
    """What is wrong with the numbers of slices, or 0. `section` is before the first table."""
    slices: int64_t = section[0].slices
    left: int64_t = section[0].end - section[0].at
    arrivals: int64_t = 0
    span: int64_t
    most: int64_t = min(MOST_SPAN, now - LEAST_TICK)
    wrong: int64_t = 0
    place: int64_t
    i: int64_t
    one: cython.pointer(int64_t)
    if not slices:
        return TOO_LONG if left else 0
    for i in range(slices):
        one = facts + FACTS * i
        span = 0
        for place in range(9):
            if one[place] > most - span:
                return TICKS
            span += one[place]
        if one[9] > MOST_ARRIVALS - arrivals:
            return TICKS
        arrivals += one[9]
        if one[9] < 1 or one[CODE] > 2 * MOST_PARAMETER + 1 or one[CODE + 1] > left:
            wrong = SIZES
        else:
            left -= one[CODE + 1]
    if wrong or left:
        return SIZES
    for i in range(1, slices):
        if facts[FACTS * i] > facts[FACTS * (i - 1)]:
            return ORDER
    return 0


@cython.cfunc
@cython.nogil
def read_slices(
    data: cython.pointer(uint8_t), section: cython.pointer(Section), now: int64_t, facts: cython.pointer(int64_t),
    rows: cython.pointer(Row), depth: int64_t, slices: cython.pointer(Slice), work: cython.pointer(TableWork),
    used: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Read slices and count them in `used`; what is wrong with one more, or 0."""
    at: int64_t = section[0].at
    i: int64_t
    one: cython.pointer(int64_t)
    for i in range(section[0].slices):
        one = facts + FACTS * i
        if not read_table(data, at, at + one[CODE + 1], one[CODE], one[9], rows, depth, work):
            return TABLE
        at += one[CODE + 1]
        get_facts(one, now, slices + i)
        slices[i].table = pack_table(work[0].table, work[0].words)
        if slices[i].table == cython.NULL:
            return NO_MEMORY
        used[0] = i + 1
    return 0


@cython.cfunc
@cython.nogil
def write_tables(
    slices: cython.pointer(Slice),
    count: int64_t,
    now: int64_t,
    facts: cython.pointer(int64_t),
    work: cython.pointer(TableWork),
) -> cython.bint:
    """Write the numbers of slices, and their tables into memory that grows, `work.out`. False without memory."""
    bits = cython.declare(int64_t[1])
    i: int64_t
    one: cython.pointer(int64_t)
    larger: cython.pointer(uint8_t)
    for i in range(count):
        one = facts + FACTS * i
        put_facts(slices + i, now, one)
        memset(work[0].table, 0, cython.cast(cython.size_t, 256 * work[0].words))
        unpack_table(slices[i].table, work[0].words, work[0].table)
        one[CODE] = judge_table(slices[i].arrivals, work, bits)
        if work[0].size + bits[0] // 8 + 16 > work[0].capacity:
            work[0].capacity = max(2 * (work[0].size + bits[0] // 8 + 16), 64 + count * (work[0].cells // 2 + 8))
            larger = cython.cast(cython.pointer(uint8_t), reallocate(work[0].out, work[0].capacity))
            if larger == cython.NULL:
                return False
            work[0].out = larger
        one[CODE + 1] = put_numbers(work[0].numbers, work[0].cells, one[CODE] >> 1, work[0].out + work[0].size)
        work[0].size += one[CODE + 1]
    return True


def encode(stream: SliceStream, now: int) -> bytes:
    """Events and slices inside the window at `now`, as bytes. Equal streams give equal bytes."""
    stream = stream.same()  # what is read stays as it is, whatever other threads do
    clock: int64_t = now
    limit: int64_t = clock - stream.plan.window
    events: cython.pointer(Events) = cython.address(stream.events)
    begin: int64_t = first_after(events, limit)
    count: int64_t = events[0].count - begin
    slices: cython.pointer(Slice) = stream.slices
    some: int64_t = stream.used
    while some > 0 and slices[0].last <= limit:
        slices += 1
        some -= 1
    head_most: int64_t = most_section(count, some)
    work = cython.declare(TableWork)
    memset(cython.address(work), 0, cython.sizeof(TableWork))
    good: cython.bint
    ticks: cython.pointer(int64_t)
    facts: cython.pointer(int64_t)
    scratch: cython.pointer(uint64_t)
    head: cython.pointer(uint8_t)
    keys: cython.pointer(uint64_t) = events[0].keys
    weights: cython.pointer(int64_t) = events[0].weights
    if begin:
        keys = keys + begin
        if weights != cython.NULL:
            weights = weights + begin
    memory: cython.p_void = allocate(8 * (3 * count + FACTS * some) + head_most)
    try:
        if memory == cython.NULL or (some > 0 and not new_work(stream.plan.cells, cython.address(work))):
            raise MemoryError
        ticks = cython.cast(cython.pointer(int64_t), memory)
        facts = ticks + count
        scratch = cython.cast(cython.pointer(uint64_t), facts + FACTS * some)
        head = cython.cast(cython.pointer(uint8_t), scratch + 2 * count)
        with cython.nogil:
            good = True
            if some > 0:
                good = write_tables(slices, some, clock, facts, cython.address(work))
            copy_ticks(events, begin, events[0].count, ticks)
            head_most = put_section(head, 0, clock, stream.fresh, keys, ticks, weights, count, facts, some, scratch)
        if not good:
            raise MemoryError
        written: bytes = PyBytes_FromStringAndSize(cython.NULL, head_most + work.size)
        out: cython.p_char = PyBytes_AS_STRING(written)
        memcpy(out, head, cython.cast(cython.size_t, head_most))
        if work.size:
            memcpy(out + head_most, work.out, cython.cast(cython.size_t, work.size))
        return written
    finally:
        free(memory)
        free_work(cython.address(work))


def decode(data: bytes, config: Any, now: int, levels: int = 0) -> SliceStream:
    """What `encode` wrote, or a FormatError."""
    source: cython.pointer(uint8_t) = bytes_of(data)
    size: int64_t = len(data)
    clock: int64_t = now
    window: int64_t = config.window
    cells: int64_t = config.cells
    rows: RowHashes = config.rows
    hashes: cython.pointer(Row) = rows.rows
    depth: int64_t = rows.depth
    section = cython.declare(Section)
    work = cython.declare(TableWork)
    batch = cython.declare(Batch)
    memset(cython.address(work), 0, cython.sizeof(TableWork))
    slices: cython.pointer(Slice) = cython.NULL
    used = cython.declare(int64_t[1])
    count: int64_t
    some: int64_t
    i: int64_t
    used[0] = 0
    facts: cython.pointer(int64_t)
    if not LEAST_TICK <= clock <= MOST_SPAN:
        raise FormatError(f"slices: expected a clock from -2**61 to 2**62, got {clock}")
    wrong: int64_t = open_section(source, 0, size, config.block, cells, cython.address(section))
    if wrong:
        raise _refused(wrong, section.count, section.slices, size, 0)
    count = section.count
    some = section.slices
    memory: cython.p_void = allocate(8 * (6 * count + 2 + FACTS * some))
    try:
        if memory == cython.NULL:
            raise MemoryError
        batch.count = count
        batch.keys = cython.cast(cython.pointer(uint64_t), memory)
        batch.ticks = cython.cast(cython.pointer(int64_t), batch.keys + count)
        batch.weights = batch.ticks + count
        facts = batch.weights + count
        with cython.nogil:
            wrong = read_events(
                source, cython.address(section), clock, window, batch.ticks, batch.weights, facts, batch.keys,
                cython.cast(cython.pointer(uint64_t), facts + FACTS * some),
            )  # fmt: skip
            if not wrong:
                wrong = check_facts(cython.address(section), clock, facts)
            if not wrong and some:
                slices = cython.cast(cython.pointer(Slice), allocate(some * cython.cast(int64_t, cython.sizeof(Slice))))
                if slices == cython.NULL or not new_work(cells, cython.address(work)):
                    wrong = NO_MEMORY
                else:
                    wrong = read_slices(
                        source, cython.address(section), clock, facts, hashes, depth, slices, cython.address(work),
                        used,
                    )  # fmt: skip
        if wrong:
            for i in range(used[0]):
                release(slices[i].table)
            free(slices)
            raise _refused(wrong, count, some, size, used[0])
        if not section.weighted:
            batch.weights = cython.NULL
        return adopt(config, levels, section.fresh, slices, used[0], cython.address(batch))
    finally:
        free_work(cython.address(work))
        free(memory)


@cython.cfunc
def _refused(wrong: int64_t, count: int64_t, slices: int64_t, size: int64_t, used: int64_t) -> object:
    """The error that says what is wrong."""
    if wrong == NO_MEMORY:
        return MemoryError()
    if wrong == NO_FIT:
        return FormatError(f"slices: {count} events and {slices} slices do not fit into {size} bytes")
    if wrong == TABLE:
        return FormatError(f"slices: the table of slice {used} is malformed")
    return FormatError(f"slices: {_REASONS[wrong]}")
