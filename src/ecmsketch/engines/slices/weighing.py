"""Looking at all cells of the tables of a range: what collisions add in each table, and what they rarely exceed in the
sum of those of slices inside the range. On the way, tables may be kept in plain numbers.

It takes a pass over all cells of all slices in the range, so what is found is remembered: for single slices as long as
they are there, for tables of several with the range. Nothing here depends on an item.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.collisions import expected_collision, least_exceeded
from cython.cimports.ecmsketch.engines.slices.range_tables import Tables, copy_cells, fill_plain, size_of_cells
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.libc.math import INFINITY, isnan
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset


@cython.cfunc
@cython.nogil
def weigh_tables(
    tables: cython.pointer(Tables), order: cython.pointer(int64_t), weighing: cython.pointer(Weighing)
) -> cython.bint:
    """Find what is asked of all tables; False without memory."""
    size: int64_t = (256 if tables[0].wide else 128) * tables[0].words
    slices: int64_t = tables[0].ends[tables[0].many - 1] if tables[0].many else 0
    summing: cython.bint = weighing[0].rows > 0 and weighing[0].delta > 0.0 and tables[0].whole > 0
    memory: cython.pointer(uint8_t) = cython.cast(
        cython.pointer(uint8_t), allocate(2 * size + 32 * tables[0].words + 8 * slices)
    )
    cells: cython.p_void = cython.cast(cython.p_void, memory)
    summed: cython.p_void = cython.cast(cython.p_void, memory + size)
    scratch: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), memory + 2 * size)
    done: cython.bint = memory != cython.NULL
    k: int64_t
    t: int64_t
    if done and summing:
        memset(summed, 0, cython.cast(cython.size_t, size))
    for k in range(tables[0].many if done else 0):
        t = order[k]
        if done and weigh_table(tables, t, weighing, summing and t < tables[0].whole, cells, scratch):
            if summing and t < tables[0].whole:
                add_plain(tables[0].wide, cells, weighing[0].first, weighing[0].rows * weighing[0].width, summed)
        else:
            done = done and not (weighing[0].rows > 0 and isnan(weighing[0].noise[t]))
    weighing[0].likely = INFINITY if weighing[0].delta <= 0.0 else 0.0
    if done and summing:
        weighing[0].likely = exceeded_in(tables[0].wide, summed, weighing)
    free(memory)
    return done


@cython.cfunc
@cython.nogil
def weigh_table(
    tables: cython.pointer(Tables), t: int64_t, weighing: cython.pointer(Weighing), summing: cython.bint,
    cells: cython.p_void, scratch: cython.pointer(uint64_t),
) -> cython.bint:  # fmt: skip
    """Find what is asked of one table. True if its cells are there; they must be if they are to be summed."""
    begin: int64_t = tables[0].ends[t - 1] if t else 0
    single: int64_t = tables[0].slots[begin] if tables[0].ends[t] == begin + 1 else -1
    keeping: cython.bint = (
        weighing[0].plain != cython.NULL
        and weighing[0].plain[t] == cython.NULL
        and weighing[0].spent + 64 * tables[0].words <= weighing[0].budget
    )
    asking: cython.bint = weighing[0].rows > 0
    noise: cython.double = 0.0
    if asking:
        if single >= 0 and isnan(weighing[0].noise[t]):
            weighing[0].noise[t] = weighing[0].singles[single]
        asking = isnan(weighing[0].noise[t])
    if not (asking or keeping or summing):
        return False
    fill_plain(tables, t, cells, scratch)
    if asking:
        noise = expected_in(tables[0].wide, cells, weighing)
        if noise < 0.0:
            return False
        weighing[0].noise[t] = noise
        if single >= 0:
            weighing[0].singles[single] = noise
    if keeping:
        keep_plain(tables, t, weighing, cells)
    return True


@cython.cfunc
@cython.nogil
def keep_plain(
    tables: cython.pointer(Tables), t: int64_t, weighing: cython.pointer(Weighing), cells: cython.p_void
) -> cython.void:
    """Keep a table in plain numbers, if there is memory and that is within the budget."""
    count: int64_t = 32 * tables[0].words
    size: int64_t = size_of_cells(cells, count, tables[0].wide)
    if weighing[0].spent + size * count <= weighing[0].budget:
        weighing[0].plain[t] = copy_cells(cells, count, tables[0].wide, size)
        if weighing[0].plain[t] != cython.NULL:
            weighing[0].sizes[t] = cython.cast(uint8_t, size)
            weighing[0].spent += size * count
            weighing[0].added += 1


@cython.cfunc
@cython.nogil
def expected_in(wide: cython.bint, cells: cython.p_void, weighing: cython.pointer(Weighing)) -> cython.double:
    """The expected collision in plain numbers; negative without memory."""
    first: int64_t = weighing[0].first
    rows: int64_t = weighing[0].rows
    width: int64_t = weighing[0].width
    if wide:
        return expected_collision(cython.cast(cython.pointer(int64_t), cells) + first, rows, width)
    return expected_collision(cython.cast(cython.pointer(int32_t), cells) + first, rows, width)


@cython.cfunc
@cython.nogil
def exceeded_in(wide: cython.bint, cells: cython.p_void, weighing: cython.pointer(Weighing)) -> cython.double:
    """What collisions in plain numbers rarely exceed."""
    first: int64_t = weighing[0].first
    rows: int64_t = weighing[0].rows
    width: int64_t = weighing[0].width
    if wide:
        return least_exceeded(cython.cast(cython.pointer(int64_t), cells) + first, rows, width, weighing[0].delta)
    return least_exceeded(cython.cast(cython.pointer(int32_t), cells) + first, rows, width, weighing[0].delta)


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
