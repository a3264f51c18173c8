"""Arrivals on their way into counters: their ticks, weights and cells, a block of them at a time.

Cells are hashed into one buffer of fixed size, so scratch memory stays bounded however large a batch is. A block can be
hashed again, which cannot fail.

    for block in range(arrivals.blocks):
        cells = arrivals.load(block)             # row r of event i: cells[r * stride + i]
        stride = arrivals.stride_of(block)
        ticks = arrivals.ticks + block * arrivals.block
        for i in range(arrivals.size_of(block)): ...
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.ecmsketch.kernels.hashing import RowHashes, fill_cells
from cython.cimports.ecmsketch.kernels.memory import allocate, int64s, uint32s, uint64s
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset
from numpy.typing import NDArray

Ints = NDArray[np.int64]

BLOCK = cython.declare(int64_t, 1 << 20)
"""Most events of a block."""
BLOCK_CELLS = cython.declare(int64_t, 1 << 24)
"""Most cells of a block, in all rows."""


@cython.cclass
class Arrivals:
    """Events in order of time, each of which goes to one cell in each row. Made by `hashed` or `placed`."""

    def __dealloc__(self) -> None:
        if self.items != cython.NULL:
            free(self.cells)

    def __len__(self) -> int:
        return self.count

    @cython.cfunc
    @cython.nogil
    def size_of(self, block: int64_t) -> int64_t:
        """How many events a block has."""
        return min(self.block, self.count - block * self.block)

    @cython.cfunc
    @cython.nogil
    def stride_of(self, block: int64_t) -> int64_t:
        """How far the cells of an event in one row and the next are from each other."""
        return self.count if self.items == cython.NULL else self.size_of(block)

    @cython.cfunc
    @cython.nogil
    def load(self, block: int64_t) -> cython.pointer(uint32_t):
        """The cells of a block, good until another one is loaded."""
        begin: int64_t = block * self.block
        if self.items == cython.NULL:
            return self.cells + begin
        if self.loaded != block:
            fill_cells(self.items + begin, self.size_of(block), self.rows, self.depth, self.cells)
            self.loaded = block
        return self.cells


@cython.cfunc
def with_columns(ticks: object, weights: object, depth: int64_t, block: int64_t) -> Arrivals:
    """Arrivals with these ticks and weights, whose cells are still missing."""
    arrivals = Arrivals()
    arrivals.count = len(ticks)
    arrivals.depth = depth
    arrivals.block = max(block, 1)
    arrivals.blocks = (arrivals.count + arrivals.block - 1) // arrivals.block
    arrivals.loaded = -1
    arrivals.items = cython.NULL
    arrivals.cells = cython.NULL
    arrivals.ticks = int64s(ticks)
    arrivals.weights = cython.NULL
    if weights is not None:
        if len(weights) != arrivals.count:
            raise ValueError(f"expected {arrivals.count} weights, one per tick, got {len(weights)}")
        arrivals.weights = int64s(weights)
    return arrivals


def hashed(items: NDArray[np.uint64], rows: Any, ticks: Ints, weights: Ints | None, block: int = 0) -> Arrivals:
    """Arrivals of items, whose cells the row hashes say. `block` is for tests: events of a block."""
    hashes: RowHashes = rows
    if len(items) != len(ticks):
        raise ValueError(f"expected {len(ticks)} items, one per tick, got {len(items)}")
    most: int64_t = block if block else min(BLOCK, BLOCK_CELLS // max(hashes.depth, 1))
    arrivals = with_columns(ticks, weights, hashes.depth, max(min(most, len(ticks)), 1))
    arrivals.limit = hashes.cells
    arrivals.rows = hashes.rows
    arrivals.kept = (items, ticks, weights, hashes)
    source = uint64s(items)
    arrivals.cells = cython.cast(cython.pointer(uint32_t), allocate(4 * arrivals.block * arrivals.depth))
    if arrivals.cells == cython.NULL:
        raise MemoryError
    arrivals.items = source
    return arrivals


def placed(cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None) -> Arrivals:
    """Arrivals whose cells are known: event i goes to cells[:, i]."""
    if cells.ndim != 2 or cells.shape[1] != len(ticks):
        raise ValueError(f"expected cells of shape (rows, {len(ticks)}), got {cells.shape}")
    arrivals = with_columns(ticks, weights, cells.shape[0], len(ticks))
    arrivals.limit = int(cells.max()) + 1 if cells.size else 0
    arrivals.cells = uint32s(cells)
    arrivals.kept = (cells, ticks, weights)
    return arrivals


@cython.cfunc
@cython.exceptval(-1)
def count_arrivals(arrivals: Arrivals, coming: cython.pointer(int64_t), cells: int64_t) -> cython.int:
    """Write how many arrivals come to each of so many cells. Looks for signals after every block."""
    block: int64_t
    if arrivals.limit > cells:
        raise IndexError(f"expected cells below {cells}, got {arrivals.limit - 1}")
    memset(coming, 0, cython.cast(cython.size_t, 8 * cells))
    for block in range(arrivals.blocks):
        with cython.nogil:
            count_block(arrivals, block, coming)
        PyErr_CheckSignals()
    return 0


@cython.cfunc
@cython.nogil
def count_block(arrivals: Arrivals, block: int64_t, coming: cython.pointer(int64_t)) -> cython.void:
    """Add the arrivals of a block to those of their cells."""
    cells = arrivals.load(block)
    size: int64_t = arrivals.size_of(block)
    stride: int64_t = arrivals.stride_of(block)
    weights = arrivals.weights
    i: int64_t
    if weights != cython.NULL:
        weights = weights + block * arrivals.block
    for _ in range(arrivals.depth):
        if weights == cython.NULL:
            for i in range(size):
                coming[cells[i]] += 1
        else:
            for i in range(size):
                coming[cells[i]] += weights[i]
        cells = cells + stride


def counts_by_cell(arrivals: Arrivals, cells: int) -> Ints:
    """How many arrivals come to each cell."""
    coming = np.empty(cells, np.int64)
    count_arrivals(arrivals, int64s(coming), cells)
    return coming
