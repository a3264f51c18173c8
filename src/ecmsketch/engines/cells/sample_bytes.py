"""Samples of randomized waves as bytes: one delta-coded tick an arrival (docs/format.md, section "Samples").

What has left the window is not written, so equal streams give equal bytes whatever was lazily forgotten when.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.cells.samples import WAVE_LEVELS, first_after, get_tick, put_tick
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.ecmsketch.kernels.packing import MAX_VARINT, get_varint, put_varint
from cython.cimports.libc.stdint import int64_t, uint8_t
from cython.cimports.libc.stdlib import free

from ecmsketch.errors import FormatError

_PROBLEMS = {
    1: "a number is cut off or longer than 63 bits",
    2: "a counter has more than 56 levels",
    3: "a level has more arrivals than are kept",
    4: "an arrival lies before the window",
}


@cython.cfunc
@cython.nogil
def most_bytes(state: cython.pointer(Samples)) -> int64_t:
    """The most bytes that samples take."""
    numbers: int64_t = state[0].lists + state[0].lists // WAVE_LEVELS
    at: int64_t
    for at in range(state[0].lists):
        numbers += min(state[0].filled[at], state[0].keep)
    return numbers * MAX_VARINT


@cython.cfunc
@cython.nogil
def encode(state: cython.pointer(Samples), now: int64_t, limit: int64_t, out: cython.pointer(uint8_t)) -> int64_t:
    """Write every list's newest ticks after `limit`; returns the bytes written."""
    at: int64_t = 0
    levels: int64_t
    level: int64_t
    line: int64_t
    i: int64_t
    past: int64_t
    kept: int64_t
    back: int64_t
    newer: int64_t
    tick: int64_t
    for line in range(state[0].lists // WAVE_LEVELS):
        levels = 0
        for level in range(WAVE_LEVELS):
            i = line * WAVE_LEVELS + level
            if state[0].filled[i] > 0 and get_tick(state, state[0].offset[i] + state[0].filled[i] - 1) > limit:
                levels = level + 1
        at = put_varint(out, at, levels)
        for level in range(levels):
            i = line * WAVE_LEVELS + level
            past = state[0].offset[i] + state[0].filled[i]
            kept = past - first_after(state, max(state[0].offset[i], past - state[0].keep), past, limit)
            at = put_varint(out, at, kept)
            newer = now
            for back in range(kept):
                tick = get_tick(state, past - 1 - back)
                at = put_varint(out, at, newer - tick)
                newer = tick
    return at


@cython.cfunc
@cython.exceptval(-1)
def decode(
    data: cython.pointer(uint8_t), size: int64_t, window: int64_t, most: int64_t, state: cython.pointer(Samples),
    ticks: cython.pointer(int64_t),
) -> cython.int:  # fmt: skip
    """Read ticks into empty samples, with `now` at the offset window + 1, or raise a FormatError. Trusts nothing.

    `ticks` has space for `size` numbers: each tick takes a byte at least. The arena takes `most` bytes at most.
    """
    used: int64_t
    line: int64_t = 0
    problem: int64_t
    nbytes: int64_t
    at: int64_t
    with cython.nogil:
        used = get_lists(data, size, window, state, ticks)
    if used < 0:
        problem = -used % 8
        line = -used // 8
        raise FormatError(f"counters: {_PROBLEMS[problem]} (counter {line})")
    if used != size:
        raise FormatError(f"counters: {size - used} bytes too many after the last counter")
    nbytes = (8 if state[0].wide else 4) * state[0].offset[state[0].lists]
    if nbytes > most:
        raise FormatError(
            f"counters: {nbytes:,} bytes of memory, and {most:,} are allowed; give a larger max_nbytes if you trust "
            "these bytes"
        )
    free(state[0].ticks)
    state[0].ticks = allocate(nbytes)
    if state[0].ticks == cython.NULL:
        raise MemoryError
    with cython.nogil:
        for at in range(state[0].offset[state[0].lists]):
            put_tick(state, at, ticks[at])
    return 0


@cython.cfunc
@cython.nogil
def get_lists(
    data: cython.pointer(uint8_t), size: int64_t, window: int64_t, state: cython.pointer(Samples),
    ticks: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Read the ticks of all lists: how many bytes were read, or -(8 * counter + problem)."""
    number = cython.declare(int64_t[1])
    levels: int64_t
    level: int64_t
    line: int64_t
    kept: int64_t
    tick: int64_t
    back: int64_t
    filled: int64_t = 0
    at: int64_t = 0
    for line in range(state[0].lists // WAVE_LEVELS):
        at = get_varint(data, at, size, number)
        levels = number[0]
        if at < 0:
            return -(8 * line + 1)
        if levels > WAVE_LEVELS:
            return -(8 * line + 2)
        for level in range(WAVE_LEVELS):
            kept = 0
            if level < levels:
                at = get_varint(data, at, size, number)
                kept = number[0]
                if at < 0 or kept > size - at:
                    return -(8 * line + 1)
                if kept > state[0].keep:
                    return -(8 * line + 3)
                tick = window + 1
                for back in range(kept):
                    at = get_varint(data, at, size, number)
                    if at < 0:
                        return -(8 * line + 1)
                    if number[0] >= tick - 1:
                        return -(8 * line + 4)
                    tick -= number[0]
                    ticks[filled + kept - 1 - back] = tick
                filled += kept
            state[0].filled[line * WAVE_LEVELS + level] = kept
            state[0].offset[line * WAVE_LEVELS + level + 1] = filled
    return at
