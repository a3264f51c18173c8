"""Slices and their tables, as a few arrays that kernels work on.

A slice stands for the arrivals of a stretch of time, and has a Count-Min table of its own. Most counts are small, so
a table is kept as planes of two bits: the lowest two bits of every cell are one row of `pool`, the next two another
row, as many as most cells need. The few cells that need more have entries in `over`: cell + (rest) * 2^25. Those of a
table lie together. A table that needs more of them gets new ones at the end; `without_dead` drops those left behind.

While events are taken in, slices are joined without touching their tables: a slice is then a chain of tables, and a
range of events that are not counted yet. `settle` adds them up, once (absorbing.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int32, int64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel
from ecmsketch.kernels.decorator import inlined

PARTS = 8
FIRST, LAST, ARRIVALS, KNOT = 0, 1, 2, 3
"""Columns of `facts`: first and last tick, arrivals, and the ticks by which one eighth to seven eighths had come."""
TABLE, BEGIN, END = KNOT + PARTS - 1, KNOT + PARTS, KNOT + PARTS + 1
"""Columns of `facts`: the first table of the slice, or -1; the range of events that are not counted yet."""
FACTS = END + 1
NEXT, PLANES, OVER_BEGIN, OVER_COUNT, PLANE = 0, 1, 2, 3, 4
"""Columns of `where`: the next table of the chain, planes in use, where its overflow entries begin and how many it has,
rows of the planes.
"""
MOST_PLANES = 27
"""27 planes of two bits hold 2**53, the most arrivals of a window."""
SLICES, FREE_TABLES, FREE_ROWS, OVER_END, OVER_DEAD = 0, 1, 2, 3, 4
"""Places in `used`: how many slices there are, how many tables and pool rows are free, where the overflow entries end,
and how many of these no table has any more.
"""
CELL_BITS = 25
"""Bits of a cell's number in an overflow entry; a config has at most 2**25 cells."""
MOST_OVER_PLANES = 18
"""What is left of a cell in an overflow entry would fit into so many planes, so that two of them can be added."""


class TablePool(NamedTuple):
    """Slices sorted by their last tick, oldest first, and the rows in which their tables are kept."""

    facts: NDArray[np.int64]
    where: NDArray[np.int32]
    pool: NDArray[np.uint8]
    over: NDArray[np.int64]
    free_tables: NDArray[np.int32]
    free_rows: NDArray[np.int32]
    used: NDArray[np.int64]


def new_pool(cells: int) -> TablePool:
    """No slices, and no memory for any. A row has four cells a byte, in whole words."""
    none = np.empty(0, np.int32)
    return TablePool(
        np.empty((0, FACTS), np.int64),
        np.empty((0, PLANE + 4), np.int32),
        np.empty((0, 8 * -(-cells // 32)), np.uint8),
        np.empty(0, np.int64),
        none,
        none,
        np.zeros(5, np.int64),
    )


@kernel
def most_entries(work: Any) -> Any:
    """How many overflow entries a table may have: as many as take the memory of a plane. With more it gets a plane."""
    return max(work.pool.shape[1] // int64(8), int64(2))


@kernel
def _more(needed: Any, there: Any, size: Any) -> Any:
    """How much to add so that as much as is needed is there: an eighth more than that."""
    return int64(0) if needed <= there else needed - there + size // int64(8)


@kernel
def _more_free(free: Any, count: Any, known: Any, more: Any) -> Any:
    """The numbers that are free, when `more` are added to the `known` ones."""
    grown = np.empty(known + more, np.int32)
    grown[:count] = free[:count]
    for i in range(more):
        grown[count + i] = int32(known + i)
    return grown


@kernel
def with_space(work: Any, slices: Any, planes: Any, overs: Any) -> Any:
    """The same slices with space for so many more slices, and for a table of so many planes and overflow entries."""
    return with_rows(work, slices, min(planes, int64(1)), planes, overs, planes)


@kernel
def with_rows(work: Any, slices: Any, free_tables: Any, free_rows: Any, overs: Any, planes: Any) -> Any:
    """The same slices with space for so many more slices, tables, rows and entries; a table may have `planes`."""
    used, tables = work.used, work.where.shape[0]
    rows, columns = work.pool.shape[0], work.where.shape[1]
    new_slices = _more(used[SLICES] + slices, work.facts.shape[0], used[SLICES])
    new_tables = _more(free_tables, used[FREE_TABLES], tables)
    new_rows = _more(free_rows, used[FREE_ROWS], rows)
    new_overs = _more(used[OVER_END] + overs, work.over.shape[0], used[OVER_END])
    new_columns = max(PLANE + planes - columns, int64(0))
    if new_slices + new_tables + new_rows + new_overs + new_columns == int64(0):
        return work
    facts, where, pool, over = work.facts, work.where, work.pool, work.over
    if new_slices:
        facts = np.empty((facts.shape[0] + new_slices, FACTS), np.int64)
        facts[: used[SLICES]] = work.facts[: used[SLICES]]
    if new_tables + new_columns:
        where = np.empty((tables + new_tables, columns + new_columns), np.int32)
        where[:tables, :columns] = work.where
    if new_rows:
        pool = np.empty((rows + new_rows, pool.shape[1]), np.uint8)
        pool[:rows] = work.pool
    if new_overs:
        over = np.empty(over.shape[0] + new_overs, np.int64)
        over[: used[OVER_END]] = work.over[: used[OVER_END]]
    spare_tables = _more_free(work.free_tables, used[FREE_TABLES], tables, new_tables)
    spare_rows = _more_free(work.free_rows, used[FREE_ROWS], rows, new_rows)
    now_used = used.copy()
    now_used[FREE_TABLES] += new_tables
    now_used[FREE_ROWS] += new_rows
    return TablePool(facts, where, pool, over, spare_tables, spare_rows, now_used)


@kernel
def take_entries(work: Any, number: Any, count: Any) -> Any:
    """Where so many overflow entries of a table go, for which there is space at the end; its own are given up."""
    used, where = work.used, work.where
    used[OVER_DEAD] += int64(where[number, OVER_COUNT])
    begin = used[OVER_END]
    used[OVER_END] += count
    where[number, OVER_BEGIN], where[number, OVER_COUNT] = int32(begin), int32(count)
    return work.over[begin : begin + count]


@kernel
def without_dead(work: Any) -> Any:
    """Settled slices without the overflow entries that no table has any more, if these are many."""
    used = work.used
    if int64(8) * used[OVER_DEAD] <= work.over.shape[0]:
        return work
    over, end = np.empty(used[OVER_END] - used[OVER_DEAD], np.int64), int64(0)
    for slot in range(used[SLICES]):
        end = _move_entries(work.over, work.where[work.facts[slot, TABLE]], over, end)
    used[OVER_END], used[OVER_DEAD] = end, int64(0)
    return TablePool(work.facts, work.where, work.pool, over, work.free_tables, work.free_rows, used)


@kernel
def _move_entries(over: Any, place: Any, target: Any, end: Any) -> Any:
    """Copy the overflow entries of a table to the end of others, and note in its place where; returns the new end."""
    begin, count = int64(place[OVER_BEGIN]), int64(place[OVER_COUNT])
    for i in range(count):
        target[end + i] = over[begin + i]
    place[OVER_BEGIN] = int32(end)
    return end + count


@kernel
def trimmed(work: Any) -> Any:
    """A copy of settled slices without unused memory."""
    count = work.used[SLICES]
    rows = overs = int64(0)
    planes = int64(4)
    for slot in range(count):
        table = work.facts[slot, TABLE]
        rows += int64(work.where[table, PLANES])
        planes = max(planes, int64(work.where[table, PLANES]))
        overs += int64(work.where[table, OVER_COUNT])
    pool, over = np.empty((rows, work.pool.shape[1]), np.uint8), np.empty(overs, np.int64)
    facts, where = work.facts[:count].copy(), np.zeros((count, PLANE + planes), np.int32)
    row = other = int64(0)
    for slot in range(count):
        source = work.where[facts[slot, TABLE]]
        facts[slot, TABLE] = slot
        where[slot, :PLANE] = source[:PLANE]
        for plane in range(int64(source[PLANES])):
            pool[row] = work.pool[source[PLANE + plane]]
            where[slot, PLANE + plane] = int32(row)
            row += int64(1)
        other = _move_entries(work.over, where[slot], over, other)
    used = np.array([count, int64(0), int64(0), overs, int64(0)], np.int64)
    return TablePool(facts, where, pool, over, np.empty(count, np.int32), np.empty(rows, np.int32), used)


@kernel
def release_tables(work: Any, slot: Any) -> None:
    """Let others use the rows of a slice's tables."""
    number = work.facts[slot, TABLE]
    while number >= 0:
        release_table(work, number)
        number = int64(work.where[number, NEXT])
    work.facts[slot, TABLE] = int64(-1)


@kernel
def release_table(work: Any, number: Any) -> None:
    """Let others use the rows of a table."""
    used = work.used
    for plane in range(int64(work.where[number, PLANES])):
        work.free_rows[used[FREE_ROWS]] = work.where[number, PLANE + plane]
        used[FREE_ROWS] += int64(1)
    used[OVER_DEAD] += int64(work.where[number, OVER_COUNT])
    work.free_tables[used[FREE_TABLES]] = int32(number)
    used[FREE_TABLES] += int64(1)


@inlined
def move_facts(facts: Any, source: Any, target: Any) -> None:
    """Copy the facts of a slice to another place; quicker than to assign a row."""
    for column in range(FACTS):
        facts[target, column] = facts[source, column]


@kernel
def insert_slot(facts: Any, used: Any, at: Any) -> None:
    """Make way for a slice at a place; there is space for it."""
    for i in range(used[SLICES], at, -1):
        move_facts(facts, i - 1, i)
    used[SLICES] += int64(1)


@kernel
def drop_oldest(work: Any, limit: Any) -> None:
    """Forget slices whose last tick is not after `limit`."""
    count = work.used[SLICES]
    expired = int64(0)
    while expired < count and work.facts[expired, LAST] <= limit:
        release_tables(work, expired)
        expired += int64(1)
    if expired:
        for i in range(expired, count):
            move_facts(work.facts, i, i - expired)
        work.used[SLICES] = count - expired
