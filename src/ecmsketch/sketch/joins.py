"""Self-joins and inner products from tables: the median of unbiased rows, with bounds (docs/guarantees.md).

A row of exact cells says sum c^2 = F2 + collisions. Less the squared mean of its cells, and scaled by w/(w - 1), it has
no bias, and its deviation is at most F2 sqrt(2/(w - 1)). Cells are read with an error, which moves the root of a row by
at most the norm of that error.
"""

from __future__ import annotations

from math import comb, inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.counters import Reading
from ecmsketch.estimate import Estimate

Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """The rows of a table over a range, ready to be multiplied: cells less their mean, scaled by sqrt(w/(w - 1))."""

    centred: Floats
    error: Floats
    """The norm of what the cells of a row may be off, scaled likewise."""
    hard: float
    """An upper bound of the self-join that always holds."""
    width: int

    @classmethod
    def of(cls, table: Reading) -> Rows:
        """The rows of a table of depth x width."""
        width = table.value.shape[1]
        scale = sqrt(width / (width - 1)) if width > 1 else 1.0
        centred = (table.value - table.value.mean(axis=1, keepdims=True)) * scale
        off = np.maximum(table.upper - table.value, table.value - table.lower)
        hard = float((table.upper**2).sum(axis=1).min())
        return cls(centred, np.sqrt((off**2).sum(axis=1)) * scale, hard, width)

    @property
    def squares(self) -> Floats:
        """What each row says about the self-join."""
        return np.asarray((self.centred**2).sum(axis=1))


def self_join(table: Reading, arrivals: Estimate, delta: float) -> Estimate:
    """The sum of squared counts. It is never below their sum, since every arrival meets itself."""
    rows = Rows.of(table)
    lower, upper = _self_join_bounds(rows, delta)
    lower = min(max(lower, arrivals.lower), upper)
    return Estimate(_within(rows.squares, table, table, lower, upper), lower, upper, 1 - delta)


def _self_join_bounds(rows: Rows, delta: float) -> tuple[float, float]:
    spread = _spread(len(rows.error), rows.width, delta)
    if spread == inf:
        return 0.0, rows.hard
    roots = np.sqrt(rows.squares)
    low = np.maximum(roots - rows.error, 0.0) ** 2 / (1 + spread)
    high = (roots + rows.error) ** 2 / (1 - spread) if spread < 1 else np.full(len(roots), inf)
    lower, upper = _medians(low, high)
    return min(lower, rows.hard), min(upper, rows.hard)


def inner_product(one: Reading, other: Reading, delta: float) -> Estimate:
    """The sum over items of their count in one table times that in the other.

    A row's deviation is at most sqrt(2 F2(one) F2(other) / (w - 1)). Half of delta goes to the rows, and a quarter to
    an upper bound of either self-join.
    """
    ours, theirs = Rows.of(one), Rows.of(other)
    hard = float((one.upper * other.upper).sum(axis=1).min())
    found = (ours.centred * theirs.centred).sum(axis=1)
    spread = _spread(len(found), ours.width, delta / 2)
    lower, upper = 0.0, hard
    if spread < inf:
        most = _self_join_bounds(ours, delta / 4)[1] * _self_join_bounds(theirs, delta / 4)[1]
        read = np.sqrt(ours.squares) * theirs.error + ours.error * (np.sqrt(theirs.squares) + theirs.error)
        off = read + spread * sqrt(most)
        lower, upper = _medians(found - off, found + off)
        upper = min(max(upper, 0.0), hard)
        lower = min(max(lower, 0.0), upper)
    return Estimate(_within(found, one, other, lower, upper), lower, upper, 1 - delta)


def _within(rows: Floats, one: Reading, other: Reading, lower: float, upper: float) -> float:
    """The median of the rows. The least row's sum of products, for which Theorem 2 holds, is not exceeded."""
    least = float((one.value * other.value).sum(axis=1).min())
    return min(max(min(float(np.median(rows)), least), lower), upper)


def _medians(low: Floats, high: Floats) -> tuple[float, float]:
    """The median of lower bounds and that of upper bounds; of an even number, the wider ones."""
    middle = len(low) - 1
    return float(np.sort(low)[middle // 2]), float(np.sort(high)[(middle + 1) // 2])


def _spread(depth: int, width: int, delta: float) -> float:
    """How many times F2 a row is off, such that half of the rows are with probability `delta` (Chebyshev)."""
    if delta <= 0 or width < 2:
        return inf
    return sqrt(2 / (width - 1) / _row_delta(depth, delta))


def _row_delta(depth: int, delta: float) -> float:
    """The p for which at least half of `depth` rows fail with probability `delta`, if each fails with p."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        half = range((depth + 1) // 2, depth + 1)
        fails = sum(comb(depth, k) * middle**k * (1 - middle) ** (depth - k) for k in half)
        low, high = (middle, high) if fails <= delta else (low, middle)
    return max(low, 1e-300)
