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
- Expiry never changes the layout. Buckets that left the window are forgotten lazily from the old end,
  so the state depends on the arrivals only.

Concatenated segments lie below this live part as frozen buckets with explicit counts (freezing.py).
"""

from __future__ import annotations

from math import ceil
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters.contract import Buckets, Ints, Reading
from ecmsketch.counters.exponential_histogram.bytes import decode_cells, encode_cells
from ecmsketch.counters.exponential_histogram.freezing import chain, freeze, frozen_history
from ecmsketch.counters.exponential_histogram.insertion import (
    count,
    count_weighted,
    lay_out,
    needed,
    pick,
    pick_weighted,
    repack,
)
from ecmsketch.counters.exponential_histogram.layout import Cells, empty_cells
from ecmsketch.counters.exponential_histogram.reading import history, in_window, read_cells
from ecmsketch.errors import FormatError


class ExponentialHistograms:
    """An array of exponential histograms; fulfils `Counters`."""

    def __init__(self, config: SketchConfig) -> None:
        self.config = config
        self.k = ceil(1 / config.epsilon_sw)
        self.base = 0
        self.state = empty_cells(config.cells, np.uint32 if config.tick_bytes == 4 else np.int64)

    @classmethod
    def new(cls, config: SketchConfig) -> Self:
        """See `Counters.new`."""
        return cls(config)

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """See `Counters.add`. O(1) per event and row, plus O(k log batch) per touched cell."""
        self._move_base(oldest, now)
        arrivals = np.zeros(self.config.cells, np.int64)
        if weights is None:
            count(cells, arrivals)
        else:
            count_weighted(cells, weights, arrivals)
        limit = now - self.config.window - self.base
        room, fits = needed(self.state, arrivals, self.k, limit)
        if not fits:
            self.state = repack(self.state, room)
        layout = lay_out(self.state, arrivals, self.k)
        if weights is None:
            pick(self.state.ends, layout, cells, ticks, self.base, self.k)
        else:
            spread = int(self.config.model == "count")
            pick_weighted(self.state.ends, layout, cells, ticks, weights, spread, self.base, self.k)

    def read(self, cells: NDArray[np.uint32], since: int, now: int, origin: int) -> Reading:
        """See `Counters.read`. O(log buckets) per cell."""
        value, lower, upper = read_cells(
            self.state,
            cells,
            max(since - self.base, 0),
            max(now - self.config.window - self.base, 0),
            origin - self.base,
            self.k,
            self.config.epsilon_sw,
            self.config.estimator == "half",
        )
        return Reading(value, lower, upper)

    def buckets(self, now: int, origin: int) -> Buckets:
        """See `Counters.buckets`."""
        limit = now - self.config.window - self.base
        offset, end, size = history(self.state, 0, self.k)
        offset, start, end, size = in_window(offset, end, size, limit, origin - self.base)
        return Buckets(offset, start + self.base, end + self.base, size)

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """See `Counters.concat`. The last segment stays live; all before it are frozen under it.

        Frozen neighbours are joined as far as invariant 1 of the paper allows, given everything newer.
        """
        result = segments[-1].copy()
        oldest = max(now - result.config.window - 1, min(segment.base for segment in segments))
        result._rebase(oldest if result._is_empty else min(result.base, oldest))
        histories = [history(segment.state, segment.base - result.base, segment.k) for segment in segments[:-1]]
        own = frozen_history(result.state)
        offset, end, size = chain([*histories, own], result.config.cells)
        limit = now - result.config.window - result.base
        frozen = freeze(result.state.arrivals, offset, end, size, limit, result.config.epsilon_sw)
        result.state = result.state._replace(frozen_ends=frozen[0], frozen_tail=frozen[1], frozen_offset=frozen[2])
        return result

    def encode(self, now: int) -> bytes:
        """See `Counters.encode`."""
        return encode_cells(self.state, now - self.base, self.config.window, self.k)

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int) -> Self:
        """See `Counters.decode`."""
        if len(data) < 1 + config.cells:  # before anything is allocated for the cells
            raise FormatError(f"histograms: {len(data)} bytes cannot hold {config.cells} counters; data is truncated")
        result = cls.new(config)
        result.base = now - config.window - 1
        result.state = decode_cells(data, result.state, config.window, result.k)
        return result

    def shift(self, ticks: int) -> None:
        """See `Counters.shift`."""
        self.base += ticks

    def copy(self, config: SketchConfig | None = None) -> Self:
        """See `Counters.copy`."""
        other = type(self)(config or self.config)
        other.base = self.base
        other.state = Cells(*(array.copy() for array in self.state))
        return other

    @property
    def most_arrivals(self) -> int:
        """See `Counters.most_arrivals`."""
        frozen = self.state.frozen_tail.max(initial=0)
        return int(self.state.arrivals.max(initial=0)) + int(frozen)

    @property
    def nbytes(self) -> int:
        """Memory held by the state's arrays."""
        return sum(array.nbytes for array in self.state)

    @property
    def bucket_count(self) -> int:
        """Buckets stored in all cells."""
        return int(self.state.length.sum()) + len(self.state.frozen_ends)

    @property
    def _is_empty(self) -> bool:
        return not self.state.arrivals.any() and not len(self.state.frozen_ends)

    def _move_base(self, oldest: int, now: int) -> None:
        """Keep every tick that can still matter within the offsets' range."""
        if self._is_empty:
            self.base = max(oldest - 1, now - self.config.window - 1)
        elif self.config.tick_bytes == 4 and now - self.base > np.iinfo(np.uint32).max:
            self._rebase(now - self.config.window - 1)

    def _rebase(self, base: int) -> None:
        shift = base - self.base
        self.base = base
        if shift:
            ends = np.maximum(self.state.ends.astype(np.int64) - shift, 0).astype(self.state.ends.dtype)
            frozen = np.maximum(self.state.frozen_ends - shift, 0)
            self.state = self.state._replace(ends=ends, frozen_ends=frozen)
