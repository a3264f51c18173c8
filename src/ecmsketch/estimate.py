"""An answer is an object: a value, how wrong it can be, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Estimate(NamedTuple):
    """`lower <= exact <= upper` holds with probability at least `confidence`."""

    value: float
    lower: float
    upper: float
    confidence: float

    def covers(self, exact: float) -> bool:
        """Whether `exact` lies within the bounds."""
        return self.lower <= exact <= self.upper

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        value, lower, upper = (f"{number:,.1f}".removesuffix(".0") for number in self[:3])
        return f"{value} in [{lower}, {upper}] with probability {self.confidence:.3g}"


def exactly(count: float) -> Estimate:
    """An answer that is known exactly."""
    return Estimate(count, count, count, 1.0)


class HeavyHitter(NamedTuple):
    """An item that came often, and how often."""

    item: Any
    estimate: Estimate


class HeavyChange(NamedTuple):
    """An item, how often it came in two ranges, and how much more often in the newer one (less, if negative)."""

    item: Any
    change: Estimate
    newer: Estimate
    older: Estimate


@dataclass(frozen=True, eq=False)
class HeavyChanges:
    """The items whose counts changed most, and how much the count of an item without a name may have changed."""

    changes: list[HeavyChange]
    missed_rise: float
    """An item that no summary of either range names came at most this much more often in the newer one."""
    missed_fall: float

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, index: int) -> HeavyChange:
        return self.changes[index]

    def __iter__(self) -> Iterator[HeavyChange]:
        return iter(self.changes)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Many answers at once, as arrays in the order of the questions."""

    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    confidence: float

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: int) -> Estimate:
        return Estimate(float(self.value[index]), float(self.lower[index]), float(self.upper[index]), self.confidence)

    def __iter__(self) -> Iterator[Estimate]:
        return (self[index] for index in range(len(self)))

    def select(self, which: NDArray[np.int64]) -> Estimates:
        """Some of the answers."""
        return Estimates(self.value[which], self.lower[which], self.upper[which], self.confidence)


def together(answers: list[Estimate]) -> Estimates:
    """Several answers as arrays, with the confidence that holds for each of them."""
    value, lower, upper = (np.array([answer[part] for answer in answers]) for part in range(3))
    return Estimates(value, lower, upper, min((answer.confidence for answer in answers), default=1.0))


@dataclass(frozen=True, eq=False)
class Series:
    """Answers over time: entry i is about the ticks (tick[i] - step, tick[i]]."""

    tick: NDArray[np.int64]
    step: int
    estimates: Estimates

    def __len__(self) -> int:
        return len(self.tick)
