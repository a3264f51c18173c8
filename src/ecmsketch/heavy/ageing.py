"""How events become summaries, and how summaries are joined as they grow old.

A summary has at most one COARSENESS-th of the arrivals that came after it, so summaries grow with age, and few are
needed for a long window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from ecmsketch.counters.arrivals import Batch
from ecmsketch.heavy.misra_gries import count_keys, new_tally, write_reduced
from ecmsketch.heavy.summaries import close_summary, new_summaries, trimmed, with_room
from ecmsketch.kernels import kernel

COARSENESS = 4
"""A joined summary has at most a quarter of the arrivals that came after it. Finer ones would be more."""


class Plan(NamedTuple):
    """What summaries may hold, and when events become summaries."""

    size: int
    """Names in one summary."""
    kept: int
    """Newest events that stay as they are."""
    taken: int
    """Events that become summaries together, once there are so many more than `kept`."""
    rounds: int
    """Summaries are joined after so many times."""
    window: int
    counted: int
    """1 if ticks number arrivals, so that an event of weight w begins w - 1 ticks before its own; else 0."""


@kernel
def absorb(recent: Any, batch: Any, summaries: Any, done: Any, plan: Any) -> Any:
    """Turn the oldest of recent + batch into summaries, `taken` at a time, until fewer than kept + taken are left.

    The result depends on the events alone, not on how they were cut into batches. `done` counts the times.
    The weights of all may be empty, which means ones: spelling them out takes time. Returns (summaries, done).
    """
    known = recent.ticks.shape[0]
    total = known + batch.ticks.shape[0]
    length = plan.kept + plan.taken
    begin = Batch(  # the recent events, and so many more that each stretch lies either here or in the batch
        np.concatenate((recent.items, batch.items[:length])),
        np.concatenate((recent.ticks, batch.ticks[:length])),
        np.concatenate((recent.weights, batch.weights[:length])),
    )
    count = summaries.last.shape[0]
    room = plan.taken * plan.rounds
    work = with_room(summaries, count, room)
    tally = new_tally(plan.taken)
    start = int64(0)
    while total - start >= length:
        events = _stretch(begin, start, length) if start < known else _stretch(batch, start - known, length)
        count = _take(events, plan, work, count, tally)
        start += plan.taken
        done += int64(1)
        if done % plan.rounds == int64(0):
            left = _stretch(events, plan.taken, plan.kept)
            count = _compact(work, count, left, events.ticks[length - int64(1)] - plan.window, plan.size)
            work = with_room(work, count, room)
    return trimmed(work, count), done


@kernel
def _stretch(events: Any, begin: Any, length: Any) -> Any:
    """Some of the events, where they are."""
    end = begin + length
    return Batch(events.items[begin:end], events.ticks[begin:end], events.weights[begin:end])


@kernel
def _take(events: Any, plan: Any, work: Any, count: Any, tally: Any) -> Any:
    """Summarise the oldest `taken` events, as coarsely as what came after them allows; returns the next summary.

    Events that are outside the window once the last one has come are left out: their weights may exceed 63 bits.
    """
    ticks, weights = events.ticks, events.weights
    total = ticks.shape[0]
    limit = ticks[total - int64(1)] - plan.window
    begin = int64(0)
    while begin < plan.taken and ticks[begin] <= limit:
        begin += int64(1)
    after = weights[begin:].sum() if weights.shape[0] else total - begin
    while begin < plan.taken:
        end, arrivals = _stretch_end(weights, begin, plan.taken, after)
        after -= arrivals
        used = count_keys(tally, events.items[begin:end], weights[begin:end])
        at, error = write_reduced(tally, used, plan.size, work.keys, work.counts, work.begin[count])
        first = ticks[begin] - plan.counted * (_weight(weights, begin) - int64(1))
        count = close_summary(work, count, first, ticks[end - int64(1)], arrivals, error, at)
        begin = end
    return count


@kernel
def _stretch_end(weights: Any, begin: Any, most: Any, after: Any) -> Any:
    """Where a summary ends that begins with an event, if `after` arrivals come from there on: (end, its arrivals)."""
    if weights.shape[0] == 0:
        arrivals = max(min((after + int64(1)) // int64(COARSENESS + 1), most - begin), int64(1))
        return begin + arrivals, arrivals
    arrivals, end = weights[begin], begin + int64(1)
    while end < most and int64(COARSENESS) * (arrivals + weights[end]) <= after - arrivals - weights[end] + int64(1):
        arrivals += weights[end]
        end += int64(1)
    return end, arrivals


@kernel
def _weight(weights: Any, event: Any) -> Any:
    return weights[event] if weights.shape[0] else int64(1)


@kernel
def exact_summaries(events: Any, size: Any, counted: Any) -> Any:
    """Events as summaries without error, of at most `size` events each."""
    total = events.ticks.shape[0]
    work = new_summaries(total, total)
    tally = new_tally(size)
    count = int64(0)
    for begin in range(0, total, size):
        end = min(begin + size, total)
        used = count_keys(tally, events.items[begin:end], events.weights[begin:end])
        at, _ = write_reduced(tally, used, size, work.keys, work.counts, work.begin[count])
        first = events.ticks[begin] - counted * (_weight(events.weights, begin) - int64(1))
        arrivals = events.weights[begin:end].sum() if events.weights.shape[0] else end - begin
        count = close_summary(work, count, first, events.ticks[end - int64(1)], arrivals, int64(0), at)
    return trimmed(work, count)


@kernel
def compact(summaries: Any, recent: Any, limit: Any, size: Any) -> Any:
    """Forget what lies before or at `limit`, and join neighbours as far as what came after them allows."""
    work = trimmed(summaries, summaries.last.shape[0])
    return trimmed(work, _compact(work, work.last.shape[0], recent, limit, size))


@kernel
def _compact(work: Any, count: Any, recent: Any, limit: Any, size: Any) -> Any:
    """Do in place what `compact` does; returns how many summaries are left.

    First decide from newest to oldest what to join, since newer arrivals say how large a summary may be. Then join
    from oldest to newest, so that a result is written over summaries that were read already.
    """
    oldest = int64(0)
    while oldest < count and work.last[oldest] <= limit:
        oldest += int64(1)
    joins, most_entries = _decide_joins(work, oldest, count, recent)
    tally = new_tally(most_entries)
    made, begin = int64(0), oldest
    for i in range(joins.shape[0]):
        end = joins[joins.shape[0] - 1 - i]
        made = _join(work, begin, end, made, tally, size)
        begin = end
    return made


@kernel
def _decide_joins(work: Any, oldest: Any, count: Any, recent: Any) -> Any:
    """Which neighbours become one: (the ends of their ranges, newest first; the most entries that a range has)."""
    ends = np.empty(count - oldest, np.int64)
    ranges, most_entries, after = int64(0), int64(1), int64(0)
    event = recent.ticks.shape[0]
    end = count
    while end > oldest:
        while event > 0 and recent.ticks[event - 1] >= work.last[end - 1]:
            event -= 1
            after += _weight(recent.weights, event)
        begin = end - int64(1)
        arrivals = work.arrivals[begin]
        while begin > oldest and int64(COARSENESS) * (arrivals + work.arrivals[begin - 1]) <= after + int64(1):
            begin -= int64(1)
            arrivals += work.arrivals[begin]
        ends[ranges] = end
        ranges += int64(1)
        most_entries = max(most_entries, work.begin[end] - work.begin[begin])
        after += arrivals
        end = begin
    return ends[:ranges], most_entries


@kernel
def _join(work: Any, begin: Any, end: Any, made: Any, tally: Any, size: Any) -> Any:
    """Write summaries begin .. end - 1 as one, as number `made`; returns made + 1."""
    first, last, arrivals, error = work.first[begin], work.last[begin], int64(0), int64(0)
    for i in range(begin, end):
        first, last = min(first, work.first[i]), max(last, work.last[i])
        arrivals += work.arrivals[i]
        error += work.error[i]
    at = work.begin[made]
    if end == begin + int64(1):
        stays = at == work.begin[begin]  # so do all before it: nothing is to be moved
        if stays:
            at = work.begin[end]
        for i in range(work.begin[end] if stays else work.begin[begin], work.begin[end]):
            work.keys[at], work.counts[at] = work.keys[i], work.counts[i]
            at += int64(1)
    else:
        old, new = work.begin[begin], work.begin[end]
        used = count_keys(tally, work.keys[old:new], work.counts[old:new])
        at, taken = write_reduced(tally, used, size, work.keys, work.counts, at)
        error += taken
    return close_summary(work, made, first, last, arrivals, error, at)
