"""Deterministic waves (Gibbons, Tirthapura), one per cell: O(1) worst-case update.

A cell's arrivals are numbered 1, 2, 3 ... Level j keeps the ticks of the newest `ring` arrivals whose number is an
odd multiple of 2^j, in a ring; the top level keeps all multiples of 2^top, in a ring twice as long. So an arrival
is one write, at a place that its number alone decides, and no numbers are stored.

Kept arrivals are ends of buckets, as everywhere. With ring >= (1/epsilon + 1) / 2 a bucket of size C, with S newer
arrivals, has C / 2 <= epsilon (S + 1): the middle of a bucket of size 2^j is not kept, so `ring` newer odd
multiples of 2^(j-1) are, and S >= (ring - 1/2) 2^j.

A weight v counts as v arrivals on one tick. It costs at most min(v, places of a cell) writes: still bounded,
whatever came before, but not O(1). Storing totals and weights with each entry would make it O(1), at three to
five times the memory (docs/decisions/006-deterministic-wave.md).

The rings cover a number of arrivals that doubles with each level. Before arrivals inside the window would be
overwritten, all cells get another level: `max_arrivals` only says with how many levels to begin, so that none
needs to be added while arrivals come (default: the least, about 1/epsilon arrivals).
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.budget import wave_ring, wave_top
from ecmsketch.counters.buckets.bucket_counters import BucketCounters
from ecmsketch.counters.buckets.frozen import History
from ecmsketch.counters.buckets.straddling import Straddling
from ecmsketch.counters.contract import Ints
from ecmsketch.counters.counting import arrivals_by_cell
from ecmsketch.counters.numbering import reach_two_cycles, renumber
from ecmsketch.counters.offsets import moved, offset_type
from ecmsketch.counters.waves.ring_reading import history, straddling
from ecmsketch.counters.waves.ring_writing import all_expired, losses, push, push_weighted
from ecmsketch.counters.waves.rings import empty_rings, lowest_kept, restore, rings_nbytes
from ecmsketch.errors import ConfigError


class DeterministicWaves(BucketCounters):
    """An array of deterministic waves."""

    def __init__(self, config: SketchConfig) -> None:
        super().__init__(config)
        ring = wave_ring(config.epsilon_sw)
        top = wave_top(ring, config.max_arrivals or 0)
        self.rings = empty_rings(config.cells, ring, top, offset_type(config))

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

    def renumber(self) -> None:
        """See `BucketCounters.renumber`. A place depends on the whole number, so ticks move to the new places."""
        if reach_two_cycles(self.rings.arrivals):
            offset, end, _ = history(self.rings)
            renumber(self.rings.arrivals)
            restore(self.rings, offset, end)

    def straddling(self, cells: NDArray[np.uint32], since: Ints, limit: int) -> Straddling:
        """See `BucketCounters.straddling`. O(levels) per cell."""
        return straddling(self.rings, cells, since, limit)

    def live_history(self) -> History:
        """See `BucketCounters.live_history`."""
        offset, end, size = history(self.rings)
        return History(offset, end, size)

    def restore(self, arrivals: Ints, offset: Ints, end: Ints, most: int) -> None:
        """See `BucketCounters.restore`."""
        ring, top, dtype = self.rings.ring, self.rings.top, self.rings.ticks.dtype
        lowest = lowest_kept(arrivals, np.diff(offset), ring)
        while bool((lowest <= np.maximum((arrivals >> top) - 2 * ring, 0) << top).any()):
            top += 1
        if top > self.rings.top and (size := rings_nbytes(len(arrivals), ring, top, dtype.type)) > most:
            raise ConfigError(
                f"deterministic waves take {size:,} bytes of memory for these arrivals, and {most:,} are allowed; "
                "give a larger max_nbytes if you trust these bytes"
            )
        self.rings = empty_rings(len(arrivals), ring, top, dtype.type)._replace(arrivals=arrivals)
        restore(self.rings, offset, end)

    def most_buckets(self, arrivals: Ints) -> Ints:
        """See `BucketCounters.most_buckets`."""
        levels = np.arange(60)[:, None]
        kept = np.minimum(((arrivals >> levels) + 1) >> 1, self.rings.ring)
        total: Ints = kept.sum(axis=0)
        return total

    def stood_for(self, arrivals: Ints, buckets: Ints) -> Ints:
        """See `BucketCounters.stood_for`."""
        held: Ints = arrivals + 1 - lowest_kept(arrivals, buckets, self.rings.ring)
        return held

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
        lost, unsure = losses(self.rings, coming, limit - self.base)
        if not unsure.any():
            return not bool(lost)
        if lost:
            return False
        explicit = np.ones(len(ticks), np.int64) if weights is None else weights
        spread = int(self.config.model == "count")
        return bool(all_expired(cells, ticks, explicit, unsure, spread, limit))

    def _add_level(self) -> None:
        old = self.rings
        wider = empty_rings(len(old.arrivals), old.ring, old.top + 1, old.ticks.dtype.type)
        offset, end, _ = history(old)
        self.rings = wider._replace(arrivals=old.arrivals)
        restore(self.rings, offset, end)
