"""Sorting by tick: a radix sort, since ticks of a batch lie close together and need few digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.kernels.decorator import kernel


@kernel
def is_sorted(ticks: Any) -> Any:
    """Whether no tick is smaller than the one before it."""
    descents = int64(0)
    for i in range(1, ticks.shape[0]):
        descents += int64(ticks[i] < ticks[i - 1])
    return descents == int64(0)


@kernel
def sort_by_tick(ticks: Any, companions: Any) -> None:
    """Sort ticks, and int64 companions along with them: in place, stable, eleven bits at a time."""
    count = ticks.shape[0]
    if count < 2:
        return
    least = most = ticks[0]
    for i in range(count):
        least, most = min(least, ticks[i]), max(most, ticks[i])
    other_ticks = np.empty(count, np.int64)
    other_companions = np.empty(count, np.int64)
    starts = np.empty(2049, np.int64)
    shift = int64(0)
    while shift < int64(63) and (most - least) >> shift > int64(0):
        for digit in range(2049):
            starts[digit] = int64(0)
        for i in range(count):
            starts[(((ticks[i] - least) >> shift) & int64(2047)) + int64(1)] += int64(1)
        for digit in range(2048):
            starts[digit + 1] += starts[digit]
        for i in range(count):
            digit = ((ticks[i] - least) >> shift) & int64(2047)
            other_ticks[starts[digit]], other_companions[starts[digit]] = ticks[i], companions[i]
            starts[digit] += int64(1)
        for i in range(count):
            ticks[i], companions[i] = other_ticks[i], other_companions[i]
        shift += int64(11)
