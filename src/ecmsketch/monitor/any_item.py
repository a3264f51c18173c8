"""AnyItem and AnyShare: watch all items at once, and tell which of them are above a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError
from ecmsketch.inputs.columns import is_number
from ecmsketch.monitor.functions import Counts, Function, Sketches, Vector, arrivals, length_since
from ecmsketch.monitor.thresholds import Above

QUANTUM = 2.0**-20
"""Values and limits are multiples of this: floats add them up exactly."""


class Counted(NamedTuple):
    """How often one item came at a site, with bounds; whole numbers."""

    often: int
    lower: int
    upper: int


class ItemCounts(NamedTuple):
    """How often the items that are named at a site came there, by hash, ascending; all arrivals, and how often an item
    without a name came at most.
    """

    keys: NDArray[np.uint64]
    often: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    arrivals: int
    missed: int

    def of(self, key: int) -> Counted:
        """How often one item came; it counts as 0 if it is not named."""
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        if at == len(self.keys) or int(self.keys[at]) != key:
            return Counted(0, 0, self.missed)
        return Counted(int(self.often[at]), floor(self.lower[at]), ceil(self.upper[at]))


class ItemFunction(Function):
    """A function of every item: its count, less a share `phi` of all arrivals; it is above if that is `theta` or more.

    Sites do not add up a vector, they talk about single items (item_site.py, item_coordinator.py).
    """

    per_item = True

    @property
    def phi(self) -> float:
        """The share of all arrivals that is taken off."""
        return 0.0

    @property
    def theta(self) -> float:
        """From when on an item is above."""
        return 0.0

    @property
    def threshold(self) -> Above:
        """The threshold that the watch shows."""
        return Above(self.theta)

    def least(self) -> float:
        """What a site surely adds to any item's value."""
        return -inf if self.phi else 0.0

    def default_limit(self, sites: int) -> float:
        """Below which a site may be silent about an item that nobody has spoken of yet."""
        raise NotImplementedError

    def check_config(self, sketch: SketchConfig | None) -> None:
        if sketch is None or not sketch.heavy_hitters:
            raise ConfigError(
                f"function: {self!r} needs the names of items; give sketch=SketchConfig(..., heavy_hitters=True)"
            )

    def counts(self, sketches: Sketches, since: int) -> ItemCounts:
        """How often named items came at a site over the ticks after `since`; counts are rounded up."""
        sketch = sketches[""]
        keys, found, missed = sketch.named_counts(last=length_since(sketch, since))
        every = floor(arrivals(sketch, since)) if self.phi else 0
        return ItemCounts(keys, np.ceil(found.value), found.lower, found.upper, every, missed)

    def exact(self, counts: Counts) -> float:
        """How many items are above."""
        each = counts.all()
        return float((each - self.phi * each.sum() >= self.theta).sum())

    def extract(self, sketches: Sketches, since: int) -> Vector:
        raise self._no_vector()

    def value(self, vector: Vector) -> float:
        raise self._no_vector()

    def extrema(self, center: Vector, radius: float) -> tuple[float, float]:
        raise self._no_vector()

    def _no_vector(self) -> ConfigError:
        return ConfigError(f"function: {self!r} is watched item by item and has no vector; use Site and Coordinator")


@dataclass(frozen=True)
class AnyItem(ItemFunction):
    """Any item that came `count` times or more at all sites together: an alert names it, and another when it falls.

    Items are those that the sites' sketches name (heavy_hitters=True); docs/monitoring.md says what that leaves out.
    """

    count: float

    def __post_init__(self) -> None:
        if not is_number(self.count) or not 1 <= self.count < 2**53:
            raise ConfigError(f"count: expected a number from 1 to below 2**53, got {self.count!r}")

    @property
    def theta(self) -> float:
        return float(self.count)

    def default_limit(self, sites: int) -> float:
        return self.theta / (2 * sites)

    def no_miss(self, tau: float, epsilon_sw: float) -> tuple[Self, float]:
        raise ConfigError(
            "no_miss: an item without a name at a site may have come epsilon of its arrivals there, which no "
            "threshold makes up for; use a smaller epsilon"
        )


@dataclass(frozen=True)
class AnyShare(ItemFunction):
    """Any item with this share or more of the arrivals at all sites together.

    An item has such a share if its count is above phi times all arrivals, phi being the next multiple of 2**-20 below
    the share. So values add up exactly, and no item has a share of nothing.
    """

    share: float

    def __post_init__(self) -> None:
        if not is_number(self.share) or not 1e-5 <= self.share <= 1:
            raise ConfigError(f"share: expected a share from 0.00001 to 1, got {self.share!r}")

    @property
    def phi(self) -> float:
        return (ceil(self.share / QUANTUM) - 1) * QUANTUM

    @property
    def theta(self) -> float:
        return QUANTUM

    def default_limit(self, sites: int) -> float:
        return 0.0
