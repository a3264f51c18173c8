"""The self-join size: a quadratic function of the sketch's cells, with its extremes over balls and its safe zone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Self

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.monitor.centred_cells import CentredZone, centre, check_cells, scale
from ecmsketch.monitor.functions import Counts, Function, Sketches, Vector, Zone, highest_minimum, table


@dataclass(frozen=True)
class SelfJoin(Function):
    """The sum over all items of their squared frequency.

    centred=True   the mean over rows of |x_j - mean of x_j|^2 width/(width - 1): no bias by collisions
    centred=False  min over rows of |x_j|^2: collisions only add to it, about (arrivals^2 - the truth)/width
    """

    centred: bool = True

    def check_config(self, sketch: SketchConfig | None) -> None:
        if self.centred:
            check_cells(self, sketch)

    def extract(self, sketches: Sketches, since: int) -> Vector:
        return table(sketches[""], since)

    def value(self, vector: Vector) -> float:
        rows = centre(vector) if self.centred else vector
        return float((rows**2).sum(axis=1).min())

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        if self.centred:
            center, radius = centre(center), scale(center) * radius
        norms = np.sqrt((center**2).sum(axis=1))
        return max(float(norms.min()) - radius, 0.0) ** 2, highest_minimum(norms, radius) ** 2

    def zone(self, reference: Vector, low: float, high: float) -> Zone | None:
        if not self.centred:
            return RowBall.around(reference, low, high)
        zone = RowBall.around(centre(reference), low, high)
        return None if zone is None else CentredZone(zone)

    def exact(self, counts: Counts) -> float:
        return float((counts.all() ** 2).sum())

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Self, float]:
        return replace(self, centred=False), (1 - epsilon_sw) ** 2 * tau


@dataclass(frozen=True)
class RowBall:
    """|x_row|^2 <= high, a ball; and with low > 0, for every row, <x_j, direction_j> >= sqrt(low), half-spaces.

    Where a unit vector's product with x_j is at least sqrt(low), so is |x_j|.
    """

    row: int
    directions: Vector | None
    low: float
    high: float

    @classmethod
    def around(cls, reference: Vector, low: float, high: float) -> RowBall | None:
        """The one around rows whose value is between `low` and `high`; None if there is none."""
        squares = (reference**2).sum(axis=1)
        if high < 0 or (low > 0 and squares.min() == 0):
            return None
        directions = reference / np.sqrt(squares)[:, None] if low > 0 else None
        return cls(int(squares.argmin()), directions, low, high)

    def contains(self, vector: Vector) -> bool:
        if (vector[self.row] ** 2).sum() > self.high:
            return False
        return self.directions is None or bool((vector * self.directions).sum(axis=1).min() >= sqrt(self.low))
