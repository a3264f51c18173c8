"""Adding up many tables of one slice, as merging makes them: first in cells of a byte, which are added quickest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint8

from ecmsketch.kernels import kernel
from ecmsketch.slices.table_planes import add_entries
from ecmsketch.slices.table_pool import NEXT, PLANE, PLANES, TABLE

_MOST_ROWS = 85
"""So many numbers of two bits never add up to more than a byte holds."""


@kernel
def add_tables(work: Any, slot: Any, table: Any) -> None:
    """Add all tables of a slice to a table of whole numbers."""
    sums = np.empty(int64(4) * work.pool.shape[1], np.uint8)
    for plane in range(_add_entries(work, slot, table)):
        number, rows = work.facts[slot, TABLE], int64(0)
        while number >= 0:
            if plane < int64(work.where[number, PLANES]):
                if rows == 0:
                    sums[:] = uint8(0)
                _add_row(work.pool[work.where[number, PLANE + plane]], sums)
                rows += int64(1)
            number = int64(work.where[number, NEXT])
            if rows == int64(_MOST_ROWS) or (rows and number < 0):
                _add_sums(sums, plane, table)
                rows = int64(0)


@kernel
def _add_entries(work: Any, slot: Any, table: Any) -> Any:
    """Add the overflow entries of the tables of a slice; returns the most planes that one of them has."""
    most, number = int64(0), work.facts[slot, TABLE]
    while number >= 0:
        most = max(most, int64(work.where[number, PLANES]))
        add_entries(work, number, table)
        number = int64(work.where[number, NEXT])
    return most


@kernel
def _add_row(row: Any, sums: Any) -> None:
    """Add one plane of a table to the sums of all its cells."""
    for part in range(4):
        cells, bits = sums[part * row.shape[0] : (part + 1) * row.shape[0]], uint8(2 * part)
        for j in range(cells.shape[0]):
            cells[j] += (row[j] >> bits) & uint8(3)


@kernel
def _add_sums(sums: Any, plane: Any, table: Any) -> None:
    """Add the sums of a plane to a table, whose last cells may be missing in it, or the other way round."""
    kind = table.dtype.type
    shift, count = kind(2 * plane), min(table.shape[0], sums.shape[0])
    cells, others = table[:count], sums[:count]
    for j in range(count):
        cells[j] += kind(others[j]) << shift
