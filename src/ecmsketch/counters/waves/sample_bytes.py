"""Samples of randomized waves as bytes: one delta-coded tick an arrival (docs/format.md, section "Samples")."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.config.memory import WAVE_LEVELS
from ecmsketch.counters.buckets.straddling import first_after
from ecmsketch.counters.contract import Ints
from ecmsketch.counters.numbering import CYCLE
from ecmsketch.errors import FormatError
from ecmsketch.kernels import kernel
from ecmsketch.kernels.varint import MAX_BYTES, get_varint, put_varint

_HEADER = struct.Struct("<Qq")
_PROBLEMS = {
    1: "a number is cut off or longer than 63 bits",
    2: f"a counter has more than {WAVE_LEVELS} levels",
    3: "a level has more arrivals than are kept",
    4: "an arrival lies before the window",
}


def encode_samples(state: Any, key: int, arrived: int, instances: int, keep: int, now: int, limit: int) -> bytes:
    """Key and number of arrivals, then every list's newest ticks after `limit`."""
    room = (
        len(state.filled) + len(state.filled) // WAVE_LEVELS + int(np.minimum(state.filled, keep).sum())
    ) * MAX_BYTES
    out = np.empty(room, np.uint8)
    ticks = state.ticks.astype(np.int64)  # one type for all windows: the kernel is compiled once
    used = _encode(ticks, state.offset, state.filled, keep, now, limit, out)
    return _HEADER.pack(key, arrived) + out[:used].tobytes()


def decode_samples(data: NDArray[np.uint8], lines: int, keep: int, window: int) -> tuple[int, int, Ints, Ints]:
    """(key, arrived, offset, ticks), ticks with `now` at the offset window + 1; trusts nothing."""
    if len(data) < _HEADER.size + lines:
        raise FormatError(f"counters: {len(data)} bytes cannot hold {lines} counters; the data is truncated")
    key, arrived = _HEADER.unpack_from(data.tobytes()[: _HEADER.size])
    if not 0 <= arrived < 2 * CYCLE:
        raise FormatError(f"counters: expected arrivals numbered from 0 to below 2**59, got {arrived}")
    problem, line, used, offset, ticks = _decode(data[_HEADER.size :], lines, keep, window)
    if problem:
        raise FormatError(f"counters: {_PROBLEMS[problem]} (counter {line})")
    if used != len(data) - _HEADER.size:
        raise FormatError(f"counters: {len(data) - _HEADER.size - used} bytes too many after the last counter")
    return key, arrived, offset, ticks[: offset[-1]].copy()


@kernel
def _encode(ticks: Any, offset: Any, count: Any, keep: Any, now: Any, limit: Any, out: Any) -> Any:
    lines = count.shape[0] // WAVE_LEVELS
    at = int64(0)
    for line in range(lines):
        levels = int64(0)
        for level in range(WAVE_LEVELS):
            i = line * WAVE_LEVELS + level
            if count[i] > int64(0) and int64(ticks[offset[i] + count[i] - int64(1)]) > limit:
                levels = int64(level) + int64(1)
        at = put_varint(out, at, levels)
        for level in range(levels):
            i = line * WAVE_LEVELS + level
            past = offset[i] + count[i]
            kept = past - first_after(ticks, max(offset[i], past - keep), past, limit)
            at = put_varint(out, at, kept)
            newer = now
            for back in range(kept):
                tick = int64(ticks[past - int64(1) - back])
                at = put_varint(out, at, newer - tick)
                newer = tick
    return at


@kernel
def _decode(data: Any, lines: Any, keep: Any, window: Any) -> Any:
    """(problem, line, bytes used, offset, ticks). Each tick takes a byte at least: len(data) bounds them."""
    offset = np.zeros(lines * WAVE_LEVELS + 1, np.int64)
    ticks = np.empty(data.shape[0], np.int64)
    filled, at = int64(0), int64(0)
    for line in range(lines):
        levels, at = get_varint(data, at)
        if at < int64(0):
            return int64(1), line, at, offset, ticks
        if levels > int64(WAVE_LEVELS):
            return int64(2), line, at, offset, ticks
        for level in range(WAVE_LEVELS):
            kept = int64(0)
            if level < levels:
                kept, at = get_varint(data, at)
                if at < int64(0) or kept > data.shape[0] - at:
                    return int64(1), line, at, offset, ticks
                if kept > keep:
                    return int64(3), line, at, offset, ticks
                tick = window + int64(1)
                for back in range(kept):
                    gap, at = get_varint(data, at)
                    if at < int64(0):
                        return int64(1), line, at, offset, ticks
                    if gap >= tick - int64(1):
                        return int64(4), line, at, offset, ticks
                    tick -= gap
                    ticks[filled + kept - int64(1) - back] = tick
                filled += kept
            offset[line * WAVE_LEVELS + level + 1] = filled
    return int64(0), lines, at, offset, ticks
