"""Row hashes: they give an item of 64 bits one cell in each row of a table.

They are multiply-shift on the two 32-bit halves, which is pairwise independent: without that, Count-Min's guarantee is
void. Test vectors: tests/vectors/hashing.json.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel
from ecmsketch.kernels.splitmix import splitmix64


class RowHashes(NamedTuple):
    """Row r takes an item's bits above `drop`, as x, and hashes them to `width` cells from `first` on.

    h(x) = ((low * lo(x) + high * hi(x) + shift) mod 2^64) >> 32, scaled to the width.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    shift: NDArray[np.uint64]
    drop: NDArray[np.uint64]
    width: NDArray[np.uint64]
    first: NDArray[np.uint64]


def row_hashes(seed: int, depth: int, width: int) -> RowHashes:
    """The row hashes that belong to a seed: three splitmix64 outputs a row; rows lie one after the other."""
    numbers = splitmix64(seed, 3 * depth).reshape(depth, 3)
    low, high, shift = (np.ascontiguousarray(column) for column in numbers.T)
    widths = np.full(depth, width, np.uint64)
    return RowHashes(low, high, shift, np.zeros(depth, np.uint64), widths, np.arange(depth, dtype=np.uint64) * widths)


def direct_row(bits: int) -> RowHashes:
    """One row in which every number below 2^bits has a cell of its own: a hash that is the identity."""
    one = np.ones(1, np.uint64)
    return RowHashes(one << np.uint64(64 - bits), 0 * one, 0 * one, 0 * one, one << np.uint64(bits), 0 * one)


def stack_rows(parts: list[tuple[RowHashes, int]]) -> RowHashes:
    """Rows of several tables as one; each table drops that many low bits of an item first."""
    first, stacked = 0, []
    for rows, drop in parts:
        stacked.append(rows._replace(drop=np.full(len(rows.low), drop, np.uint64), first=rows.first + np.uint64(first)))
        first += int(rows.width.sum())
    return RowHashes(*(np.concatenate(columns) for columns in zip(*stacked, strict=True)))


def cells_of(items: NDArray[np.uint64], rows: RowHashes) -> NDArray[np.uint32]:
    """The cell of every item in every row, as [rows, items]."""
    cells = np.empty((len(rows.low), len(items)), np.uint32)
    fill_cells(items, rows, cells)
    return cells


@kernel
def fill_cells(items: Any, rows: RowHashes, cells: Any) -> None:
    """Write what `cells_of` returns into an array that can be used again."""
    for row in range(rows.low.shape[0]):
        low, high, shift = rows.low[row], rows.high[row], rows.shift[row]
        drop, width, first = rows.drop[row], rows.width[row], rows.first[row]
        for i in range(items.shape[0]):
            x = items[i] >> drop
            mixed = (low * (x & uint64(0xFFFFFFFF)) + high * (x >> uint64(32)) + shift) >> uint64(32)
            cells[row, i] = first + ((mixed * width) >> uint64(32))
