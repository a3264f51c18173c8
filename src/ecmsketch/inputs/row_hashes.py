"""Row hashes: they give an item of 64 bits one cell in each row of a table.

They are multiply-shift on the two 32-bit halves, which is pairwise independent: without that, Count-Min's guarantee is
void. Alone it treats neighbouring integers too much alike: they spread far more evenly than chance over most rows, and
pile up in a few. So the bits of an item are mixed first. Mixing is a bijection, so it takes nothing from independence
(docs/decisions/020-sharper-cells.md). Test vectors: tests/vectors/hashing.json.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel
from ecmsketch.kernels.splitmix import mix_word, splitmix64

CHUNK = 4096
"""Items hashed at a time in all rows: their mixed words stay in the processor's cache."""


class RowHashes(NamedTuple):
    """Row r takes an item's bits above `drop`, mixes them if `mixed`, and hashes them, as x, to `width` cells from
    `first` on.

    h(x) = ((low * lo(x) + high * hi(x) + shift) mod 2^64) >> 32, scaled to the width.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    shift: NDArray[np.uint64]
    drop: NDArray[np.uint64]
    width: NDArray[np.uint64]
    first: NDArray[np.uint64]
    mixed: NDArray[np.uint64]
    """1 if items are mixed, else 0."""


def row_hashes(seed: int, depth: int, width: int) -> RowHashes:
    """The row hashes that belong to a seed: three splitmix64 outputs a row; rows lie one after the other."""
    numbers = splitmix64(seed, 3 * depth).reshape(depth, 3)
    low, high, shift = (np.ascontiguousarray(column) for column in numbers.T)
    widths = np.full(depth, width, np.uint64)
    first = np.arange(depth, dtype=np.uint64) * widths
    return RowHashes(low, high, shift, np.zeros(depth, np.uint64), widths, first, np.ones(depth, np.uint64))


def direct_row(bits: int) -> RowHashes:
    """One row in which every number below 2^bits has a cell of its own: a hash that is the identity."""
    one, zero = np.ones(1, np.uint64), np.zeros(1, np.uint64)
    width = one << np.uint64(bits)
    return RowHashes(one << np.uint64(64 - bits), zero, zero, zero, width, zero, zero)


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
def mix_items(items: Any, rows: RowHashes, row: Any, words: Any) -> None:
    """Write the words that a row hashes for some items; they are there already if the row before hashes the same."""
    drop, mixed = rows.drop[row], rows.mixed[row]
    if row > 0 and drop == rows.drop[row - 1] and mixed == rows.mixed[row - 1]:
        return
    if mixed:
        for i in range(items.shape[0]):
            words[i] = mix_word(items[i] >> drop)
    else:
        for i in range(items.shape[0]):
            words[i] = items[i] >> drop


@kernel
def hash_row(words: Any, rows: RowHashes, row: Any, cells: Any) -> None:
    """Write the cells of some words in one row.

    All products are of 32 bits by 32 bits, and the masks say so: for these there is a vector instruction.
    """
    mask, half = uint64(0xFFFFFFFF), uint64(32)
    low_low, low_high = rows.low[row] & mask, rows.low[row] >> half
    high_low, high_high = rows.high[row] & mask, rows.high[row] >> half
    shift, width, first = rows.shift[row], rows.width[row] & mask, rows.first[row]
    for i in range(cells.shape[0]):
        low, high = words[i] & mask, words[i] >> half
        carried = (low_low * low + high_low * high + shift) >> half
        hashed = (carried + low_high * low + high_high * high) & mask
        cells[i] = uint32(first + ((hashed * width) >> half))


@kernel
def fill_cells(items: Any, rows: RowHashes, cells: Any) -> None:
    """Write what `cells_of` returns into an array that can be used again."""
    words = np.empty(min(items.shape[0], CHUNK), np.uint64)
    for chunk in range(0, items.shape[0], CHUNK):
        part = items[chunk : chunk + CHUNK]
        for row in range(rows.low.shape[0]):
            mix_items(part, rows, row, words)
            hash_row(words, rows, row, cells[row, chunk : chunk + CHUNK])
