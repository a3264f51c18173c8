"""Tables of counts, packed: planes of two bits, and entries for the few cells that need more.

A table is one piece of memory in words of 64 bits: [references, planes, entries, planes x words, entries]. Most counts
are small, so the lowest two bits of every cell are one plane, the next two another. A byte of a plane has the cells of
the same place in each quarter of the table. An entry is cell + rest * 2^25; entries are in order of their cells. More
entries than a plane takes memory make another plane.

A table is never changed once it is made: adding two makes a third. So streams share tables and count their references.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.slices.types import Cell
from cython.cimports.ecmsketch.kernels.hashing import CHUNK, Row, hash_row, mix_items
from cython.cimports.ecmsketch.kernels.memory import allocate, int32s, int64s, uint64s
from cython.cimports.ecmsketch.kernels.packing import trailing_zeros
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memset
from numpy.typing import NDArray

HEAD = cython.declare(int64_t, 3)
"""Words before the planes."""
CELL_BITS = cython.declare(int64_t, 25)
"""Bits of a cell's number in an entry; a config has at most 2^25 cells."""
CELL_MASK = cython.declare(int64_t, 2**25 - 1)
MOST_OVER_PLANES = cython.declare(int64_t, 18)
"""What is left of a cell in an entry would fit into so many planes, so that two of them can be added."""
MOST_PLANES = cython.declare(int64_t, 33)
"""A sum has no more planes: 32 of them hold 2^63 arrivals."""
MOST_ADDENDS = cython.declare(int64_t, 85)
"""So many numbers of two bits never add up to more than a byte holds."""
NO_CELL = cython.declare(int64_t, 2**62)


@cython.cfunc
@cython.nogil
def retain(table: cython.pointer(uint64_t)) -> cython.void:
    """Count one more reference."""
    table[0] += 1


@cython.cfunc
@cython.nogil
def release(table: cython.pointer(uint64_t)) -> cython.void:
    """Count one reference less; the last one takes the table along."""
    if table == cython.NULL:
        return
    table[0] -= 1
    if table[0] == 0:
        free(table)


@cython.cfunc
@cython.nogil
def table_nbytes(table: cython.pointer(uint64_t), words: int64_t) -> int64_t:
    """Memory of a table."""
    return 8 * (HEAD + cython.cast(int64_t, table[1]) * words + cython.cast(int64_t, table[2]))


@cython.cfunc
@cython.nogil
def most_entries(words: int64_t) -> int64_t:
    """How many entries a table may have: as many as take the memory of a plane."""
    return words if words > 2 else 2


@cython.cfunc
@cython.nogil
def count_events(
    keys: cython.pointer(uint64_t), weights: cython.pointer(int64_t), count: int64_t, rows: cython.pointer(Row),
    depth: int64_t, cells: cython.pointer(Cell),
) -> cython.void:  # fmt: skip
    """Count events, some thousands at a time: these stay in the processor's cache."""
    words = cython.declare(uint64_t[4096])
    found = cython.declare(uint32_t[4096])
    begin: int64_t = 0
    some: int64_t
    row: int64_t
    i: int64_t
    weight: Cell
    while begin < count:
        some = min(count - begin, CHUNK)
        for row in range(depth):
            mix_items(keys + begin, some, rows, row, words)
            hash_row(words, some, rows + row, found)
            if weights == cython.NULL:
                for i in range(some):
                    cells[found[i]] += 1
            else:
                for i in range(some):
                    weight = weights[begin + i]
                    cells[found[i]] += weight
        begin += some


@cython.cfunc
@cython.nogil
def unpack(table: cython.pointer(uint64_t), words: int64_t, cells: cython.pointer(Cell)) -> cython.void:
    """Add a table to plain cells, of which there are 32 a word."""
    planes: int64_t = table[1]
    size: int64_t = 8 * words
    plane: int64_t
    part: int64_t
    j: int64_t
    shift: cython.int
    bits: cython.int
    row: cython.pointer(uint8_t)
    quarter: cython.pointer(Cell)
    value: Cell
    for plane in range(planes):
        row = cython.cast(cython.pointer(uint8_t), table + HEAD + plane * words)
        shift = 2 * plane
        for part in range(4):
            quarter = cells + part * size
            bits = 2 * part
            for j in range(size):
                value = (row[j] >> bits) & 3
                quarter[j] += value << shift
    unpack_entries(table, words, cells)


@cython.cfunc
@cython.nogil
def unpack_entries(table: cython.pointer(uint64_t), words: int64_t, cells: cython.pointer(Cell)) -> cython.void:
    """Add the entries of a table to plain cells."""
    planes: int64_t = table[1]
    count: int64_t = table[2]
    j: int64_t
    entry: int64_t
    value: Cell
    for j in range(count):
        entry = table[HEAD + planes * words + j]
        value = (entry >> CELL_BITS) << (2 * planes)
        cells[entry & CELL_MASK] += value


@cython.cfunc
@cython.nogil
def unpack_many(
    tables: cython.pointer(cython.pointer(uint64_t)), count: int64_t, words: int64_t, cells: cython.pointer(Cell),
    scratch: cython.pointer(uint64_t),
) -> cython.void:  # fmt: skip
    """Add many tables to plain cells: first in cells of a byte, which are added quickest. `scratch` has 4 * words."""
    sums: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), scratch)
    size: int64_t = 8 * words
    planes: int64_t = 0
    plane: int64_t
    i: int64_t
    j: int64_t
    part: int64_t
    rows: int64_t
    shift: cython.int
    bits: cython.int
    row: cython.pointer(uint8_t)
    quarter: cython.pointer(uint8_t)
    value: Cell
    for i in range(count):
        planes = max(planes, cython.cast(int64_t, tables[i][1]))
        unpack_entries(tables[i], words, cells)
    for plane in range(planes):
        rows = 0
        shift = 2 * plane
        for i in range(count):
            if plane < cython.cast(int64_t, tables[i][1]):
                if rows == 0:
                    memset(sums, 0, cython.cast(cython.size_t, 4 * size))
                row = cython.cast(cython.pointer(uint8_t), tables[i] + HEAD + plane * words)
                for part in range(4):
                    quarter = sums + part * size
                    bits = 2 * part
                    for j in range(size):
                        quarter[j] += (row[j] >> bits) & 3
                rows += 1
            if rows == MOST_ADDENDS or (rows > 0 and i == count - 1):
                for j in range(4 * size):
                    value = sums[j]
                    cells[j] += value << shift
                rows = 0


@cython.cfunc
@cython.nogil
def read_cell(table: cython.pointer(uint64_t), words: int64_t, cell: int64_t) -> int64_t:
    """One cell of a table."""
    planes: int64_t = table[1]
    at: int64_t = cell % (8 * words)
    bits: int64_t = 2 * (cell // (8 * words))
    value: int64_t = 0
    byte: int64_t
    plane: int64_t
    low: int64_t = 0
    high: int64_t = table[2]
    middle: int64_t
    found: int64_t
    row: cython.pointer(uint8_t)
    entries: cython.pointer(uint64_t) = table + HEAD + planes * words
    for plane in range(planes):
        row = cython.cast(cython.pointer(uint8_t), table + HEAD + plane * words)
        byte = row[at]
        value |= ((byte >> bits) & 3) << (2 * plane)
    while low < high:
        middle = (low + high) // 2
        found = cython.cast(int64_t, entries[middle]) & CELL_MASK
        if found == cell:
            return value + (cython.cast(int64_t, entries[middle] >> CELL_BITS) << (2 * planes))
        if found < cell:
            low = middle + 1
        else:
            high = middle
    return value


@cython.cfunc
@cython.nogil
def count_beyond(cells: cython.pointer(Cell), words: int64_t, planes: int64_t) -> int64_t:
    """How many cells need more than so many planes."""
    wide: int64_t = (cython.cast(int64_t, 1) << (2 * planes)) - 1 if planes < 32 else 0
    most: Cell = wide
    beyond: Cell = 0
    j: int64_t
    if planes >= 32 or most != wide:  # no cell of this type holds more
        return 0
    for j in range(32 * words):
        beyond += 1 if cells[j] > most else 0
    return beyond


@cython.cfunc
@cython.nogil
def pack(cells: cython.pointer(Cell), words: int64_t) -> cython.pointer(uint64_t):
    """A table of plain cells, with one reference; NULL without memory."""
    planes: int64_t = 1
    plane: int64_t
    beyond: int64_t = count_beyond(cells, words, 1)
    while beyond > most_entries(words) or count_beyond(cells, words, planes + MOST_OVER_PLANES):
        planes += 1
        beyond = count_beyond(cells, words, planes)
    table: cython.pointer(uint64_t) = cython.cast(
        cython.pointer(uint64_t), allocate(8 * (HEAD + planes * words + beyond))
    )
    if table == cython.NULL:
        return table
    table[0] = 1
    table[1] = planes
    table[2] = beyond
    for plane in range(planes):
        pack_plane(cells, 8 * words, 2 * plane, cython.cast(cython.pointer(uint8_t), table + HEAD + plane * words))
    if beyond:
        write_entries(cells, words, 2 * planes, table + HEAD + planes * words)
    return table


@cython.cfunc
@cython.nogil
def pack_plane(
    cells: cython.pointer(Cell), size: int64_t, shift: cython.int, row: cython.pointer(uint8_t)
) -> cython.void:
    """Write two bits of each cell into a plane, four cells a byte."""
    j: int64_t
    four: Cell
    for j in range(size):
        four = ((cells[j] >> shift) & 3) | (((cells[size + j] >> shift) & 3) << 2)
        four |= (((cells[2 * size + j] >> shift) & 3) << 4) | (((cells[3 * size + j] >> shift) & 3) << 6)
        row[j] = cython.cast(uint8_t, four)


@cython.cfunc
@cython.nogil
def write_entries(
    cells: cython.pointer(Cell), words: int64_t, shift: int64_t, entries: cython.pointer(uint64_t)
) -> cython.void:
    """Write an entry for each cell that is not below 2^shift: few are, so 32 cells are looked at together."""
    some: Cell
    left: int64_t
    begin: int64_t
    j: int64_t
    at: int64_t = 0
    for begin in range(0, 32 * words, 32):
        some = 0
        for j in range(32):
            some |= cells[begin + j]
        if some >> shift:
            for j in range(begin, begin + 32):
                left = cells[j] >> shift
                if left:
                    entries[at] = j | (left << CELL_BITS)
                    at += 1


@cython.cfunc
@cython.nogil
def sum_words(words: int64_t) -> int64_t:
    """How much scratch memory adding takes at most, in words; also enough for 32 * words cells of 64 bits."""
    return (1 + MOST_PLANES + 1) * words + 4 * most_entries(words) + 2


@cython.cfunc
@cython.nogil
def added(
    one: cython.pointer(uint64_t), other: cython.pointer(uint64_t), words: int64_t, scratch: cython.pointer(uint64_t)
) -> cython.pointer(uint64_t):
    """The sum of two tables, plane by plane with carries; NULL without memory. It is what `pack` makes of the sums.

    What the last plane carries becomes entries, or a plane if it is much.
    """
    if one[1] < other[1]:
        one, other = other, one
    many: int64_t = one[1]
    few: int64_t = other[1]
    carry: cython.pointer(uint64_t) = scratch
    total: cython.pointer(uint64_t) = scratch + words
    carried: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), total + (MOST_PLANES + 1) * words)
    entries: cython.pointer(uint64_t) = total + (MOST_PLANES + 1) * words + most_entries(words) + 1
    planes: int64_t = many
    plane: int64_t
    count: int64_t
    memset(carry, 0, cython.cast(cython.size_t, 8 * words))
    for plane in range(many):
        if plane < few:
            add_rows(one + HEAD + plane * words, other + HEAD + plane * words, words, carry, total + plane * words)
        else:
            add_carry(one + HEAD + plane * words, words, carry, total + plane * words)
    if not carried_cells(carry, words, carried):
        memcpy(total + many * words, carry, cython.cast(cython.size_t, 8 * words))
        planes += 1
    count = unite_entries(
        one + HEAD + many * words, one[2], many, other + HEAD + few * words, other[2], few, carried, planes, words,
        total, entries,
    )  # fmt: skip
    while (count > most_entries(words) or too_large(entries, count)) and planes < MOST_PLANES:
        count = move_to_plane(total, words, planes, entries, count)
        planes += 1
    table: cython.pointer(uint64_t) = cython.cast(
        cython.pointer(uint64_t), allocate(8 * (HEAD + planes * words + count))
    )
    if table == cython.NULL:
        return table
    table[0] = 1
    table[1] = planes
    table[2] = count
    memcpy(table + HEAD, total, cython.cast(cython.size_t, 8 * planes * words))
    memcpy(table + HEAD + planes * words, entries, cython.cast(cython.size_t, 8 * count))
    return table


@cython.cfunc
@cython.nogil
def add_rows(
    a: cython.pointer(uint64_t), b: cython.pointer(uint64_t), words: int64_t, carry: cython.pointer(uint64_t),
    total: cython.pointer(uint64_t),
) -> cython.void:  # fmt: skip
    """Add the fields of two planes, and what is carried; what these carry is left in `carry`."""
    low: uint64_t = 0x5555555555555555
    half: uint64_t
    first: uint64_t
    over: uint64_t
    high: uint64_t
    j: int64_t
    for j in range(words):
        half = (a[j] ^ b[j]) & low
        first = half ^ carry[j]
        over = (a[j] & b[j] & low) | (half & carry[j])
        high = ((a[j] ^ b[j]) >> 1) & low
        carry[j] = (((a[j] & b[j]) >> 1) & low) | (high & over)
        total[j] = first | ((high ^ over) << 1)


@cython.cfunc
@cython.nogil
def add_carry(
    a: cython.pointer(uint64_t), words: int64_t, carry: cython.pointer(uint64_t), total: cython.pointer(uint64_t)
) -> cython.void:
    """Add what is carried to the fields of a plane; what they carry is left in `carry`."""
    low: uint64_t = 0x5555555555555555
    over: uint64_t
    high: uint64_t
    j: int64_t
    for j in range(words):
        over = a[j] & carry[j]
        high = (a[j] >> 1) & low
        total[j] = ((a[j] & low) ^ carry[j]) | ((high ^ over) << 1)
        carry[j] = high & over


@cython.cfunc
@cython.nogil
def bits_set(word: uint64_t) -> int64_t:
    """How many bits are set, of the lower ones of each field of two."""
    few: uint64_t = 0x3333333333333333
    word = (word & few) + ((word >> 2) & few)
    word = (word + (word >> 4)) & cython.cast(uint64_t, 0x0F0F0F0F0F0F0F0F)
    return cython.cast(uint64_t, word * cython.cast(uint64_t, 0x0101010101010101)) >> 56


@cython.cfunc
@cython.nogil
def carried_cells(carry: cython.pointer(uint64_t), words: int64_t, cells: cython.pointer(int64_t)) -> cython.bint:
    """Write the cells whose bits are set, in order, and an end; False if they are more than a table's entries."""
    every: uint64_t = 0x0101010101010101
    word: uint64_t
    count: int64_t = 0
    parts: int64_t
    part: int64_t
    j: int64_t
    for j in range(words):
        count += bits_set(carry[j])
    if count > most_entries(words):
        cells[0] = NO_CELL
        return False
    parts = 4 if count else 0
    count = 0
    for part in range(parts):
        for j in range(words):
            word = (carry[j] >> cython.cast(uint64_t, 2 * part)) & every
            while word:
                cells[count] = 8 * (part * words + j) + trailing_zeros(word) // 8
                count += 1
                word &= word - 1
    cells[count] = NO_CELL
    return True


@cython.cfunc
@cython.nogil
def unite_entries(
    mine: cython.pointer(uint64_t), my_count: int64_t, many: int64_t, its: cython.pointer(uint64_t),
    its_count: int64_t, few: int64_t, carried: cython.pointer(int64_t), planes: int64_t, words: int64_t,
    total: cython.pointer(uint64_t), entries: cython.pointer(uint64_t),
) -> int64_t:  # fmt: skip
    """Write the entries of a sum in order of their cells; returns how many there are.

    Entries of a table with fewer planes count in smaller steps: what belongs to planes of the sum is added there.
    """
    i: int64_t = 0
    j: int64_t = 0
    k: int64_t = 0
    count: int64_t = 0
    cell: int64_t
    first: int64_t
    second: int64_t
    left: int64_t
    while True:
        first = cython.cast(int64_t, mine[i]) & CELL_MASK if i < my_count else NO_CELL
        second = cython.cast(int64_t, its[j]) & CELL_MASK if j < its_count else NO_CELL
        cell = min(first, min(second, carried[k]))
        if cell == NO_CELL:
            return count
        left = 0
        if first == cell:
            left += add_high(total, words, cell, many, planes, mine[i] >> CELL_BITS)
            i += 1
        if second == cell:
            left += add_high(total, words, cell, few, planes, its[j] >> CELL_BITS)
            j += 1
        if carried[k] == cell:
            left += 1
            k += 1
        if left:
            entries[count] = cell | (left << CELL_BITS)
            count += 1


@cython.cfunc
@cython.nogil
def add_high(
    total: cython.pointer(uint64_t), words: int64_t, cell: int64_t, begin: int64_t, end: int64_t, left: int64_t
) -> int64_t:
    """Add to the planes begin .. end - 1 of one cell; returns what is left, in steps of 4^end."""
    if begin == end:
        return left
    at: int64_t = cell % (8 * words)
    bits: int64_t = 2 * (cell // (8 * words))
    plane: int64_t
    byte: int64_t
    row: cython.pointer(uint8_t)
    for plane in range(begin, end):
        if left == 0:
            break
        row = cython.cast(cython.pointer(uint8_t), total + plane * words)
        byte = row[at]
        left += (byte >> bits) & 3
        row[at] = cython.cast(uint8_t, (byte & ~(3 << bits)) | ((left & 3) << bits))
        left >>= 2
    return left


@cython.cfunc
@cython.nogil
def move_to_plane(
    total: cython.pointer(uint64_t), words: int64_t, planes: int64_t, entries: cython.pointer(uint64_t), count: int64_t
) -> int64_t:
    """Make one more plane of two bits of each entry; returns how many entries are left."""
    kept: int64_t = 0
    cell: int64_t
    left: int64_t
    j: int64_t
    memset(total + planes * words, 0, cython.cast(cython.size_t, 8 * words))
    for j in range(count):
        cell = cython.cast(int64_t, entries[j]) & CELL_MASK
        left = add_high(total, words, cell, planes, planes + 1, entries[j] >> CELL_BITS)
        if left:
            entries[kept] = cell | (left << CELL_BITS)
            kept += 1
    return kept


@cython.cfunc
@cython.nogil
def too_large(entries: cython.pointer(uint64_t), count: int64_t) -> cython.bint:
    """Whether an entry would not fit when two are added."""
    j: int64_t
    for j in range(count):  # noqa: SIM110
        if entries[j] >> (CELL_BITS + 2 * MOST_OVER_PLANES):
            return True
    return False


def pack_cells(cells: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.uint64]:
    """For tests: the words of the table that `pack` makes of some cells, 32 a word."""
    words: int64_t = len(cells) // 32
    if len(cells) != 32 * words or words == 0:
        raise ValueError(f"cells: expected a multiple of 32, got {len(cells)}")
    table: cython.pointer(uint64_t)
    if cells.dtype == np.int32:
        small: cython.pointer(int32_t) = int32s(cells)
        table = pack(small, words)
    else:
        large: cython.pointer(int64_t) = int64s(cells)
        table = pack(large, words)
    return _words_of(table, words)


def add_tables(one: NDArray[np.uint64], other: NDArray[np.uint64], words: int) -> NDArray[np.uint64]:
    """For tests: the words of the sum of two tables."""
    count: int64_t = words
    scratch = np.empty(sum_words(count), np.uint64)
    return _words_of(added(uint64s(one), uint64s(other), count, uint64s(scratch)), count)


def unpack_tables(tables: list[NDArray[np.uint64]], words: int, small: bool = False) -> NDArray[np.int64]:
    """For tests: the cells of one table, or the sums of the cells of many."""
    count: int64_t = words
    cells = np.zeros(32 * count, np.int32 if small else np.int64)
    scratch, pointers = np.empty(4 * count, np.uint64), np.array([table.ctypes.data for table in tables], np.uint64)
    many: cython.pointer(cython.pointer(uint64_t)) = cython.cast(
        cython.pointer(cython.pointer(uint64_t)), uint64s(pointers)
    )
    some: int64_t = len(tables)
    if small:
        few: cython.pointer(int32_t) = int32s(cells)
        if some == 1:
            unpack(many[0], count, few)
        else:
            unpack_many(many, some, count, few, uint64s(scratch))
    else:
        sums: cython.pointer(int64_t) = int64s(cells)
        if some == 1:
            unpack(many[0], count, sums)
        else:
            unpack_many(many, some, count, sums, uint64s(scratch))
    return cells.astype(np.int64)


def cells_one_by_one(table: NDArray[np.uint64], words: int) -> list[int]:
    """For tests: the cells of a table, read one by one."""
    return [read_cell(uint64s(table), words, cell) for cell in range(32 * words)]


@cython.cfunc
def _words_of(table: cython.pointer(uint64_t), words: int64_t) -> object:
    """A copy of a table, which is given up; or a MemoryError."""
    if table == cython.NULL:
        raise MemoryError
    nbytes: int64_t = table_nbytes(table, words)
    copy = np.empty(nbytes // 8, np.uint64)
    memcpy(uint64s(copy), table, cython.cast(cython.size_t, nbytes))
    release(table)
    return copy
