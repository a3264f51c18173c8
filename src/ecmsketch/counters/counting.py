"""Counting how many arrivals come to each cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.counters.contract import Ints
from ecmsketch.kernels import kernel


def arrivals_by_cell(cells: NDArray[np.uint32], weights: Ints | None, count_of_cells: int) -> Ints:
    """The sum of weights (None: all one) that go to each cell."""
    arrivals = np.zeros(count_of_cells, np.int64)
    if weights is None:
        count(cells, arrivals)
    else:
        count_weighted(cells, weights, arrivals)
    return arrivals


@kernel
def count(cells: Any, arrivals: Any) -> None:
    """Add each cell's number of events to `arrivals`."""
    for row in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            arrivals[cells[row, i]] += int64(1)


@kernel
def count_weighted(cells: Any, weights: Any, arrivals: Any) -> None:
    """Add each cell's weights to `arrivals`."""
    for row in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            arrivals[cells[row, i]] += weights[i]
