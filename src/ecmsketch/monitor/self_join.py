"""The self-join size: a quadratic function of the sketch's cells, with its extremes over balls and its safe zone."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from ecmsketch.monitor.functions import Counts, Function, Sketches, Vector, Zone, highest_minimum, table


@dataclass(frozen=True)
class SelfJoin(Function):
    """The sum over all items of their squared frequency: min over rows j of |x_j|^2."""

    def extract(self, sketches: Sketches, since: int) -> Vector:
        return table(sketches[""], since)

    def value(self, vector: Vector) -> float:
        return float((vector**2).sum(axis=1).min())

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        norms = np.sqrt((center**2).sum(axis=1))
        return max(float(norms.min()) - radius, 0.0) ** 2, highest_minimum(norms, radius) ** 2

    def zone(self, reference: Vector, low: float, high: float) -> Zone | None:
        squares = (reference**2).sum(axis=1)
        if high < 0 or (low > 0 and squares.min() == 0):
            return None
        directions = reference / np.sqrt(squares)[:, None] if low > 0 else None
        return RowBall(int(squares.argmin()), directions, low, high)

    def exact(self, counts: Counts) -> float:
        return float((counts.all() ** 2).sum())

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Self, float]:
        return self, (1 - epsilon_sw) ** 2 * tau


@dataclass(frozen=True)
class RowBall:
    """|x_row|^2 <= high, a ball; and with low > 0, for every row, <x_j, direction_j> >= sqrt(low), half-spaces.

    Where a unit vector's product with x_j is at least sqrt(low), so is |x_j|.
    """

    row: int
    directions: Vector | None
    low: float
    high: float

    def contains(self, vector: Vector) -> bool:
        if (vector[self.row] ** 2).sum() > self.high:
            return False
        return self.directions is None or bool((vector * self.directions).sum(axis=1).min() >= sqrt(self.low))
