"""Arrivals from outside, checked and in order, as engines count them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.inputs.columns import INT64, as_column, is_int64, packed, wrong_type
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK, check_tick, to_ticks
from ecmsketch.kernels.sorting import is_sorted, sort_by_tick

Ints = NDArray[np.int64]

MAX_ARRIVALS = 2**53
"""Most arrivals of all items inside one window: floats count exactly up to here."""


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
        """The same arrivals sorted by tick. Arrivals on one tick keep their order."""
        if is_sorted(self.ticks):
            return self
        ticks, order = self.ticks.copy(), np.arange(len(self.ticks), dtype=np.int64)
        sort_by_tick(ticks, order)
        return Batch(self.items[order], ticks, None if self.weights is None else self.weights[order])

    def arrivals(self) -> int:
        """How many arrivals the events stand for."""
        return len(self.ticks) if self.weights is None else int(self.weights.sum())

    def explicit_weights(self) -> Ints:
        """The weights, with ones spelled out."""
        return np.ones(len(self.ticks), np.int64) if self.weights is None else self.weights


def concatenate(batches: list[Batch]) -> Batch:
    """Several batches, one after the other, with their weights spelled out."""
    return Batch(
        np.concatenate([batch.items for batch in batches]),
        np.concatenate([batch.ticks for batch in batches]),
        np.concatenate([batch.explicit_weights() for batch in batches]),
    )


class ClockConfig(Protocol):
    """What a sketch's config says about ticks."""

    @property
    def model(self) -> str:
        """Either "time", or "count" if an arrival's tick is its number."""

    @property
    def unit(self) -> str | None:
        """The unit of ticks."""


class Prepared(NamedTuple):
    """Checked arrivals. With model="count" they are numbered from 1 until `after` gives them their numbers."""

    batch: Batch
    counted: bool
    """Whether an arrival's tick is its number."""
    claimed: int | None
    """The number after which they come, if the caller gave their numbers (only with model="count")."""

    def after(self, now: int | None) -> Batch:
        """The arrivals as they follow a sketch's clock."""
        if not self.counted:
            return self.batch
        now = now or 0
        if self.claimed is not None and self.claimed != now:
            raise _wrong_numbers()
        ticks = self.batch.ticks + np.int64(now)
        _check_ends(ticks)
        return self.batch._replace(ticks=ticks)


def prepare_batch(hashed: NDArray[np.uint64], ticks: Any, weights: Any, config: ClockConfig) -> Prepared:
    """Check and sort arrivals; those of weight zero are left out."""
    counts, lightest = (None, 1) if weights is None else _to_weights(weights)
    if counts is not None and len(counts) != len(hashed):
        raise InputError(f"weights: expected {len(hashed)}, one per item, got {len(counts)}")
    claimed, counted = None, config.model == "count"
    if counted:
        numbers = np.arange(1, len(hashed) + 1) if counts is None else np.cumsum(counts)
        moments = np.ascontiguousarray(numbers, np.int64)
        claimed = None if ticks is None else _claim(as_column(ticks, "ticks"), moments)
    elif ticks is None:
        raise InputError("ticks: expected one per item; only model='count' numbers arrivals itself")
    else:
        moments = to_ticks(ticks, config.unit)
    if len(moments) != len(hashed):
        raise InputError(f"ticks: expected {len(hashed)}, one per item, got {len(moments)}")
    batch = Batch(hashed, moments, counts)
    if counts is not None and not lightest:
        batch = batch.select(counts > 0)
    batch = batch.sort()
    _check_ends(batch.ticks)
    return Prepared(batch, counted, claimed)


def _check_ends(ticks: Ints) -> None:
    if len(ticks) and not MIN_TICK <= ticks.item(0) <= ticks.item(-1) <= MAX_TICK:
        for extreme in (ticks[0], ticks[-1]):
            check_tick(int(extreme))


def _claim(given: NDArray[Any], numbers: Ints) -> int | None:
    """After which number the arrivals come, by the ticks that the caller gave: their numbers, and no others."""
    if len(given) != len(numbers) or (given.dtype.kind not in "iu" and len(given)):
        raise _wrong_numbers()
    if not len(given):
        return None
    start = int(given[0]) - int(numbers[0])
    if not MIN_TICK <= start <= MAX_TICK or not np.array_equal(given, numbers + np.int64(start)):
        raise _wrong_numbers()
    return start


def _wrong_numbers() -> InputError:
    return InputError(
        "ticks: with model='count' an arrival's tick is its number, which the sketch counts itself; leave ticks out"
    )


def _to_weights(weights: Any) -> tuple[Ints, int]:
    """Weights as integers, and the least of them."""
    column = weights if is_int64(weights) else as_column(weights, "weights")
    if not len(column):
        return np.empty(0, np.int64), 1
    if column.dtype.kind not in "iub":
        raise wrong_type(column, "weights", "integers of zero or more")
    least, most = int(column.min()), int(column.max())
    if least < 0:
        raise InputError(f"weights: expected zero or more (arrivals cannot be taken back), got {least}")
    if most * len(column) > MAX_ARRIVALS < float(column.sum(dtype=np.float64)):
        raise InputError(f"weights: expected a sum of at most 2**53 in a batch, got {column.sum(dtype=np.float64):g}")
    return packed(column, INT64), least
