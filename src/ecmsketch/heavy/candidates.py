"""Items that came often lately: candidates for the heavy hitters of any range (config heavy_hitters=True).

The newest events are kept as they are. Older ones are in summaries of stretches of time, which grow with age
(ageing.py). An item that none of a range's summaries names came at most as often as the sum of their errors. So that
sum says what can be missed, and it stays below epsilon of the range. The sketch then estimates what is named.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters.arrivals import Batch, concatenate
from ecmsketch.counters.numbering import MAX_HELD
from ecmsketch.errors import FormatError
from ecmsketch.heavy.ageing import COARSENESS, Plan, absorb, compact, exact_summaries
from ecmsketch.heavy.summaries import Summaries, no_summaries
from ecmsketch.inputs.ticks import MIN_TICK
from ecmsketch.kernels.packed_numbers import packed, unpacked
from ecmsketch.kernels.radix_sort import is_sorted
from ecmsketch.kernels.varint import get_varints, put_varints
from ecmsketch.slices.recent_events import RecentEvents, no_events

_LEAST_EVENTS = 1024
_ROUNDS = 4
_NO_WEIGHTS = np.empty(0, np.int64)


class Candidates(NamedTuple):
    """Items that may be heavy in a range: they came `lower` to `upper` times, and any other at most `missed` times."""

    keys: NDArray[np.uint64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    missed: int


def plan_of(config: SketchConfig) -> Plan:
    """Plan summaries so fine that at most epsilon of a range is missed, after `merge_depth` levels of merging.

    A summary that begins before the range, a COARSENESS-th of it, errs too. Every merge widens summaries by as much.
    """
    size = ceil((1 + 1 / COARSENESS) ** (config.merge_depth + 1) / config.epsilon)
    events = max(_LEAST_EVENTS, 8 * size)
    return Plan(size, events, 2 * events, _ROUNDS, config.window, int(config.model == "count"))


class FrequentItems:
    """Candidates for the heavy hitters of one stream."""

    def __init__(self, config: SketchConfig) -> None:
        self.plan = plan_of(config)
        self.recent = no_events()
        """The newest events."""
        self.summaries = no_summaries()
        self.rounds = 0
        """How often events became summaries, modulo the plan's rounds."""

    def add(self, batch: Batch) -> None:
        """Count arrivals that are sorted by tick and not before those already there."""
        left = len(self.recent) + len(batch.ticks)
        weighted = len(self.recent.weights) > 0 or batch.weights is not None
        weights = [part.explicit_weights() if weighted else _NO_WEIGHTS for part in (self.recent, batch)]
        recent, fresh = Batch(self.recent.items, self.recent.ticks, weights[0]), batch._replace(weights=weights[1])
        if left >= self.plan.kept + self.plan.taken:
            self.summaries, done = absorb(recent, fresh, self.summaries, self.rounds, self.plan)
            left -= (done - self.rounds) * self.plan.taken
            self.rounds = done % self.plan.rounds
        new = min(left, len(fresh.ticks))
        older = recent.select(slice(len(recent.ticks) - (left - new), None))
        newest = fresh.select(slice(len(fresh.ticks) - new, None))
        waiting = concatenate([older, newest])
        self.recent = RecentEvents.of(waiting.items, waiting.ticks, waiting.explicit_weights())

    def keys(self, now: int) -> NDArray[np.uint64]:
        """Every item named inside the window, each once."""
        inside = np.repeat(self.summaries.last > now - self.plan.window, np.diff(self.summaries.begin))
        return np.unique(np.concatenate([self.recent.items, self.summaries.keys[inside]]))

    def candidates(self, since: int, until: int) -> Candidates:
        """The candidates for the heavy hitters of the range (since, until]."""
        summaries, recent = self.summaries, self.recent
        touched = (summaries.last > since) & (summaries.first <= until)
        inside = (summaries.first > since) & (summaries.last <= until)
        lengths = np.diff(summaries.begin)
        named = np.repeat(touched, lengths)
        counts = recent.inside(since, until, bool(self.plan.counted))
        fresh = counts > 0
        keys, where = np.unique(np.concatenate([summaries.keys[named], recent.items[fresh]]), return_inverse=True)
        counts = np.concatenate([summaries.counts[named], counts[fresh]])
        sure = np.concatenate([np.repeat(inside, lengths)[named], np.ones(int(fresh.sum()), bool)])
        missed = int(summaries.error[touched].sum())
        return Candidates(
            keys, _sums(where, counts * sure, len(keys)), _sums(where, counts, len(keys)) + missed, missed
        )

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.recent.nbytes + sum(column.nbytes for column in self.summaries)

    def shift(self, by: int) -> None:
        """Move all ticks later by that many."""
        self.recent = self.recent.shift(by)
        self.summaries = self.summaries._replace(first=self.summaries.first + by, last=self.summaries.last + by)

    def copy(self) -> FrequentItems:
        """An independent copy (arrays are never changed in place)."""
        copied = FrequentItems.__new__(FrequentItems)
        copied.__dict__.update(self.__dict__)
        return copied

    def encode(self, now: int) -> bytes:
        """The state as bytes (docs/format.md, section "Frequent items"), without summaries that left the window."""
        summaries = _after(self.summaries, now - self.plan.window)
        recent = self.recent
        numbers = [
            np.array(
                [self.rounds, len(recent), int(len(recent.weights) > 0), len(summaries.last), len(summaries.keys)]
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
        keys: bytes = packed(np.concatenate([recent.items, summaries.keys])).tobytes()
        return put_varints(np.concatenate(numbers).astype(np.int64)) + keys

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int) -> FrequentItems:
        """The frequent items that `encode` wrote; trusts nothing."""
        made = cls(config)
        head, at = get_varints(data, 0, 5)
        if at < 0 or sum(head.tolist()) > 2 * len(data):
            raise FormatError("frequent items: there are fewer bytes than they say; the data is truncated")
        made.rounds, events, weighted, count, entries = head.tolist()
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
        made.recent = RecentEvents.of(keys[:events], (now - np.cumsum(ticks))[::-1].copy(), weights)
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        made.summaries = Summaries(
            last - span, last, arrivals.copy(), error.copy(), begin, keys[events:].copy(), counts.copy()
        )
        made._check(now)
        return made

    def _check(self, now: int) -> None:
        """Refuse what arithmetic here and in the kernels does not allow for."""
        plan, recent, summaries = self.plan, self.recent, self.summaries
        counts = (recent.explicit_weights(), summaries.arrivals, summaries.counts)
        most = max(_most_at_once(recent.batch(), plan.window), _total(summaries.arrivals), _total(summaries.counts))
        if self.rounds >= plan.rounds or len(recent) >= plan.kept + plan.taken:
            raise FormatError("frequent items: more events wait than is possible")
        if summaries.begin[-1] != len(summaries.keys) or bool((np.diff(summaries.begin) > max(plan.size, 1)).any()):
            raise FormatError("frequent items: a summary names more items than it may")
        if most > MAX_HELD or any(len(column) and int(column.min()) < 1 for column in counts):
            raise FormatError("frequent items: expected counts from 1 on, of at most 2**53 arrivals in one window")
        if (summaries.error > summaries.arrivals // (plan.size + 1)).any():
            raise FormatError("frequent items: a summary errs by more than it may")
        oldest = now - plan.window
        if not (is_sorted(recent.ticks) and is_sorted(summaries.last)) or (summaries.last <= oldest).any():
            raise FormatError("frequent items: their ticks are out of order, or outside the window")
        moments = np.concatenate([recent.ticks, summaries.first, summaries.last])
        if len(moments) and not MIN_TICK <= int(moments.min()) <= int(moments.max()) <= now:
            raise FormatError("frequent items: they have ticks after the clock, or before the first possible tick")
        if (summaries.first > summaries.last).any():
            raise FormatError("frequent items: a summary begins after its end")


def combine(parts: list[FrequentItems], config: SketchConfig, now: int) -> FrequentItems:
    """The frequent items of several streams together, or of several segments of one. Summaries are joined as in one."""
    result = FrequentItems(config)
    plan = result.plan
    events = concatenate([part.recent.batch() for part in parts]).sort()
    events = events.select(events.ticks > now - config.window)
    newest = max((int(part.summaries.last[-1]) for part in parts if len(part.summaries.last)), default=MIN_TICK)
    stale = int(np.searchsorted(events.ticks, newest))  # summaries are in order of time, so these cannot wait longer
    older = exact_summaries(events.select(slice(stale)), plan.size, plan.counted)
    result.add(events.select(slice(stale, None)))
    summaries = _gather([older, *(part.summaries for part in parts), result.summaries])
    result.summaries = compact(summaries, result.recent.batch(), now - config.window, plan.size)
    result.rounds = 0
    return result


def _gather(parts: list[Summaries]) -> Summaries:
    """All summaries, sorted by their last ticks."""
    first, last, arrivals, error, keys, counts = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("first", "last", "arrivals", "error", "keys", "counts")
    )
    lengths = np.concatenate([np.diff(part.begin) for part in parts])
    begins = np.cumsum(lengths) - lengths
    order = np.argsort(last, kind="stable")
    return _select(Summaries(first, last, arrivals, error, np.append(begins, len(keys)), keys, counts), order)


def _select(summaries: Summaries, order: NDArray[np.int64]) -> Summaries:
    lengths = np.diff(summaries.begin)[order]
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    entries = np.repeat(summaries.begin[:-1][order] - begin[:-1], lengths) + np.arange(begin[-1])
    first, last, arrivals, error = (column[order] for column in summaries[:4])
    return Summaries(first, last, arrivals, error, begin, summaries.keys[entries], summaries.counts[entries])


def _after(summaries: Summaries, limit: int) -> Summaries:
    return _select(summaries, np.flatnonzero(summaries.last > limit))


def _sums(where: NDArray[np.int64], counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sums = np.zeros(length, np.int64)
    np.add.at(sums, where, counts)
    return sums


def _most_at_once(events: Batch, window: int) -> float:
    """The most arrivals that any window has."""
    running = np.concatenate([[0.0], np.cumsum(events.explicit_weights(), dtype=np.float64)])
    before = np.searchsorted(events.ticks, events.ticks - window, side="right")
    return float((running[1:] - running[before]).max(initial=0.0))


def _total(column: NDArray[np.int64]) -> float:
    return float(column.sum(dtype=np.float64))
