"""One item over many steps of a range, each read as a range of its own.

What does not depend on the item is found first, once for all items: what collisions add in the slices of each step, and
what they rarely exceed. Reading an item then takes a few cells of each slice, once for all steps.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.range_tables import Tables, cut_count, group_slices, read_packed
from cython.cimports.ecmsketch.engines.slices.ranges import FEW, Range, locate, narrow, new_range, sum_newer
from cython.cimports.ecmsketch.engines.slices.weighing import Weighing, weigh_tables
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.libc.math import NAN
from cython.cimports.libc.stdint import int32_t, int64_t, uint32_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset


@cython.cfunc
@cython.nogil
def begin_steps(
    steps: cython.pointer(Steps), more: int64_t, found: cython.pointer(Range), tables: cython.pointer(Tables)
) -> cython.pointer(int64_t):
    """Memory for locating steps, and `more` bytes behind it; NULL without memory. It is given back by `end_steps`."""
    count: int64_t = steps[0].used + 1
    memory: cython.pointer(int64_t) = cython.NULL
    if new_range(count, found):
        memory = cython.cast(cython.pointer(int64_t), allocate(32 * count + more))
        if memory == cython.NULL:
            free(found[0].slots)
    if memory != cython.NULL:
        sum_newer(steps[0].slices, steps[0].used, memory, memory + count)
        tables[0].slices, tables[0].words = steps[0].slices, steps[0].plan[0].words
        tables[0].ends = memory + 2 * count
        tables[0].slots = cython.cast(cython.pointer(int32_t), memory + 3 * count)
        tables[0].plain = cython.NULL
    return memory


@cython.cfunc
@cython.nogil
def end_steps(memory: cython.pointer(int64_t), found: cython.pointer(Range)) -> cython.void:
    """Give memory back."""
    free(memory)
    free(found[0].slots)


@cython.cfunc
@cython.nogil
def locate_step(
    steps: cython.pointer(Steps), step: int64_t, memory: cython.pointer(int64_t), found: cython.pointer(Range),
    tables: cython.pointer(Tables),
) -> cython.void:  # fmt: skip
    """What the slices are to a step, and the tables that they make."""
    found[0].since = steps[0].since + step * steps[0].length
    found[0].until = found[0].since + steps[0].length
    narrow(steps[0].slices, steps[0].used, memory, memory + steps[0].used + 1, found)
    locate(steps[0].slices, steps[0].plan, steps[0].half, cython.cast(int64_t, steps[0].later[step]), found)
    group_slices(found, tables)


@cython.cfunc
@cython.nogil
def weigh_steps(
    steps: cython.pointer(Steps), begin: int64_t, end: int64_t, delta: cython.double, wide: cython.bint
) -> cython.bint:
    """Find what collisions add in some steps."""
    found = cython.declare(Range)
    tables = cython.declare(Tables)
    weighing = cython.declare(Weighing)
    used: int64_t = steps[0].used + 1
    memory: cython.pointer(int64_t) = begin_steps(steps, 16 * used, cython.address(found), cython.address(tables))
    order: cython.pointer(int64_t) = memory + 4 * used
    done: cython.bint = memory != cython.NULL
    step: int64_t = begin
    t: int64_t
    if not done:
        return False
    for t in range(used):
        order[t] = t
    tables.wide = wide
    weighing.first, weighing.rows, weighing.width = 0, steps[0].rows, steps[0].width
    weighing.singles, weighing.delta, weighing.plain = steps[0].noise, delta, cython.NULL
    weighing.noise = cython.cast(cython.pointer(cython.double), order + used)
    while step < end and done:
        locate_step(steps, step, memory, cython.address(found), cython.address(tables))
        for t in range(tables.many):
            weighing.noise[t] = NAN
        done = weigh_tables(cython.address(tables), order, cython.address(weighing))
        steps[0].collisions[step] = sum_collisions(cython.address(found), cython.address(tables), weighing.noise)
        steps[0].likely[step] = weighing.likely
        step += 1
    end_steps(memory, cython.address(found))
    return done


@cython.cfunc
@cython.nogil
def sum_collisions(
    found: cython.pointer(Range), tables: cython.pointer(Tables), noise: cython.pointer(cython.double)
) -> cython.double:
    """What collisions add in all whole tables, of which the newest comes first."""
    total: cython.double = 0.0
    t: int64_t
    for t in range(tables[0].whole):
        total += noise[tables[0].whole - 1 - t if found[0].whole <= FEW else t]
    return total


@cython.cfunc
@cython.nogil
def read_steps(
    steps: cython.pointer(Steps), cells: cython.pointer(uint32_t), exact: cython.pointer(cython.double),
    value: cython.pointer(cython.double), lower: cython.pointer(cython.double), upper: cython.pointer(cython.double),
) -> cython.bint:  # fmt: skip
    """Read an item in each step."""
    found = cython.declare(Range)
    tables = cython.declare(Tables)
    whole = cython.declare(Range)
    depth: int64_t = steps[0].rows
    memory: cython.pointer(int64_t) = begin_steps(
        steps, 8 * depth * (steps[0].used + 2), cython.address(found), cython.address(tables)
    )
    if memory == cython.NULL:
        return False
    counts: cython.pointer(int64_t) = memory + 4 * (steps[0].used + 1)
    step: int64_t
    slot: int64_t
    whole.since, whole.until = steps[0].since, steps[0].since + steps[0].count * steps[0].length
    narrow(steps[0].slices, steps[0].used, memory, memory + steps[0].used + 1, cython.address(whole))
    memset(counts, 0, cython.cast(cython.size_t, 8 * depth * (steps[0].used + 2)))
    for slot in range(whole.low, whole.high):
        read_packed(steps[0].slices[slot].table, tables.words, cells, depth, counts + depth * slot)
    for step in range(steps[0].count):
        locate_step(steps, step, memory, cython.address(found), cython.address(tables))
        read_step(
            steps, step, cython.address(found), cython.address(tables), counts, exact[step], value + step,
            lower + step, upper + step,
        )  # fmt: skip
    end_steps(memory, cython.address(found))
    return True


@cython.cfunc
@cython.nogil
def read_step(
    steps: cython.pointer(Steps), step: int64_t, found: cython.pointer(Range), tables: cython.pointer(Tables),
    counts: cython.pointer(int64_t), exact: cython.double, value: cython.pointer(cython.double),
    lower: cython.pointer(cython.double), upper: cython.pointer(cython.double),
) -> cython.void:  # fmt: skip
    """Read an item in one step. `counts` are its cells in each slice, one a row; two more slices are for sums."""
    depth: int64_t = steps[0].rows
    sizes: cython.pointer(int64_t) = counts + depth * steps[0].used
    sums: cython.pointer(int64_t) = sizes + depth
    largest: cython.double = 0.0
    best: cython.double
    smallest: cython.double
    slot: int64_t
    row: int64_t
    t: int64_t
    k: int64_t
    begin: int64_t = 0
    memset(sums, 0, cython.cast(cython.size_t, 8 * depth))
    for t in range(tables[0].whole):
        memset(sizes, 0, cython.cast(cython.size_t, 8 * depth))
        for k in range(begin, tables[0].ends[t]):
            for row in range(depth):
                sizes[row] += counts[depth * tables[0].slots[k] + row]
        for row in range(depth):
            sums[row] += sizes[row]
        largest += least_of(sizes, depth)
        begin = tables[0].ends[t]
    best = largest - steps[0].collisions[step]
    for k in range(found[0].cuts):
        slot = found[0].slots[k]
        smallest = least_of(counts + depth * slot, depth)
        largest += min(smallest, found[0].most[k])
        best += cut_count(smallest, steps[0].noise[slot], found[0].shares[k], found[0].slack[k])
    upper[0] = exact + largest
    lower[0] = min(exact + max(least_of(sums, depth) - steps[0].likely[step], 0.0), upper[0])
    value[0] = min(max(exact + best, lower[0]), upper[0])


@cython.cfunc
@cython.nogil
def least_of(numbers: cython.pointer(int64_t), count: int64_t) -> cython.double:
    """The least of some numbers."""
    least: int64_t = numbers[0]
    i: int64_t
    for i in range(1, count):
        least = min(least, numbers[i])
    return cython.cast(cython.double, least)
