"""The newest events of a stream, exactly as they came, in as few bytes as their ticks and weights allow."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from ecmsketch.counters.arrivals import Batch
from ecmsketch.counters.contract import Ints
from ecmsketch.kernels import kernel

_NO_WEIGHTS = np.empty(0, np.int64)
_NO_OFFSETS = np.empty(0, np.uint32)


class RecentEvents(NamedTuple):
    """Events sorted by tick. Event i has the tick base + offsets[i], or base + i if there are no offsets.

    No weights means that all are one. Arrays are never changed in place.
    """

    items: NDArray[np.uint64]
    base: int
    offsets: NDArray[Any]
    weights: Ints

    @classmethod
    def of(cls, items: NDArray[np.uint64], ticks: Ints, weights: Ints) -> Self:
        """Events, packed. Empty weights mean ones."""
        if not len(items):
            return no_events()  # type: ignore[return-value]
        weights = _NO_WEIGHTS if not len(weights) or (weights == 1).all() else weights.copy()
        base, spread = int(ticks[0]), int(ticks[-1]) - int(ticks[0])
        if spread == len(ticks) - 1 and _consecutive(ticks):
            offsets: NDArray[Any] = _NO_OFFSETS
        else:
            offsets = (ticks - base).astype(np.uint32 if spread < 2**32 else np.int64)
        return cls(items.copy(), base, offsets, weights)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ticks(self) -> Ints:
        """All ticks."""
        if len(self.offsets) == 0:
            return np.arange(self.base, self.base + len(self.items), dtype=np.int64)
        return self.offsets.astype(np.int64) + self.base

    def explicit_weights(self) -> Ints:
        """The weights, with ones spelled out."""
        return self.weights if len(self.weights) else np.ones(len(self.items), np.int64)

    def batch(self) -> Batch:
        """The events as arrivals, with their weights spelled out."""
        return Batch(self.items, self.ticks, self.explicit_weights())

    def inside(self, since: int, until: int, counted: bool) -> Ints:
        """How much of each event lies in (since, until].

        A weight counts whole at its tick. If ticks number arrivals, it counts at as many ticks up to its own.
        """
        ticks, weights = self.ticks, self.explicit_weights()
        if not counted:
            return np.where((ticks > since) & (ticks <= until), weights, 0)
        part: Ints = np.minimum(ticks, until) - np.maximum(ticks - weights, since)
        return np.maximum(part, 0)

    def count_item(self, item: int, since: int, until: int, counted: bool) -> int:
        """How often an item came in (since, until], by looking at every event."""
        return int(
            _count(self.items, self.base, self.offsets, self.weights, np.uint64(item), since, until, int(counted))
        )

    def arrivals(self, since: int, until: int, counted: bool) -> int:
        """How many arrivals lie in (since, until]."""
        return int(_arrivals(len(self), self.base, self.offsets, self.weights, since, until, int(counted)))

    def between(self, since: int, until: int) -> tuple[int, int]:
        """The events begin .. end - 1 that lie in (since, until], if a weight counts whole at its tick."""
        if len(self.offsets) == 0:
            ends = [min(max(tick - self.base + 1, 0), len(self.items)) for tick in (since, until)]
        else:
            ends = [int(np.searchsorted(self.offsets, tick - self.base, side="right")) for tick in (since, until)]
        return ends[0], max(ends)

    def by_step(self, item: int, first: int, length: int, steps: int, counted: bool) -> tuple[Any, Any]:
        """How often an item came in each of some steps of equal length after the tick `first`; all arrivals in each."""
        found: tuple[Any, Any] = _by_step(
            self.items, self.base, self.offsets, self.weights, np.uint64(item), first, length, steps, int(counted)
        )
        return found

    def shift(self, by: int) -> RecentEvents:
        """The same events, later by so many ticks."""
        return RecentEvents(self.items, self.base + by, self.offsets, self.weights)  # _replace goes by the length

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return int(self.items.nbytes + self.offsets.nbytes + self.weights.nbytes)


_NOTHING = RecentEvents(np.empty(0, np.uint64), 0, _NO_OFFSETS, _NO_WEIGHTS)


def no_events() -> RecentEvents:
    """No events at all."""
    return _NOTHING


@kernel
def _consecutive(ticks: Any) -> Any:
    breaks = int64(0)
    for i in range(1, ticks.shape[0]):
        breaks += int64(ticks[i] != ticks[i - 1] + int64(1))
    return breaks == int64(0)


@kernel
def _part(tick: Any, weight: Any, since: Any, until: Any, counted: Any) -> Any:
    """How much of one event lies in (since, until]."""
    if counted:
        return max(min(tick, until) - max(tick - weight, since), int64(0))
    return weight if since < tick <= until else int64(0)


@kernel
def _count(items: Any, base: Any, offsets: Any, weights: Any, item: Any, since: Any, until: Any, counted: Any) -> Any:
    found = int64(0)
    for i in range(items.shape[0]):
        if items[i] == item:
            tick = base + (int64(offsets[i]) if offsets.shape[0] else int64(i))
            found += _part(tick, weights[i] if weights.shape[0] else int64(1), since, until, counted)
    return found


@kernel
def _arrivals(length: Any, base: Any, offsets: Any, weights: Any, since: Any, until: Any, counted: Any) -> Any:
    found = int64(0)
    for i in range(length):
        tick = base + (int64(offsets[i]) if offsets.shape[0] else int64(i))
        found += _part(tick, weights[i] if weights.shape[0] else int64(1), since, until, counted)
    return found


@kernel
def count_between(items: Any, weights: Any, item: Any, begin: Any, end: Any) -> Any:
    """How often an item came among the events begin .. end - 1. Simple loops: the compiler makes them parallel."""
    some, found = items[begin:end], int64(0)
    if weights.shape[0] == 0:
        for i in range(some.shape[0]):
            found += int64(1) if some[i] == item else int64(0)
        return float64(found)
    counts = weights[begin:end]
    for i in range(some.shape[0]):
        found += counts[i] if some[i] == item else int64(0)
    return float64(found)


@kernel
def _by_step(
    items: Any, base: Any, offsets: Any, weights: Any, item: Any, first: Any, length: Any, steps: Any, counted: Any
) -> Any:
    """An item's events and all events by step. If ticks number arrivals, an event may lie in several steps."""
    found, everything = np.zeros(steps), np.zeros(steps)
    for i in range(items.shape[0]):
        tick = base + (int64(offsets[i]) if offsets.shape[0] else int64(i))
        weight = weights[i] if weights.shape[0] else int64(1)
        before = tick - (weight if counted else int64(1))
        for step in range(
            max((before - first) // length, int64(0)), min((tick - first - int64(1)) // length + 1, steps)
        ):
            since = first + step * length
            part = _part(tick, weight, since, since + length, counted)
            everything[step] += float64(part)
            if items[i] == item:
                found[step] += float64(part)
    return found, everything
