"""What collisions are expected to add to an item's count, from a table itself.

Take an item out of the table. Its cells are then uniform, one in each row, so the least of its collisions is t or more
with probability prod over rows of (cells with t or more)/width. The sum of that over t = 1, 2, ... is what the least
collision is expected to be (docs/guarantees.md).
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


@kernel
def expected_collisions(table: Any, blocks: Any) -> Any:
    """What the least collision is expected to be, for each block of a table."""
    found = np.zeros(blocks.first.shape[0])
    for block in range(blocks.first.shape[0]):
        if not blocks.exact[block]:
            rows, width = blocks.rows[block], blocks.width[block]
            end = blocks.first[block] + rows * width
            cells = table[blocks.first[block] : end].copy().reshape((rows, width))
            found[block] = _expected_least(cells)
    return found


@kernel
def _expected_least(cells: Any) -> Any:
    """The sum over t >= 1 of the product over rows of the share of cells that are t or more."""
    rows, width = cells.shape
    for row in range(rows):
        cells[row] = np.sort(cells[row])
    below = np.zeros(rows, np.int64)  # cells of each row that are less than t
    level, expected = float64(0), 0.0
    while True:
        share, following = 1.0, float64(np.inf)
        for row in range(rows):
            while below[row] < width and float64(cells[row, below[row]]) <= level:
                below[row] += int64(1)
            if below[row] == width:
                return expected
            share *= float64(width - below[row]) / float64(width)
            following = min(following, float64(cells[row, below[row]]))
        expected += share * (following - level)
        level = following
