"""Arrivals into the rings of deterministic waves, and which arrivals they overwrite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64

from ecmsketch.counters.waves.rings import Rings, last_lost, place_of
from ecmsketch.kernels import kernel


@kernel
def push(rings: Rings, cells: Any, ticks: Any, base: Any) -> None:
    """Count events of weight one, in order: for each, one number is counted and one tick written."""
    kept, arrivals, ring, top = rings.ticks.ravel(), rings.arrivals, int64(rings.ring), int64(rings.top)
    places = uint64(rings.ticks.shape[1])
    for row in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            cell = cells[row, i]
            number = arrivals[cell] + int64(1)
            arrivals[cell] = number
            kept[uint64(cell) * places + uint64(place_of(number, ring, top))] = max(ticks[i] - base, int64(0))


@kernel
def push_weighted(rings: Rings, cells: Any, ticks: Any, weights: Any, spread: Any, base: Any) -> None:
    """Count events that stand for `weight` arrivals: on one tick, or (spread=1) on as many ticks."""
    ring, top = int64(rings.ring), int64(rings.top)
    for row in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            cell = cells[row, i]
            before = rings.arrivals[cell]
            after = before + weights[i]
            rings.arrivals[cell] = after
            for level in range(top + int64(1)):
                step = int64(1) << level if level == top else int64(2) << level
                length = int64(2) * ring if level == top else ring
                first = int64(0) if level == top else int64(1) << level
                newest = after - ((after - first) & (step - int64(1)))
                number = max(newest - step * (length - int64(1)), first)
                if number <= before:
                    number += ((before - number) // step + int64(1)) * step
                while number <= newest:
                    tick = ticks[i] - spread * (after - number) - base
                    rings.ticks[cell, place_of(number, ring, top)] = max(tick, int64(0))
                    number += step


@kernel
def losses(rings: Rings, coming: Any, limit: Any) -> Any:
    """What gets lost if coming[cell] arrivals come: whether an old one inside the window does, and how many of the
    coming ones of each cell do.
    """
    ring, top = int64(rings.ring), int64(rings.top)
    itself = np.zeros(coming.shape[0], np.int64)
    lost_old = False
    for cell in range(coming.shape[0]):
        before = rings.arrivals[cell]
        lost = last_lost(before + coming[cell], ring, top)
        if lost > before:
            itself[cell] = lost - before
        elif lost > last_lost(before, ring, top):
            lost_old = lost_old or int64(rings.ticks[cell, place_of(lost, ring, top)]) > limit
    return lost_old, itself


@kernel
def all_expired(cells: Any, ticks: Any, weights: Any, counts: Any, spread: Any, limit: Any) -> Any:
    """Whether the first counts[cell] arrivals of a batch have all expired at `limit`; uses `counts` up."""
    for row in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            left = counts[cells[row, i]]
            if left > int64(0):
                tick = ticks[i] if left >= weights[i] else ticks[i] - spread * (weights[i] - left)
                if tick > limit:
                    return False
                counts[cells[row, i]] = left - weights[i]
    return True
