"""What collisions are expected to add to an item's count, and how much they add at most, from a table itself.

Take an item out of the table. Its cells are then uniform, one in each row, so the least of its collisions is t or more
with probability S(t) = prod over rows of (cells with t or more)/width. The sum of S(t) over t = 1, 2, ... is what the
least collision is expected to be. The least t with S(t + 1) <= delta is what it exceeds with probability delta at most
(docs/guarantees.md).

Both engines ask this, of tables of 32 or 64 bits a cell. The expected collision takes one pass over the cells, the
other one a pass for each bit of the largest cell.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.slices.types import Cell
from cython.cimports.ecmsketch.kernels.memory import allocate, doubles, int64s
from cython.cimports.ecmsketch.kernels.sorting import sort_words
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset
from numpy.typing import NDArray

from ecmsketch.config import PrefixConfig, SketchConfig

SMALL = cython.declare(int64_t, 1024)
"""Cells below this are counted by their value; larger ones, of which most tables have few, are sorted."""


class Blocks(NamedTuple):
    """The Count-Min tables that a sketch's cells consist of: one, or one for each level of prefixes."""

    first: NDArray[np.int64]
    """The first cell of each."""
    rows: NDArray[np.int64]
    width: NDArray[np.int64]
    exact: NDArray[np.int64]
    """1 if each item has a cell of its own, so that nothing collides."""


def blocks_of(config: SketchConfig) -> Blocks:
    """The tables that the cells of a config consist of."""
    if isinstance(config, PrefixConfig):
        levels = config.levels
        parts = [(level.first_cell, level.rows, level.cells // level.rows, int(level.exact)) for level in levels]
    else:
        parts = [(0, config.depth, config.width, 0)]
    return Blocks(*(np.array(column, np.int64) for column in zip(*parts, strict=True)))


def expected_collisions(table: NDArray[np.int64], blocks: Blocks) -> NDArray[np.float64]:
    """What the least collision is expected to be, for each block of a table."""
    cells: cython.pointer(int64_t) = int64s(table)
    found = np.zeros(len(blocks.first))
    expected: cython.pointer(cython.double) = doubles(found)
    block: int64_t
    rows: int64_t
    width: int64_t
    first: int64_t
    for block in range(cython.cast(int64_t, len(blocks.first))):
        if not blocks.exact[block]:
            first, rows, width = checked_block(table, blocks, block)
            with cython.nogil:
                expected[block] = expected_collision(cells + first, rows, width)
            if expected[block] < 0.0:
                raise MemoryError
    return found


def collision_quantile(table: NDArray[np.int64], blocks: Blocks, block: int, delta: float) -> int:
    """What the least collision in a block of a table exceeds with probability `delta` at most."""
    cells: cython.pointer(int64_t) = int64s(table)
    most: cython.double = delta
    found: int64_t
    rows: int64_t
    width: int64_t
    first: int64_t
    first, rows, width = checked_block(table, blocks, block)
    with cython.nogil:
        found = least_exceeded(cells + first, rows, width, most)
    return found


def checked_block(table: NDArray[np.int64], blocks: Blocks, block: int) -> tuple[int, int, int]:
    """The first cell, rows and width of a block, which lies in the table."""
    first, rows, width = int(blocks.first[block]), int(blocks.rows[block]), int(blocks.width[block])
    if first < 0 or rows < 1 or width < 1 or first + rows * width > table.size:
        raise ValueError(f"block: {rows} rows of {width} cells from {first} on are not in a table of {table.size}")
    return first, rows, width


@cython.cfunc
@cython.nogil
def largest_of(cells: cython.pointer(Cell), count: int64_t) -> int64_t:
    """The largest of some cells, or 0."""
    largest: Cell = 0
    j: int64_t
    for j in range(count):
        largest = max(largest, cells[j])
    return largest


@cython.cfunc
@cython.nogil
def expected_collision(cells: cython.pointer(Cell), rows: int64_t, width: int64_t) -> cython.double:
    """The sum over t >= 1 of the product over rows of the share of cells that are t or more; negative without memory.

    Cells below SMALL are counted by value, one row at a time.
    """
    most: int64_t = largest_of(cells, rows * width)
    values: int64_t = min(most, SMALL) + 1
    counts: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), allocate(8 * (2 * values + rows)))
    shares: cython.pointer(cython.double) = cython.cast(cython.pointer(cython.double), counts + values)
    large: cython.pointer(int64_t) = counts + 2 * values
    expected: cython.double = 0.0
    part: cython.double = 1.0 / cython.cast(cython.double, width)
    left: int64_t
    beyond: cython.double
    row: int64_t
    t: int64_t
    if counts == cython.NULL:
        return -1.0
    for t in range(values):
        shares[t] = 1.0
    for row in range(rows):
        count_values(cells + row * width, width, counts, values)
        large[row] = counts[values - 1]
        left = width
        for t in range(1, values):
            left -= counts[t - 1]
            shares[t] *= cython.cast(cython.double, left) * part
    for t in range(1, values):
        expected += shares[t]
    if most > SMALL and shares[SMALL] > 0.0:
        beyond = expected_beyond(cells, rows, width, large)
        expected = -1.0 if beyond < 0.0 else expected + beyond
    free(counts)
    return expected


@cython.cfunc
@cython.nogil
def count_values(
    cells: cython.pointer(Cell), width: int64_t, counts: cython.pointer(int64_t), values: int64_t
) -> cython.void:
    """Write how many cells have each value; the last one stands for all from there on."""
    last: int64_t = values - 1
    value: int64_t
    j: int64_t
    memset(counts, 0, cython.cast(cython.size_t, 8 * values))
    for j in range(width):
        value = cells[j]
        counts[min(value, last)] += 1


@cython.cfunc
@cython.nogil
def expected_beyond(
    cells: cython.pointer(Cell), rows: int64_t, width: int64_t, large: cython.pointer(int64_t)
) -> cython.double:
    """The part of the sum with t above SMALL, from the `large` cells of each row, sorted; negative without memory."""
    total: int64_t = 0
    largest: int64_t = 0
    begin: int64_t = 0
    at: int64_t = 0
    row: int64_t
    j: int64_t
    for row in range(rows):
        total += large[row]
        largest = max(largest, large[row])
    sorted_cells: cython.pointer(uint64_t) = cython.cast(
        cython.pointer(uint64_t), allocate(8 * (total + max(largest, rows)))
    )
    if sorted_cells == cython.NULL:
        return -1.0
    for row in range(rows):
        begin = at
        for j in range(row * width, (row + 1) * width):
            if cells[j] >= SMALL:
                sorted_cells[at] = cython.cast(uint64_t, cells[j])
                at += 1
        sort_words(sorted_cells + begin, at - begin, sorted_cells + total)
    expected: cython.double = sum_beyond(
        sorted_cells, rows, width, large, cython.cast(cython.pointer(int64_t), sorted_cells + total)
    )
    free(sorted_cells)
    return expected


@cython.cfunc
@cython.nogil
def sum_beyond(
    cells: cython.pointer(uint64_t), rows: int64_t, width: int64_t, large: cython.pointer(int64_t),
    below: cython.pointer(int64_t),
) -> cython.double:  # fmt: skip
    """Add up, level by level, the shares of sorted cells above it. `below` has space for a number a row."""
    level: int64_t = SMALL
    following: int64_t
    first: int64_t
    row: int64_t
    share: cython.double
    expected: cython.double = 0.0
    for row in range(rows):
        below[row] = 0
    while True:
        share, following, first = 1.0, 0, 0
        for row in range(rows):
            while below[row] < large[row] and cython.cast(int64_t, cells[first + below[row]]) <= level:
                below[row] += 1
            if below[row] == large[row]:
                return expected
            share *= cython.cast(cython.double, large[row] - below[row]) / cython.cast(cython.double, width)
            if following == 0 or cython.cast(int64_t, cells[first + below[row]]) < following:
                following = cython.cast(int64_t, cells[first + below[row]])
            first += large[row]
        expected += share * cython.cast(cython.double, following - level)
        level = following


@cython.cfunc
@cython.nogil
def least_exceeded(cells: cython.pointer(Cell), rows: int64_t, width: int64_t, delta: cython.double) -> int64_t:
    """The least t with S(t + 1) <= delta."""
    low: int64_t = 0
    high: int64_t = largest_of(cells, rows * width)
    middle: int64_t
    while low < high:  # S(low) > delta, and S(high + 1) <= delta
        middle = low + (high - low + 1) // 2
        if share_reaching(cells, rows, width, middle) > delta:
            low = middle
        else:
            high = middle - 1
    return low


@cython.cfunc
@cython.nogil
def share_reaching(cells: cython.pointer(Cell), rows: int64_t, width: int64_t, least: int64_t) -> cython.double:
    """The product over rows of the share of cells that are `least` or more."""
    share: cython.double = 1.0
    reached: Cell
    bound: Cell = least
    row: int64_t
    j: int64_t
    for row in range(rows):
        reached = 0
        for j in range(row * width, (row + 1) * width):
            reached += 1 if cells[j] >= bound else 0
        share *= cython.cast(cython.double, reached) / cython.cast(cython.double, width)
    return share
