"""Buckets as bytes: one delta-coded tick per bucket (docs/format.md, section "Buckets").

Sizes of live buckets need no bytes, since the number of arrivals decides them. What has left the window is not
written, so equal streams give equal bytes whatever was lazily forgotten when.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import bytes_of, int64s
from cython.cimports.ecmsketch.kernels.packing import get_varint, put_varint
from cython.cimports.libc.stdint import int64_t, uint8_t
from numpy.typing import NDArray

from ecmsketch.engines.cells.counters import MAX_HELD, MOST_NUMBERED
from ecmsketch.engines.cells.histories import Frozen, History
from ecmsketch.errors import FormatError

Ints = NDArray[np.int64]

_PROBLEMS = {
    1: "a number is cut off or longer than 63 bits",
    2: "a counter's arrivals are numbered beyond 2**59, or it has more than 2**53 in the window",
    3: "a bucket lies before the window",
    4: "a frozen bucket is empty",
}
MOST_BYTES = cython.declare(int64_t, 9)
"""Most bytes of a number."""
HELD = cython.declare(int64_t, MAX_HELD)
NUMBERED = cython.declare(int64_t, MOST_NUMBERED)


def encode_buckets(arrivals: Ints, live: History, frozen: History, now: int, limit: int) -> bytes:
    """Arrivals per cell, and the buckets that end after `limit`; ticks are offsets from any base."""
    cells: int64_t = len(arrivals)
    most: int64_t = (cells * 3 + (len(live.end) + len(frozen.end)) * 2) * MOST_BYTES + 1
    out = np.empty(most, np.uint8)
    target, numbers = bytes_of(out), int64s(arrivals)
    live_offset, live_end = int64s(live.offset), int64s(live.end)
    offset, end, size = int64s(frozen.offset), int64s(frozen.end), int64s(frozen.size)
    clock: int64_t = now
    expired: int64_t = limit
    has_frozen: cython.bint = False
    frozen_count: int64_t = len(frozen.end)
    at: int64_t = 1
    newer: int64_t
    cell: int64_t
    first: int64_t
    i: int64_t
    with cython.nogil:
        for i in range(frozen_count):
            has_frozen = has_frozen or end[i] > expired
        target[0] = 1 if has_frozen else 0
        for cell in range(cells):
            newer = clock
            at = put_number(target, at, numbers[cell])
            if numbers[cell] > 0:
                first = first_after(live_end, live_offset[cell], live_offset[cell + 1], expired)
                at = put_number(target, at, live_offset[cell + 1] - first)
                for i in range(live_offset[cell + 1] - 1, first - 1, -1):
                    at = put_number(target, at, newer - live_end[i])
                    newer = live_end[i]
            if has_frozen:
                first = first_after(end, offset[cell], offset[cell + 1], expired)
                at = put_number(target, at, offset[cell + 1] - first)
                for i in range(offset[cell + 1] - 1, first - 1, -1):
                    at = put_number(target, at, newer - end[i])
                    at = put_number(target, at, size[i])
                    newer = end[i]
    return out[:at].tobytes()


def decode_buckets(data: NDArray[np.uint8], cells: int, window: int) -> tuple[Ints, Ints, Ints, Frozen | None]:
    """The buckets that `encode_buckets` wrote, with `now` at the offset window + 1: arrivals per cell, offsets and ends
    of live buckets, and frozen ones.

    Trusts nothing, and never allocates more than a multiple of len(data): a bucket takes a byte at least.
    """
    size: int64_t = len(data)
    if size < 1 + cells:
        raise FormatError(f"counters: {size} bytes cannot hold {cells} counters; the data is truncated")
    source = bytes_of(data)
    if source[0] > 1:
        raise FormatError(f"counters: expected 0 or 1 as first byte (frozen part), got {source[0]}")
    has_frozen: cython.bint = source[0] == 1
    arrivals, offset, frozen_offset = (np.zeros(cells + more, np.int64) for more in (0, 1, 1))
    below: int64_t = size if has_frozen else 0
    end, frozen_end, frozen_tail = (np.empty(most, np.int64) for most in (size, below, below))
    numbers, offsets, ends = int64s(arrivals), int64s(offset), int64s(end)
    frozen_offsets, frozen_ends, tails = int64s(frozen_offset), int64s(frozen_end), int64s(frozen_tail)
    count: int64_t = cells
    cell: int64_t = 0
    problem: int64_t = 0
    last = cython.declare(int64_t)
    at = cython.declare(int64_t)
    at = 1
    begin: int64_t = window + 1
    with cython.nogil:
        while cell < count:
            last = begin
            offsets[cell + 1], frozen_offsets[cell + 1] = offsets[cell], frozen_offsets[cell]
            at = get_varint(source, at, size, numbers + cell)
            if numbers[cell] > 0:
                problem = get_live(source, cython.address(at), size, ends, offsets + cell + 1, cython.address(last))
            if problem == 0 and (at < 0 or numbers[cell] >= NUMBERED):
                problem = 1 if at < 0 else 2
            if has_frozen and problem == 0:
                problem = get_frozen(
                    source, cython.address(at), size, frozen_ends, tails, frozen_offsets + cell + 1, last
                )
            if problem != 0:
                break
            cell += 1
    if problem:
        raise FormatError(f"counters: {_PROBLEMS[problem]} (counter {cell})")
    if at != size:
        raise FormatError(f"counters: {size - at} bytes too many after the last counter")
    kept: int64_t = frozen_offsets[count]
    frozen = Frozen(frozen_offset, frozen_end[:kept].copy(), frozen_tail[:kept].copy()) if kept else None
    return arrivals, offset, end[: offsets[count]].copy(), frozen


@cython.cfunc
@cython.nogil
def put_number(out: cython.pointer(uint8_t), at: int64_t, number: int64_t) -> int64_t:
    """Write a non-negative number, mostly in a byte; returns the position after it."""
    if number < 128:
        out[at] = cython.cast(uint8_t, number)
        return at + 1
    return put_varint(out, at, number)


@cython.cfunc
@cython.nogil
def first_after(ends: cython.pointer(int64_t), low: int64_t, high: int64_t, since: int64_t) -> int64_t:
    """The first position in [low, high) whose end lies after `since`."""
    middle: int64_t
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] > since:
            high = middle
        else:
            low = middle + 1
    return low


@cython.cfunc
@cython.nogil
def get_live(
    data: cython.pointer(uint8_t), at: cython.pointer(int64_t), size: int64_t, ends: cython.pointer(int64_t),
    filled: cython.pointer(int64_t), last: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Read one cell's live buckets, newest first in the data, behind those that are `filled`; returns a problem, or 0.

    `last` is the end of the bucket read before, at first one after which all lie.
    """
    count = cython.declare(int64_t)
    gap = cython.declare(int64_t)
    i: int64_t
    at[0] = get_varint(data, at[0], size, cython.address(count))
    if at[0] < 0 or count > size - at[0]:
        return 1
    for i in range(count):
        at[0] = get_varint(data, at[0], size, cython.address(gap))
        if at[0] < 0:
            return 1
        if gap >= last[0] - 1:
            return 3
        last[0] -= gap
        ends[filled[0] + count - 1 - i] = last[0]
    filled[0] += count
    return 0


@cython.cfunc
@cython.nogil
def get_frozen(
    data: cython.pointer(uint8_t), at: cython.pointer(int64_t), size: int64_t, ends: cython.pointer(int64_t),
    tail: cython.pointer(int64_t), filled: cython.pointer(int64_t), last: int64_t,
) -> int64_t:  # fmt: skip
    """Read one cell's frozen buckets, newest first in the data; returns a problem, or 0."""
    count = cython.declare(int64_t)
    gap = cython.declare(int64_t)
    held = cython.declare(int64_t)
    total: int64_t = 0
    i: int64_t
    at[0] = get_varint(data, at[0], size, cython.address(count))
    if at[0] < 0 or count > size - at[0]:
        return 1
    for i in range(count):
        at[0] = get_varint(data, at[0], size, cython.address(gap))
        at[0] = get_varint(data, at[0], size, cython.address(held))
        if at[0] < 0:
            return 1
        if gap >= last - 1:
            return 3
        if held == 0:
            return 4
        if held > HELD - total:
            return 2
        last -= gap
        total += held
        ends[filled[0] + count - 1 - i] = last
        tail[filled[0] + count - 1 - i] = total
    filled[0] += count
    return 0
