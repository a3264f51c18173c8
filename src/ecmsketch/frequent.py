"""Which items came often lately: candidates for the heavy hitters of any range (config heavy_hitters=True).

The newest events are kept as they are. Older ones are in buckets that grow with age (summaries.py), each a summary
of one stretch of time. An item that none of a range's buckets names came at most the sum of their errors; so that
sum says what can be missed, and it stays below epsilon of the range. What is named is then asked of the sketch.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.batches import Batch
from ecmsketch.config import SketchConfig
from ecmsketch.counters import MAX_ARRIVALS
from ecmsketch.errors import FormatError
from ecmsketch.sorting import is_sorted
from ecmsketch.summaries import (
    COARSENESS,
    Buckets,
    Events,
    Plan,
    absorb,
    compact,
    exact_buckets,
    no_buckets,
    no_events,
)
from ecmsketch.ticks import MIN_TICK
from ecmsketch.varint import get_varints, put_varints

_LEAST_EVENTS = 256
_ROUNDS = 8


class Candidates(NamedTuple):
    """Items that may be heavy in a range: they came `lower` to `upper` times; any other at most `missed`."""

    keys: NDArray[np.uint64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    missed: int


def plan_of(config: SketchConfig) -> Plan:
    """Summaries fine enough that at most epsilon of a range is missed, after `merge_depth` levels of merging.

    Buckets that begin before the range, a COARSENESS-th of it, err too; and every merge widens buckets by as much.
    """
    size = ceil((1 + 1 / COARSENESS) ** (config.merge_depth + 1) / config.epsilon)
    events = max(_LEAST_EVENTS, 2 * size)
    return Plan(size, events, 2 * events, _ROUNDS, config.window, int(config.model == "count"))


class FrequentItems:
    """Candidates for the heavy hitters of one stream."""

    def __init__(self, config: SketchConfig) -> None:
        self.plan = plan_of(config)
        self.recent = no_events()
        self.buckets = no_buckets()
        self.rounds = 0
        """How often events became buckets, modulo the plan's rounds."""

    def add(self, batch: Batch) -> None:
        """Count arrivals that are sorted by tick and not before those already there."""
        weights = np.empty(0, np.int64) if batch.weights is None else batch.weights
        total = len(self.recent.ticks) + len(batch.ticks)
        if total < self.plan.kept + self.plan.taken:
            self._keep(batch, total)
            return
        arrivals = Events(batch.items, batch.ticks, weights)
        self.buckets, done = absorb(self.recent, arrivals, self.buckets, self.rounds, self.plan)
        left = total - (done - self.rounds) * self.plan.taken
        self.rounds = done % self.plan.rounds
        self._keep(batch, left)

    def _keep(self, batch: Batch, count: int) -> None:
        """The newest `count` of the recent events and the batch."""
        new = min(count, len(batch.ticks))
        tail = batch.select(slice(len(batch.ticks) - new, None))
        columns = (tail.items, tail.ticks, tail.explicit_weights())
        begin = len(self.recent.ticks) - (count - new)
        self.recent = Events(
            *(np.concatenate([old[begin:], newer]) for old, newer in zip(self.recent, columns, strict=True))
        )

    def keys(self, now: int) -> NDArray[np.uint64]:
        """Every item named inside the window, each once."""
        inside = np.repeat(self.buckets.last > now - self.plan.window, np.diff(self.buckets.begin))
        return np.unique(np.concatenate([self.recent.items, self.buckets.keys[inside]]))

    def candidates(self, since: int, until: int) -> Candidates:
        """Of the range (since, until]."""
        buckets, recent = self.buckets, self.recent
        touched = (buckets.last > since) & (buckets.first <= until)
        inside = (buckets.first > since) & (buckets.last <= until)
        lengths = np.diff(buckets.begin)
        named = np.repeat(touched, lengths)
        counts = self._recent_in(since, until)
        fresh = counts > 0
        keys, where = np.unique(np.concatenate([buckets.keys[named], recent.items[fresh]]), return_inverse=True)
        counts = np.concatenate([buckets.counts[named], counts[fresh]])
        sure = np.concatenate([np.repeat(inside, lengths)[named], np.ones(int(fresh.sum()), bool)])
        missed = int(buckets.error[touched].sum())
        return Candidates(
            keys, _sums(where, counts * sure, len(keys)), _sums(where, counts, len(keys)) + missed, missed
        )

    def _recent_in(self, since: int, until: int) -> NDArray[np.int64]:
        """How much of each recent event lies in (since, until]; a weight counts whole at its tick, or, if ticks number
        arrivals, at as many ticks up to its own.
        """
        ticks, weights = self.recent.ticks, self.recent.weights
        if not self.plan.counted:
            return np.where((ticks > since) & (ticks <= until), weights, 0)
        inside: NDArray[np.int64] = np.minimum(ticks, until) - np.maximum(ticks - weights, since)
        return np.maximum(inside, 0)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return sum(column.nbytes for column in (*self.recent, *self.buckets))

    def shift(self, by: int) -> None:
        """Move all ticks."""
        self.recent = self.recent._replace(ticks=self.recent.ticks + by)
        self.buckets = self.buckets._replace(first=self.buckets.first + by, last=self.buckets.last + by)

    def copy(self) -> FrequentItems:
        """An independent copy (arrays are never changed in place)."""
        copied = FrequentItems.__new__(FrequentItems)
        copied.__dict__.update(self.__dict__)
        return copied

    def encode(self, now: int) -> bytes:
        """By docs/format.md, section "Frequent items"; what has left the window is not written."""
        buckets = _after(self.buckets, now - self.plan.window)
        recent = self.recent
        numbers = [
            np.array([self.rounds, len(recent.ticks), len(buckets.last), len(buckets.keys)]),
            np.diff(recent.ticks[::-1], prepend=now) * -1,
            recent.weights,
            np.diff(buckets.last[::-1], prepend=now) * -1,
            buckets.last - buckets.first,
            buckets.arrivals,
            buckets.error,
            np.diff(buckets.begin),
            buckets.counts,
        ]
        keys = np.concatenate([recent.items, buckets.keys]).astype("<u8")
        return put_varints(np.concatenate(numbers).astype(np.int64)) + keys.tobytes()

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int) -> FrequentItems:
        """What `encode` wrote; trusts nothing."""
        made = cls(config)
        head, at = get_varints(data, 0, 4)
        if at < 0 or sum(head.tolist()) > 2 * len(data):
            raise FormatError("frequent items: fewer bytes than it says; the data is truncated")
        made.rounds, events, count, entries = head.tolist()
        numbers, at = get_varints(data, at, 2 * events + 5 * count + entries)
        if at < 0 or len(data) - at != 8 * (events + entries):
            raise FormatError("frequent items: a number is cut off, or bytes are left over; the data is corrupt")
        ticks, weights, last, span, arrivals, error, lengths, counts = np.split(
            numbers, np.cumsum([events, events, count, count, count, count, count])
        )
        keys = data[at:].view("<u8").astype(np.uint64)
        last = (now - np.cumsum(last))[::-1].copy()
        made.recent = Events(keys[:events].copy(), (now - np.cumsum(ticks))[::-1].copy(), weights.copy())
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        made.buckets = Buckets(
            last - span, last, arrivals.copy(), error.copy(), begin, keys[events:].copy(), counts.copy()
        )
        made._check(now)
        return made

    def _check(self, now: int) -> None:
        """What arithmetic here and in the kernels relies on."""
        plan, recent, buckets = self.plan, self.recent, self.buckets
        counts = (recent.weights, buckets.arrivals, buckets.counts)
        if self.rounds >= plan.rounds or len(recent.ticks) >= plan.kept + plan.taken:
            raise FormatError("frequent items: more events wait than can be")
        if buckets.begin[-1] != len(buckets.keys) or bool((np.diff(buckets.begin) > max(plan.size, 1)).any()):
            raise FormatError("frequent items: a bucket names more items than it may")
        if any(len(column) and (int(column.min()) < 1 or _total(column) > MAX_ARRIVALS) for column in counts):
            raise FormatError("frequent items: expected counts from 1 on, of at most 2**53 arrivals")
        if (buckets.error > buckets.arrivals // (plan.size + 1)).any():
            raise FormatError("frequent items: a bucket errs by more than it may")
        oldest = now - plan.window
        if not (is_sorted(recent.ticks) and is_sorted(buckets.last)) or (buckets.last <= oldest).any():
            raise FormatError("frequent items: its ticks are out of order, or outside the window")
        moments = np.concatenate([recent.ticks, buckets.first, buckets.last])
        if len(moments) and not MIN_TICK <= int(moments.min()) <= int(moments.max()) <= now:
            raise FormatError("frequent items: it has ticks after its clock, or before all others")
        if (buckets.first > buckets.last).any():
            raise FormatError("frequent items: a bucket begins after its end")


def combine(parts: list[FrequentItems], config: SketchConfig, now: int) -> FrequentItems:
    """One for several streams, or several segments of one; what is old is joined as in one stream."""
    result = FrequentItems(config)
    plan = result.plan
    pooled = Events(*(np.concatenate(columns) for columns in zip(*(part.recent for part in parts), strict=True)))
    order = np.argsort(pooled.ticks, kind="stable")
    events = Events(pooled.items[order], pooled.ticks[order], pooled.weights[order])
    newest = max((int(part.buckets.last[-1]) for part in parts if len(part.buckets.last)), default=MIN_TICK)
    stale = int(np.searchsorted(events.ticks, newest))  # buckets are in order of time, so these cannot wait any longer
    items, ticks, weights = events
    older = exact_buckets(Events(items[:stale], ticks[:stale], weights[:stale]), plan.size, plan.counted)
    result.add(Batch(items[stale:], ticks[stale:], weights[stale:]))
    buckets = _gather([older, *(part.buckets for part in parts), result.buckets])
    result.buckets = compact(buckets, result.recent, now - config.window, plan.size)
    result.rounds = 0
    return result


def _gather(parts: list[Buckets]) -> Buckets:
    """All buckets, sorted by their ends."""
    first, last, arrivals, error, keys, counts = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("first", "last", "arrivals", "error", "keys", "counts")
    )
    lengths = np.concatenate([np.diff(part.begin) for part in parts])
    begins = np.cumsum(lengths) - lengths
    order = np.argsort(last, kind="stable")
    return _select(Buckets(first, last, arrivals, error, np.append(begins, len(keys)), keys, counts), order)


def _select(buckets: Buckets, order: NDArray[np.int64]) -> Buckets:
    lengths = np.diff(buckets.begin)[order]
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    entries = np.repeat(buckets.begin[:-1][order] - begin[:-1], lengths) + np.arange(begin[-1])
    first, last, arrivals, error = (column[order] for column in buckets[:4])
    return Buckets(first, last, arrivals, error, begin, buckets.keys[entries], buckets.counts[entries])


def _after(buckets: Buckets, limit: int) -> Buckets:
    return _select(buckets, np.flatnonzero(buckets.last > limit))


def _sums(where: NDArray[np.int64], counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sums = np.zeros(length, np.int64)
    np.add.at(sums, where, counts)
    return sums


def _total(column: NDArray[np.int64]) -> float:
    return float(column.sum(dtype=np.float64))
