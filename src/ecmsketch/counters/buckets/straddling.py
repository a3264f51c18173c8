"""The straddling bucket, in which a range begins: only there an answer is unsure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from ecmsketch.counters.contract import Ints
from ecmsketch.kernels import kernel

UNKNOWN = -(2**62)
"""Start of the oldest bucket in the window: the one before it has expired, and may or may not still be stored."""


class Straddling(NamedTuple):
    """The straddling bucket of each cell: arrivals newer than it, its size (0: an empty range), its start and end."""

    newer: Ints
    size: Ints
    start: Ints
    end: Ints


@kernel
def first_after(ends: Any, low: Any, high: Any, since: Any) -> Any:
    """The first position in [low, high) whose end lies after `since`."""
    while low < high:
        middle = (low + high) >> int64(1)
        if int64(ends[middle]) > since:
            high = middle
        else:
            low = middle + int64(1)
    return low


@kernel
def estimate(begin: Straddling, after: Straddling, since: Any, exact: Any, epsilon: Any, half: Any) -> Any:
    """Estimate and bounds per cell. Between newer + 1 and newer + size arrivals are in the range.

    `exact` says that nothing arrived before the range. `after` is the bucket in which a range begins that starts
    after the straddling one; it is looked at only where the straddling bucket's start is unknown.
    """
    cells = begin.size.shape[0]
    value = np.empty(cells, np.float64)
    lower = np.empty(cells, np.float64)
    upper = np.empty(cells, np.float64)
    for i in range(cells):
        newer, size = begin.newer[i], begin.size[i]
        if size <= int64(1) or exact:
            value[i] = lower[i] = upper[i] = newer + size
            continue
        least, most = np.float64(newer + int64(1)), np.float64(newer + size)
        if half:
            guess = newer + size / 2.0
        else:
            guess = least + (most - least) * share_after(begin, after, i, since)
            guess = max(min(guess, least * (1.0 + epsilon)), most * (1.0 - epsilon))
        value[i], lower[i], upper[i] = guess, least, most
    return value, lower, upper


@kernel
def share_after(begin: Straddling, after: Straddling, i: Any, since: Any) -> Any:
    """How much of the straddling bucket lies after `since`, if its arrivals are spread evenly.

    A tick is a stretch of time, and so its arrivals lie half a tick before its end on average: the bucket reaches from
    start - 1/2 to end - 1/2. If its start is unknown, its arrivals are taken to be as dense as those just after it.
    """
    end = begin.end[i]
    if begin.start[i] != int64(UNKNOWN):
        return (np.float64(end - since) - 0.5) / np.float64(end - begin.start[i])
    if after.size[i] == int64(0):
        return 0.5
    between = np.float64(begin.newer[i] - after.newer[i])
    span = np.float64(after.end[i] - end) * np.float64(begin.size[i]) / between
    return min((np.float64(end - since) - 0.5) / span, 1.0)
