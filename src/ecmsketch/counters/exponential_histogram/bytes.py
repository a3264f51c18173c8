"""Exponential histograms as bytes: one delta-coded tick per bucket (docs/format.md, section "Histograms").

Sizes need no bytes, since the number of arrivals decides them. What has left the window is not written, so
equal streams give equal bytes whatever was lazily forgotten when.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.counters.contract import MAX_ARRIVALS
from ecmsketch.counters.exponential_histogram.layout import Cells, bucket_count, first_after
from ecmsketch.counters.exponential_histogram.reading import history
from ecmsketch.errors import FormatError
from ecmsketch.kernels import kernel
from ecmsketch.varint import MAX_BYTES, get_varint, put_varint

_PROBLEMS = {
    1: "a number is cut off or longer than 63 bits",
    2: "a counter has more arrivals than 2**53",
    3: "a counter has more buckets than its arrivals allow",
    4: "a bucket lies before the window",
    5: "a frozen bucket is empty",
}


def encode_cells(state: Cells, now: int, window: int, k: int) -> bytes:
    """The state at `now`, an offset from the state's base."""
    offset, end, size = history(state, 0, k)
    out = np.empty((len(state.arrivals) * 3 + len(end) * 2) * MAX_BYTES + 1, np.uint8)
    return out[: _encode(state.arrivals, state.length, offset, end, size, now, now - window, out)].tobytes()


def decode_cells(data: NDArray[np.uint8], empty: Cells, window: int, k: int) -> Cells:
    """What `encode_cells` wrote, with `now` at the offset window + 1.

    Trusts nothing, and never allocates more than a multiple of len(data).
    """
    cells = len(empty.arrivals)
    if data[0] > 1:
        raise FormatError(f"histograms: expected 0 or 1 as first byte (frozen part), got {data[0]}")
    problem, cell, used, arrivals, live, frozen = _decode(data, cells, window, k)
    if problem:
        raise FormatError(f"histograms: {_PROBLEMS[problem]} (counter {cell})")
    if used != len(data):
        raise FormatError(f"histograms: {len(data) - used} bytes too many after the last counter")
    offset, ends = live
    frozen_offset, frozen_ends, frozen_tail = frozen
    return Cells(
        ends[: offset[-1]].astype(empty.ends.dtype), offset, offset[:-1].copy(), np.diff(offset), arrivals,
        frozen_ends[: frozen_offset[-1]].copy(), frozen_tail[: frozen_offset[-1]].copy(),
        frozen_offset if frozen_offset[-1] else empty.frozen_offset,
    )  # fmt: skip


@kernel
def _encode(arrivals: Any, length: Any, offset: Any, end: Any, size: Any, now: Any, limit: Any, out: Any) -> Any:
    """Write every cell's live buckets, then its frozen ones if any cell has some; returns the bytes written."""
    cells = arrivals.shape[0]
    has_frozen = False
    for cell in range(cells):
        newest = offset[cell + 1] - length[cell] - int64(1)
        has_frozen = has_frozen or (newest >= offset[cell] and end[newest] > limit)
    out[0] = 1 if has_frozen else 0
    at = int64(1)
    for cell in range(cells):
        newer = now
        first, past = offset[cell + 1] - length[cell], offset[cell + 1]
        at = put_varint(out, at, arrivals[cell])
        if arrivals[cell] > int64(0):
            live = past - first_after(end, first, past, limit)
            at = put_varint(out, at, live)
            for back in range(live):
                at = put_varint(out, at, newer - end[past - int64(1) - back])
                newer = end[past - int64(1) - back]
        if has_frozen:
            live = first - first_after(end, offset[cell], first, limit)
            at = put_varint(out, at, live)
            for back in range(live):
                i = first - int64(1) - back
                at = put_varint(out, at, newer - end[i])
                at = put_varint(out, at, size[i])
                newer = end[i]
    return at


@kernel
def _decode(data: Any, cells: Any, window: Any, k: Any) -> Any:
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
            allowed = bucket_count(min(arrivals[cell], int64(MAX_ARRIVALS)), k)
            problem, at, filled, end = _get_live(data, at, ends, filled, end, allowed)
        if problem == int64(0) and (at < int64(0) or arrivals[cell] > int64(MAX_ARRIVALS)):
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
def _get_live(data: Any, at: Any, ends: Any, filled: Any, end: Any, allowed: Any) -> Any:
    """One cell's live buckets, newest first in the data: (problem, position, filled, oldest end)."""
    count, at = get_varint(data, at)
    if at < int64(0) or count > data.shape[0] - at:
        return int64(1), at, filled, end
    if count > allowed:
        return int64(3), at, filled, end
    for i in range(count):
        gap, at = get_varint(data, at)
        if at < int64(0):
            return int64(1), at, filled, end
        if gap >= end - int64(1):
            return int64(4), at, filled, end
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
            return int64(4), at, filled
        if size == int64(0):
            return int64(5), at, filled
        if size > int64(MAX_ARRIVALS) - total:
            return int64(2), at, filled
        end -= gap
        total += size
        ends[filled + count - int64(1) - i] = end
        tail[filled + count - int64(1) - i] = total
    return int64(0), at, filled + count
