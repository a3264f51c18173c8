"""What can be watched: a function of the vector that all sites' sketches add up to.

A function says which numbers it needs of a site's sketches (its vector), its value at a vector, the exact lowest and
highest value over a ball, and a convex zone of vectors whose value is admissible. docs/monitoring.md has the proofs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError
from ecmsketch.inputs.columns import is_number
from ecmsketch.sketch import EcmSketch, Item

Vector = NDArray[np.float64]
Sketches = Mapping[str, EcmSketch]


class Counts(Protocol):
    """Exact frequencies."""

    def of(self, item: Item, stream: str = "") -> float:
        """The frequency of one item."""

    def all(self, stream: str = "") -> Vector:
        """The frequencies of all items, in one order for all streams."""


class Zone(Protocol):
    """A convex set of vectors whose values are all admissible."""

    def contains(self, vector: Vector) -> bool:
        """Whether a vector lies in it."""


class Function(ABC):
    """A function of the sites' combined vector."""

    per_item: ClassVar[bool] = False
    """Whether it is watched for every item on its own (any_item.py)."""
    slope: ClassVar[float | None] = None
    """By how much its value changes at most if no entry of the vector changes by more than 1; None if not bounded."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that a site observes for it; "" if there is only one."""
        return ("",)

    @property
    def items(self) -> tuple[Item, ...]:
        """The items that it asks about, so that a monitor can check that their kind is in the stream."""
        return ()

    def check_config(self, sketch: SketchConfig | None) -> None:  # noqa: B027
        """Raise a ConfigError if it cannot be watched in such sketches, or without any (None)."""

    @abstractmethod
    def extract(self, sketches: Sketches, since: int) -> Vector:
        """What it needs of a site's sketches, over the ticks after `since`; whole numbers."""

    @abstractmethod
    def value(self, vector: Vector) -> float:
        """The function itself."""

    @abstractmethod
    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        """Its lowest and its highest value over a ball."""

    def zone(self, reference: Vector, low: float, high: float) -> Zone | None:
        """A convex set around the reference where low <= value <= high; None if none is known."""
        return None

    def exact(self, counts: Counts) -> float:
        """Its value on exact frequencies: what a perfect sketch would give."""
        raise ConfigError(f"{type(self).__name__}: its value on exact frequencies is not known")

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Function, float]:
        """A function and a threshold that its sketched value has reached if the true value of this is `tau`."""
        raise ConfigError(f"no_miss: what {type(self).__name__} of a sketch says of the true stream is not known")


@dataclass(frozen=True)
class Total(Function):
    """How many arrivals, of all items together."""

    slope: ClassVar[float] = 1.0

    def extract(self, sketches: Sketches, since: int) -> Vector:
        return np.ceil([arrivals(sketches[""], since)])

    def value(self, vector: Vector) -> float:
        return float(vector[0])

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        return float(center[0]) - radius, float(center[0]) + radius

    def zone(self, reference: Vector, low: float, high: float) -> Zone:
        return LeastRow(0.0, 0, low, high)

    def exact(self, counts: Counts) -> float:
        return float(counts.all().sum())

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Self, float]:
        return self, (1 - epsilon_sw) * tau


@dataclass(frozen=True)
class Frequency(Function):
    """How often an item came: the least of its cells, one in each row."""

    item: Item
    slope: ClassVar[float] = 1.0

    @property
    def items(self) -> tuple[Item, ...]:
        return (self.item,)

    def extract(self, sketches: Sketches, since: int) -> Vector:
        return np.ceil(_cells_of_item(sketches[""], self.item, since))

    def value(self, vector: Vector) -> float:
        return float(vector.min())

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        return float(center.min()) - radius, highest_minimum(center, radius)

    def zone(self, reference: Vector, low: float, high: float) -> Zone:
        return LeastRow(0.0, int(reference.argmin()), low, high)

    def exact(self, counts: Counts) -> float:
        return counts.of(self.item)

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Self, float]:
        return self, (1 - epsilon_sw) * tau


@dataclass(frozen=True)
class HeavyHitterShare(Function):
    """The amount by which an item's frequency exceeds a share `phi` of all arrivals; at 0 it holds just that share.

    The vector is the item's cell in each row, rounded up, and then the arrivals, rounded down.
    """

    item: Item
    phi: float

    def __post_init__(self) -> None:
        if not is_number(self.phi) or not 0 < self.phi <= 1:
            raise ConfigError(f"phi: expected a share above 0 and at most 1, got {self.phi!r}")

    @property
    def items(self) -> tuple[Item, ...]:
        return (self.item,)

    @property
    def slope(self) -> float:  # type: ignore[override]
        return 1 + self.phi

    def extract(self, sketches: Sketches, since: int) -> Vector:
        cells = np.ceil(_cells_of_item(sketches[""], self.item, since))
        return np.append(cells, np.floor(arrivals(sketches[""], since)))

    def value(self, vector: Vector) -> float:
        return float(vector[:-1].min() - self.phi * vector[-1])

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        least = self.value(center) - radius * sqrt(1 + self.phi**2)
        return least, highest_minimum(center[:-1], radius, self.phi) - self.phi * float(center[-1])

    def zone(self, reference: Vector, low: float, high: float) -> Zone:
        return LeastRow(self.phi, int(reference[:-1].argmin()), low, high)

    def exact(self, counts: Counts) -> float:
        return counts.of(self.item) - self.phi * float(counts.all().sum())

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Self, float]:
        lower = self.phi * (1 - epsilon_sw) / (1 + epsilon_sw)
        return replace(self, phi=lower), (1 - epsilon_sw) * tau


@dataclass(frozen=True)
class LeastRow:
    """low <= min over rows j of (x_j - phi * total) <= high, the upper side by one row alone: half-spaces."""

    phi: float
    row: int
    low: float
    high: float

    def contains(self, vector: Vector) -> bool:
        rows = vector[:-1] - self.phi * vector[-1] if self.phi else vector
        return bool(rows[self.row] <= self.high and rows.min() >= self.low)


def highest_minimum(levels: Vector, radius: float, phi: float = 0.0) -> float:
    """The highest that min(x) + phi * s can be, for x and s within a common radius of `levels` and 0.

    The k lowest are lifted to one level: by the Cauchy-Schwarz inequality to their mean plus
    sqrt((1/k + phi^2) (radius^2 - their spread)), s included; k is the first for which the next is no lower than that.
    """
    ordered = np.sort(levels)
    count = np.arange(1, len(ordered) + 1)
    mean = np.cumsum(ordered) / count
    for k, middle in zip(count.tolist(), mean.tolist(), strict=True):
        spread = float(((ordered[:k] - middle) ** 2).sum())
        left = sqrt(max(radius**2 - spread, 0.0))
        gain = sqrt(1 / k + phi**2)
        if k == len(ordered) or middle + left / (k * gain) <= ordered[k]:
            return float(middle + gain * left)
    raise AssertionError("levels: expected at least one")


def arrivals(sketch: EcmSketch, since: int) -> float:
    """All arrivals over the ticks after `since`."""
    return sketch.total(last=length_since(sketch, since)).value


def _cells_of_item(sketch: EcmSketch, item: Item, since: int) -> Vector:
    return sketch.cells(item, last=length_since(sketch, since)).value


def table(sketch: EcmSketch, since: int) -> Vector:
    """Every cell over the ticks after `since`, rounded up, as depth x width."""
    return np.ceil(sketch.table(last=length_since(sketch, since)).value)


def length_since(sketch: EcmSketch, since: int) -> int:
    """How many ticks lie between `since` and the sketch's clock, which may still be before it."""
    return 0 if sketch.now is None else max(sketch.now - since, 0)
