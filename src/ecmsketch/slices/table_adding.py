"""Adding one table to another without unpacking either: planes of two bits are added plane by plane, with carries.

A row of a plane holds four cells a byte. One instruction adds the bits of many cells, so joining two slices takes a
small part of the time of counting their events. Cells that need more bits than there are planes get overflow entries,
and another plane as soon as these would take more memory than it. The result is what `stored` would make of the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, uint8, uint64

from ecmsketch.kernels import kernel, trailing_zeros
from ecmsketch.slices.table_pool import (
    CELL_BITS,
    FREE_ROWS,
    MOST_OVER_PLANES,
    OVER_BEGIN,
    OVER_COUNT,
    PLANE,
    PLANES,
    most_entries,
    release_table,
    take_entries,
    with_rows,
)

_LOW = 0x5555555555555555
"""The lower bit of every field of two bits."""
_NO_CELL = 2**62


@kernel
def add_to(work: Any, target: Any, other: Any) -> Any:
    """(The slices with one table added to another, the table that has the sum). The other one is released."""
    if work.where[target, PLANES] < work.where[other, PLANES]:
        target, other = other, target
    few, many = int64(work.where[other, PLANES]), int64(work.where[target, PLANES])
    work = with_rows(work, int64(0), int64(0), int64(1), int64(0), many + int64(1))
    carry = np.zeros(work.pool.shape[1] // 8, np.uint64)
    for plane in range(many):
        row = work.pool[work.where[target, PLANE + plane]].view(np.uint64)
        if plane < few:
            _add_rows(row, work.pool[work.where[other, PLANE + plane]].view(np.uint64), carry)
        else:
            _add_carry(row, carry)
    carries = _count_bits(carry)
    if carries > most_entries(work):
        row = work.pool[_new_plane(work, target)].view(np.uint64)
        for j in range(row.shape[0]):
            row[j] = carry[j]
        carries = int64(0)
    cells = _cells_of_bits(carry, carries)
    entries, count = _united_entries(work, target, many, other, few, cells)
    release_table(work, other)
    return _with_entries(work, target, entries, count), target


@kernel
def _add_rows(row: Any, other: Any, carry: Any) -> None:
    """Add the fields of a row, and of what is carried, to those of another; what they carry is left in `carry`."""
    low = uint64(_LOW)
    for j in range(row.shape[0]):
        a, b, c = row[j], other[j], carry[j]
        mixed = a ^ b
        half = mixed & low
        first = half ^ c
        over = (a & b & low) | (half & c)
        high = (mixed >> uint64(1)) & low
        second = high ^ over
        carry[j] = ((a & b) >> uint64(1) & low) | (high & over)
        row[j] = first | (second << uint64(1))


@kernel
def _add_carry(row: Any, carry: Any) -> None:
    """Add what is carried to the fields of a row; what they carry is left in `carry`."""
    low = uint64(_LOW)
    for j in range(row.shape[0]):
        a, c = row[j], carry[j]
        over = a & c
        high = (a >> uint64(1)) & low
        row[j] = ((a & low) ^ c) | ((high ^ over) << uint64(1))
        carry[j] = high & over


@kernel
def _count_bits(words: Any) -> Any:
    """How many bits are set, of the lower ones of each field."""
    total = int64(0)
    for j in range(words.shape[0]):
        word = words[j]
        word = (word & uint64(0x3333333333333333)) + ((word >> uint64(2)) & uint64(0x3333333333333333))
        word = (word + (word >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
        total += int64((word * uint64(0x0101010101010101)) >> uint64(56))
    return total


@kernel
def _cells_of_bits(words: Any, count: Any) -> Any:
    """The cells whose bits are set, in order; `count` of them. A row has one cell of each quarter of a table a byte."""
    cells = np.empty(count + int64(1), np.int64)
    at = int64(0)
    for part in range(4 if count else 0):
        for j in range(words.shape[0]):
            word = (words[j] >> uint64(2 * part)) & uint64(0x0101010101010101)
            while word:
                cells[at] = int64(8) * (part * words.shape[0] + j) + trailing_zeros(int64(word)) // int64(8)
                at += int64(1)
                word &= word - uint64(1)
    cells[at] = int64(_NO_CELL)
    return cells


@kernel
def _united_entries(work: Any, target: Any, many: Any, other: Any, few: Any, carried: Any) -> Any:
    """(Overflow entries of a sum, in order of their cells; how many there are).

    The target has the sums of all planes already, and `many` planes before. Entries of the other table count in steps
    of 4^few: what belongs to planes of the target is added there.
    """
    planes, rows = int64(work.where[target, PLANES]), work.where[target, PLANE:]
    counts = int64(work.where[target, OVER_COUNT]), int64(work.where[other, OVER_COUNT])
    mine, its = work.over[int64(work.where[target, OVER_BEGIN]) :], work.over[int64(work.where[other, OVER_BEGIN]) :]
    found = np.empty(counts[0] + counts[1] + carried.shape[0] + int64(1), np.int64)
    count = i = j = k = int64(0)
    mask = int64(2**CELL_BITS - 1)
    while True:
        first = mine[i] & mask if i < counts[0] else int64(_NO_CELL)
        second = its[j] & mask if j < counts[1] else int64(_NO_CELL)
        cell, left = min(first, second, carried[k]), int64(0)
        if cell == int64(_NO_CELL):
            return found, count
        if first == cell:
            rest = mine[i] >> int64(CELL_BITS)
            left += rest if many == planes else _add_high(work.pool, rows, cell, many, planes, rest)
            i += int64(1)
        if second == cell:
            rest = its[j] >> int64(CELL_BITS)
            left += rest if few == planes else _add_high(work.pool, rows, cell, few, planes, rest)
            j += int64(1)
        if carried[k] == cell:
            left += int64(1)
            k += int64(1)
        if left:
            found[count] = cell | (left << int64(CELL_BITS))
            count += int64(1)


@kernel
def _add_high(pool: Any, rows: Any, cell: Any, begin: Any, end: Any, left: Any) -> Any:
    """Add to the planes begin .. end - 1 of one cell; returns what is left, in steps of 4^end."""
    at, bits = cell % pool.shape[1], int64(2) * (cell // pool.shape[1])
    for plane in range(begin, end):
        if not left:
            break
        byte = int64(pool[rows[plane], at])
        left += (byte >> bits) & int64(3)
        pool[rows[plane], at] = uint8((byte & ~(int64(3) << bits)) | ((left & int64(3)) << bits))
        left >>= int64(2)
    return left


@kernel
def _new_plane(work: Any, number: Any) -> Any:
    """Give a table one more plane, whose row is returned."""
    work.used[FREE_ROWS] -= int64(1)
    row = work.free_rows[work.used[FREE_ROWS]]
    work.where[number, PLANE + work.where[number, PLANES]] = row
    work.where[number, PLANES] += int32(1)
    return int64(row)


@kernel
def _with_entries(work: Any, number: Any, entries: Any, count: Any) -> Any:
    """The slices with these overflow entries for a table instead of its own, and more planes if there are many."""
    mask = int64(2**CELL_BITS - 1)
    while count > most_entries(work) or _most_left(entries, count) >= int64(4**MOST_OVER_PLANES):
        planes = int64(work.where[number, PLANES]) + int64(1)
        work = with_rows(work, int64(0), int64(0), int64(1), int64(0), planes)
        row = work.pool[_new_plane(work, number)]
        row[:] = uint8(0)
        kept = int64(0)
        for i in range(count):
            cell, left = entries[i] & mask, entries[i] >> int64(CELL_BITS)
            row[cell % row.shape[0]] |= uint8((left & int64(3)) << (int64(2) * (cell // row.shape[0])))
            if left >> int64(2):
                entries[kept] = cell | ((left >> int64(2)) << int64(CELL_BITS))
                kept += int64(1)
        count = kept
    work = with_rows(work, int64(0), int64(0), int64(0), count, int64(0))
    target = take_entries(work, number, count)
    for i in range(count):
        target[i] = entries[i]
    return work


@kernel
def _most_left(entries: Any, count: Any) -> Any:
    """The most that is left of a cell."""
    most = int64(0)
    for i in range(count):
        most = max(most, entries[i] >> int64(CELL_BITS))
    return most
