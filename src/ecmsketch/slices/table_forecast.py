"""What a slice's table probably holds, judged by the slices before it. Bytes then hold only what is different.

Streams change slowly, so the cells of two slices are alike as a rule. The forecast for a slice is the sum of the tables
before it, each counted half as much as the one after it, and scaled to the slice's own arrivals. A difference d is
written as 2d if d >= 0 and as -2d - 1 otherwise, which is never negative. If that does not make the table's numbers
smaller on the whole, the table itself is written. Readers check the choice, so a table has one encoding.

All of this is done in IEEE doubles without fused operations, so every machine makes the same forecast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64

from ecmsketch.kernels import kernel

_MOST_ARRIVALS = 2**50
"""A slice with more has no forecast: its differences might not fit the code of tables."""


@kernel
def no_past(cells: Any) -> Any:
    """What is known before the first slice: no counts, and (last) no arrivals."""
    return np.zeros(cells + int64(1), np.float64)


@kernel
def differs_little(table: Any, arrivals: Any, past: Any) -> Any:
    """Whether the differences are written instead of the table: if they are smaller than its cells on the whole."""
    cells = table.shape[0]
    if past[cells] == float64(0) or arrivals > int64(_MOST_ARRIVALS):
        return False
    scale = float64(arrivals) / past[cells]
    counted, off = int64(0), int64(0)
    for j in range(cells):
        counted += table[j]
        off += abs(table[j] - _expected(past[j], scale))
    return int64(2) * off < counted


@kernel
def take_differences(table: Any, arrivals: Any, past: Any) -> Any:
    """The differences between a table and its forecast, as numbers that are not negative."""
    cells = table.shape[0]
    scale = float64(arrivals) / past[cells]
    out = np.empty(cells, np.int64)
    for j in range(cells):
        difference = table[j] - _expected(past[j], scale)
        out[j] = int64(2) * difference if difference >= 0 else int64(-2) * difference - int64(1)
    return out


@kernel
def add_differences(differences: Any, arrivals: Any, past: Any, table: Any) -> Any:
    """Make a table from its differences. False if a cell would be negative, or if there can be no forecast."""
    cells = table.shape[0]
    if past[cells] == float64(0) or arrivals > int64(_MOST_ARRIVALS):
        return False
    scale = float64(arrivals) / past[cells]
    for j in range(cells):
        half = differences[j] >> int64(1)
        difference = half if differences[j] & int64(1) == int64(0) else -half - int64(1)
        table[j] = _expected(past[j], scale) + difference
        if table[j] < 0:
            return False
    return True


@kernel
def learn(table: Any, arrivals: Any, past: Any) -> None:
    """Count a table twice as much as the ones before it, each of which counts twice as much as the one before it."""
    cells = table.shape[0]
    for j in range(cells):
        past[j] = past[j] * float64(0.5) + float64(table[j])
    past[cells] = past[cells] * float64(0.5) + float64(arrivals)


@kernel
def _expected(counted: Any, scale: Any) -> Any:
    return int64(np.floor(counted * scale + float64(0.5)))
