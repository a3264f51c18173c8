"""How many more arrivals fit into a sketch's window: a window counts at most 2**53 of them."""

from __future__ import annotations

from ecmsketch.counters import MAX_ARRIVALS
from ecmsketch.counters.arrivals import Batch
from ecmsketch.errors import InputError
from ecmsketch.sketch.state import SketchState

_GATHERED_WEIGHT = 2**32
"""The largest weight that `update` gathers. All weights gathered at a time then add up to 2**48 at most."""


class Room:
    """Keeps track of how many more arrivals surely fit into a window.

    A row of counters is read only when everything since the last reading, expired or not, would fill the window.
    """

    def __init__(self, state: SketchState, gathered: int) -> None:
        """`gathered` is how many arrivals `update` gathers at most."""
        self._state = state
        self._needed = _GATHERED_WEIGHT * gathered
        self._sure = MAX_ARRIVALS if state.is_empty else 0  # else measured when it is needed
        self.most_weight = _GATHERED_WEIGHT if state.is_empty else 0
        """The largest weight that surely fits however many arrivals are gathered; 0 if none does."""

    def check(self, batch: Batch) -> None:
        """Refuse a batch that would make more than 2**53 arrivals in one window."""
        arrivals = batch.arrivals()
        room = self._sure
        if arrivals > room:
            moments = [moment for moment in (self._state.now, *batch.ticks[:1].tolist()) if moment is not None]
            room = self._measure(max(moments, default=0))
        if arrivals > room:
            raise InputError(
                f"weights: got {arrivals:,} arrivals, but one window may have 2**53 and has room for "
                f"{max(room, 0):,}; nothing was counted. Count in a larger unit, or give the batch in parts"
            )

    def take(self, arrivals: int) -> None:
        """Note that arrivals were counted."""
        self._sure -= arrivals
        if self._sure < self._needed:
            self._sure = self._measure(self._state.now or 0)
        self.most_weight = _GATHERED_WEIGHT if self._sure >= self._needed else 0

    def _measure(self, now: int) -> int:
        """How many more arrivals fit into the window that ends at `now`."""
        config = self._state.config
        if config.model == "count" and config.window <= MAX_ARRIVALS:
            return MAX_ARRIVALS  # such a window never holds more arrivals than its length
        return MAX_ARRIVALS - self._state.counted_since(now - config.window)[1]
