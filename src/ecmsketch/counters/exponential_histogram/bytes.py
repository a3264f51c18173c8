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


def encode_cells(state: Cells, now: int, window: int) -> bytes:
    """The state at `now`, an offset from the state's base."""
    buckets = int(state.length.sum()) + len(state.frozen_ends)
    out = np.empty((len(state.arrivals) * 3 + buckets * 2) * MAX_BYTES + 1, np.uint8)
    return out[: _encode(state, out, now, window)].tobytes()


def decode_cells(data: NDArray[np.uint8], empty: Cells, window: int, k: int) -> Cells:
    """What `encode_cells` wrote, with `now` at the offset window + 1.

    Trusts nothing, and never allocates more than a multiple of len(data).
    """
    cells = len(empty.arrivals)
    if len(data) < 1 + cells:
        raise FormatError(f"histograms: {len(data)} bytes cannot hold {cells} counters; the data is truncated")
    if data[0] > 1:
        raise FormatError(f"histograms: expected 0 or 1 as first byte (frozen part), got {data[0]}")
    problem, cell, used, state = _decode(data, empty.ends, cells, window, k)
    if problem:
        raise FormatError(f"histograms: {_PROBLEMS[problem]} (counter {cell})")
    if used != len(data):
        raise FormatError(f"histograms: {len(data) - used} bytes too many after the last counter")
    checked: Cells = state
    return checked


@kernel
def _encode(state: Cells, out: Any, now: Any, window: Any) -> Any:
    limit = now - window
    has_frozen = False
    for i in range(state.frozen_ends.shape[0]):
        has_frozen = has_frozen or state.frozen_ends[i] > limit
    out[0] = 1 if has_frozen else 0
    at = int64(1)
    for cell in range(state.arrivals.shape[0]):
        newer = now
        at = put_varint(out, at, state.arrivals[cell])
        if state.arrivals[cell] > int64(0):
            past = state.first[cell] + state.length[cell]
            live = past - first_after(state.ends, state.first[cell], past, limit)
            at = put_varint(out, at, live)
            for back in range(live):
                end = int64(state.ends[past - int64(1) - back])
                at = put_varint(out, at, newer - end)
                newer = end
        if has_frozen:
            past = state.frozen_offset[cell + 1]
            live = past - first_after(state.frozen_ends, state.frozen_offset[cell], past, limit)
            at = put_varint(out, at, live)
            beyond = int64(0)
            for back in range(live):
                i = past - int64(1) - back
                at = put_varint(out, at, newer - state.frozen_ends[i])
                at = put_varint(out, at, state.frozen_tail[i] - beyond)
                newer, beyond = state.frozen_ends[i], state.frozen_tail[i]
    return at


@kernel
def _decode(data: Any, like: Any, cells: Any, window: Any, k: Any) -> Any:
    """(problem, cell, bytes used, state). Each bucket takes a byte at least, so len(data) bounds every array."""
    has_frozen = data[0] == 1
    arrivals = np.zeros(cells, np.int64)
    offset = np.zeros(cells + 1, np.int64)
    frozen_offset = np.zeros(cells + 1 if has_frozen else 0, np.int64)
    ends = np.empty(data.shape[0], like.dtype)
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
    state = Cells(
        ends[: offset[cell]].copy(), offset, offset[:cells].copy(), offset[1:] - offset[:cells], arrivals,
        frozen_ends[: frozen_offset[cell] if has_frozen else 0].copy(),
        frozen_tail[: frozen_offset[cell] if has_frozen else 0].copy(), frozen_offset,
    )  # fmt: skip
    return problem, cell, at, state


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
