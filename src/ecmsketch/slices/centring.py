"""What collisions are expected to add to an item's count, and how much they add at most, from a table itself.

Take an item out of the table. Its cells are then uniform, one in each row, so the least of its collisions is t or more
with probability S(t) = prod over rows of (cells with t or more)/width. The sum of S(t) over t = 1, 2, ... is what the
least collision is expected to be. The least t with S(t + 1) <= delta is what it exceeds with probability delta at most
(docs/guarantees.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel


class Blocks(NamedTuple):
    """The Count-Min tables that a sketch's cells consist of: one, or one for each level of prefixes."""

    first: NDArray[np.int64]
    """The first cell of each."""
    rows: NDArray[np.int64]
    width: NDArray[np.int64]
    exact: NDArray[np.int64]
    """1 if each item has a cell of its own, so that nothing collides."""


_SMALL = 1024
"""Cells below this are counted by their value; larger ones, of which most tables have few, are sorted."""


@kernel
def expected_collisions(table: Any, blocks: Any) -> Any:
    """What the least collision is expected to be, for each block of a table."""
    found = np.zeros(blocks.first.shape[0])
    for block in range(blocks.first.shape[0]):
        if not blocks.exact[block]:
            first, width = blocks.first[block], blocks.width[block]
            found[block] = expected_least(table, first, blocks.rows[block], width)
    return found


@kernel
def expected_least(table: Any, first: Any, rows: Any, width: Any) -> Any:
    """The sum over t >= 1 of the product over rows of the share of cells that are t or more."""
    most = int64(_largest(table[first : first + rows * width]))
    values = min(most, int64(_SMALL)) + int64(1)
    below = np.zeros((rows, values), np.int64)  # cells of each value, then: cells below it
    large = np.zeros(rows, np.int64)
    for row in range(rows):
        for j in range(first + row * width, first + (row + 1) * width):
            below[row, min(int64(table[j]), int64(_SMALL))] += int64(1)
        if most >= int64(_SMALL):
            large[row] = below[row, _SMALL]
    share, expected, part = np.ones(values), 0.0, 1.0 / float64(width)
    for row in range(rows):
        left = width
        for t in range(1, values):
            left -= below[row, t - 1]
            share[t] *= float64(left) * part
    for t in range(1, values):
        expected += share[t]
    if most > int64(_SMALL) and share[_SMALL] > 0.0:
        expected += _expected_beyond(table, first, rows, width, large)
    return expected


@kernel
def _largest(cells: Any) -> Any:
    largest = cells[0]
    for j in range(cells.shape[0]):
        largest = max(largest, cells[j])
    return largest


@kernel
def likely_collision(table: Any, blocks: Any, block: Any, delta: Any) -> Any:
    """What the least collision in a block of a table exceeds with probability `delta` at most."""
    first, rows, width = blocks.first[block], blocks.rows[block], blocks.width[block]
    kind = table.dtype.type
    low, high = int64(0), int64(_largest(table[first : first + rows * width]))
    while low < high:  # S(low) > delta, and S(high + 1) <= delta
        middle = (low + high + int64(1)) // int64(2)
        share = 1.0
        for row in range(rows):
            cells = table[first + row * width : first + (row + int64(1)) * width]
            reached, least = int64(0), kind(middle)
            for j in range(cells.shape[0]):
                reached += int64(1) if cells[j] >= least else int64(0)
            share *= float64(reached) / float64(width)
        if share > delta:
            low = middle
        else:
            high = middle - int64(1)
    return low


@kernel
def _expected_beyond(table: Any, first: Any, rows: Any, width: Any, large: Any) -> Any:
    """The part of the sum with t above the small values, from the `large` cells of each row, sorted."""
    cells = np.zeros((rows, large.max()))
    for row in range(rows):
        at = int64(0)
        for j in range(first + row * width, first + (row + 1) * width):
            if int64(table[j]) >= int64(_SMALL):
                cells[row, at] = float64(table[j])
                at += int64(1)
        cells[row, :at] = np.sort(cells[row, :at])
    below = np.zeros(rows, np.int64)
    level, expected = float64(_SMALL), 0.0
    while True:
        share, following = 1.0, float64(np.inf)
        for row in range(rows):
            while below[row] < large[row] and cells[row, below[row]] <= level:
                below[row] += int64(1)
            if below[row] == large[row]:
                return expected
            share *= float64(large[row] - below[row]) / float64(width)
            following = min(following, cells[row, below[row]])
        expected += share * (following - level)
        level = following
