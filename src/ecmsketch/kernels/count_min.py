"""Counting in the cells of row hashes, without a window: what any Count-Min sketch costs at least (benchmarks)."""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.hashing import Row, RowHashes, hash_row, mix_items, mix_word
from cython.cimports.ecmsketch.kernels.memory import int64s, uint64s
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from numpy.typing import NDArray

SOME = cython.declare(int64_t, 4096)
"""So many items are hashed in a row before they are counted there."""


def count_items(keys: NDArray[np.uint64], rows: RowHashes, table: NDArray[np.int64]) -> None:
    """Add one to each key's cell of every row: some keys are hashed, then they are counted, row by row."""
    words = cython.declare(uint64_t[4096])
    cells = cython.declare(uint32_t[4096])
    hashes: cython.pointer(Row) = rows.rows
    source, counts = uint64s(keys), int64s(table)
    total: int64_t = len(keys)
    begin: int64_t = 0
    count: int64_t
    row: int64_t
    i: int64_t
    check_table(rows, table)
    with cython.nogil:
        while begin < total:
            count = min(total - begin, SOME)
            for row in range(rows.depth):
                mix_items(source + begin, count, hashes, row, words)
                hash_row(words, count, hashes + row, cells)
                for i in range(count):
                    counts[cells[i]] += 1
            begin += count


def count_items_plainly(keys: NDArray[np.uint64], rows: RowHashes, table: NDArray[np.int64]) -> None:
    """Do the same key by key, as Count-Min is usually written."""
    hashes: cython.pointer(Row) = rows.rows
    source, counts = uint64s(keys), int64s(table)
    total: int64_t = len(keys)
    mask: uint64_t = 0xFFFFFFFF
    word: uint64_t
    found: uint64_t
    row: int64_t
    i: int64_t
    check_table(rows, table)
    with cython.nogil:
        for i in range(total):
            word = mix_word(source[i])
            for row in range(rows.depth):
                found = cython.cast(uint64_t, hashes[row].low * (word & mask) + hashes[row].high * (word >> 32))
                found = cython.cast(uint64_t, found + hashes[row].shift) >> 32
                counts[hashes[row].first + ((found * hashes[row].width) >> 32)] += 1


@cython.cfunc
@cython.exceptval(-1, check=False)
def check_table(rows: RowHashes, table: object) -> cython.int:
    """Refuse a table of another size."""
    if len(table) != rows.cells:
        raise ValueError(f"table: expected {rows.cells} cells, got {len(table)}")
    return 0
