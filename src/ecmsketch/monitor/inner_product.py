"""The inner product of two streams: with p, q = (a +- b)/sqrt(2), it is (|p|^2 - |q|^2)/2, row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Self

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError
from ecmsketch.monitor.centred_cells import CentredZone, centre, check_cells, scale
from ecmsketch.monitor.extreme_products import highest_least_product, highest_product, nearest
from ecmsketch.monitor.functions import Counts, Function, Sketches, Vector, Zone, table


@dataclass(frozen=True)
class InnerProduct(Function):
    """The sum over all items of their frequency in stream `a` times that in `b`.

    Vectors are 2 x rows x width: the cells of `a`, then those of `b`.

    centred=True   the mean over rows of <a_j - mean of a_j, b_j - mean of b_j> width/(width - 1): no bias by
                   collisions; where the streams share little, it may be below 0
    centred=False  min over rows of <a_j, b_j>: collisions only add to it; also for vectors that are no cells
    """

    a: str = "a"
    b: str = "b"
    centred: bool = True

    def __post_init__(self) -> None:
        if self.a == self.b or not all(isinstance(name, str) and name for name in (self.a, self.b)):
            raise ConfigError(f"InnerProduct: expected the names of two streams, got {self.a!r} and {self.b!r}")

    @property
    def streams(self) -> tuple[str, ...]:
        return self.a, self.b

    def check_config(self, sketch: SketchConfig | None) -> None:
        if self.centred:
            check_cells(self, sketch)

    def extract(self, sketches: Sketches, since: int) -> Vector:
        return np.stack([table(sketches[self.a], since), table(sketches[self.b], since)])

    def value(self, vector: Vector) -> float:
        a, b = centre(vector) if self.centred else vector
        return float((a * b).sum(axis=1).min())

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        if self.centred:
            center, radius = centre(center), scale(center) * radius
        p, q = (np.sqrt((part**2).sum(axis=1)) for part in _rotated(center))
        lowest = min(-highest_product(i, j, radius) for i, j in zip(q, p, strict=True))
        return float(lowest), float(highest_least_product(p, q, radius))

    def zone(self, reference: Vector, low: float, high: float) -> Zone:
        if self.centred:
            return CentredZone(RowSides.around(centre(reference), low, high))
        return RowSides.around(reference, low, high)

    def exact(self, counts: Counts) -> float:
        return float((counts.all(self.a) * counts.all(self.b)).sum())

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Self, float]:
        return replace(self, centred=False), (1 - epsilon_sw) ** 2 * tau


@dataclass(frozen=True)
class RowSides:
    """The product at least `low` in every row, and at most `high` in one."""

    below: list[Side]
    above: Side | None
    row: int

    @classmethod
    def around(cls, reference: Vector, low: float, high: float) -> RowSides:
        """The set around rows whose value is between `low` and `high`."""
        p, q = _rotated(reference)
        below = [Side.of(row_q, row_p, -low) for row_p, row_q in zip(p, q, strict=True)] if low > -inf else []
        if high == inf:
            return cls(below, None, 0)
        above = [Side.of(row_p, row_q, high) for row_p, row_q in zip(p, q, strict=True)]
        room = [side.room(row_p, row_q) for side, row_p, row_q in zip(above, p, q, strict=True)]
        row = int(np.argmax(room))
        return cls(below, above[row], row)

    def contains(self, vector: Vector) -> bool:
        p, q = _rotated(vector)
        if self.above is not None and self.above.room(p[self.row], q[self.row]) < 0:
            return False
        return all(side.room(row_q, row_p) >= 0 for side, row_p, row_q in zip(self.below, p, q, strict=False))


@dataclass(frozen=True)
class Side:
    """A convex set of (x, y) where (|x|^2 - |y|^2)/2 <= most; `direction` is a unit vector, or 0.

    most >= 0: |x| <= sqrt(2 most + |y|^2), and the right side is convex in y, so it is above each of its tangents;
    the set below a tangent, |x| <= height + slope (<y, direction> - point), is convex.
    most < 0: sqrt(|x|^2 - 2 most) <= <y, direction> <= |y|; the left side is convex in x.
    """

    direction: Vector
    most: float
    point: float = 0.0

    @classmethod
    def of(cls, x: Vector, y: Vector, most: float) -> Side:
        """The one around (x, y) that touches the boundary where it is nearest."""
        length = float(np.sqrt((y**2).sum()))
        direction = y / length if length else y
        if most < 0:
            return cls(direction, most)
        return cls(direction, most, nearest(float(np.sqrt((x**2).sum())), length, most))

    def room(self, x: Vector, y: Vector) -> float:
        """How much is left until the boundary; negative outside."""
        along, square = float((y * self.direction).sum()), float((x**2).sum())
        if self.most < 0:
            return along - sqrt(square - 2 * self.most)
        height = sqrt(2 * self.most + self.point**2)
        slope = self.point / height if height else 0.0
        return height + slope * (along - self.point) - sqrt(square)


def _rotated(vector: Vector) -> tuple[Vector, Vector]:
    return (vector[0] + vector[1]) / sqrt(2), (vector[0] - vector[1]) / sqrt(2)
