"""Tables as planes of two bits: writing, adding and reading them (table_pool.py says how they are kept)."""

from __future__ import annotations

from typing import Any

from numba import int32, int64, uint8

from ecmsketch.kernels import kernel
from ecmsketch.slices.table_pool import (
    CELL_BITS,
    FREE_OVERS,
    FREE_ROWS,
    FREE_TABLES,
    NEXT,
    OVER_COUNT,
    OVER_ROW,
    PLANE,
    PLANES,
    TABLE,
    with_space,
)

_MOST_OVER = 2**38
"""What is left of a cell in an overflow entry is less than this."""


@kernel
def add_table(work: Any, number: Any, table: Any) -> None:
    """Add the cells of one of the tables to a table of whole numbers."""
    kind = table.dtype.type
    planes = int64(work.where[number, PLANES])
    for plane in range(planes):
        row = work.pool[work.where[number, PLANE + plane]]
        shift = kind(2 * plane)
        for part in range(4):
            bits, begin = uint8(2 * part), part * row.shape[0]
            cells = table[begin : begin + row.shape[0]]
            for j in range(cells.shape[0]):
                cells[j] += kind((row[j] >> bits) & uint8(3)) << shift
    if work.where[number, OVER_ROW] >= 0:
        entries = work.over[work.where[number, OVER_ROW]]
        for i in range(work.where[number, OVER_COUNT]):
            cell, left = entries[i] & int64(2**CELL_BITS - 1), entries[i] >> int64(CELL_BITS)
            table[cell] += kind(left << int64(2 * planes))


@kernel
def add_slice(work: Any, slot: Any, table: Any) -> None:
    """Add the cells of a slice to a table; events that are not counted yet are left out."""
    number = work.facts[slot, TABLE]
    while number >= 0:
        add_table(work, number, table)
        number = int64(work.where[number, NEXT])


@kernel
def read_cell(work: Any, number: Any, cell: Any) -> Any:
    """One cell of one of the tables."""
    planes, length = int64(work.where[number, PLANES]), work.pool.shape[1]
    at, bits = cell % length, int64(2) * (cell // length)
    value = int64(0)
    for plane in range(planes):
        byte = int64(work.pool[work.where[number, PLANE + plane], at])
        value |= ((byte >> bits) & int64(3)) << int64(2 * plane)
    low, high = int64(0), int64(work.where[number, OVER_COUNT])
    while low < high:  # entries are in order of their cells
        middle = (low + high) // int64(2)
        entry = work.over[work.where[number, OVER_ROW], middle]
        found = entry & int64(2**CELL_BITS - 1)
        if found == cell:
            return value + ((entry >> int64(CELL_BITS)) << int64(2 * planes))
        if found < cell:
            low = middle + int64(1)
        else:
            high = middle
    return value


@kernel
def planes_needed(table: Any, most_over: Any) -> Any:
    """(Planes for a table, cells that need an overflow entry besides)."""
    kind = table.dtype.type
    largest = kind(0)
    for j in range(table.shape[0]):
        largest = max(largest, table[j])
    planes = int64(1)
    while True:
        limit = int64(1) << (int64(2) * planes)
        if int64(largest) < limit:
            return planes, int64(0)
        counted, least = kind(0), kind(limit - int64(1))
        for j in range(table.shape[0]):
            counted += kind(1) if table[j] > least else kind(0)
        beyond = int64(counted)
        if beyond <= most_over and int64(largest) >> (int64(2) * planes) < int64(_MOST_OVER):
            return planes, beyond
        planes += int64(1)


@kernel
def _store_planes(work: Any, number: Any, table: Any, planes: Any) -> None:
    kind = table.dtype.type
    for plane in range(planes):
        work.used[FREE_ROWS] -= int64(1)
        free = work.free_rows[work.used[FREE_ROWS]]
        work.where[number, PLANE + plane] = free
        _pack(table, kind(2 * plane), work.pool[free])


@kernel
def _pack(table: Any, bits: Any, row: Any) -> None:
    """Write two bits of each cell into a row, four cells a byte: cells of the same place in each quarter of a table."""
    kind = table.dtype.type
    length, three = row.shape[0], kind(3)
    first, second, third = table[:length], table[length : 2 * length], table[2 * length : 3 * length]
    fourth = table[3 * length :]
    if third.shape[0] == length:
        for j in range(fourth.shape[0]):
            low = ((first[j] >> bits) & three) | (((second[j] >> bits) & three) << kind(2))
            row[j] = uint8(low | (((third[j] >> bits) & three) << kind(4)) | (((fourth[j] >> bits) & three) << kind(6)))
    for j in range(fourth.shape[0] if third.shape[0] == length else int64(0), length):
        byte = (first[j] >> bits) & three
        if j < second.shape[0]:
            byte |= ((second[j] >> bits) & three) << kind(2)
        if j < third.shape[0]:
            byte |= ((third[j] >> bits) & three) << kind(4)
        row[j] = uint8(byte)


@kernel
def stored(work: Any, slot: Any, table: Any) -> Any:
    """The slices with a table as that of a slice that has none, with more space if it is needed."""
    planes, beyond = planes_needed(table, work.over.shape[1])
    work = with_space(work, int64(0), planes, min(beyond, int64(1)))
    used = work.used
    used[FREE_TABLES] -= int64(1)
    number = int64(work.free_tables[used[FREE_TABLES]])
    work.facts[slot, TABLE] = number
    work.where[number, NEXT], work.where[number, PLANES] = int32(-1), int32(planes)
    work.where[number, OVER_ROW], work.where[number, OVER_COUNT] = int32(-1), int32(beyond)
    _store_planes(work, number, table, planes)
    if beyond:
        used[FREE_OVERS] -= int64(1)
        free = work.free_overs[used[FREE_OVERS]]
        work.where[number, OVER_ROW] = free
        at, shift = int64(0), int64(2) * planes
        for j in range(table.shape[0]):
            left = int64(table[j]) >> shift
            if left > int64(0):
                work.over[free, at] = int64(j) | (left << int64(CELL_BITS))
                at += int64(1)
    return work
