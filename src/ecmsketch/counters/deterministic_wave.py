"""Deterministic waves (Gibbons, Tirthapura), one per cell: O(1) worst-case update.

A cell's arrivals are numbered 1, 2, 3 ... Level j keeps the ticks of the newest `ring` arrivals whose number is an
odd multiple of 2^j, in a ring; the top level keeps all multiples of 2^top, in a ring twice as long. So an arrival
is one write, at a place that its number alone decides, and no numbers are stored.

Kept arrivals are ends of buckets, as everywhere. With ring >= (1/epsilon + 1) / 2 a bucket of size C, with S newer
arrivals, has C / 2 <= epsilon (S + 1): the middle of a bucket of size 2^j is not kept, so `ring` newer odd
multiples of 2^(j-1) are, and S >= (ring - 1/2) 2^j. Rings are powers of two, so that places need no division.

A weight v counts as v arrivals on one tick. It costs at most min(v, places of a cell) writes: still bounded,
whatever came before, but not O(1). Storing totals and weights with each entry would make it O(1), at three to
five times the memory (docs/decisions/006-deterministic-wave.md).

The rings cover a number of arrivals that doubles with each level. Before arrivals inside the window would be
overwritten, all cells get another level: `max_arrivals` only says with how many levels to begin, so that none
needs to be added while arrivals come (default: the least, about 1/epsilon arrivals).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from ecmsketch.budget import wave_ring, wave_top
from ecmsketch.config import SketchConfig
from ecmsketch.counters.buckets import BucketCounters
from ecmsketch.counters.contract import Ints
from ecmsketch.counters.counting import arrivals_by_cell
from ecmsketch.counters.frozen import History
from ecmsketch.counters.offsets import moved, offset_type
from ecmsketch.counters.straddling import UNKNOWN, Straddling
from ecmsketch.errors import ConfigError
from ecmsketch.kernels import kernel, trailing_zeros

MAX_BYTES = 2**31
"""Of all rings together, however many levels arrivals have asked for."""


class Rings(NamedTuple):
    """State: ticks[cell, place] as offsets, and arrivals per cell. Level j has places j * ring .. (j+1) * ring - 1."""

    ticks: NDArray[Any]
    arrivals: Ints
    ring: int
    top: int


class DeterministicWaves(BucketCounters):
    """An array of deterministic waves."""

    def __init__(self, config: SketchConfig) -> None:
        super().__init__(config)
        ring = wave_ring(config.epsilon_sw)
        top = wave_top(ring, config.max_arrivals or 0)
        self.rings = _empty_rings(config.cells, ring, top, offset_type(config))

    @property
    def arrivals(self) -> Ints:
        """See `BucketCounters.arrivals`."""
        return self.rings.arrivals

    @property
    def live_count(self) -> int:
        """See `BucketCounters.live_count`."""
        return len(self.live_history().end)

    def insert(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, now: int) -> None:
        """See `BucketCounters.insert`. O(1) worst case per arrival and row."""
        coming = arrivals_by_cell(cells, weights, self.config.cells)
        limit = now - self.config.window
        while not self._covers(cells, ticks, weights, coming, limit):
            self._add_level()
        if weights is None:
            push(self.rings, cells, ticks, self.base)
        else:
            spread = int(self.config.model == "count")
            push_weighted(self.rings, cells, ticks, weights, spread, self.base)

    def straddling(self, cells: NDArray[np.uint32], since: Ints, limit: int) -> Straddling:
        """See `BucketCounters.straddling`. O(levels) per cell."""
        return _straddling(self.rings, cells, since, limit)

    def live_history(self) -> History:
        """See `BucketCounters.live_history`."""
        offset, end, size = _history(self.rings)
        return History(offset, end, size)

    def restore(self, arrivals: Ints, offset: Ints, end: Ints) -> None:
        """See `BucketCounters.restore`."""
        ring, top, dtype = self.rings.ring, self.rings.top, self.rings.ticks.dtype
        lowest = lowest_kept(arrivals, np.diff(offset), ring)
        while bool((lowest <= np.maximum((arrivals >> top) - 2 * ring, 0) << top).any()):
            top += 1
        self.rings = _empty_rings(len(arrivals), ring, top, dtype.type)._replace(arrivals=arrivals)
        _restore(self.rings, offset, end)

    def most_buckets(self, arrivals: Ints) -> Ints:
        """See `BucketCounters.most_buckets`."""
        levels = np.arange(54)[:, None]
        kept = np.minimum(((arrivals >> levels) + 1) >> 1, self.rings.ring)
        total: Ints = kept.sum(axis=0)
        return total

    def move_live(self, shift: int) -> None:
        """See `BucketCounters.move_live`."""
        self.rings = self.rings._replace(ticks=moved(self.rings.ticks, shift))

    def copy_live(self, other: Self) -> None:
        """See `BucketCounters.copy_live`."""
        other.rings = self.rings._replace(ticks=self.rings.ticks.copy(), arrivals=self.rings.arrivals.copy())

    @property
    def live_nbytes(self) -> int:
        """See `BucketCounters.live_nbytes`."""
        return self.rings.ticks.nbytes + self.rings.arrivals.nbytes

    def _covers(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, coming: Ints, limit: int) -> bool:
        """Whether only arrivals that expired at `limit` get overwritten by a batch."""
        lost, unsure = _losses(self.rings, coming, limit - self.base)
        if not unsure.any():
            return not bool(lost)
        if lost:
            return False
        explicit = np.ones(len(ticks), np.int64) if weights is None else weights
        spread = int(self.config.model == "count")
        return bool(_all_expired(cells, ticks, explicit, unsure, spread, limit))

    def _add_level(self) -> None:
        old = self.rings
        wider = _empty_rings(len(old.arrivals), old.ring, old.top + 1, old.ticks.dtype.type)
        offset, end, _ = _history(old)
        self.rings = wider._replace(arrivals=old.arrivals)
        _restore(self.rings, offset, end)


def _empty_rings(cells: int, ring: int, top: int, dtype: type) -> Rings:
    size = cells * (top + 2) * ring * np.dtype(dtype).itemsize
    if size > MAX_BYTES:
        raise ConfigError(
            f"counter: deterministic waves would take {size:,} bytes for {cells:,} counters with {top + 2} levels, "
            f"at most {MAX_BYTES:,} are allowed; choose a larger epsilon, a shorter window, or counter='eh'"
        )
    return Rings(np.zeros((cells, (top + 2) * ring), dtype), np.zeros(cells, np.int64), ring, top)


@kernel
def last_lost(arrivals: Any, ring: Any, top: Any) -> Any:
    """The newest number that the rings no longer reach; everything up to it has expired."""
    return max((arrivals >> top) - int64(2) * ring, int64(0)) << top


@kernel
def place_of(number: Any, ring: Any, top: Any) -> Any:
    """Where an arrival's tick is kept."""
    level = min(trailing_zeros(number), top)
    if level == top:
        return top * ring + ((number >> top) & (int64(2) * ring - int64(1)))
    return level * ring + ((number >> (level + int64(1))) & (ring - int64(1)))


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
def _losses(rings: Rings, coming: Any, limit: Any) -> Any:
    """If that many arrivals come to each cell: whether an old one still in the window gets lost, and per cell how many
    of the coming ones do themselves.
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
def _all_expired(cells: Any, ticks: Any, weights: Any, counts: Any, spread: Any, limit: Any) -> Any:
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


@kernel
def step_below(number: Any, level: Any, arrivals: Any, ring: Any) -> Any:
    """The newest kept number that is not above `number`, and its level: numbers there lie 2^level apart.

    Odd multiples of 2^level are kept from `(2 (odd - ring) + 1) 2^level` on, `odd` being how many there are.
    """
    while True:
        odd = ((arrivals >> level) + int64(1)) >> int64(1)
        least = (int64(2) * max(odd - ring, int64(0)) + int64(1)) << level
        if number >= least or number <= int64(0):
            return number, level
        level += int64(1)
        number = (number >> level) << level


@kernel
def _history(rings: Rings) -> Any:
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
def _straddling(rings: Rings, cells: Any, since: Any, limit: Any) -> Straddling:
    """Level by level towards the past, until one reaches before `since`; there by bisection."""
    asked, ring, top = cells.shape[0], int64(rings.ring), int64(rings.top)
    found = Straddling(
        np.zeros(asked, np.int64), np.zeros(asked, np.int64), np.empty(asked, np.int64), np.zeros(asked, np.int64)
    )
    for i in range(asked):
        cell = int64(cells[i])
        arrivals, ticks = rings.arrivals[cell], rings.ticks[cell]
        found.start[i] = int64(UNKNOWN)
        lost = last_lost(arrivals, ring, top)
        best, best_level = int64(0), int64(0)
        number, level = arrivals, int64(0)
        while number > lost:
            odd = ((arrivals >> level) + int64(1)) >> int64(1)
            least = (int64(2) * max(odd - ring, int64(0)) + int64(1)) << level
            lowest = max(least, lost + int64(1))
            low, high = int64(0), (number - lowest) >> level
            if int64(ticks[place_of(number, ring, top)]) <= since[i]:
                break
            while low < high:
                middle = (low + high + int64(1)) >> int64(1)
                if int64(ticks[place_of(number - (middle << level), ring, top)]) > since[i]:
                    low = middle
                else:
                    high = middle - int64(1)
            best, best_level = number - (low << level), level
            if best > lowest:
                break
            number, level = step_below(best - (int64(1) << level), level, arrivals, ring)
        if best == int64(0):
            continue
        below, _ = step_below(best - (int64(1) << best_level), best_level, arrivals, ring)
        found.newer[i] = arrivals - best
        found.size[i] = best - max(below, int64(0))
        found.end[i] = int64(ticks[place_of(best, ring, top)])
        if below > lost:
            start = int64(ticks[place_of(below, ring, top)])
            if start > limit:
                found.start[i] = start
    return found


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
def _restore(rings: Rings, offset: Any, end: Any) -> None:
    """Put the ends of each cell's newest buckets, oldest first, in their places."""
    ring, top = int64(rings.ring), int64(rings.top)
    for cell in range(rings.arrivals.shape[0]):
        number, level = rings.arrivals[cell], int64(0)
        for back in range(offset[cell + 1] - offset[cell]):
            rings.ticks[cell, place_of(number, ring, top)] = end[offset[cell + 1] - int64(1) - back]
            number, level = step_below(number - (int64(1) << level), level, rings.arrivals[cell], ring)
