"""Arrivals behind the clock that are still counted in their place (`late="side"`).

They are held exactly, sorted by tick, while others as late may still come. Once the clock is `lateness`
past them their order is final, and they go into counters of their own. Queries add both to the main
counters; each part's error is relative to its own count, so the sum stays within epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters import Counters, new_counters
from ecmsketch.counters.arrivals import Batch
from ecmsketch.heavy.candidates import FrequentItems
from ecmsketch.inputs.row_hashes import RowHashes, cells_of
from ecmsketch.inputs.ticks import MIN_TICK

HELD_LIMIT = 65_536
"""Maximum number of late arrivals held. Beyond it the older half is settled early, and older ones are dropped."""


def _nothing() -> Batch:
    return Batch(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass
class LateArrivals:
    """What came late: held, settled, and how many were counted and dropped."""

    key: int = 0
    """Seeds the random draws of the counters of late arrivals (`Counters.new`)."""
    held: Batch = field(default_factory=_nothing)
    settled: Counters | None = None
    frequent: FrequentItems | None = None
    """(heavy_hitters=True) Candidates among what is settled."""
    frontier: int = MIN_TICK
    """The newest settled tick. An arrival that is not after it came too late."""
    counted: int = 0
    dropped: int = 0

    def accept(self, late: Batch, now: int, config: SketchConfig, rows: RowHashes) -> int | None:
        """Hold what is not too late, count the rest as dropped; returns the oldest tick newly held."""
        batch = late.select(late.ticks > max(now - config.allowed_lateness, self.frontier))
        self.dropped += len(late.ticks) - len(batch.ticks)
        self.counted += len(batch.ticks)
        self.held = Batch(
            np.concatenate([self.held.items, batch.items]),
            np.concatenate([self.held.ticks, batch.ticks]),
            np.concatenate([self.held.explicit_weights(), batch.explicit_weights()]),
        ).sort()
        if len(self.held.ticks) > HELD_LIMIT:
            self._settle(len(self.held.ticks) - HELD_LIMIT // 2, config, rows)
        return int(batch.ticks[0]) if len(batch.ticks) else None

    def settle(self, now: int, config: SketchConfig, rows: RowHashes) -> None:
        """Move those whose order is final into counters."""
        final = int(np.searchsorted(self.held.ticks, now - config.allowed_lateness, side="right"))
        if final:
            self._settle(final, config, rows)

    def settle_all(self, config: SketchConfig, rows: RowHashes) -> None:
        """Move all into counters: no more late arrivals will come."""
        if len(self.held.ticks):
            self._settle(len(self.held.ticks), config, rows)

    def _settle(self, count: int, config: SketchConfig, rows: RowHashes) -> None:
        newest = self.held.ticks[count - 1]
        count = int(np.searchsorted(self.held.ticks, newest, side="right"))  # a tick is settled whole
        batch = self.held.select(slice(0, count))
        if self.settled is None:
            self.settled = new_counters(config, self.key)
        self.settled.add(cells_of(batch.items, rows), batch.ticks, batch.weights, int(batch.ticks[0]), int(newest))
        if config.heavy_hitters:
            self.frequent = self.frequent or FrequentItems(config)
            self.frequent.add(batch)
        self.held = self.held.select(slice(count, None))
        self.frontier = int(newest)

    def held_by_cell(self, since: int, rows: RowHashes) -> NDArray[np.float64] | None:
        """Exact counts of what is held after `since`, for every cell; None if nothing is."""
        late = self.held.select(self.held.ticks > since)
        if not len(late.ticks):
            return None
        cells = cells_of(late.items, rows)
        weights = np.broadcast_to(late.explicit_weights(), cells.shape)
        counts = np.bincount(cells.ravel(), weights.ravel(), minlength=int(rows.width.sum()))
        return counts.astype(np.float64)

    def copy(self, config: SketchConfig | None = None) -> LateArrivals:
        """An independent copy (held arrays are never changed in place)."""
        settled = None if self.settled is None else self.settled.copy(config)
        frequent = None if self.frequent is None else self.frequent.copy()
        return LateArrivals(self.key, self.held, settled, frequent, self.frontier, self.counted, self.dropped)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        parts = (self.settled, self.frequent)
        return 24 * len(self.held.ticks) + sum(part.nbytes for part in parts if part is not None)
