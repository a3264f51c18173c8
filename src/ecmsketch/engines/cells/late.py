"""Arrivals behind the clock that are still counted in their place (`late="side"`).

They are held exactly, sorted by tick, while others as late may still come. Once the clock is `lateness`
past them their order is final, and they are settled: counted in counters of their own. Questions add both to the main
counters; each part's error is relative to its own count, so the sum stays within epsilon.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.engines.cells.arrivals import counts_by_cell, hashed
from ecmsketch.engines.cells.registry import counter_class
from ecmsketch.inputs.batches import Batch
from ecmsketch.inputs.ticks import MIN_TICK

HELD_LIMIT = 65_536
"""Maximum number of late arrivals held. Beyond it the older half is settled early, and older ones are dropped."""
NOTHING = Batch(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


@cython.cclass
class LateArrivals:
    """What came late: held, and settled."""

    def __init__(self, key: int, held: Batch = NOTHING, settled: Any = None, frontier: int = MIN_TICK) -> None:
        self.key, self.held, self.settled, self.frontier = key, held, settled, frontier

    def prepare(self, batch: Batch | None, now: int, later: int, config: SketchConfig) -> LateChange:
        """Hold arrivals behind the clock, then let it go on from `now` to `later`: what is final then is settled."""
        change = LateChange()
        change.late, change.held, change.settled, change.frontier = self, self.held, self.settled, self.frontier
        change.accepted = change.dropped = 0
        if batch is not None:
            given = len(batch.ticks)
            batch = batch.select(batch.ticks > max(now - config.allowed_lateness, self.frontier))
            change.accepted = len(batch.ticks)
            change.dropped = given - len(batch.ticks)
            if len(batch.ticks):
                change.oldest = int(batch.ticks[0])
                change.held = _together(self.held, batch)
        if not len(change.held.ticks):
            return change
        final = int(np.searchsorted(change.held.ticks, later - config.allowed_lateness, side="right"))
        if len(change.held.ticks) > HELD_LIMIT:
            final = max(final, len(change.held.ticks) - HELD_LIMIT // 2)
        if final:
            settle(change, final, config)
        return change

    def prepare_all(self, config: SketchConfig) -> LateChange:
        """Settle all: no more late arrivals will come."""
        change = LateChange()
        change.late, change.held, change.settled, change.frontier = self, self.held, self.settled, self.frontier
        change.accepted = change.dropped = 0
        if len(self.held.ticks):
            settle(change, len(self.held.ticks), config)
        return change

    def held_by_cell(self, since: int, config: SketchConfig) -> NDArray[np.float64] | None:
        """Exact counts of what is held after `since`, for every cell; None if nothing is."""
        late = self.held.select(self.held.ticks > since)
        if not len(late.ticks):
            return None
        arrivals = hashed(late.items, config.rows, late.ticks, late.explicit_weights())
        return counts_by_cell(arrivals, config.cells).astype(np.float64)

    def held_since(self, since: int) -> int:
        """How many arrivals are held after `since`."""
        return self.held.select(self.held.ticks > since).arrivals()

    def copy(self, config: SketchConfig | None = None, by: int = 0) -> LateArrivals:
        """An independent copy, with every arrival later by some ticks."""
        settled, held, frontier = self.settled, self.held, self.frontier
        if settled is not None:
            settled = settled.copy(config)
        if by:
            held = held._replace(ticks=held.ticks + by)
            frontier = frontier if frontier == MIN_TICK else frontier + by
            if settled is not None:
                settled.shift(by)
        return LateArrivals(self.key, held, settled, frontier)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return 24 * len(self.held.ticks) + (0 if self.settled is None else self.settled.nbytes)


@cython.cclass
class LateChange:
    """A change of late arrivals that has everything it needs."""

    @cython.cfunc
    def fits(self) -> cython.bint:
        """Whether the late arrivals are still those that this is a change of."""
        return self.counted is None or self.counted.fits()

    @cython.cfunc
    def make(self) -> cython.void:
        """Make the change."""
        if self.counted is not None:
            self.counted.make()
        self.late.held, self.late.settled, self.late.frontier = self.held, self.settled, self.frontier


def _together(held: Batch, batch: Batch) -> Batch:
    """What is held with what is new, sorted by tick."""
    return Batch(
        np.concatenate([held.items, batch.items]),
        np.concatenate([held.ticks, batch.ticks]),
        np.concatenate([held.explicit_weights(), batch.explicit_weights()]),
    ).sort()


@cython.cfunc
def settle(change: LateChange, count: object, config: object) -> object:
    """Let the oldest `count` of what is held move into counters; a tick is settled whole."""
    held = change.held
    newest = int(held.ticks[count - 1])
    count = int(np.searchsorted(held.ticks, newest, side="right"))
    change.batch = held.select(slice(0, count))
    # a copy: what is held must not keep the memory of what is not
    change.held = Batch(*[column[count:].copy() for column in held])
    change.frontier = newest
    if change.settled is None:
        change.settled = counter_class(config).new(config, change.late.key)
    batch = change.batch
    arrivals = hashed(batch.items, config.rows, batch.ticks, batch.weights)
    change.counted = change.settled.reserve(arrivals, int(batch.ticks[0]), newest)
    return None
