"""Numbers as bytes (docs/format.md): bits, LEB128 varints, and packed lists of 64-bit numbers.

A packed list has one of two forms: whichever is shorter, the first if both are alike.

- 0 to 64: each number in so many bits, as many as the largest has.
- 65: each different number once, and each number as its place among them. Different numbers are written in ascending
  order, as gaps, in Rice code: what the gap has above its `low` bits as so many zeros and a one, then these bits.

Bits are written the highest first. Readers trust nothing: a position of -1 means malformed, and stays -1.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import bytes_of, int64s, uint64s
from cython.cimports.ecmsketch.kernels.sorting import sort_words
from cython.cimports.libc.stdint import int64_t, uint8_t, uint64_t
from cython.cimports.libc.string import memcmp, memcpy, memset
from numpy.typing import NDArray

MAX_VARINT = cython.declare(int64_t, 9)
"""Nine bytes hold 63 bits; a longer number is an error."""
MAX_SCALAR_BYTES = 10
"""Single numbers may have 64 bits."""
BY_PLACE = cython.declare(int64_t, 65)
_ONE_BYTE = [bytes((number,)) for number in range(128)]


@cython.cfunc
@cython.nogil
def bits_of(number: uint64_t) -> int64_t:
    """How many bits a number has; 0 has none."""
    return 64 - leading_zeros(number) if number else 0


@cython.cfunc
@cython.nogil
def put_bits(writer: cython.pointer(BitWriter), number: uint64_t, bits: int64_t) -> cython.void:
    """Write a number in at most 56 bits."""
    held: uint64_t = cython.cast(uint64_t, writer[0].held << bits) | number
    filled: int64_t = writer[0].filled + bits
    while filled >= 8:
        filled -= 8
        writer[0].out[writer[0].at] = cython.cast(uint8_t, (held >> filled) & 255)
        writer[0].at += 1
    writer[0].held = held & (cython.cast(uint64_t, cython.cast(uint64_t, 1) << filled) - 1)
    writer[0].filled = filled


@cython.cfunc
@cython.nogil
def put_word(writer: cython.pointer(BitWriter), number: uint64_t, bits: int64_t) -> cython.void:
    """Write a number in at most 64 bits."""
    low: int64_t = min(bits, 32)
    if bits > low:
        put_bits(writer, number >> low, bits - low)
    put_bits(writer, number & (cython.cast(uint64_t, cython.cast(uint64_t, 1) << low) - 1), low)


@cython.cfunc
@cython.nogil
def flush_bits(writer: cython.pointer(BitWriter)) -> cython.void:
    """Write the last bits, which do not fill a byte."""
    if writer[0].filled:
        writer[0].out[writer[0].at] = cython.cast(
            uint8_t, cython.cast(uint64_t, writer[0].held << (8 - writer[0].filled)) & 255
        )
        writer[0].at += 1
        writer[0].held = 0
        writer[0].filled = 0


@cython.cfunc
@cython.nogil
def refill(reader: cython.pointer(BitReader)) -> cython.void:
    """Hold at least 57 bits, from the highest on, if there are as many."""
    while reader[0].filled <= 56 and reader[0].at < reader[0].end:
        reader[0].held |= cython.cast(uint64_t, reader[0].data[reader[0].at]) << (56 - reader[0].filled)
        reader[0].at += 1
        reader[0].filled += 8


@cython.cfunc
@cython.nogil
def take_bits(reader: cython.pointer(BitReader), bits: int64_t) -> uint64_t:
    """Read a number of at most 32 bits. The bits held are negative after the end."""
    number: uint64_t = 0
    if bits > 0:
        refill(reader)
        number = reader[0].held >> (64 - bits)
        reader[0].held = cython.cast(uint64_t, reader[0].held << bits)
        reader[0].filled -= bits
    return number


@cython.cfunc
@cython.nogil
def take_word(reader: cython.pointer(BitReader), bits: int64_t) -> uint64_t:
    """Read a number of at most 64 bits."""
    half: int64_t = min(bits, 32)
    high: uint64_t = take_bits(reader, bits - half)
    if half == 0:
        return high
    return cython.cast(uint64_t, high << half) | take_bits(reader, half)


@cython.cfunc
@cython.nogil
def put_varint(out: cython.pointer(uint8_t), at: int64_t, number: int64_t) -> int64_t:
    """Write a non-negative number, seven bits a byte, the least significant first; returns the position after it."""
    while number >= 128:
        out[at] = cython.cast(uint8_t, (number & 127) | 128)
        number >>= 7
        at += 1
    out[at] = cython.cast(uint8_t, number)
    return at + 1


@cython.cfunc
@cython.nogil
def get_varint(data: cython.pointer(uint8_t), at: int64_t, end: int64_t, number: cython.pointer(int64_t)) -> int64_t:
    """Read a number; returns the position after it. -1 means truncated or overlong, and stays -1; the number is 0."""
    value: int64_t = 0
    byte: int64_t
    shift: cython.int = 0
    number[0] = 0
    while 0 <= at < end and shift < 63:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if byte == 0 and shift > 0:
                return -1
            number[0] = value
            return at
        shift += 7
    return -1


@cython.cfunc
@cython.nogil
def most_packed(count: int64_t) -> int64_t:
    """The most bytes that so many packed numbers take."""
    return 8 * count + 16


@cython.cfunc
@cython.nogil
def low_bits(largest: uint64_t, different: int64_t) -> int64_t:
    """How many low bits of each gap are written as they are: about those of the average gap."""
    return max(bits_of(largest // cython.cast(uint64_t, different)) - 1, 0)


@cython.cfunc
@cython.nogil
def place_of(known: cython.pointer(uint64_t), count: int64_t, number: uint64_t) -> int64_t:
    """The place of a number among ordered ones."""
    low: int64_t = 0
    middle: int64_t
    while low < count:
        middle = (low + count) >> 1
        if known[middle] < number:
            low = middle + 1
        else:
            count = middle
    return low


@cython.cfunc
@cython.nogil
def pack(
    numbers: cython.pointer(uint64_t), count: int64_t, out: cython.pointer(uint8_t), scratch: cython.pointer(uint64_t)
) -> int64_t:
    """Write numbers in at most `most_packed` bytes; returns how many. `scratch` has space for twice as many numbers."""
    writer = cython.declare(BitWriter)
    different: int64_t = 0
    largest: uint64_t = 0
    before: uint64_t = 0
    gap: uint64_t
    mask: uint64_t
    i: int64_t
    if count:
        memcpy(scratch, numbers, cython.cast(cython.size_t, 8 * count))
    sort_words(scratch, count, scratch + count)
    for i in range(count):
        if i == 0 or scratch[i] != before:
            before = scratch[i]
            scratch[different] = before
            different += 1
    if count:
        largest = scratch[different - 1]
    width: int64_t = bits_of(largest)
    places: int64_t = bits_of(cython.cast(uint64_t, max(different - 1, 0)))
    low: int64_t = low_bits(largest, max(different, 1))
    bits: int64_t = count * places
    plain: int64_t = 1 + (count * width + 7) // 8
    before = 0
    for i in range(different):
        bits += cython.cast(int64_t, (scratch[i] - before) >> low) + 1 + low
        before = cython.cast(uint64_t, scratch[i] + 1)
    out[0] = cython.cast(uint8_t, BY_PLACE)
    at: int64_t = put_varint(out, 1, different)
    out[at] = cython.cast(uint8_t, low)
    writer.out = out
    writer.held = 0
    writer.filled = 0
    if at + 1 + (bits + 7) // 8 >= plain:
        out[0] = cython.cast(uint8_t, width)
        writer.at = 1
        for i in range(count):
            put_word(cython.address(writer), numbers[i], width)
        flush_bits(cython.address(writer))
        return writer.at
    writer.at = at + 1
    mask = cython.cast(uint64_t, cython.cast(uint64_t, 1) << low) - 1
    before = 0
    for i in range(different):
        gap = scratch[i] - before
        put_zeros(cython.address(writer), cython.cast(int64_t, gap >> low))
        put_bits(cython.address(writer), 1, 1)
        put_word(cython.address(writer), gap & mask, low)
        before = cython.cast(uint64_t, scratch[i] + 1)
    for i in range(count):
        put_bits(cython.address(writer), cython.cast(uint64_t, place_of(scratch, different, numbers[i])), places)
    flush_bits(cython.address(writer))
    return writer.at


@cython.cfunc
@cython.nogil
def put_zeros(writer: cython.pointer(BitWriter), zeros: int64_t) -> cython.void:
    """Write so many bits that are zero."""
    while zeros > 0:
        put_bits(writer, 0, min(zeros, 56))
        zeros -= 56


@cython.cfunc
@cython.nogil
def unpack(
    data: cython.pointer(uint8_t), at: int64_t, end: int64_t, count: int64_t, numbers: cython.pointer(uint64_t),
    scratch: cython.pointer(uint64_t),
) -> int64_t:  # fmt: skip
    """Read so many numbers; returns the position after them, or -1 if `pack` does not write these bytes.

    Numbers may take no bits at all, so the caller bounds their count. `scratch` has space for 3 * count + 2 numbers.
    """
    reader = cython.declare(BitReader)
    width: int64_t
    i: int64_t
    packed: cython.pointer(uint8_t)
    if at < 0 or at >= end or data[at] > BY_PLACE:
        return -1
    if data[at] == BY_PLACE:
        return unpack_places(data, at + 1, end, count, numbers, scratch)
    width = data[at]
    reader.data, reader.at, reader.end, reader.held, reader.filled = data, at + 1, end, 0, 0
    for i in range(count):
        numbers[i] = take_word(cython.address(reader), width)
    if reader.filled < 0:
        return -1
    reader.at -= reader.filled // 8
    packed = cython.cast(cython.pointer(uint8_t), scratch + 2 * count)
    if pack(numbers, count, packed, scratch) != reader.at - at:
        return -1
    if memcmp(packed, data + at, cython.cast(cython.size_t, reader.at - at)) != 0:
        return -1
    return reader.at


@cython.cfunc
@cython.nogil
def unpack_known(
    reader: cython.pointer(BitReader), low: int64_t, different: int64_t, known: cython.pointer(uint64_t)
) -> cython.bint:
    """Read numbers from their gaps; False if a gap is too large, or the data ends early."""
    before: uint64_t = 0
    gap: uint64_t
    bit: uint64_t
    most: uint64_t = cython.cast(uint64_t, 0xFFFFFFFFFFFFFFFF) >> low
    i: int64_t
    for i in range(different):
        gap = 0
        bit = 0
        while bit == 0 and reader[0].filled >= 0:
            bit = take_bits(reader, 1)
            gap += 1 - bit
        if gap > most or reader[0].filled < 0:
            return False
        known[i] = cython.cast(uint64_t, before + (cython.cast(uint64_t, gap << low) | take_word(reader, low)))
        before = cython.cast(uint64_t, known[i] + 1)
    return reader[0].filled >= 0


@cython.cfunc
@cython.nogil
def unpack_places(
    data: cython.pointer(uint8_t), at: int64_t, end: int64_t, count: int64_t, numbers: cython.pointer(uint64_t),
    scratch: cython.pointer(uint64_t),
) -> int64_t:  # fmt: skip
    """Read numbers by their places, if all of the different ones are used, in order, and shorter than plainly."""
    reader = cython.declare(BitReader)
    begin: int64_t = at - 1
    different: int64_t = 0
    place: uint64_t
    i: int64_t
    wrong: cython.bint
    at = get_varint(data, at, end, cython.address(different))
    if at < 0 or at >= end or not 0 < different <= count or data[at] > 63:
        return -1
    low: int64_t = data[at]
    known = scratch
    used = cython.cast(cython.pointer(uint8_t), scratch + count)
    reader.data, reader.at, reader.end, reader.held, reader.filled = data, at + 1, end, 0, 0
    if not unpack_known(cython.address(reader), low, different, known):
        return -1
    width: int64_t = bits_of(cython.cast(uint64_t, different - 1))
    memset(used, 0, cython.cast(cython.size_t, different))
    for i in range(count):
        place = take_word(cython.address(reader), width)
        if reader.filled < 0 or place >= cython.cast(uint64_t, different):
            return -1
        used[place] = 1
        numbers[i] = known[place]
    largest: uint64_t = known[different - 1]
    unused: int64_t = reader.filled // 8
    rest: int64_t = reader.filled % 8
    descents: int64_t = different
    for i in range(different):
        descents -= used[i]
    for i in range(1, different):
        descents += 1 if known[i] <= known[i - 1] else 0
    plain: int64_t = 1 + (count * bits_of(largest) + 7) // 8
    wrong = descents != 0 or low != low_bits(largest, different)
    if rest and reader.held >> (64 - rest):
        wrong = True
    if wrong or reader.at - unused - begin >= plain:
        return -1
    return reader.at - unused


def packed(numbers: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Numbers as bytes."""
    count: int64_t = len(numbers)
    out, scratch = np.empty(most_packed(count), np.uint8), np.empty(2 * count, np.uint64)
    source, target, memory = uint64s(numbers), bytes_of(out), uint64s(scratch)
    size: int64_t
    with cython.nogil:
        size = pack(source, count, target, memory)
    return out[:size]


def unpacked(data: Any, at: int, count: int) -> tuple[NDArray[np.uint64], int]:
    """Read so many numbers: (numbers, position after them), or a position of -1 if `packed` does not write these.

    Numbers may take no bits at all, so the caller bounds their count.
    """
    numbers, scratch = np.empty(count, np.uint64), np.empty(3 * count + 2, np.uint64)
    source, target, memory = bytes_of(data), uint64s(numbers), uint64s(scratch)
    return numbers, unpack(source, at, len(data), count, target, memory)


def put_varints(numbers: NDArray[np.int64]) -> bytes:
    """Write many non-negative numbers, one after the other."""
    count: int64_t = len(numbers)
    out = np.empty(count * MAX_VARINT, np.uint8)
    source, target = int64s(numbers), bytes_of(out)
    at: int64_t = 0
    i: int64_t
    for i in range(count):
        at = put_varint(target, at, source[i])
    return out[:at].tobytes()


def get_varints(data: Any, at: int, count: int) -> tuple[NDArray[np.int64], int]:
    """Read `count` numbers: (numbers, position after them, or -1). Each takes a byte or more, so data bounds them."""
    position: int64_t = at
    end: int64_t = len(data)
    if count > end - position:
        return np.empty(0, np.int64), -1
    numbers = np.empty(count, np.int64)
    source, target = bytes_of(data), int64s(numbers)
    i: int64_t
    for i in range(cython.cast(int64_t, count)):
        position = get_varint(source, position, end, target + i)
        if position < 0:
            break
    return numbers, position


def put_scalar(number: int) -> bytes:
    """Write one non-negative number of up to 64 bits."""
    if number < 128:
        return _ONE_BYTE[number]
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def get_scalar(data: bytes, at: int) -> tuple[int, int]:
    """Read what `put_scalar` wrote: (number, position after it). A position of -1 means truncated or not minimal."""
    number: object = 0
    shift: object = 0
    for place in range(at, min(at + MAX_SCALAR_BYTES, len(data))):
        byte: object = data[place]
        number |= (byte & 127) << shift
        if byte < 128:
            good = (byte or not shift) and number < 2**64
            return (number, place + 1) if good else (0, -1)
        shift += 7
    return 0, -1
