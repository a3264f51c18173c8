"""Buckets as bytes: one delta-coded tick per bucket (docs/format.md, section "Buckets").

Sizes of live buckets need no bytes, since the number of arrivals decides them. What has left the window is not
written, so equal streams give equal bytes whatever was lazily forgotten when.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.counters.buckets.frozen import Frozen, History, nothing_frozen
from ecmsketch.counters.buckets.straddling import first_after
from ecmsketch.counters.contract import Ints
from ecmsketch.counters.numbering import CYCLE, MAX_HELD
from ecmsketch.errors import FormatError
from ecmsketch.kernels import kernel
from ecmsketch.kernels.varint import MAX_BYTES, get_varint, put_varint

_PROBLEMS = {
    1: "a number is cut off or longer than 63 bits",
    2: "a counter's arrivals are numbered beyond 2**59, or it has more than 2**53 in the window",
    3: "a bucket lies before the window",
    4: "a frozen bucket is empty",
}


def encode_buckets(arrivals: Ints, live: History, frozen: History, now: int, limit: int) -> bytes:
    """Arrivals per cell, and the buckets that end after `limit`; ticks are offsets from any base."""
    out = np.empty((len(arrivals) * 3 + (len(live.end) + len(frozen.end)) * 2) * MAX_BYTES + 1, np.uint8)
    return out[: _encode(arrivals, live, frozen, now, limit, out)].tobytes()


def decode_buckets(data: NDArray[np.uint8], cells: int, window: int) -> tuple[Ints, History, Frozen]:
    """The buckets that `encode_buckets` wrote, with `now` at the offset window + 1; live sizes are left at zero.

    Trusts nothing, and never allocates more than a multiple of len(data).
    """
    if len(data) < 1 + cells:
        raise FormatError(f"counters: {len(data)} bytes cannot hold {cells} counters; the data is truncated")
    if data[0] > 1:
        raise FormatError(f"counters: expected 0 or 1 as first byte (frozen part), got {data[0]}")
    problem, cell, used, arrivals, live, frozen = _decode(data, cells, window)
    if problem:
        raise FormatError(f"counters: {_PROBLEMS[problem]} (counter {cell})")
    if used != len(data):
        raise FormatError(f"counters: {len(data) - used} bytes too many after the last counter")
    offset, ends = live
    ends = ends[: offset[-1]].copy()
    frozen_offset, frozen_ends, frozen_tail = frozen
    count = frozen_offset[-1]
    below = Frozen(frozen_offset, frozen_ends[:count].copy(), frozen_tail[:count].copy())
    return arrivals, History(offset, ends, np.zeros(len(ends), np.int64)), below if count else nothing_frozen()


@kernel
def _encode(arrivals: Any, live: Any, frozen: Any, now: Any, limit: Any, out: Any) -> Any:
    """Write every cell's live buckets, then its frozen ones if any cell has some; returns the bytes written."""
    has_frozen = False
    for i in range(frozen.end.shape[0]):
        has_frozen = has_frozen or frozen.end[i] > limit
    out[0] = 1 if has_frozen else 0
    at = int64(1)
    for cell in range(arrivals.shape[0]):
        newer = now
        at = put_varint(out, at, arrivals[cell])
        if arrivals[cell] > int64(0):
            past = live.offset[cell + 1]
            count = past - first_after(live.end, live.offset[cell], past, limit)
            at = put_varint(out, at, count)
            for back in range(count):
                end = live.end[past - int64(1) - back]
                at = put_varint(out, at, newer - end)
                newer = end
        if has_frozen:
            past = frozen.offset[cell + 1]
            count = past - first_after(frozen.end, frozen.offset[cell], past, limit)
            at = put_varint(out, at, count)
            for back in range(count):
                i = past - int64(1) - back
                at = put_varint(out, at, newer - frozen.end[i])
                at = put_varint(out, at, frozen.size[i])
                newer = frozen.end[i]
    return at


@kernel
def _decode(data: Any, cells: Any, window: Any) -> Any:
    """(problem, cell, bytes used, arrivals, live, frozen). A bucket takes a byte at least: len(data) bounds them."""
    has_frozen = data[0] == 1
    arrivals = np.zeros(cells, np.int64)
    offset = np.zeros(cells + 1, np.int64)
    frozen_offset = np.zeros(cells + 1, np.int64)
    ends = np.empty(data.shape[0], np.int64)
    frozen_ends = np.empty(data.shape[0] if has_frozen else 0, np.int64)
    frozen_tail = np.empty(data.shape[0] if has_frozen else 0, np.int64)
    at, problem, cell = int64(1), int64(0), int64(0)
    while cell < cells:
        end = window + int64(1)
        filled = offset[cell]
        arrivals[cell], at = get_varint(data, at)
        if arrivals[cell] > int64(0):
            problem, at, filled, end = _get_live(data, at, ends, filled, end)
        if problem == int64(0) and (at < int64(0) or arrivals[cell] >= int64(2 * CYCLE)):
            problem = int64(1) if at < int64(0) else int64(2)
        offset[cell + 1] = filled
        if has_frozen and problem == int64(0):
            problem, at, filled = _get_frozen(data, at, frozen_ends, frozen_tail, frozen_offset[cell], end)
            frozen_offset[cell + 1] = filled
        if problem != int64(0):
            break
        cell += int64(1)
    return problem, cell, at, arrivals, (offset, ends), (frozen_offset, frozen_ends, frozen_tail)


@kernel
def _get_live(data: Any, at: Any, ends: Any, filled: Any, end: Any) -> Any:
    """One cell's live buckets, newest first in the data: (problem, position, filled, oldest end)."""
    count, at = get_varint(data, at)
    if at < int64(0) or count > data.shape[0] - at:
        return int64(1), at, filled, end
    for i in range(count):
        gap, at = get_varint(data, at)
        if at < int64(0):
            return int64(1), at, filled, end
        if gap >= end - int64(1):
            return int64(3), at, filled, end
        end -= gap
        ends[filled + count - int64(1) - i] = end
    return int64(0), at, filled + count, end


@kernel
def _get_frozen(data: Any, at: Any, ends: Any, tail: Any, filled: Any, end: Any) -> Any:
    """One cell's frozen buckets, newest first in the data: (problem, position, filled)."""
    count, at = get_varint(data, at)
    if at < int64(0) or count > data.shape[0] - at:
        return int64(1), at, filled
    total = int64(0)
    for i in range(count):
        gap, at = get_varint(data, at)
        size, at = get_varint(data, at)
        if at < int64(0):
            return int64(1), at, filled
        if gap >= end - int64(1):
            return int64(3), at, filled
        if size == int64(0):
            return int64(4), at, filled
        if size > int64(MAX_HELD) - total:
            return int64(2), at, filled
        end -= gap
        total += size
        ends[filled + count - int64(1) - i] = end
        tail[filled + count - int64(1) - i] = total
    return int64(0), at, filled + count
