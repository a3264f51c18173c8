"""What collisions add in the tables of a range, and what they rarely exceed in the sum of those of slices inside it.

It takes a pass over all cells of all slices in the range, so it is remembered: for single slices as long as they are
there, for tables of several with the range. Nothing here depends on an item.
"""

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.collisions import expected_collision, least_exceeded
from cython.cimports.ecmsketch.engines.slices.range_tables import Tables, fill_plain
from cython.cimports.libc.math import INFINITY, NAN, isnan
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uint64_t
from cython.cimports.libc.string import memset


@cython.cfunc
@cython.nogil
def weighing_nbytes(words: int64_t, wide: cython.bint, slices: int64_t) -> int64_t:
    """Bytes for a table and a sum in plain numbers, and what filling a table needs."""
    return 2 * (256 if wide else 128) * words + 32 * words + 8 * slices


@cython.cfunc
@cython.nogil
def weigh_tables(
    tables: cython.pointer(Tables), first: int64_t, rows: int64_t, width: int64_t, delta: cython.double,
    singles: cython.pointer(cython.double), noise: cython.pointer(cython.double),
    likely: cython.pointer(cython.double), memory: cython.p_void,
) -> cython.bint:  # fmt: skip
    """Find what collisions add; False without memory."""
    size: int64_t = (256 if tables[0].wide else 128) * tables[0].words
    summed: cython.p_void = cython.cast(cython.p_void, cython.cast(cython.pointer(uint8_t), memory) + size)
    scratch: cython.pointer(uint64_t) = cython.cast(
        cython.pointer(uint64_t), cython.cast(cython.pointer(uint8_t), memory) + 2 * size
    )
    summing: cython.bint = likely != cython.NULL and delta > 0.0 and tables[0].whole > 0
    cells: cython.p_void
    single: int64_t
    t: int64_t
    if summing:
        memset(summed, 0, cython.cast(cython.size_t, size))
    for t in range(tables[0].many):
        single = single_slot(tables, t)
        if single >= 0 and isnan(noise[t]):
            noise[t] = singles[single]
        if not isnan(noise[t]) and not (summing and t < tables[0].whole):
            continue
        cells = tables[0].plain[t]
        if cells == cython.NULL:
            cells = memory
            fill_plain(tables, t, cells, scratch)
        if isnan(noise[t]):
            noise[t] = expected_in(tables[0].wide, cells, first, rows, width)
            if noise[t] < 0.0:
                noise[t] = NAN
                return False
            if single >= 0:
                singles[single] = noise[t]
        if summing and t < tables[0].whole:
            add_plain(tables[0].wide, cells, first, rows * width, summed)
    if likely != cython.NULL:
        likely[0] = INFINITY if delta <= 0.0 else 0.0
        if summing:
            likely[0] = cython.cast(cython.double, exceeded_in(tables[0].wide, summed, first, rows, width, delta))
    return True


@cython.cfunc
@cython.nogil
def single_slot(tables: cython.pointer(Tables), t: int64_t) -> int64_t:
    """The slice that a table consists of, or -1 if these are several."""
    begin: int64_t = tables[0].ends[t - 1] if t else 0
    return tables[0].slots[begin] if tables[0].ends[t] == begin + 1 else -1


@cython.cfunc
@cython.nogil
def expected_in(
    wide: cython.bint, cells: cython.p_void, first: int64_t, rows: int64_t, width: int64_t
) -> cython.double:
    """The expected collision in a block of plain numbers; negative without memory."""
    if wide:
        return expected_collision(cython.cast(cython.pointer(int64_t), cells) + first, rows, width)
    return expected_collision(cython.cast(cython.pointer(int32_t), cells) + first, rows, width)


@cython.cfunc
@cython.nogil
def exceeded_in(
    wide: cython.bint, cells: cython.p_void, first: int64_t, rows: int64_t, width: int64_t, delta: cython.double
) -> int64_t:
    """What collisions in a block of plain numbers rarely exceed."""
    if wide:
        return least_exceeded(cython.cast(cython.pointer(int64_t), cells) + first, rows, width, delta)
    return least_exceeded(cython.cast(cython.pointer(int32_t), cells) + first, rows, width, delta)


@cython.cfunc
@cython.nogil
def add_plain(
    wide: cython.bint, cells: cython.p_void, first: int64_t, count: int64_t, summed: cython.p_void
) -> cython.void:
    """Add plain numbers to a sum of them."""
    small: cython.pointer(int32_t) = cython.cast(cython.pointer(int32_t), cells) + first
    small_sum: cython.pointer(int32_t) = cython.cast(cython.pointer(int32_t), summed) + first
    large: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), cells) + first
    large_sum: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), summed) + first
    j: int64_t
    if wide:
        for j in range(count):
            large_sum[j] += large[j]
    else:
        for j in range(count):
            small_sum[j] += small[j]
