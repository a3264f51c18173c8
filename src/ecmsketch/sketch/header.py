"""The numbers of a sketch's header, from its flags to the sizes of its parts (docs/format.md, "State").

There is one reader and one writer, for one sketch (codec.py) and for many (small_sketches.py). Bytes from outside are
never trusted: the reader takes nothing that the writer does not write.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.ecmsketch.kernels.memory import bytes_of
from cython.cimports.libc.stdint import int64_t, uint8_t, uint64_t
from cython.cimports.libc.string import memset

from ecmsketch.errors import FormatError

HAS_CLOCK = cython.declare(int64_t, 1)
HAS_ORIGIN = cython.declare(int64_t, 2)
HAS_COUNTERS = cython.declare(int64_t, 4)
HAS_LATE = cython.declare(int64_t, 32)
MOST_HEADER = cython.declare(int64_t, 128)
LEAST_TICK = cython.declare(int64_t, -(2**61))
MOST_TICK = cython.declare(int64_t, 2**62)
_HAS_SETTLED = cython.declare(int64_t, 8)
_HAS_LEVELS = cython.declare(int64_t, 64)
_MOST_LEVELS = cython.declare(uint64_t, 64)
_MOST_LATE = cython.declare(uint64_t, 2**62)

# What may be wrong with a header: the reader returns these negated.
_TRUNCATED, _FLAGS, _NO_CLOCK, _LEVELS, _NO_LATE, _LATE, _TICKS, _ARRIVALS = (
    cython.declare(int64_t, 1), cython.declare(int64_t, 2), cython.declare(int64_t, 3), cython.declare(int64_t, 4),
    cython.declare(int64_t, 5), cython.declare(int64_t, 6), cython.declare(int64_t, 7), cython.declare(int64_t, 8),
)  # fmt: skip
_REASONS = (
    "",
    "a number ends early or has redundant bytes; the data is truncated or damaged",
    "expected flags below 128",
    "it has a first arrival, but no clock",
    "expected from 1 to 64 levels of merging",
    "its late arrivals are settled up to no tick, or there are none",
    "expected at most 2**62 late arrivals",
    "expected ticks from -2**61 to 2**62",
    "it has a first arrival but no arrivals, or arrivals but no first",
)


class Header(NamedTuple):
    """The numbers of a header. `frontier` is the newest settled tick, None if nothing is settled."""

    flags: int
    key: int = 0
    now: int = 0
    origin: int = 0
    levels: int = 0
    frontier: int | None = None
    counted: int = 0
    dropped: int = 0
    held: int = 0
    kinds_size: int = 0
    counters_size: int = 0
    settled_size: int = 0


@cython.cfunc
@cython.nogil
def put_number(out: cython.pointer(uint8_t), at: int64_t, number: uint64_t) -> int64_t:
    """Write a number of up to 64 bits as a varint; returns the position after it."""
    while number >= 128:
        out[at] = cython.cast(uint8_t, (number & 127) | 128)
        number >>= 7
        at += 1
    out[at] = cython.cast(uint8_t, number)
    return at + 1


@cython.cfunc
@cython.nogil
def get_number(data: cython.pointer(uint8_t), at: int64_t, end: int64_t, number: cython.pointer(uint64_t)) -> int64_t:
    """Read a number of up to 64 bits; returns the position after it. -1 means truncated or overlong, and stays -1."""
    value: uint64_t = 0
    byte: uint64_t
    shift: cython.int = 0
    while 0 <= at < end and shift < 70:
        byte = data[at]
        at += 1
        if shift == 63 and byte > 1:
            return -1
        value |= cython.cast(uint64_t, (byte & 127) << shift)
        if byte < 128:
            if byte == 0 and shift > 0:
                return -1
            number[0] = value
            return at
        shift += 7
    return -1


@cython.cfunc
@cython.nogil
def read_header(
    data: cython.pointer(uint8_t), at: int64_t, end: int64_t, drawn: cython.bint, numbers: cython.pointer(Numbers)
) -> int64_t:
    """The position after a header that begins at some position, or what is wrong with it, as a negative number."""
    word = cython.declare(uint64_t[1])
    flags: int64_t
    place: cython.int
    word[0] = 0
    memset(numbers, 0, cython.sizeof(Numbers))
    if at >= end:
        return -_TRUNCATED
    flags = data[at]
    at += 1
    numbers[0].flags = flags
    if flags >= 2 * _HAS_LEVELS:
        return -_FLAGS
    if flags & HAS_ORIGIN and not flags & HAS_CLOCK:
        return -_NO_CLOCK
    if drawn:
        if end - at < 8:
            return -_TRUNCATED
        for place in range(8):
            numbers[0].key |= cython.cast(uint64_t, data[at + place]) << (8 * place)
        at += 8
    if flags & HAS_CLOCK:
        at = get_number(data, at, end, word)
        numbers[0].now = cython.cast(int64_t, (word[0] >> 1) ^ cython.cast(uint64_t, 0 - (word[0] & 1)))
    if flags & HAS_ORIGIN:
        at = get_number(data, at, end, cython.address(numbers[0].age))
    if flags & _HAS_LEVELS:
        at = get_number(data, at, end, cython.address(numbers[0].levels))
    if flags & HAS_LATE:
        at = get_number(data, at, end, cython.address(numbers[0].since))
        at = get_number(data, at, end, cython.address(numbers[0].counted))
        at = get_number(data, at, end, cython.address(numbers[0].dropped))
        at = get_number(data, at, end, cython.address(numbers[0].held))
    at = get_number(data, at, end, cython.address(numbers[0].kinds_size))
    if flags & HAS_COUNTERS:
        at = get_number(data, at, end, cython.address(numbers[0].counters_size))
    if flags & _HAS_SETTLED:
        at = get_number(data, at, end, cython.address(numbers[0].settled_size))
    if at < 0:
        return -_TRUNCATED
    wrong: int64_t = what_is_wrong(numbers)
    return -wrong if wrong else at


@cython.cfunc
@cython.nogil
def what_is_wrong(numbers: cython.pointer(Numbers)) -> int64_t:
    """What no state has; 0 if some state may have these numbers."""
    flags: int64_t = numbers[0].flags
    past: uint64_t
    some: cython.bint
    if not LEAST_TICK <= numbers[0].now <= MOST_TICK:
        return _TICKS
    past = cython.cast(uint64_t, numbers[0].now - LEAST_TICK)
    if numbers[0].age > past:
        return _TICKS
    if flags & _HAS_LEVELS and not 0 < numbers[0].levels <= _MOST_LEVELS:
        return _LEVELS
    if flags & HAS_LATE:
        if numbers[0].counted > _MOST_LATE or numbers[0].dropped > _MOST_LATE:
            return _LATE
        some = numbers[0].since != 0 or numbers[0].counted != 0 or numbers[0].dropped != 0 or numbers[0].held != 0
        if not some or numbers[0].since > past:
            return _NO_LATE
    some = flags & (HAS_COUNTERS | _HAS_SETTLED) != 0 or numbers[0].held != 0
    if (flags & HAS_ORIGIN != 0) != some:
        return _ARRIVALS
    return 0


@cython.cfunc
@cython.nogil
def write_header(
    numbers: cython.pointer(Numbers), drawn: cython.bint, out: cython.pointer(uint8_t), at: int64_t
) -> int64_t:
    """Write the numbers that the flags ask for; returns the position after them."""
    flags: int64_t = numbers[0].flags
    now: uint64_t = cython.cast(uint64_t, numbers[0].now)
    place: cython.int
    out[at] = cython.cast(uint8_t, flags)
    at += 1
    if drawn:
        for place in range(8):
            out[at + place] = cython.cast(uint8_t, (numbers[0].key >> (8 * place)) & 255)
        at += 8
    if flags & HAS_CLOCK:
        at = put_number(out, at, cython.cast(uint64_t, now << 1) ^ cython.cast(uint64_t, 0 - (now >> 63)))
    if flags & HAS_ORIGIN:
        at = put_number(out, at, numbers[0].age)
    if flags & _HAS_LEVELS:
        at = put_number(out, at, numbers[0].levels)
    if flags & HAS_LATE:
        at = put_number(out, at, numbers[0].since)
        at = put_number(out, at, numbers[0].counted)
        at = put_number(out, at, numbers[0].dropped)
        at = put_number(out, at, numbers[0].held)
    at = put_number(out, at, numbers[0].kinds_size)
    if flags & HAS_COUNTERS:
        at = put_number(out, at, numbers[0].counters_size)
    if flags & _HAS_SETTLED:
        at = put_number(out, at, numbers[0].settled_size)
    return at


def decode_header(data: bytes, at: int, end: int, drawn: bool) -> tuple[Header, int]:
    """The header that begins at a position, and the position after it; a FormatError says what is wrong with it."""
    numbers = cython.declare(Numbers)
    begin: int64_t = at
    stop: int64_t = end
    if not 0 <= begin <= stop <= len(data):
        raise FormatError(f"sketch: {_REASONS[1]}")
    after: int64_t = read_header(bytes_of(data), begin, stop, drawn, cython.address(numbers))
    if after < 0:
        got = {_FLAGS: f", got {numbers.flags}", _LEVELS: f", got {numbers.levels}"}.get(-after, "")
        if after == -_TICKS:
            got = f", got {numbers.now - cython.cast(object, numbers.age)}, {numbers.now}"
        raise FormatError(f"sketch: {_REASONS[-after]}{got}")
    now: object = numbers.now
    origin = now - numbers.age if numbers.flags & HAS_ORIGIN else 0
    frontier = now - numbers.since + 1 if numbers.since else None
    return Header(
        numbers.flags, numbers.key, now, origin, numbers.levels, frontier, numbers.counted, numbers.dropped,
        numbers.held, numbers.kinds_size, numbers.counters_size, numbers.settled_size,
    ), after  # fmt: skip


def encode_header(header: Header, drawn: bool) -> bytes:
    """The header as bytes. Its flags say which of its numbers are written."""
    numbers = cython.declare(Numbers)
    out = cython.declare(uint8_t[128])
    now: object = header.now
    frontier = header.frontier
    numbers.flags, numbers.key, numbers.now = header.flags, header.key, now
    numbers.age = now - header.origin if header.flags & HAS_ORIGIN else 0
    numbers.levels = header.levels
    numbers.since = 0 if frontier is None else now - frontier + 1
    numbers.counted, numbers.dropped, numbers.held = header.counted, header.dropped, header.held
    numbers.kinds_size, numbers.counters_size, numbers.settled_size = (
        header.kinds_size,
        header.counters_size,
        header.settled_size,
    )
    size: int64_t = write_header(cython.address(numbers), drawn, out, 0)
    return PyBytes_FromStringAndSize(cython.cast(cython.p_char, cython.cast(cython.pointer(uint8_t), out)), size)
