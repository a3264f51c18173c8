"""Buckets from the rings of deterministic waves: all of them, or the one in which a range begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.counters.buckets.straddling import UNKNOWN, Straddling
from ecmsketch.counters.waves.rings import Rings, last_lost, least_kept, place_of, step_below
from ecmsketch.kernels import kernel


@kernel
def history(rings: Rings) -> Any:
    """Every kept arrival as the end of a bucket, oldest first: (offset, end, size)."""
    cells, ring, top = rings.arrivals.shape[0], int64(rings.ring), int64(rings.top)
    end = np.empty(cells * rings.ticks.shape[1], np.int64)
    size = np.empty(cells * rings.ticks.shape[1], np.int64)
    offset = np.zeros(cells + 1, np.int64)
    filled = int64(0)
    for cell in range(cells):
        arrivals = rings.arrivals[cell]
        lost = last_lost(arrivals, ring, top)
        first = filled
        number, level = arrivals, int64(0)
        while number > lost:
            below, level_below = step_below(number - (int64(1) << level), level, arrivals, ring)
            tick = int64(rings.ticks[cell, place_of(number, ring, top)])
            if tick > int64(0):
                end[filled], size[filled] = tick, number - max(below, int64(0))
                filled += int64(1)
            number, level = below, level_below
        for i in range((filled - first) >> int64(1)):
            a, b = first + i, filled - int64(1) - i
            end[a], end[b] = end[b], end[a]
            size[a], size[b] = size[b], size[a]
        offset[cell + 1] = filled
    return offset, end[:filled].copy(), size[:filled].copy()


@kernel
def straddling(rings: Rings, cells: Any, since: Any, limit: Any) -> Straddling:
    """See `BucketCounters.straddling`. A bucket starts where the next older one ends, unless that has expired."""
    asked, ring, top = cells.shape[0], int64(rings.ring), int64(rings.top)
    found = Straddling(
        np.zeros(asked, np.int64), np.zeros(asked, np.int64), np.empty(asked, np.int64), np.zeros(asked, np.int64)
    )
    for i in range(asked):
        cell = int64(cells[i])
        arrivals, ticks = rings.arrivals[cell], rings.ticks[cell]
        found.start[i] = int64(UNKNOWN)
        lost = last_lost(arrivals, ring, top)
        oldest, level = _oldest_after(ticks, arrivals, lost, since[i], ring, top)
        if oldest == int64(0):
            continue
        below, _ = step_below(oldest - (int64(1) << level), level, arrivals, ring)
        found.newer[i] = arrivals - oldest
        found.size[i] = oldest - max(below, int64(0))
        found.end[i] = int64(ticks[place_of(oldest, ring, top)])
        if below > lost:
            start = int64(ticks[place_of(below, ring, top)])
            if start > limit:
                found.start[i] = start
    return found


@kernel
def _oldest_after(ticks: Any, arrivals: Any, lost: Any, since: Any, ring: Any, top: Any) -> Any:
    """The oldest kept number whose tick lies after `since`, and its level; 0 if there is none.

    Goes level by level towards the past, until one reaches before `since`, and searches that one by bisection.
    """
    oldest, oldest_level = int64(0), int64(0)
    number, level = arrivals, int64(0)
    while number > lost and int64(ticks[place_of(number, ring, top)]) > since:
        lowest = max(least_kept(arrivals, level, ring), lost + int64(1))
        low, high = int64(0), (number - lowest) >> level
        while low < high:
            middle = (low + high + int64(1)) >> int64(1)
            if int64(ticks[place_of(number - (middle << level), ring, top)]) > since:
                low = middle
            else:
                high = middle - int64(1)
        oldest, oldest_level = number - (low << level), level
        if oldest > lowest:
            break
        number, level = step_below(oldest - (int64(1) << level), level, arrivals, ring)
    return oldest, oldest_level
