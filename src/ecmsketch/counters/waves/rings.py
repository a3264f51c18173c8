"""The rings of deterministic waves: what is kept of an arrival, and where, follows from its number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from ecmsketch.counters.contract import Ints
from ecmsketch.errors import ConfigError
from ecmsketch.kernels import kernel, trailing_zeros

MAX_RING_BYTES = 2**31
"""Most bytes of all rings together, however many levels arrivals have asked for."""


class Rings(NamedTuple):
    """State: ticks[cell, place] as offsets, and arrivals per cell. Level j has places j * ring .. (j+1) * ring - 1."""

    ticks: NDArray[Any]
    arrivals: Ints
    ring: int
    top: int


def rings_nbytes(cells: int, ring: int, top: int, dtype: type) -> int:
    """Memory of rings with so many levels."""
    return cells * (top + 2) * ring * np.dtype(dtype).itemsize


def empty_rings(cells: int, ring: int, top: int, dtype: type) -> Rings:
    """Rings without arrivals, unless they would take more than MAX_RING_BYTES."""
    size = rings_nbytes(cells, ring, top, dtype)
    if size > MAX_RING_BYTES:
        raise ConfigError(
            f"counter: deterministic waves would take {size:,} bytes for {cells:,} counters with {top + 2} levels, "
            f"at most {MAX_RING_BYTES:,} are allowed; choose a larger epsilon, a shorter window, or counter='eh'"
        )
    return Rings(np.zeros((cells, (top + 2) * ring), dtype), np.zeros(cells, np.int64), ring, top)


@kernel
def last_lost(arrivals: Any, ring: Any, top: Any) -> Any:
    """The newest number that the rings no longer reach; everything up to it has expired."""
    return max((arrivals >> top) - int64(2) * ring, int64(0)) << top


@kernel
def place_of(number: Any, ring: Any, top: Any) -> Any:
    """The place where an arrival's tick is kept."""
    level = min(trailing_zeros(number), top)
    if level == top:
        return top * ring + int64(uint64(number >> top) % uint64(int64(2) * ring))
    return level * ring + int64(uint64(number >> (level + int64(1))) % uint64(ring))


@kernel
def least_kept(arrivals: Any, level: Any, ring: Any) -> Any:
    """The least odd multiple of 2^level that is kept: `(2 (odd - ring) + 1) 2^level`, if `odd` of them have come."""
    odd = ((arrivals >> level) + int64(1)) >> int64(1)
    return (int64(2) * max(odd - ring, int64(0)) + int64(1)) << level


@kernel
def step_below(number: Any, level: Any, arrivals: Any, ring: Any) -> Any:
    """The newest kept number that is not above `number`, and its level: numbers there lie 2^level apart."""
    while True:
        if number >= least_kept(arrivals, level, ring) or number <= int64(0):
            return number, level
        level += int64(1)
        number = (number >> level) << level


@kernel
def lowest_kept(arrivals: Any, counts: Any, ring: Any) -> Any:
    """The number of the oldest of each cell's `counts` newest kept arrivals."""
    lowest = np.empty(arrivals.shape[0], np.int64)
    for cell in range(arrivals.shape[0]):
        number, level = arrivals[cell], int64(0)
        for _ in range(counts[cell] - 1):
            number, level = step_below(number - (int64(1) << level), level, arrivals[cell], int64(ring))
        lowest[cell] = number if counts[cell] > 0 else arrivals[cell] + int64(1)
    return lowest


@kernel
def restore(rings: Rings, offset: Any, end: Any) -> None:
    """Put the ends of each cell's newest buckets, oldest first, in their places."""
    ring, top = int64(rings.ring), int64(rings.top)
    for cell in range(rings.arrivals.shape[0]):
        number, level = rings.arrivals[cell], int64(0)
        for back in range(offset[cell + 1] - offset[cell]):
            rings.ticks[cell, place_of(number, ring, top)] = end[offset[cell + 1] - int64(1) - back]
            number, level = step_below(number - (int64(1) << level), level, rings.arrivals[cell], ring)
