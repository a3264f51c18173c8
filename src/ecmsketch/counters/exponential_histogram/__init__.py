"""Exponential histograms (Datar, Gionis, Indyk, Motwani), one per cell, after paper section 3.

A cell's arrivals are numbered 1, 2, 3 ... Buckets of size 2^level hold consecutive arrivals and are known
by the tick of their newest one, their end. With k = ceil(1/epsilon), level 0 keeps at least k buckets and
every other level at least ceil(k/2); a level that reaches its minimum + 2 merges its two oldest buckets.

Three facts carry this file:
- The number of arrivals alone decides which buckets exist. So a cell stores that number and the ends of
  its buckets, and no sizes; and where a bucket ends is the tick of one arrival whose number is known.
- So a batch needs no insertion one by one. Count each cell's arrivals, lay out its buckets, then walk the
  batch backwards and pick the ticks of the arrivals that end a bucket (insertion.py): the result is bit for bit
  what single arrivals would give.
- Expiry never changes the layout, nor does renumbering (numbering.py). Buckets that left the window are forgotten
  lazily from the old end, so the state depends on the arrivals only.
"""

from __future__ import annotations

from math import ceil
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters.buckets.bucket_counters import BucketCounters
from ecmsketch.counters.buckets.frozen import History
from ecmsketch.counters.buckets.straddling import Straddling
from ecmsketch.counters.contract import Ints
from ecmsketch.counters.counting import arrivals_by_cell
from ecmsketch.counters.exponential_histogram.insertion import lay_out, needed, pick, pick_weighted, repack
from ecmsketch.counters.exponential_histogram.layout import Cells, empty_cells
from ecmsketch.counters.exponential_histogram.reading import arrivals_within, bucket_counts, history, straddling
from ecmsketch.counters.offsets import moved, offset_type


class ExponentialHistograms(BucketCounters):
    """An array of exponential histograms."""

    def __init__(self, config: SketchConfig) -> None:
        super().__init__(config)
        self.k = ceil(1 / config.epsilon_sw)
        self.state = empty_cells(config.cells, offset_type(config))

    @property
    def arrivals(self) -> Ints:
        """See `BucketCounters.arrivals`."""
        return self.state.arrivals

    @property
    def live_count(self) -> int:
        """See `BucketCounters.live_count`."""
        return int(self.state.length.sum())

    def insert(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, now: int) -> None:
        """See `BucketCounters.insert`. O(1) per event and row, plus O(k log batch) per touched cell."""
        arrivals = arrivals_by_cell(cells, weights, self.config.cells)
        room, fits = needed(self.state, arrivals, self.k, now - self.config.window - self.base)
        if not fits:
            self.state = repack(self.state, room)
        layout = lay_out(self.state, arrivals, self.k)
        if weights is None:
            pick(self.state.ends, layout, cells, ticks, self.base, self.k)
        else:
            spread = int(self.config.model == "count")
            pick_weighted(self.state.ends, layout, cells, ticks, weights, spread, self.base, self.k)

    def straddling(self, cells: NDArray[np.uint32], since: Ints, limit: int) -> Straddling:
        """See `BucketCounters.straddling`. O(log buckets) per cell."""
        return straddling(self.state, cells, since, limit, self.k)

    def live_history(self) -> History:
        """See `BucketCounters.live_history`."""
        offset, end, size = history(self.state, self.k)
        return History(offset, end, size)

    def restore(self, arrivals: Ints, offset: Ints, end: Ints, most: int) -> None:
        """See `BucketCounters.restore`."""
        ends = end.astype(self.state.ends.dtype)
        self.state = Cells(ends, offset, offset[:-1].copy(), np.diff(offset), arrivals)

    def most_buckets(self, arrivals: Ints) -> Ints:
        """See `BucketCounters.most_buckets`."""
        counts: Ints = bucket_counts(arrivals, self.k)
        return counts

    def stood_for(self, arrivals: Ints, buckets: Ints) -> Ints:
        """See `BucketCounters.stood_for`."""
        held: Ints = arrivals_within(arrivals, buckets, self.k)
        return held

    def move_live(self, shift: int) -> None:
        """See `BucketCounters.move_live`."""
        self.state = self.state._replace(ends=moved(self.state.ends, shift))

    def copy_live(self, other: Self) -> None:
        """See `BucketCounters.copy_live`."""
        other.state = Cells(*(array.copy() for array in self.state))

    @property
    def live_nbytes(self) -> int:
        """See `BucketCounters.live_nbytes`."""
        return sum(array.nbytes for array in self.state)
