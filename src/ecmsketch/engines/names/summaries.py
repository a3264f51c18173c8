"""Summaries of stretches of a stream, one after the other in time: how events become summaries, and how these are
joined as they grow old.

A summary stands for `arrivals` arrivals between its `first` and `last` tick. It names some items with counts: an item
that it names with count c came c to c + error times in it, and any other item at most `error` times. A summary has at
most one COARSENESS-th of the arrivals that came after it, so summaries grow with age, and few are needed for a long
window. Functions here make new summaries and never change given ones. An event costs about one step of a hash table.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any, NamedTuple, Self

import cython
import numpy as np
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.ecmsketch.engines.names.misra_gries import (
    Tally,
    close_tally,
    count_keys,
    open_tally,
    write_reduced,
)
from cython.cimports.ecmsketch.engines.names.recent import unpack_recent
from cython.cimports.ecmsketch.kernels.memory import allocate, int64s, uint64s
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

from ecmsketch.engines.names.recent import RecentEvents

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

COARSENESS = 4
"""A joined summary has at most a quarter of the arrivals that came after it. Finer ones would be more."""
QUARTER = cython.declare(int64_t, COARSENESS)
STEP = cython.declare(int64_t, 2**21)
"""Signals are looked for after about so many events."""


class SummaryParams(NamedTuple):
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


class Summaries(NamedTuple):
    """Summaries sorted by `last`. Summary i names keys[begin[i]:begin[i + 1]].

    All columns lie in one array, one after the other, which is never changed in place.
    """

    words: Ints
    count: int
    """How many summaries there are."""

    @classmethod
    def of(cls, first: Ints, last: Ints, arrivals: Ints, error: Ints, begin: Ints, keys: Keys, counts: Ints) -> Self:
        """Summaries with these columns."""
        return cls(np.concatenate([first, last, arrivals, error, begin, keys.view(np.int64), counts]), len(last))

    @property
    def first(self) -> Ints:
        return self.words[: self.count]

    @property
    def last(self) -> Ints:
        return self.words[self.count : 2 * self.count]

    @property
    def arrivals(self) -> Ints:
        return self.words[2 * self.count : 3 * self.count]

    @property
    def error(self) -> Ints:
        return self.words[3 * self.count : 4 * self.count]

    @property
    def begin(self) -> Ints:
        return self.words[4 * self.count : 5 * self.count + 1]

    @property
    def keys(self) -> Keys:
        return self.words[5 * self.count + 1 : 5 * self.count + 1 + self.entries].view(np.uint64)

    @property
    def counts(self) -> Ints:
        return self.words[5 * self.count + 1 + self.entries :]

    @property
    def entries(self) -> int:
        """How many names all summaries have together."""
        return (len(self.words) - 5 * self.count - 1) // 2

    def columns(self) -> tuple[Any, ...]:
        """First, last, arrivals, error, begin, keys and counts."""
        return self.first, self.last, self.arrivals, self.error, self.begin, self.keys, self.counts

    def select(self, order: Ints) -> Summaries:
        """Some summaries, in some order."""
        lengths = np.diff(self.begin)[order]
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.repeat(self.begin[:-1][order] - begin[:-1], lengths) + np.arange(begin[-1])
        first, last, arrivals, error = (column[order] for column in self.columns()[:4])
        return Summaries.of(first, last, arrivals, error, begin, self.keys[entries], self.counts[entries])

    def after(self, limit: int) -> Summaries:
        """Those that end after a tick."""
        return self.select(np.flatnonzero(self.last > limit))

    def shifted(self, by: int) -> Summaries:
        """The same summaries, later by so many ticks."""
        if not self.count:
            return self
        words = self.words.copy()
        words[: 2 * self.count] += by
        return Summaries(words, self.count)


_NONE = Summaries(np.zeros(1, np.int64), 0)


def no_summaries() -> Summaries:
    """An empty list of summaries."""
    return _NONE


def gathered(parts: list[Summaries]) -> Summaries:
    """All summaries of several lists, sorted by their last ticks."""
    columns = [np.concatenate(column) for column in zip(*(part.columns() for part in parts), strict=True)]
    first, last, arrivals, error, _, keys, counts = columns
    lengths = np.concatenate([np.diff(part.begin) for part in parts])
    begins = np.append(np.cumsum(lengths) - lengths, len(keys))
    order = np.argsort(last, kind="stable")
    return Summaries.of(first, last, arrivals, error, begins, keys, counts).select(order)


def absorb(
    recent: RecentEvents, keys: Keys, ticks: Ints, weights: Ints | None, summaries: Summaries, done: int,
    params: SummaryParams,
) -> tuple[Summaries, int]:  # fmt: skip
    """Turn the oldest of some events into summaries, `taken` at a time, until fewer than kept + taken are left.

    These are the recent events, and others that follow them. The result depends on the events alone, not on how they
    were cut into batches. `done` counts the times. Returns (summaries, done).
    """
    seam, batch = cython.declare(Events), cython.declare(Events)
    work, tally, plan = cython.declare(Work), cython.declare(Tally), cython.declare(Params)
    set_params(cython.address(plan), params)
    point_at(cython.address(batch), keys, ticks, weights)
    rounds: int64_t = params.rounds
    turn: int64_t = done
    start: int64_t = 0
    count: int64_t = 0
    known: int64_t = len(recent.keys)
    open_work(cython.address(work))
    tally.memory = cython.NULL
    join_seam(cython.address(seam), recent, cython.address(batch), plan.kept + plan.taken)
    try:
        if not open_tally(cython.address(tally), plan.taken):
            raise MemoryError
        count = load_summaries(cython.address(work), summaries, plan.taken * rounds)
        while known + batch.count - start >= plan.kept + plan.taken:
            with cython.nogil:
                count = take_many(
                    cython.address(seam), cython.address(batch), start, known, cython.address(plan),
                    cython.address(work), count, cython.address(tally), turn, rounds,
                )  # fmt: skip
            if count < 0:
                raise MemoryError
            turn += takes(known + batch.count - start, cython.address(plan))
            start += plan.taken * takes(known + batch.count - start, cython.address(plan))
            PyErr_CheckSignals()
        return stored_summaries(cython.address(work), count), turn
    finally:
        close_tally(cython.address(tally))
        close_work(cython.address(work))
        free(seam.keys)


def exact_summaries(keys: Keys, ticks: Ints, weights: Ints | None, params: SummaryParams) -> Summaries:
    """Events as summaries without error, of at most `size` events each."""
    events = cython.declare(Events)
    work, tally, plan = cython.declare(Work), cython.declare(Tally), cython.declare(Params)
    set_params(cython.address(plan), params)
    point_at(cython.address(events), keys, ticks, weights)
    count: int64_t = 0
    open_work(cython.address(work))
    try:
        load_summaries(cython.address(work), _NONE, events.count)
        if not open_tally(cython.address(tally), plan.size):
            raise MemoryError
        with cython.nogil:
            count = summarise_exactly(
                cython.address(events), cython.address(plan), cython.address(work), cython.address(tally)
            )
            close_tally(cython.address(tally))
        return stored_summaries(cython.address(work), count)
    finally:
        close_work(cython.address(work))


def compacted(summaries: Summaries, recent: RecentEvents, limit: int, size: int) -> Summaries:
    """Forget what lies before or at `limit`, and join neighbours as far as what came after them allows."""
    events, work = cython.declare(Events), cython.declare(Work)
    oldest: int64_t = limit
    names: int64_t = size
    count: int64_t = 0
    keys, ticks, weights = recent.columns()
    point_at(cython.address(events), keys, ticks, weights)
    open_work(cython.address(work))
    try:
        count = load_summaries(cython.address(work), summaries, 0)
        with cython.nogil:
            count = compact(cython.address(work), count, cython.address(events), oldest, names)
        if count < 0:
            raise MemoryError
        return stored_summaries(cython.address(work), count)
    finally:
        close_work(cython.address(work))


@cython.cfunc
@cython.exceptval(-1, check=False)
def join_seam(
    seam: cython.pointer(Events), recent: object, batch: cython.pointer(Events), length: int64_t
) -> cython.int:
    """The recent events and so many of the batch that each stretch of that length lies either here or in the batch,
    in memory that begins at their keys.
    """
    known: int64_t = len(recent.keys)
    some: int64_t = min(length, batch[0].count)
    count: int64_t = known + some
    weighted: cython.bint = len(recent.weights) > 0 or batch[0].weights != cython.NULL
    i: int64_t
    words: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), allocate((24 if weighted else 16) * count))
    if words == cython.NULL:
        raise MemoryError
    seam[0].keys = cython.cast(cython.pointer(uint64_t), words)
    seam[0].ticks = words + count
    seam[0].weights = words + 2 * count if weighted else cython.cast(cython.pointer(int64_t), cython.NULL)
    seam[0].count = count
    unpack_recent(recent, seam[0].keys, seam[0].ticks, seam[0].weights)
    copy_words(words + known, cython.cast(cython.pointer(int64_t), batch[0].keys), some)
    copy_words(seam[0].ticks + known, batch[0].ticks, some)
    if weighted:
        for i in range(some):
            seam[0].weights[known + i] = weight_of(batch, i)
    return 0


@cython.cfunc
@cython.exceptval(-1, check=False)
def set_params(plan: cython.pointer(Params), params: object) -> cython.int:
    """Copy parameters."""
    plan[0].size = params.size
    plan[0].kept = params.kept
    plan[0].taken = params.taken
    plan[0].window = params.window
    plan[0].counted = params.counted
    return 0


@cython.cfunc
@cython.exceptval(-1, check=False)
def point_at(events: cython.pointer(Events), keys: object, ticks: object, weights: object) -> cython.int:
    """Point at the columns of events, which the caller keeps."""
    events[0].keys = uint64s(keys)
    events[0].ticks = int64s(ticks)
    events[0].count = len(keys)
    events[0].weights = cython.NULL
    wrong: cython.bint = len(ticks) != len(keys)
    if weights is not None:
        events[0].weights = int64s(weights)
        wrong = wrong or len(weights) != len(keys)
    if wrong:
        raise ValueError("events: expected columns of one length")
    return 0


@cython.cfunc
@cython.nogil
def from_place(events: cython.pointer(Events), begin: int64_t, count: int64_t) -> Events:
    """Some of the events, where they are."""
    part = cython.declare(Events)
    part.keys = events[0].keys + begin
    part.ticks = events[0].ticks + begin
    part.weights = cython.NULL
    if events[0].weights != cython.NULL:
        part.weights = events[0].weights + begin
    part.count = count
    return part


@cython.cfunc
@cython.nogil
def weight_of(events: cython.pointer(Events), event: int64_t) -> int64_t:
    """The weight of one event."""
    return 1 if events[0].weights == cython.NULL else events[0].weights[event]


@cython.cfunc
@cython.nogil
def arrivals_of(events: cython.pointer(Events), begin: int64_t, end: int64_t) -> int64_t:
    """The weights of the events begin .. end - 1 together."""
    total: int64_t = 0
    i: int64_t
    if events[0].weights == cython.NULL:
        return end - begin
    for i in range(begin, end):
        total += events[0].weights[i]
    return total


@cython.cfunc
@cython.nogil
def reserve(work: cython.pointer(Work), count: int64_t, used: int64_t, most: int64_t, entries: int64_t) -> cython.bint:
    """Have memory for so many summaries and entries, with the first `count` and `used` ones; False, and no change,
    without memory.
    """
    columns: cython.pointer(int64_t)
    names: cython.pointer(uint64_t)
    if work[0].most >= most and work[0].most_entries >= entries:
        return True
    columns = cython.cast(cython.pointer(int64_t), allocate(8 * (5 * most + 1)))
    names = cython.cast(cython.pointer(uint64_t), allocate(16 * entries))
    if columns == cython.NULL or names == cython.NULL:
        free(columns)
        free(names)
        return False
    columns[4 * most] = 0
    if count:
        memcpy(columns, work[0].first, cython.cast(cython.size_t, 8 * count))
        memcpy(columns + most, work[0].last, cython.cast(cython.size_t, 8 * count))
        memcpy(columns + 2 * most, work[0].arrivals, cython.cast(cython.size_t, 8 * count))
        memcpy(columns + 3 * most, work[0].error, cython.cast(cython.size_t, 8 * count))
        memcpy(columns + 4 * most, work[0].begin, cython.cast(cython.size_t, 8 * (count + 1)))
    if used:
        memcpy(names, work[0].keys, cython.cast(cython.size_t, 8 * used))
        memcpy(names + entries, work[0].counts, cython.cast(cython.size_t, 8 * used))
    close_work(work)
    work[0].most = most
    work[0].most_entries = entries
    work[0].columns = cython.cast(cython.p_void, columns)
    work[0].entries = cython.cast(cython.p_void, names)
    work[0].first = columns
    work[0].last = columns + most
    work[0].arrivals = columns + 2 * most
    work[0].error = columns + 3 * most
    work[0].begin = columns + 4 * most
    work[0].keys = names
    work[0].counts = cython.cast(cython.pointer(int64_t), names + entries)
    return True


@cython.cfunc
@cython.nogil
def grow(work: cython.pointer(Work), count: int64_t, more: int64_t) -> cython.bint:
    """Have memory for `more` summaries and entries beyond the first `count`, and for some more if it has to grow."""
    used: int64_t = work[0].begin[count]
    if work[0].most >= count + more and work[0].most_entries >= used + more:
        return True
    return reserve(work, count, used, 2 * count + more, 2 * used + more)


@cython.cfunc
@cython.nogil
def open_work(work: cython.pointer(Work)) -> cython.void:
    """Begin without memory."""
    work[0].most = -1
    work[0].most_entries = -1
    work[0].columns = cython.NULL
    work[0].entries = cython.NULL


@cython.cfunc
@cython.nogil
def close_work(work: cython.pointer(Work)) -> cython.void:
    """Give the memory back."""
    free(work[0].columns)
    free(work[0].entries)
    work[0].columns = cython.NULL
    work[0].entries = cython.NULL


@cython.cfunc
@cython.exceptval(-1, check=False)
def load_summaries(work: cython.pointer(Work), summaries: object, more: int64_t) -> int64_t:
    """Copy summaries to memory with space for `more` of them, and as many entries; returns how many there are."""
    count: int64_t = summaries.count
    used: int64_t = summaries.entries
    words: cython.pointer(int64_t) = int64s(summaries.words)
    if not reserve(work, 0, 0, 2 * count + more, 2 * used + more):
        raise MemoryError
    copy_words(work[0].first, words, count)
    copy_words(work[0].last, words + count, count)
    copy_words(work[0].arrivals, words + 2 * count, count)
    copy_words(work[0].error, words + 3 * count, count)
    copy_words(work[0].begin, words + 4 * count, count + 1)
    words = words + 5 * count + 1
    copy_words(cython.cast(cython.pointer(int64_t), work[0].keys), words, used)
    copy_words(work[0].counts, words + used, used)
    return count


@cython.cfunc
def stored_summaries(work: cython.pointer(Work), count: int64_t) -> object:
    """The first `count` summaries, in an array of their own."""
    used: int64_t = work[0].begin[count]
    made = np.empty(5 * count + 1 + 2 * used, np.int64)
    words: cython.pointer(int64_t) = int64s(made)
    if count == 0:
        return _NONE
    copy_words(words, work[0].first, count)
    copy_words(words + count, work[0].last, count)
    copy_words(words + 2 * count, work[0].arrivals, count)
    copy_words(words + 3 * count, work[0].error, count)
    copy_words(words + 4 * count, work[0].begin, count + 1)
    words = words + 5 * count + 1
    copy_words(words, cython.cast(cython.pointer(int64_t), work[0].keys), used)
    copy_words(words + used, work[0].counts, used)
    return Summaries(made, count)


@cython.cfunc
@cython.nogil
def copy_words(target: cython.pointer(int64_t), source: cython.pointer(int64_t), count: int64_t) -> cython.void:
    """Copy numbers of 64 bits."""
    if count:
        memcpy(target, source, cython.cast(cython.size_t, 8 * count))


@cython.cfunc
@cython.nogil
def takes(waiting: int64_t, plan: cython.pointer(Params)) -> int64_t:
    """How often events are taken before signals are looked for."""
    return min((waiting - plan[0].kept) // plan[0].taken, max(STEP // plan[0].taken, 1))


@cython.cfunc
@cython.nogil
def take_many(
    seam: cython.pointer(Events), batch: cython.pointer(Events), start: int64_t, known: int64_t,
    plan: cython.pointer(Params), work: cython.pointer(Work), count: int64_t, tally: cython.pointer(Tally),
    turn: int64_t, rounds: int64_t,
) -> int64_t:  # fmt: skip
    """Summarise events from place `start` on, some times, and join summaries after every `rounds` turns; returns how
    many summaries there are, or -1 without memory.
    """
    events, left = cython.declare(Events), cython.declare(Events)
    length: int64_t = plan[0].kept + plan[0].taken
    more: int64_t = plan[0].taken * rounds
    limit: int64_t
    stop: int64_t = start + plan[0].taken * takes(known + batch[0].count - start, plan)
    while start < stop:
        events = from_place(seam, start, length) if start < known else from_place(batch, start - known, length)
        limit = events.ticks[length - 1] - plan[0].window
        count = summarise(cython.address(events), limit, plan, work, count, tally)
        start += plan[0].taken
        turn += 1
        if turn % rounds == 0:
            left = from_place(cython.address(events), plan[0].taken, plan[0].kept)
            count = compact(work, count, cython.address(left), limit, plan[0].size)
            if count < 0:
                return -1
            if not grow(work, count, more):
                return -1
    return count


@cython.cfunc
@cython.nogil
def summarise(
    events: cython.pointer(Events), limit: int64_t, plan: cython.pointer(Params), work: cython.pointer(Work),
    count: int64_t, tally: cython.pointer(Tally),
) -> int64_t:  # fmt: skip
    """Summarise the oldest `taken` events, as coarsely as what came after them allows; returns how many summaries
    there are now. Events up to `limit` are outside the window and left out: their weights may exceed 63 bits.
    """
    begin: int64_t = 0
    end: int64_t
    at: int64_t
    after: int64_t
    arrivals: int64_t = 0
    error: int64_t = 0
    first: int64_t
    while begin < plan[0].taken and events[0].ticks[begin] <= limit:
        begin += 1
    after = arrivals_of(events, begin, events[0].count)
    while begin < plan[0].taken:
        end = stretch_end(events, begin, plan[0].taken, after, cython.address(arrivals))
        after -= arrivals
        at = count_stretch(events, begin, end, plan[0].size, work, count, tally, cython.address(error))
        first = events[0].ticks[begin] - plan[0].counted * (weight_of(events, begin) - 1)
        count = close_summary(work, count, first, events[0].ticks[end - 1], arrivals, error, at)
        begin = end
    return count


@cython.cfunc
@cython.nogil
def stretch_end(
    events: cython.pointer(Events), begin: int64_t, most: int64_t, after: int64_t, arrivals: cython.pointer(int64_t)
) -> int64_t:
    """Where a summary ends that begins with an event, if `after` arrivals come from there on; and its arrivals."""
    total: int64_t
    end: int64_t
    if events[0].weights == cython.NULL:
        total = max(min((after + 1) // (QUARTER + 1), most - begin), 1)
        arrivals[0] = total
        return begin + total
    total = events[0].weights[begin]
    end = begin + 1
    while end < most and QUARTER * (total + events[0].weights[end]) <= after - total - events[0].weights[end] + 1:
        total += events[0].weights[end]
        end += 1
    arrivals[0] = total
    return end


@cython.cfunc
@cython.nogil
def count_stretch(
    events: cython.pointer(Events), begin: int64_t, end: int64_t, size: int64_t, work: cython.pointer(Work),
    count: int64_t, tally: cython.pointer(Tally), error: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Write the entries of summary number `count`, of the events begin .. end - 1; returns the place after them."""
    part = cython.declare(Events)
    part = from_place(events, begin, end - begin)
    used: int64_t = count_keys(tally, part.keys, part.weights, part.count)
    return write_reduced(tally, used, size, work[0].keys, work[0].counts, work[0].begin[count], error)


@cython.cfunc
@cython.nogil
def summarise_exactly(
    events: cython.pointer(Events), plan: cython.pointer(Params), work: cython.pointer(Work),
    tally: cython.pointer(Tally),
) -> int64_t:  # fmt: skip
    """Make summaries without error of all events; returns how many."""
    count: int64_t = 0
    begin: int64_t = 0
    end: int64_t
    at: int64_t
    error: int64_t = 0
    first: int64_t
    while begin < events[0].count:
        end = min(begin + plan[0].size, events[0].count)
        at = count_stretch(events, begin, end, plan[0].size, work, count, tally, cython.address(error))
        first = events[0].ticks[begin] - plan[0].counted * (weight_of(events, begin) - 1)
        count = close_summary(work, count, first, events[0].ticks[end - 1], arrivals_of(events, begin, end), 0, at)
        begin = end
    return count


@cython.cfunc
@cython.nogil
def close_summary(
    work: cython.pointer(Work), count: int64_t, first: int64_t, last: int64_t, arrivals: int64_t, error: int64_t,
    end: int64_t,
) -> int64_t:  # fmt: skip
    """Note the facts of summary number `count`, whose entries are written up to `end`; returns count + 1."""
    work[0].first[count] = first
    work[0].last[count] = last
    work[0].arrivals[count] = arrivals
    work[0].error[count] = error
    work[0].begin[count + 1] = end
    return count + 1


@cython.cfunc
@cython.nogil
def compact(
    work: cython.pointer(Work), count: int64_t, recent: cython.pointer(Events), limit: int64_t, size: int64_t
) -> int64_t:
    """Do in place what `compacted` does; returns how many summaries are left, or -1 without memory.

    First decide from newest to oldest what to join, since newer arrivals say how large a summary may be. Then join
    from oldest to newest, so that a result is written over summaries that were read already.
    """
    tally = cython.declare(Tally)
    oldest: int64_t = 0
    most_entries: int64_t = 1
    made: int64_t = 0
    ranges: int64_t
    begin: int64_t
    i: int64_t
    while oldest < count and work[0].last[oldest] <= limit:
        oldest += 1
    ends: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), allocate(8 * (count - oldest)))
    if ends == cython.NULL:
        return -1
    ranges = decide_joins(work, oldest, count, recent, ends, cython.address(most_entries))
    if not open_tally(cython.address(tally), most_entries):
        free(ends)
        return -1
    begin = oldest
    for i in range(ranges):
        made = join_range(work, begin, ends[ranges - 1 - i], made, cython.address(tally), size)
        begin = ends[ranges - 1 - i]
    close_tally(cython.address(tally))
    free(ends)
    return made


@cython.cfunc
@cython.nogil
def decide_joins(
    work: cython.pointer(Work), oldest: int64_t, count: int64_t, recent: cython.pointer(Events),
    ends: cython.pointer(int64_t), most_entries: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Which neighbours become one: the ends of their ranges, newest first, and the most entries that a range has.
    Returns how many ranges there are.
    """
    ranges: int64_t = 0
    after: int64_t = 0
    event: int64_t = recent[0].count
    end: int64_t = count
    begin: int64_t
    arrivals: int64_t
    while end > oldest:
        while event > 0 and recent[0].ticks[event - 1] >= work[0].last[end - 1]:
            event -= 1
            after += weight_of(recent, event)
        begin = end - 1
        arrivals = work[0].arrivals[begin]
        while begin > oldest and QUARTER * (arrivals + work[0].arrivals[begin - 1]) <= after + 1:
            begin -= 1
            arrivals += work[0].arrivals[begin]
        ends[ranges] = end
        ranges += 1
        most_entries[0] = max(most_entries[0], work[0].begin[end] - work[0].begin[begin])
        after += arrivals
        end = begin
    return ranges


@cython.cfunc
@cython.nogil
def join_range(
    work: cython.pointer(Work), begin: int64_t, end: int64_t, made: int64_t, tally: cython.pointer(Tally),
    size: int64_t,
) -> int64_t:  # fmt: skip
    """Write summaries begin .. end - 1 as one, as number `made`; returns made + 1."""
    first: int64_t = work[0].first[begin]
    last: int64_t = work[0].last[begin]
    arrivals: int64_t = 0
    error: int64_t = 0
    taken: int64_t = 0
    at: int64_t = work[0].begin[made]
    old: int64_t = work[0].begin[begin]
    new: int64_t = work[0].begin[end]
    used: int64_t
    i: int64_t
    for i in range(begin, end):
        first = min(first, work[0].first[i])
        last = max(last, work[0].last[i])
        arrivals += work[0].arrivals[i]
        error += work[0].error[i]
    if end > begin + 1:
        used = count_keys(tally, work[0].keys + old, work[0].counts + old, new - old)
        at = write_reduced(tally, used, size, work[0].keys, work[0].counts, at, cython.address(taken))
        return close_summary(work, made, first, last, arrivals, error + taken, at)
    for i in range(old, new):
        if at == old:
            break  # so do all before it: nothing is to be moved
        work[0].keys[at + i - old] = work[0].keys[i]
        work[0].counts[at + i - old] = work[0].counts[i]
    return close_summary(work, made, first, last, arrivals, error, at + new - old)
