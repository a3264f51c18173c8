"""Items that came often lately: candidates for the heavy hitters of any range (config heavy_hitters=True).

The newest events are kept as they are. Older ones are in summaries of stretches of time, which grow with age
(summaries.py). An item that none of a range's summaries names came at most as often as the sum of their errors. So that
sum says what can be missed, and it stays below epsilon of the range. The sketch then estimates what is named.
"""

from __future__ import annotations

from math import ceil
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.engines.contract import MAX_ARRIVALS
from ecmsketch.engines.names.recent import RecentEvents, newest_events, no_events, packed_events
from ecmsketch.engines.names.summaries import (
    COARSENESS,
    Summaries,
    SummaryParams,
    absorb,
    compacted,
    exact_summaries,
    gathered,
    no_summaries,
)
from ecmsketch.errors import FormatError
from ecmsketch.inputs.ticks import MIN_TICK
from ecmsketch.kernels.packing import get_varints, packed, put_varints, unpacked
from ecmsketch.kernels.sorting import is_sorted, order_of

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Columns = tuple[Keys, Ints, Ints | None]

_LEAST_EVENTS = 1024
_ROUNDS = 4
_OBJECTS = 320
"""Bytes of the objects around the arrays."""
_MAX_HELD = 4 * MAX_ARRIVALS
"""Most arrivals of one window in bytes that are read."""


class Candidates(NamedTuple):
    """Items that may be heavy in a range: they came `lower` to `upper` times, and any other at most `missed` times."""

    keys: Keys
    lower: Ints
    upper: Ints
    missed: int


def summary_params(config: SketchConfig) -> SummaryParams:
    """Summaries so fine that at most epsilon of a range is missed, after `merge_depth` levels of merging.

    A summary that begins before the range, a COARSENESS-th of it, errs too. Every merge widens summaries by as much.
    """
    size = ceil((1 + 1 / COARSENESS) ** (config.merge_depth + 1) / config.epsilon)
    events = max(_LEAST_EVENTS, 8 * size)
    return SummaryParams(size, events, 2 * events, _ROUNDS, config.window, int(config.model == "count"))


class FrequentItems:
    """Candidates for the heavy hitters of one stream. A value: methods return others and change nothing."""

    __slots__ = ("params", "recent", "rounds", "summaries")

    def __init__(
        self, params: SummaryParams, recent: RecentEvents | None = None, summaries: Summaries | None = None,
        rounds: int = 0,
    ) -> None:  # fmt: skip
        self.params = params
        self.recent = no_events() if recent is None else recent
        """The newest events."""
        self.summaries = no_summaries() if summaries is None else summaries
        self.rounds = rounds
        """How often events became summaries, modulo the rounds of the parameters."""

    @classmethod
    def new(cls, config: SketchConfig) -> FrequentItems:
        """Those of a stream without arrivals."""
        return FrequentItems(summary_params(config))

    def added(self, keys: Keys, ticks: Ints, weights: Ints | None = None) -> FrequentItems:
        """With arrivals that are sorted by tick and not before those already there. No weights: all are one."""
        params = self.params
        left = len(self.recent.keys) + len(keys)
        summaries, rounds = self.summaries, self.rounds
        if left >= params.kept + params.taken:
            summaries, done = absorb(self.recent, keys, ticks, weights, summaries, rounds, params)
            left -= (done - rounds) * params.taken
            rounds = done % params.rounds
        recent = newest_events(self.recent, keys, ticks, weights, left) if left else no_events()
        return FrequentItems(params, recent, summaries, rounds)

    def with_late(self, keys: Keys, ticks: Ints, weights: Ints | None, config: SketchConfig, now: int) -> FrequentItems:
        """With arrivals behind the clock, sorted by tick."""
        return combine([self, FrequentItems.new(config).added(keys, ticks, weights)], config, now)

    def keys(self, now: int) -> Keys:
        """Every item named inside the window, each once."""
        inside = np.repeat(self.summaries.last > now - self.params.window, np.diff(self.summaries.begin))
        return np.unique(np.concatenate([self.recent.keys, self.summaries.keys[inside]]))

    def candidates(self, since: int, until: int) -> Candidates:
        """The candidates for the heavy hitters of the range (since, until]."""
        summaries, recent = self.summaries, self.recent
        touched = (summaries.last > since) & (summaries.first <= until)
        inside = (summaries.first > since) & (summaries.last <= until)
        lengths = np.diff(summaries.begin)
        named = np.repeat(touched, lengths)
        counts = recent.inside(since, until, self.params.counted)
        fresh = counts > 0
        keys, where = np.unique(np.concatenate([summaries.keys[named], recent.keys[fresh]]), return_inverse=True)
        counts = np.concatenate([summaries.counts[named], counts[fresh]])
        certain = np.concatenate([np.repeat(inside, lengths)[named], np.ones(int(fresh.sum()), bool)])
        missed = int(summaries.error[touched].sum())
        return Candidates(
            keys, _sums(where, counts * certain, len(keys)), _sums(where, counts, len(keys)) + missed, missed
        )

    @property
    def nbytes(self) -> int:
        """Memory held, by objects too."""
        recent = self.recent
        arrays = [recent.keys, recent.offsets, recent.weights, self.summaries.words]
        return _OBJECTS + sum(getsizeof(array) for array in arrays if len(array) > 1)

    def shifted(self, by: int) -> FrequentItems:
        """With all ticks later by that many."""
        return FrequentItems(self.params, self.recent.shifted(by), self.summaries.shifted(by), self.rounds)

    def encode(self, now: int) -> bytes:
        """The state as bytes (docs/format.md, section "Frequent items"), without summaries that left the window."""
        summaries = self.summaries.after(now - self.params.window)
        recent = self.recent
        numbers = [
            np.array(
                [self.rounds, len(recent.keys), int(len(recent.weights) > 0), len(summaries.last), summaries.entries]
            ),
            np.diff(recent.ticks[::-1], prepend=now) * -1,
            recent.weights,
            np.diff(summaries.last[::-1], prepend=now) * -1,
            summaries.last - summaries.first,
            summaries.arrivals,
            summaries.error,
            np.diff(summaries.begin),
            summaries.counts,
        ]
        keys: bytes = packed(np.concatenate([recent.keys, summaries.keys])).tobytes()
        return put_varints(np.concatenate(numbers).astype(np.int64)) + keys

    @classmethod
    def decode(cls, data: Any, config: SketchConfig, now: int) -> FrequentItems:
        """The frequent items that `encode` wrote; trusts nothing."""
        head, at = get_varints(data, 0, 5)
        if at < 0 or sum(head.tolist()) > 2 * len(data):
            raise FormatError("frequent items: there are fewer bytes than they say; the data is truncated")
        rounds, events, weighted, count, entries = head.tolist()
        weights_given = events * min(weighted, 1)
        numbers, at = get_varints(data, at, events + weights_given + 5 * count + entries)
        keys, at = unpacked(data, at, events + entries) if at >= 0 else (np.empty(0, np.uint64), at)
        if at != len(data) or weighted > 1 or float(numbers[:events].sum(dtype=np.float64)) > 2.0**62:
            raise FormatError("frequent items: a number is cut off, or bytes are left over; the data is corrupt")
        ticks, weights, last, span, arrivals, error, lengths, counts = np.split(
            numbers, np.cumsum([events, weights_given, count, count, count, count, count])
        )
        if weighted and not (weights != 1).any():
            raise FormatError("frequent items: expected events with weights, not all of them one")
        last = (now - np.cumsum(last))[::-1].copy()
        ticks = (now - np.cumsum(ticks))[::-1].copy()
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        summaries = Summaries.of(last - span, last, arrivals, error, begin, keys[events:], counts)
        params = summary_params(config)
        if begin[-1] != len(keys) - events:
            raise FormatError("frequent items: a summary names more items than it may")
        _check_events(rounds, keys[:events], ticks, weights if weighted else None, params, now)
        _check_summaries(summaries, params, now)
        recent = packed_events(keys[:events], ticks, weights if weighted else None)
        return FrequentItems(params, recent, summaries if count else None, rounds)


def _check_events(rounds: int, keys: Keys, ticks: Ints, weights: Ints | None, params: SummaryParams, now: int) -> None:
    """Refuse events that arithmetic does not allow for."""
    if rounds >= params.rounds or len(keys) >= params.kept + params.taken:
        raise FormatError("frequent items: more events wait than is possible")
    if not is_sorted(ticks) or (len(ticks) and not MIN_TICK <= int(ticks[0]) <= int(ticks[-1]) <= now):
        raise FormatError("frequent items: events are out of order, after the clock, or before the first possible tick")
    explicit = np.ones(len(keys), np.int64) if weights is None else weights
    if len(explicit) and (int(explicit.min()) < 1 or _most_at_once(ticks, explicit, params.window) > _MAX_HELD):
        raise FormatError("frequent items: expected weights from 1 on, of at most 2**53 arrivals in one window")


def _check_summaries(summaries: Summaries, params: SummaryParams, now: int) -> None:
    """Refuse summaries that arithmetic does not allow for."""
    if bool((np.diff(summaries.begin) > max(params.size, 1)).any()):
        raise FormatError("frequent items: a summary names more items than it may")
    counts = (summaries.arrivals, summaries.counts)
    if any(_total(column) > _MAX_HELD or (len(column) and int(column.min()) < 1) for column in counts):
        raise FormatError("frequent items: expected counts from 1 on, of at most 2**53 arrivals in one window")
    if (summaries.error > summaries.arrivals // (params.size + 1)).any():
        raise FormatError("frequent items: a summary errs by more than it may")
    if not is_sorted(summaries.last) or (summaries.last <= now - params.window).any():
        raise FormatError("frequent items: their ticks are out of order, or outside the window")
    moments = np.concatenate([summaries.first, summaries.last])
    if len(moments) and not MIN_TICK <= int(moments.min()) <= int(moments.max()) <= now:
        raise FormatError("frequent items: they have ticks after the clock, or before the first possible tick")
    if (summaries.first > summaries.last).any():
        raise FormatError("frequent items: a summary begins after its end")


def combine(parts: list[FrequentItems], config: SketchConfig, now: int) -> FrequentItems:
    """The frequent items of several streams together, or of several segments of one. Summaries are joined as in one."""
    params = summary_params(config)
    events = _after([part.recent for part in parts], now - config.window)
    newest = max((int(part.summaries.last[-1]) for part in parts if len(part.summaries.last)), default=MIN_TICK)
    stale = int(np.searchsorted(events[1], newest))  # summaries are in order of time, so these cannot wait longer
    older = exact_summaries(*_cut(events, slice(stale)), params)
    result = FrequentItems(params).added(*_cut(events, slice(stale, None)))
    summaries = gathered([older, *(part.summaries for part in parts), result.summaries])
    summaries = compacted(summaries, result.recent, now - config.window, params.size)
    return FrequentItems(params, result.recent, summaries, 0)


def _after(parts: list[RecentEvents], limit: int) -> Columns:
    """The events of several lists after a tick, sorted by tick; those of equal ticks in the order of the lists."""
    keys = np.concatenate([part.keys for part in parts])
    ticks = np.concatenate([part.ticks for part in parts])
    weighted = any(len(part.weights) for part in parts)
    weights = np.concatenate([part.explicit_weights() for part in parts]) if weighted else None
    order = slice(None) if is_sorted(ticks) else order_of(ticks)
    columns = _cut((keys, ticks, weights), order)
    return _cut(columns, slice(int(np.searchsorted(columns[1], limit, side="right")), None))


def _cut(events: Columns, which: Any) -> Columns:
    """Some of the events."""
    keys, ticks, weights = events
    return keys[which], ticks[which], None if weights is None else weights[which]


def _sums(where: Ints, counts: Ints, length: int) -> Ints:
    """The sum of the counts of each place."""
    sums = np.zeros(length, np.int64)
    np.add.at(sums, where, counts)
    return sums


def _most_at_once(ticks: Ints, weights: Ints, window: int) -> float:
    """The most arrivals that any window has."""
    running = np.concatenate([[0.0], np.cumsum(weights, dtype=np.float64)])
    before = np.searchsorted(ticks, ticks - window, side="right")
    return float((running[1:] - running[before]).max(initial=0.0))


def _total(column: Ints) -> float:
    return float(column.sum(dtype=np.float64))
