"""Arrivals from outside, checked and in order, as the counters want them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.columns import as_column
from ecmsketch.config import SketchConfig
from ecmsketch.counters.contract import MAX_ARRIVALS, Ints
from ecmsketch.errors import InputError
from ecmsketch.sorting import is_sorted, sort_by_tick
from ecmsketch.ticks import check_tick, to_ticks


class Batch(NamedTuple):
    """Arrivals sorted by tick: hashed items, ticks, and weights (None: all one)."""

    items: NDArray[np.uint64]
    ticks: Ints
    weights: Ints | None

    def select(self, which: NDArray[Any] | slice) -> Batch:
        """Some of the arrivals."""
        weights = None if self.weights is None else self.weights[which]
        return Batch(self.items[which], self.ticks[which], weights)

    def sort(self) -> Batch:
        """By tick; arrivals on one tick keep their order."""
        if is_sorted(self.ticks):
            return self
        ticks, order = self.ticks.copy(), np.arange(len(self.ticks))
        sort_by_tick(ticks, order)
        return Batch(self.items[order], ticks, None if self.weights is None else self.weights[order])

    def arrivals(self) -> int:
        """How many arrivals the events stand for."""
        return len(self.ticks) if self.weights is None else int(self.weights.sum())

    def explicit_weights(self) -> Ints:
        """The weights, ones spelled out."""
        return np.ones(len(self.ticks), np.int64) if self.weights is None else self.weights


def prepare_batch(hashed: NDArray[np.uint64], ticks: Any, weights: Any, config: SketchConfig, now: int | None) -> Batch:
    """Check and sort arrivals; those of weight zero are left out."""
    counts = None if weights is None else _to_weights(weights)
    if counts is not None and len(counts) != len(hashed):
        raise InputError(f"weights: expected {len(hashed)}, one per item, got {len(counts)}")
    if config.model == "count":
        moments = _number_arrivals(len(hashed), counts, ticks, now or 0)
    elif ticks is None:
        raise InputError("ticks: expected one per item; only model='count' numbers arrivals itself")
    else:
        moments = to_ticks(ticks, config.unit)
    if len(moments) != len(hashed):
        raise InputError(f"ticks: expected {len(hashed)}, one per item, got {len(moments)}")
    batch = Batch(hashed, moments, counts)
    if counts is not None and not counts.all():
        batch = batch.select(counts > 0)
    batch = batch.sort()
    for extreme in (*batch.ticks[:1], *batch.ticks[-1:]):
        check_tick(int(extreme))
    return batch


def _number_arrivals(arrivals: int, weights: Ints | None, ticks: Any, now: int) -> Ints:
    """The number of each event's last arrival; the caller may give the same numbers, but no others."""
    steps = np.ones(arrivals, np.int64) if weights is None else weights
    numbers = now + np.cumsum(steps, dtype=np.int64)
    if ticks is not None and not np.array_equal(np.asarray(ticks), numbers):
        raise InputError(
            "ticks: with model='count' an arrival's tick is its number, which the sketch counts itself; leave ticks out"
        )
    return numbers


def _to_weights(weights: Any) -> Ints:
    column = as_column(weights, "weights")
    if len(column) and column.dtype.kind not in "iub":
        raise InputError(f"weights: expected integers of zero or more, got an array of {column.dtype}")
    if len(column) and int(column.min()) < 0:
        raise InputError(f"weights: expected zero or more (arrivals cannot be taken back), got {column.min()}")
    if float(column.sum(dtype=np.float64)) > MAX_ARRIVALS:
        raise InputError(f"weights: expected a sum of at most 2**53 in a batch, got {column.sum(dtype=np.float64):g}")
    return np.ascontiguousarray(column, np.int64)
