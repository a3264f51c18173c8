"""The base of counters made of buckets: reading, merging, concatenating and bytes.

A cell's arrivals are numbered 1, 2, 3 ... A bucket holds consecutive arrivals and is known by the tick of its newest
one, its end. Which buckets exist is decided by the number of arrivals alone; a counter says how. Concatenated segments
lie below the live buckets as frozen ones with explicit sizes (histories.py).

Ticks are unsigned offsets from `base`, in 32 bits wherever the window allows. An offset of 0 means "long expired". The
base moves on, rarely, when an offset would not fit any more.

A range begins in a straddling bucket, and only there an answer is unsure: if S arrivals are newer and the bucket has C,
then S + 1 to S + C are in the range. Reading a cell costs O(log buckets).
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any, ClassVar, Self

import cython
import numpy as np
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.ecmsketch.engines.cells.counters import CounterArray
from cython.cimports.ecmsketch.kernels.memory import doubles, int64s, uint32s
from cython.cimports.libc.stdint import int64_t
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.engines.cells.arrivals import placed
from ecmsketch.engines.cells.bucket_bytes import decode_buckets, encode_buckets
from ecmsketch.engines.cells.counters import MAX_HELD, MOST_NUMBERED
from ecmsketch.engines.cells.histories import (
    Buckets,
    Frozen,
    History,
    chain,
    freeze,
    frozen_history,
    in_window,
    replay_points,
)
from ecmsketch.engines.contract import Reading
from ecmsketch.errors import ConfigError, FormatError, InputError

Ints = NDArray[np.int64]

UNKNOWN = cython.declare(int64_t, -(1 << 62))
NARROW = cython.declare(int64_t, 0xFFFFFFFF)
NUMBERED = cython.declare(int64_t, MOST_NUMBERED)


@cython.cclass
class BucketCounters(CounterArray):
    """An array of counters whose state is buckets.

    A subclass has the methods that buckets.pxd lists first, and `reserve`, `restore`, `copy_live` and `live_nbytes`.
    """

    lossless: ClassVar[bool] = False
    certain: ClassVar[bool] = True
    joins_proven: ClassVar[bool] = True

    def __init__(self, config: SketchConfig) -> None:
        self.config = config
        self.cells = config.cells
        self.window = config.window
        self.wide = config.tick_bytes == 8
        self.spread = 1 if config.model == "count" else 0
        self.epsilon = config.epsilon_sw
        self.half = config.estimator == "half"
        self.base = 0
        self.own(None)

    @classmethod
    def new(cls, config: SketchConfig, key: int = 0) -> Self:
        """See `Counters.new`; nothing is drawn at random here."""
        return cls(config)

    @cython.cfunc
    @cython.nogil
    def arrivals_of(self, cell: int64_t) -> int64_t:
        """Arrivals that the live part of a cell has ever seen."""
        return 0

    @cython.cfunc
    @cython.nogil
    def count_of(self, cell: int64_t) -> int64_t:
        """Live buckets stored in a cell; some may have expired."""
        return 0

    @cython.cfunc
    @cython.nogil
    def history_of(self, cell: int64_t, ends: cython.pointer(int64_t), sizes: cython.pointer(int64_t)) -> cython.void:
        """Write ends and sizes of these, oldest first."""

    @cython.cfunc
    @cython.nogil
    def straddle(self, cell: int64_t, since: int64_t, limit: int64_t, found: cython.pointer(Straddling)) -> cython.void:
        """Find the live bucket of a cell in which a range after `since` begins.

        Its start is where the next older one ends, or UNKNOWN if there is none, or if it expired at `limit`.
        """

    @cython.cfunc
    @cython.nogil
    def move_live(self, shift: int64_t) -> cython.void:
        """Take `shift` from every live offset, in place; offsets stay 0 or more."""

    @cython.cfunc
    @cython.nogil
    def most_buckets(self, arrivals: int64_t) -> int64_t:
        """How many buckets that many arrivals can have."""
        return 0

    @cython.cfunc
    @cython.nogil
    def stood_for(self, arrivals: int64_t, buckets: int64_t) -> int64_t:
        """How many arrivals the newest `buckets` of a cell stand for; the oldest bucket may count as one."""
        return 0

    def restore(self, arrivals: Ints, offset: Ints, end: Ints, most: int) -> None:
        """Take over arrivals per cell, and the ends of their newest buckets, oldest first, in `most` bytes at most."""
        raise NotImplementedError

    def reserve(self, arrivals: Any, oldest: int, now: int) -> Any:
        """See `Counters.reserve`."""
        raise NotImplementedError

    def copy_live(self, other: Self) -> None:
        """Give `other`, which is empty, a copy of the live state."""
        raise NotImplementedError

    @property
    def live_nbytes(self) -> int:
        """Memory of the live state."""
        raise NotImplementedError

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """See `Counters.add`."""
        self.reserve(placed(cells, ticks, weights), oldest, now).commit()

    def read(self, cells: NDArray[np.uint32], since: int, now: int, origin: int) -> Reading:
        """See `Counters.read`."""
        numbers = uint32s(cells)
        count: int64_t = len(cells)
        start: int64_t = max(since - self.base, 0)
        limit: int64_t = max(now - self.window - self.base, 0)
        exact: cython.bint = origin > since
        value, lower, upper = np.empty(count), np.empty(count), np.empty(count)
        values, lowers, uppers = doubles(value), doubles(lower), doubles(upper)
        most: int64_t = 0
        i: int64_t
        for i in range(count):
            most = max(most, cython.cast(int64_t, numbers[i]))
        if most >= self.cells:
            raise IndexError(f"expected cells below {self.cells}, got {most}")
        with cython.nogil:
            for i in range(count):
                read_cell(self, numbers[i], start, limit, exact, values + i, lowers + i, uppers + i)
        return Reading(value, lower, upper)

    def live_history(self) -> History:
        """Every stored live bucket; some may have expired."""
        offset = np.zeros(self.cells + 1, np.int64)
        offsets = int64s(offset)
        cell: int64_t
        with cython.nogil:
            for cell in range(self.cells):
                offsets[cell + 1] = offsets[cell] + self.count_of(cell)
        end, size = np.empty(offsets[self.cells], np.int64), np.empty(offsets[self.cells], np.int64)
        ends, sizes = int64s(end), int64s(size)
        with cython.nogil:
            for cell in range(self.cells):
                self.history_of(cell, ends + offsets[cell], sizes + offsets[cell])
        return History(offset, end, size)

    @property
    def arrivals(self) -> Ints:
        """Arrivals per cell that the live part has ever seen."""
        found = np.empty(self.cells, np.int64)
        target = int64s(found)
        cell: int64_t
        for cell in range(self.cells):
            target[cell] = self.arrivals_of(cell)
        return found

    def buckets(self, now: int, origin: int) -> Buckets:
        """Everything inside the window at `now`."""
        limit = now - self.window - self.base
        offset, start, end, size = in_window(self._history(0), limit, origin - self.base)
        return Buckets(offset, start + self.base, end + self.base, size)

    @classmethod
    def merge(cls, parts: list[Self], origins: list[int], now: int) -> Self:
        """See `Counters.merge`. Replays every bucket, about half at its start and half at its end."""
        result = cls.new(parts[0].config)
        sources = []
        for part, origin in zip(parts, origins, strict=True):
            sources.append(part.buckets(now, origin))
            PyErr_CheckSignals()
        cells, ticks, weights = replay_points(sources, parts[0].config.split == "paper")
        if len(ticks):
            result.add(cells, ticks, weights, int(ticks.min()), int(ticks.max()))
        return result

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """See `Counters.concat`. The last segment stays live; all before it are frozen under it."""
        last = segments[-1].copy()
        result: BucketCounters = last
        oldest: int64_t = max(now - result.window - 1, min([segment.base for segment in segments]))
        base: int64_t = oldest if result.nothing_counted() else min(result.base, oldest)
        result.move_base(base, base - result.base, False)
        histories = [older_history(segment, base) for segment in segments[:-1]]
        histories.append(frozen_history(result.frozen, result.cells))
        limit = now - result.window - base
        result.own(freeze(result.arrivals, chain(histories), limit, result.epsilon))
        return last

    def encode(self, now: int) -> bytes:
        """See `Counters.encode`."""
        frozen = frozen_history(self.frozen, self.cells)
        clock = now - self.base
        return encode_buckets(self.arrivals, self.live_history(), frozen, clock, clock - self.window)

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int, most: int) -> Self:
        """See `Counters.decode`."""
        arrivals, offset, end, frozen = decode_buckets(data, config.cells, config.window)
        try:
            decoded = cls.new(config)
            result: BucketCounters = decoded
            result._check_decoded(arrivals, offset)
            result.restore(arrivals, offset, end, most)
        except ConfigError as error:
            raise FormatError(f"counters: {error}") from error
        result.base = now - config.window - 1
        result.own(frozen)
        return decoded

    def _check_decoded(self, arrivals: Ints, offset: Ints) -> None:
        """Refuse buckets that so many arrivals cannot have."""
        numbers, offsets = int64s(arrivals), int64s(offset)
        cell: int64_t
        for cell in range(self.cells):
            if offsets[cell + 1] - offsets[cell] > self.most_buckets(numbers[cell]):
                raise FormatError(f"counters: counter {cell} has more buckets than its arrivals allow")
        for cell in range(self.cells):
            if self.stood_for(numbers[cell], offsets[cell + 1] - offsets[cell]) > cython.cast(int64_t, MAX_HELD):
                raise FormatError(f"counters: counter {cell} has more arrivals in the window than 2**53")

    def shift(self, ticks: int) -> None:
        """See `Counters.shift`."""
        self.base += ticks
        self.version += 1

    def copy(self, config: SketchConfig | None = None) -> Self:
        """See `Counters.copy`."""
        copied = type(self)(config or self.config)
        other: BucketCounters = copied
        other.base = self.base
        other.own(None if self.frozen is None else Frozen(*[array.copy() for array in self.frozen]))
        self.copy_live(copied)
        return copied

    @property
    def nbytes(self) -> int:
        """See `Counters.nbytes`."""
        return self.live_nbytes + sum([array.nbytes for array in self.frozen or ()])

    @property
    def live_count(self) -> int:
        """Live buckets stored, in all cells."""
        count: int64_t = 0
        cell: int64_t
        for cell in range(self.cells):
            count += self.count_of(cell)
        return count

    @property
    def bucket_count(self) -> int:
        """See `Counters.bucket_count`."""
        return self.live_count + (0 if self.frozen is None else len(self.frozen.end))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever counted."""
        return self.nothing_counted()

    @cython.cfunc
    @cython.exceptval(-1)
    def own(self, frozen: object) -> cython.int:
        """Take over frozen buckets, whose arrays nobody else has; None if there are none."""
        self.frozen_offset = self.frozen_end = self.frozen_tail = cython.NULL
        self.frozen = frozen
        if frozen is not None:
            self.frozen_offset, self.frozen_end = int64s(frozen.offset), int64s(frozen.end)
            self.frozen_tail = int64s(frozen.tail)
        return 0

    @cython.cfunc
    @cython.nogil
    def nothing_counted(self) -> cython.bint:
        """Whether nothing was ever counted."""
        cell: int64_t
        if self.frozen_end != cython.NULL:
            return False
        for cell in range(self.cells):  # noqa: SIM110
            if self.arrivals_of(cell) != 0:
                return False
        return True

    @cython.cfunc
    @cython.nogil
    def next_base(self, oldest: int64_t, now: int64_t, shift: cython.pointer(int64_t)) -> int64_t:
        """The base that lets `now` be an offset: the same one, if it fits; `shift` is how far it moves what is stored.

        The first arrivals, which lie in oldest .. now, decide the first base.
        """
        base: int64_t = self.base
        last: int64_t = now - self.window - 1
        shift[0] = 0
        if self.nothing_counted():
            base = max(oldest - 1, last)
        if not self.wide and now - base > NARROW:
            shift[0] = last - base
            return last
        return base

    @cython.cfunc
    @cython.nogil
    def move_base(self, base: int64_t, shift: int64_t, moved: cython.bint) -> cython.void:
        """Let offsets count from another base: those of frozen buckets, and of live ones if these are not `moved`."""
        i: int64_t
        self.base = base
        if shift == 0:
            return
        if self.frozen_end != cython.NULL:
            for i in range(self.frozen_offset[self.cells]):
                self.frozen_end[i] = max(self.frozen_end[i] - shift, 0)
        if not moved:
            self.move_live(shift)

    @cython.cfunc
    @cython.exceptval(-1)
    def check_numbers(self, coming: cython.pointer(int64_t)) -> cython.int:
        """Refuse arrivals that would get too large a number in their cell."""
        cell: int64_t
        for cell in range(self.cells):
            if coming[cell] >= NUMBERED - self.arrivals_of(cell):
                raise InputError(
                    f"weights: counter {cell} numbers its arrivals, and 2**59 of them are too many; nothing was "
                    "counted. Count in a larger unit, or begin a new sketch"
                )
        return 0

    @cython.cfunc
    @cython.nogil
    def locate(self, cell: int64_t, since: int64_t, limit: int64_t, found: cython.pointer(Straddling)) -> cython.void:
        """Find the bucket of a cell in which a range after `since` begins, live or frozen."""
        low: int64_t
        high: int64_t
        at: int64_t
        newer: int64_t
        known: cython.bint
        self.straddle(cell, since, limit, found)
        if self.frozen_end == cython.NULL:
            return
        low, high = self.frozen_offset[cell], self.frozen_offset[cell + 1]
        at = first_after(self.frozen_end, low, high, since)
        known = at > low and self.frozen_end[at - 1] > limit
        if at < high:
            newer = self.frozen_tail[at + 1] if at + 1 < high else 0
            found[0].newer = self.arrivals_of(cell) + newer
            found[0].size = self.frozen_tail[at] - newer
            found[0].start = self.frozen_end[at - 1] if known else UNKNOWN
            found[0].end = self.frozen_end[at]
        elif known and found[0].start == UNKNOWN:
            found[0].start = self.frozen_end[at - 1]

    def _history(self, shift: int) -> History:
        """Every stored bucket, frozen and live."""
        live = self.live_history()
        if self.frozen is not None:
            live = chain([frozen_history(self.frozen, self.cells), live])
        return live._replace(end=live.end + shift)


def older_history(segment: BucketCounters, base: int) -> History:
    """Every bucket of a segment, as offsets from a base."""
    PyErr_CheckSignals()
    return segment._history(segment.base - base)


@cython.cfunc
@cython.nogil
def first_after(ends: cython.pointer(int64_t), low: int64_t, high: int64_t, since: int64_t) -> int64_t:
    """The first position in [low, high) whose end lies after `since`."""
    middle: int64_t
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] > since:
            high = middle
        else:
            low = middle + 1
    return low


@cython.cfunc
@cython.nogil
def read_cell(
    counters: BucketCounters, cell: int64_t, since: int64_t, limit: int64_t, exact: cython.bint,
    value: cython.pointer(cython.double), lower: cython.pointer(cython.double), upper: cython.pointer(cython.double),
) -> cython.void:  # fmt: skip
    """Write a cell's estimate and bounds. `exact` says that nothing arrived before the range."""
    begin = cython.declare(Straddling)
    least: cython.double
    most: cython.double
    guess: cython.double
    epsilon: cython.double = counters.epsilon
    counters.locate(cell, since, limit, cython.address(begin))
    if begin.size <= 1 or exact:
        guess = cython.cast(cython.double, begin.newer + begin.size)
        value[0] = lower[0] = upper[0] = guess
        return
    least = cython.cast(cython.double, begin.newer + 1)
    most = cython.cast(cython.double, begin.newer + begin.size)
    if counters.half:
        guess = cython.cast(cython.double, begin.newer) + cython.cast(cython.double, begin.size) / 2.0
    else:
        guess = least + (most - least) * share_after(counters, cell, cython.address(begin), since, limit)
        guess = max(min(guess, least * (1.0 + epsilon)), most * (1.0 - epsilon))
    value[0], lower[0], upper[0] = guess, least, most


@cython.cfunc
@cython.nogil
def share_after(
    counters: BucketCounters, cell: int64_t, begin: cython.pointer(Straddling), since: int64_t, limit: int64_t
) -> cython.double:
    """How much of the straddling bucket lies after `since`, if its arrivals are spread evenly.

    A tick is a stretch of time, and so its arrivals lie half a tick before its end on average: the bucket reaches from
    start - 1/2 to end - 1/2. If its start is unknown, its arrivals are taken to be as dense as those just after it.
    """
    after = cython.declare(Straddling)
    inside: cython.double = cython.cast(cython.double, begin[0].end - since) - 0.5
    between: cython.double
    span: cython.double
    if begin[0].start != UNKNOWN:
        return inside / cython.cast(cython.double, begin[0].end - begin[0].start)
    counters.locate(cell, begin[0].end, limit, cython.address(after))
    if after.size == 0:
        return 0.5
    between = cython.cast(cython.double, begin[0].newer - after.newer)
    span = cython.cast(cython.double, after.end - begin[0].end) * cython.cast(cython.double, begin[0].size) / between
    return min(inside / span, 1.0)
