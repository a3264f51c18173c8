"""Tables as planes of two bits: writing and reading them (table_pool.py says how they are kept).

A table that is written may be of any type of whole numbers, and takes whole words of 64 bits: its last cells may be
there only to fill the last word, and are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, uint8, uint64

from ecmsketch.kernels import kernel
from ecmsketch.slices.table_pool import (
    CELL_BITS,
    FREE_ROWS,
    FREE_TABLES,
    MOST_OVER_PLANES,
    NEXT,
    OVER_BEGIN,
    OVER_COUNT,
    PLANE,
    PLANES,
    TABLE,
    most_entries,
    take_entries,
    with_space,
)


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
    add_entries(work, number, table)


@kernel
def add_entries(work: Any, number: Any, table: Any) -> None:
    """Add the overflow entries of one of the tables to a table of whole numbers."""
    kind, planes = table.dtype.type, int64(work.where[number, PLANES])
    entries = work.over[int64(work.where[number, OVER_BEGIN]) :]
    for i in range(int64(work.where[number, OVER_COUNT])):
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
    low = int64(work.where[number, OVER_BEGIN])
    high = low + int64(work.where[number, OVER_COUNT])
    while low < high:  # entries are in order of their cells
        middle = (low + high) // int64(2)
        entry = work.over[middle]
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
    planes = int64(1)
    beyond = _count_beyond(table, planes)
    while beyond > most_over or _count_beyond(table, planes + int64(MOST_OVER_PLANES)):
        planes += int64(1)
        beyond = _count_beyond(table, planes)
    return planes, beyond


@kernel
def _in_each_cell(table: Any, number: Any) -> Any:
    """A word of 64 bits that has a number in the place of each of its cells."""
    word, bits = uint64(0), int64(8 * table.itemsize)
    for lane in range(int64(64) // bits):
        word |= number << uint64(lane * bits)
    return word


@kernel
def _high_bits(table: Any, planes: Any) -> Any:
    """The bits of a cell above so many planes, in the places of all cells of a word."""
    bits = int64(8 * table.itemsize)
    if int64(2) * planes >= bits:
        return uint64(0)
    every = uint64(2**64 - 1) >> uint64(int64(64) - bits)
    return _in_each_cell(table, every ^ (every >> uint64(bits - int64(2) * planes)))


@kernel
def _count_beyond(table: Any, planes: Any) -> Any:
    """How many cells need more than so many planes. A word of 64 bits, of several cells, is looked at at a time."""
    wanted, total, bits = _high_bits(table, planes), int64(0), int64(8 * table.itemsize)
    if not wanted:
        return total
    top, words = _in_each_cell(table, uint64(1) << uint64(bits - int64(1))), table.view(np.uint64)
    lower = ~top
    for begin in range(0, words.shape[0], 255):  # a cell's place in `found` holds so many ones, whatever its type
        part, found = words[begin : begin + int64(255)], uint64(0)
        for j in range(part.shape[0]):
            word = part[j] & wanted
            found += ((((word & lower) + lower) | word) & top) >> uint64(bits - int64(1))
        for lane in range(int64(64) // bits):
            total += int64((found >> uint64(lane * bits)) & (uint64(2**64 - 1) >> uint64(int64(64) - bits)))
    return total


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
    row[:] = uint8(0)
    for part in range(4):
        cells, place = table[part * row.shape[0] : (part + 1) * row.shape[0]], uint8(2 * part)
        for j in range(cells.shape[0]):
            row[j] |= uint8((cells[j] >> bits) & kind(3)) << place


@kernel
def stored(work: Any, slot: Any, table: Any) -> Any:
    """The slices with a table as that of a slice that has none, with more space if it is needed."""
    planes, beyond = planes_needed(table, most_entries(work))
    work = with_space(work, int64(0), planes, beyond)
    used = work.used
    used[FREE_TABLES] -= int64(1)
    number = int64(work.free_tables[used[FREE_TABLES]])
    work.facts[slot, TABLE] = number
    work.where[number, NEXT], work.where[number, PLANES] = int32(-1), int32(planes)
    work.where[number, OVER_COUNT] = int32(0)
    _store_planes(work, number, table, planes)
    entries = take_entries(work, number, beyond)
    if beyond:
        _write_entries(table, planes, entries)
    return work


@kernel
def _write_entries(table: Any, planes: Any, entries: Any) -> None:
    """Write an overflow entry for each cell that needs more than so many planes: few do, so most words are skipped."""
    wanted, lanes, words = _high_bits(table, planes), int64(8) // int64(table.itemsize), table.view(np.uint64)
    at, shift, begin, count = int64(0), int64(2) * planes, int64(0), words.shape[0]
    while begin < count:
        end = min(begin + int64(8), count)
        if end - begin == int64(8):
            some = words[begin] | words[begin + 1] | words[begin + 2] | words[begin + 3]
            some |= words[begin + 4] | words[begin + 5] | words[begin + 6] | words[begin + 7]
        else:
            some = wanted
        if some & wanted:
            for j in range(begin * lanes, end * lanes):
                left = int64(table[j]) >> shift
                if left > int64(0):
                    entries[at] = int64(j) | (left << int64(CELL_BITS))
                    at += int64(1)
        begin = end
