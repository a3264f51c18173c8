"""Numbers of 64 bits as bytes, in one of two forms: whichever is shorter, the first if both are alike.

- 0 to 64: each number in so many bits, as many as the largest has.
- 65: each different number once, and each number as its place among them. Different numbers are written in ascending
  order, as gaps, in Rice code: what the gap has above its `low` bits as so many zeros and a one, then these bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint8, uint64

from ecmsketch.kernels.bits import bits_of, put_bits, refill
from ecmsketch.kernels.decorator import inlined, kernel
from ecmsketch.kernels.varint import get_varint, put_varint

_BY_PLACE = 65
_HALF = 32


@kernel
def _length_of(number: Any) -> Any:
    """How many bits a number has; 0 has none."""
    return bits_of(number) if number else int64(0)


@kernel
def _low_bits(largest: Any, different: Any) -> Any:
    """How many low bits of each gap are written as they are: about those of the average gap."""
    return max(_length_of(largest // uint64(different)) - int64(1), int64(0))


@kernel
def _different(ordered: Any) -> Any:
    """Each of some ordered numbers once."""
    found, count = np.empty(ordered.shape[0], np.uint64), int64(0)
    for i in range(ordered.shape[0]):
        if i == 0 or ordered[i] != ordered[i - 1]:
            found[count] = ordered[i]
            count += int64(1)
    return found[:count]


@inlined
def _put(out: Any, at: Any, held: Any, filled: Any, number: Any, bits: Any) -> Any:
    """Write a number in at most 64 bits."""
    low = min(bits, int64(_HALF))
    if bits > low:
        at, held, filled = put_bits(out, at, held, filled, number >> uint64(low), bits - low)
    return put_bits(out, at, held, filled, number & ((uint64(1) << uint64(low)) - uint64(1)), low)


@kernel
def packed(numbers: Any) -> Any:
    """Numbers as bytes."""
    count = numbers.shape[0]
    known = _different(np.sort(numbers))
    largest = known[known.shape[0] - 1] if count else uint64(0)
    width, places = _length_of(largest), _length_of(uint64(max(known.shape[0] - 1, 0)))
    low, before, bits = _low_bits(largest, max(known.shape[0], 1)), uint64(0), count * places
    for i in range(known.shape[0]):
        bits += int64((known[i] - before) >> uint64(low)) + int64(1) + low
        before = known[i] + uint64(1)
    out = np.zeros(16 + (max(bits, count * width) + int64(7)) // int64(8), np.uint8)
    out[0] = uint8(_BY_PLACE)
    at = put_varint(out, int64(1), known.shape[0])
    out[at] = uint8(low)
    at += int64(1)
    if at + (bits + int64(7)) // int64(8) < int64(1) + (count * width + int64(7)) // int64(8):
        return out[: _put_by_place(out, at, numbers, known, low, places)]
    out[0] = uint8(width)
    return out[: _put_each(out, int64(1), numbers, width)]


@kernel
def _put_each(out: Any, at: Any, numbers: Any, width: Any) -> Any:
    """Write each number in so many bits; returns the position after them."""
    held, filled = uint64(0), int64(0)
    for i in range(numbers.shape[0]):
        at, held, filled = _put(out, at, held, filled, numbers[i], width)
    if filled:
        out[at] = uint8((held << uint64(int64(8) - filled)) & uint64(255))
        at += int64(1)
    return at


@kernel
def _put_by_place(out: Any, at: Any, numbers: Any, known: Any, low: Any, width: Any) -> Any:
    """Write the different numbers, and each number's place among them; returns the position after them."""
    held, filled, before = uint64(0), int64(0), uint64(0)
    for i in range(known.shape[0]):
        gap = known[i] - before
        for _ in range(int64(gap >> uint64(low))):
            at, held, filled = put_bits(out, at, held, filled, uint64(0), int64(1))
        at, held, filled = put_bits(out, at, held, filled, uint64(1), int64(1))
        at, held, filled = _put(out, at, held, filled, gap & ((uint64(1) << uint64(low)) - uint64(1)), low)
        before = known[i] + uint64(1)
    places = np.searchsorted(known, numbers)
    for i in range(numbers.shape[0]):
        at, held, filled = put_bits(out, at, held, filled, uint64(places[i]), width)
    if filled:
        out[at] = uint8((held << uint64(int64(8) - filled)) & uint64(255))
        at += int64(1)
    return at


@inlined
def _get(data: Any, at: Any, held: Any, filled: Any, bits: Any) -> Any:
    """Read a number of at most 64 bits: (number, next byte, bits held, how many these are: negative after the end)."""
    number, half = uint64(0), min(bits, int64(_HALF))
    for part in (bits - half, half):
        if part > int64(0):
            at, held, filled = refill(data, at, data.shape[0], held, filled)
            number = (number << uint64(part)) | (held >> uint64(int64(64) - part))
            held, filled = held << uint64(part), filled - part
    return number, at, held, filled


@kernel
def _get_known(data: Any, at: Any, low: Any, different: Any) -> Any:
    """Read numbers from their gaps: (numbers, none if a gap is too large, next byte, bits held, how many these are)."""
    known, held, filled, before = np.empty(different, np.uint64), uint64(0), int64(0), uint64(0)
    for i in range(different):
        gap, bit = uint64(0), uint64(0)
        while bit == uint64(0) and filled >= int64(0):
            bit, at, held, filled = _get(data, at, held, filled, int64(1))
            gap += uint64(1) - bit
        if gap > uint64(2**64 - 1) >> uint64(low):
            return known[:0], at, held, filled
        rest, at, held, filled = _get(data, at, held, filled, low)
        known[i] = before + ((gap << uint64(low)) | rest)
        before = known[i] + uint64(1)
    return known, at, held, filled


@kernel
def unpacked(data: Any, at: Any, count: Any) -> Any:
    """Read so many numbers: (numbers, position after them), or a position of -1 if `packed` does not write these bytes.

    Numbers may take no bits at all, so the caller bounds their count.
    """
    if at >= data.shape[0] or data[at] > uint8(_BY_PLACE):
        return np.empty(0, np.uint64), int64(-1)
    if data[at] == uint8(_BY_PLACE):
        return _get_by_place(data, at + int64(1), count)
    begin, width, held, filled = at, int64(data[at]), uint64(0), int64(0)
    numbers, at = np.empty(count, np.uint64), at + int64(1)
    for i in range(count):
        numbers[i], at, held, filled = _get(data, at, held, filled, width)
    at -= filled // int64(8)
    if filled < int64(0) or not _same(packed(numbers), data[begin:at]):
        return numbers, int64(-1)
    return numbers, at


@kernel
def _get_by_place(data: Any, at: Any, count: Any) -> Any:
    """Read numbers by their places, if all of the different ones are used, in order, and shorter than plainly."""
    numbers, begin = np.empty(count, np.uint64), at - int64(1)
    different, at = get_varint(data, at)
    if at < int64(0) or at >= data.shape[0] or not int64(0) < different <= count or data[at] > uint8(63):
        return numbers, int64(-1)
    low = int64(data[at])
    known, at, held, filled = _get_known(data, at + int64(1), low, different)
    if known.shape[0] == 0:
        return numbers, int64(-1)
    width, used = _length_of(uint64(different - int64(1))), np.zeros(different, np.uint8)
    for i in range(count):
        place, at, held, filled = _get(data, at, held, filled, width)
        if filled < int64(0) or place >= uint64(different):
            return numbers, int64(-1)
        used[place] = uint8(1)
        numbers[i] = known[place]
    largest, unused, rest = known[different - int64(1)], filled // int64(8), filled % int64(8)
    descents = different - used.sum()
    for i in range(1, different):
        descents += int64(known[i] <= known[i - 1])
    plain = int64(1) + (count * _length_of(largest) + int64(7)) // int64(8)
    wrong = descents or low != _low_bits(largest, different) or (rest and held >> uint64(int64(64) - rest))
    return numbers, int64(-1) if wrong or at - unused - begin >= plain else at - unused


@kernel
def _same(some: Any, others: Any) -> Any:
    different = int64(some.shape[0] != others.shape[0])
    for i in range(min(some.shape[0], others.shape[0])):
        different += int64(some[i] != others[i])
    return different == int64(0)
