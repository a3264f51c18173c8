"""Misra-Gries summaries of stretches of a stream, one after the other in time: counted, reduced, joined.

A bucket stands for `arrivals` events between its `first` and `last` tick. It names at most `size` items with counts:
an item it names with count c came c to c + error times in it, any other at most `error` times. Reducing takes the
largest k with sum(min(count, k)) >= (size + 1) k from every count, so that at most `size` are left and error is never
more than arrivals / (size + 1), however often buckets were joined before (Agarwal and others, Mergeable summaries).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

COARSENESS = 8
"""A joined bucket has at most one 8th of the arrivals that came after it."""


class Events(NamedTuple):
    """Arrivals sorted by tick; weights may be empty, which means ones."""

    items: Keys
    ticks: Ints
    weights: Ints


class Buckets(NamedTuple):
    """Sorted by `last`; bucket i names keys[begin[i]:begin[i + 1]]."""

    first: Ints
    last: Ints
    arrivals: Ints
    error: Ints
    begin: Ints
    keys: Keys
    counts: Ints


class Plan(NamedTuple):
    """What summaries may hold, and when events become buckets."""

    size: int
    """Names in one bucket."""
    kept: int
    """Newest events that stay as they are."""
    taken: int
    """Events that become buckets together, once so many more than `kept` are there."""
    rounds: int
    """Buckets are joined after so many times."""
    window: int
    counted: int
    """1 if ticks number arrivals, so that an event of weight w begins w - 1 ticks before its own; else 0."""


class Tally(NamedTuple):
    """A hash table of keys and counts, emptied by using a new stamp."""

    stamps: Ints
    slots: Ints
    keys: Keys
    counts: Ints


def no_events() -> Events:
    """Without any."""
    return Events(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


def no_buckets() -> Buckets:
    """Without any."""
    none = np.empty(0, np.int64)
    return Buckets(none, none, none, none, np.zeros(1, np.int64), np.empty(0, np.uint64), none)


@kernel
def _new_tally(capacity: Any) -> Any:
    slots = int64(16)
    while slots < int64(2) * capacity:
        slots *= int64(2)
    return Tally(
        np.zeros(slots, np.int64),
        np.empty(slots, np.int64),
        np.empty(capacity, np.uint64),
        np.empty(capacity, np.int64),
    )


@kernel
def _count(tally: Any, stamp: Any, used: Any, key: Any, count: Any) -> Any:
    """Add to a key's count; returns how many keys there are now."""
    mask = tally.stamps.shape[0] - int64(1)
    slot = int64((key * uint64(0x9E3779B97F4A7C15)) >> uint64(32)) & mask
    while tally.stamps[slot] == stamp:
        at = tally.slots[slot]
        if tally.keys[at] == key:
            tally.counts[at] += count
            return used
        slot = (slot + int64(1)) & mask
    tally.stamps[slot] = stamp
    tally.slots[slot] = used
    tally.keys[used] = key
    tally.counts[used] = count
    return used + int64(1)


@kernel
def _surplus(counts: Any, used: Any, size: Any) -> Any:
    """The largest k with sum(min(count, k)) >= (size + 1) k: it holds up to some k, and not after."""
    total = int64(0)
    for i in range(used):
        total += counts[i]
    low, high = int64(0), total // (size + int64(1))
    while low < high:
        k = (low + high + int64(1)) // int64(2)
        taken = int64(0)
        for i in range(used):
            taken += min(counts[i], k)
        if taken >= (size + int64(1)) * k:
            low = k
        else:
            high = min(k - int64(1), taken // (size + int64(1)))
    return low


@kernel
def _emit(tally: Any, used: Any, size: Any, keys: Any, counts: Any, at: Any) -> Any:
    """Write the reduced counts; returns (position after them, what was taken)."""
    k = _surplus(tally.counts, used, size)
    for i in range(used):
        if tally.counts[i] > k:
            keys[at] = tally.keys[i]
            counts[at] = tally.counts[i] - k
            at += int64(1)
    return at, k


@kernel
def absorb(recent: Any, batch: Any, buckets: Any, done: Any, plan: Any) -> Any:
    """Turn the oldest of recent + batch into buckets, `taken` at a time, until fewer than kept + taken are left.

    What is made depends on the events alone, not on how they were cut into batches. `done` counts the times.
    Returns (buckets, done).
    """
    begin_recent = recent.items.shape[0]
    total = begin_recent + batch.items.shape[0]
    window = plan.kept + plan.taken
    items, ticks, weights = np.empty(window, np.uint64), np.empty(window, np.int64), np.ones(window, np.int64)
    room = plan.taken * plan.rounds
    work = _with_room(buckets, buckets.last.shape[0], room)
    count = buckets.last.shape[0]
    tally = _new_tally(plan.taken)
    stamp = int64(0)
    start = int64(0)
    while total - start >= window:
        for i in range(window):
            at = start + i
            if at < begin_recent:
                items[i], ticks[i], weights[i] = recent.items[at], recent.ticks[at], recent.weights[at]
            else:
                items[i], ticks[i] = batch.items[at - begin_recent], batch.ticks[at - begin_recent]
                weights[i] = batch.weights[at - begin_recent] if batch.weights.shape[0] else int64(1)
        count, stamp = _take(items, ticks, weights, plan, work, count, tally, stamp)
        start += plan.taken
        done += int64(1)
        if done % plan.rounds == int64(0):
            left = Events(items[plan.taken :], ticks[plan.taken :], weights[plan.taken :])
            count = _compact(work, count, left, ticks[window - 1] - plan.window, plan.size)
            work = _with_room(work, count, room)
    return _trimmed(work, count), done


@kernel
def _with_room(buckets: Any, count: Any, more: Any) -> Any:
    """A copy with room for so many more, if there is none."""
    if buckets.last.shape[0] >= count + more and buckets.keys.shape[0] >= buckets.begin[count] + more:
        return buckets
    room = Buckets(
        np.empty(2 * count + more, np.int64), np.empty(2 * count + more, np.int64),
        np.empty(2 * count + more, np.int64), np.empty(2 * count + more, np.int64),
        np.zeros(2 * count + more + 1, np.int64),
        np.empty(2 * buckets.begin[count] + more, np.uint64), np.empty(2 * buckets.begin[count] + more, np.int64),
    )  # fmt: skip
    _copy(buckets, room, count)
    return room


@kernel
def _copy(source: Any, target: Any, count: Any) -> None:
    for i in range(count):
        target.first[i], target.last[i] = source.first[i], source.last[i]
        target.arrivals[i], target.error[i] = source.arrivals[i], source.error[i]
        target.begin[i + 1] = source.begin[i + 1]
    for i in range(source.begin[count]):
        target.keys[i], target.counts[i] = source.keys[i], source.counts[i]


@kernel
def _trimmed(buckets: Any, count: Any) -> Any:
    entries = buckets.begin[count]
    exact = Buckets(
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
        np.zeros(count + 1, np.int64), np.empty(entries, np.uint64), np.empty(entries, np.int64),
    )  # fmt: skip
    _copy(buckets, exact, count)
    return exact


@kernel
def _take(items: Any, ticks: Any, weights: Any, plan: Any, work: Any, count: Any, tally: Any, stamp: Any) -> Any:
    """The oldest `taken` events as buckets, as large as what came after them allows: (buckets, stamp)."""
    after = int64(0)
    for i in range(items.shape[0]):
        after += weights[i]
    begin = int64(0)
    while begin < plan.taken:
        arrivals = weights[begin]
        after -= weights[begin]
        end = begin + int64(1)
        while end < plan.taken and int64(COARSENESS) * (arrivals + weights[end]) <= after - weights[end] + int64(1):
            arrivals += weights[end]
            after -= weights[end]
            end += int64(1)
        stamp += int64(1)
        used = int64(0)
        for i in range(begin, end):
            used = _count(tally, stamp, used, items[i], weights[i])
        at, error = _emit(tally, used, plan.size, work.keys, work.counts, work.begin[count])
        work.first[count] = ticks[begin] - plan.counted * (weights[begin] - int64(1))
        work.last[count] = ticks[end - int64(1)]
        work.arrivals[count], work.error[count] = arrivals, error
        count += int64(1)
        work.begin[count] = at
        begin = end
    return count, stamp


@kernel
def exact_buckets(events: Any, size: Any, counted: Any) -> Any:
    """Events as buckets without error, of at most `size` names each."""
    total = events.items.shape[0]
    work = _with_room(_trimmed_nothing(), int64(0), total)
    tally = _new_tally(size + int64(1))
    count = begin = stamp = int64(0)
    while begin < total:
        stamp += int64(1)
        used = arrivals = int64(0)
        end = begin
        while end < total:
            more = _count(tally, stamp, used, events.items[end], events.weights[end])
            if more > size:
                break
            used = more
            arrivals += events.weights[end]
            end += int64(1)
        at = work.begin[count]
        for i in range(used):
            work.keys[at + i], work.counts[at + i] = tally.keys[i], tally.counts[i]
        work.first[count] = events.ticks[begin] - counted * (events.weights[begin] - int64(1))
        work.last[count] = events.ticks[end - int64(1)]
        work.arrivals[count], work.error[count] = arrivals, int64(0)
        count += int64(1)
        work.begin[count] = at + used
        begin = end
    return _trimmed(work, count)


@kernel
def _trimmed_nothing() -> Any:
    none = np.empty(0, np.int64)
    return Buckets(none, none, none, none, np.zeros(1, np.int64), np.empty(0, np.uint64), none)


@kernel
def compact(buckets: Any, recent: Any, limit: Any, size: Any) -> Any:
    """Forget what lies before or at `limit`, and join neighbours as far as what came after them allows."""
    work = _trimmed(buckets, buckets.last.shape[0])
    return _trimmed(work, _compact(work, work.last.shape[0], recent, limit, size))


@kernel
def _compact(work: Any, count: Any, recent: Any, limit: Any, size: Any) -> Any:
    """As `compact`, in place; returns how many are left. Newest first it is decided, oldest first it is done."""
    oldest = int64(0)
    while oldest < count and work.last[oldest] <= limit:
        oldest += int64(1)
    starts = np.zeros(count + 1, np.bool_)
    largest = int64(1)
    after = int64(0)
    event = recent.ticks.shape[0]
    end = count
    while end > oldest:
        while event > 0 and recent.ticks[event - 1] >= work.last[end - 1]:
            event -= 1
            after += recent.weights[event]
        arrivals = work.arrivals[end - 1]
        begin = end - int64(1)
        while begin > oldest and int64(COARSENESS) * (arrivals + work.arrivals[begin - 1]) <= after + int64(1):
            begin -= int64(1)
            arrivals += work.arrivals[begin]
        starts[begin] = True
        largest = max(largest, work.begin[end] - work.begin[begin])
        after += arrivals
        end = begin
    starts[count] = True
    tally = _new_tally(largest)
    made = at = stamp = int64(0)
    begin = oldest
    while begin < count:
        end = begin + int64(1)
        while not starts[end]:
            end += int64(1)
        entries_begin, entries_end = work.begin[begin], work.begin[end]
        first, last, arrivals, error = work.first[begin], work.last[end - 1], int64(0), int64(0)
        for i in range(begin, end):
            first, last = min(first, work.first[i]), max(last, work.last[i])
            arrivals += work.arrivals[i]
            error += work.error[i]
        if end == begin + int64(1):
            for i in range(entries_begin, entries_end):
                work.keys[at], work.counts[at] = work.keys[i], work.counts[i]
                at += int64(1)
        else:
            stamp += int64(1)
            used = int64(0)
            for i in range(entries_begin, entries_end):
                used = _count(tally, stamp, used, work.keys[i], work.counts[i])
            at, taken = _emit(tally, used, size, work.keys, work.counts, at)
            error += taken
        work.first[made], work.last[made], work.arrivals[made], work.error[made] = first, last, arrivals, error
        made += int64(1)
        work.begin[made] = at
        begin = end
    return made
