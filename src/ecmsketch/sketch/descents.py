"""Descents through the tree of prefixes, many at once: to the numbers at which counts reach their targets.

Some follow values, which are made to add up to those of the prefixes above. Others follow bounds, from the left or from
the right: no number that they pass can be the one where the exact counts reach the target.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel
from ecmsketch.sketch.projection import project

Floats = NDArray[np.float64]


class Descents(NamedTuple):
    """Where some descents are. Each is at a prefix, and has passed all numbers on one side of it."""

    prefix: NDArray[np.uint64]
    target: Floats
    passed: Floats
    """The count of the numbers that were passed; with bounds, at most that."""
    reached: Floats
    """With bounds: at most so many are passed or have the prefix."""
    own: Floats
    """The count of the prefix itself; with bounds, at most that."""
    from_right: NDArray[np.bool_]

    @classmethod
    def start(cls, targets: Floats, total: float, from_right: NDArray[np.bool_] | None = None) -> Descents:
        """Descents that are at the empty prefix, which counts all arrivals."""
        count = len(targets)
        sides = np.zeros(count, np.bool_) if from_right is None else from_right
        every = np.full(count, total)
        return cls(np.zeros(count, np.uint64), targets, np.zeros(count), every, every.copy(), sides)


@kernel
def follow_values(descents: Any, digit: Any, value: Any, lower: Any, upper: Any) -> None:
    """Go on to the child where values, added up from the left, reach the target. Row i is for descent i."""
    found = np.empty(value.shape[1])
    for i in range(value.shape[0]):
        project(value[i], lower[i], upper[i], descents.own[i], found)
        at, passed, before = int64(0), descents.passed[i], descents.passed[i]
        for j in range(found.shape[0]):
            if found[j] > 0.0:
                at, before = int64(j), passed  # the last of them if rounding leaves the target out of reach
                passed += found[j]
                if passed >= descents.target[i]:
                    break
        descents.passed[i], descents.own[i] = before, found[at]
        descents.prefix[i] = (descents.prefix[i] << uint64(digit)) | uint64(at)


@kernel
def follow_bounds(descents: Any, digit: Any, lower: Any, upper: Any) -> None:
    """Go on to the first child at whose end the target may be reached. Row i is for descent i.

    In a child and its siblings before it at most their upper bounds came, and at most what the parent leaves when the
    siblings after it have their lower bounds.
    """
    fan = lower.shape[1]
    for i in range(lower.shape[0]):
        least = lower[i].sum()
        most, after, end, before, at = 0.0, least, descents.passed[i], descents.passed[i], int64(0)
        tolerance = descents.reached[i] * 2.0**-48 if descents.reached[i] < np.inf else 0.0
        for step in range(fan):
            child = fan - int64(1) - step if descents.from_right[i] else int64(step)
            if step == 0 or upper[i, child] > 0.0:  # the last of them if the target is out of reach
                at, before = child, end
            most += upper[i, child]
            after = max(after - lower[i, child], 0.0) if step < fan - int64(1) else 0.0
            end = min(descents.passed[i] + min(most, descents.own[i] - after), descents.reached[i] - after)
            if end >= descents.target[i] - tolerance:
                break
        descents.own[i] = min(upper[i, at], descents.own[i] - (least - lower[i, at]))
        descents.passed[i], descents.reached[i] = before, end
        descents.prefix[i] = (descents.prefix[i] << uint64(digit)) | uint64(at)
