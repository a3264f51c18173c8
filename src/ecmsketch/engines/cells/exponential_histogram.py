"""Exponential histograms (Datar, Gionis, Indyk, Motwani), one per cell, after paper section 3.

A cell's arrivals are numbered 1, 2, 3 ... Buckets of size 2^level hold consecutive arrivals and are known
by the tick of their newest one, their end. With k = ceil(1/epsilon), level 0 keeps at least k buckets and
every other level at least ceil(k/2); a level that reaches its minimum + 2 merges its two oldest buckets.

Three facts carry this file:
- The number of arrivals alone decides which buckets exist. So a cell stores that number and the ends of
  its buckets, and no sizes; and where a bucket ends is the tick of one arrival whose number is known.
- So a batch needs no insertion one by one. Count each cell's arrivals, lay out its buckets, then walk the
  batch backwards and pick the ticks of the arrivals that end a bucket: the result is bit for bit what single
  arrivals would give. O(1) per event and row, plus O(k log batch) per cell that got some.
- Expiry never changes the layout. Buckets that left the window are forgotten lazily from the old end, so the
  state depends on the arrivals only.
"""

# mypy: ignore-errors

from __future__ import annotations

from math import ceil
from typing import Self

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.cells.arrivals import Arrivals, count_arrivals
from cython.cimports.ecmsketch.engines.cells.buckets import UNKNOWN, BucketCounters, Straddling
from cython.cimports.ecmsketch.engines.cells.counters import CounterChange
from cython.cimports.ecmsketch.kernels.memory import allocate, int64s
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memset
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig

Ints = NDArray[np.int64]


@cython.cclass
class ExponentialHistograms(BucketCounters):
    """An array of exponential histograms."""

    def __init__(self, config: SketchConfig) -> None:
        BucketCounters.__init__(self, config)
        words: int64_t = 4 * self.cells + 1
        if self.state.offset == cython.NULL:
            self.state.offset = cython.cast(cython.pointer(int64_t), allocate(8 * words))
        if self.state.offset == cython.NULL:
            raise MemoryError
        memset(self.state.offset, 0, cython.cast(cython.size_t, 8 * words))
        self.state.first = self.state.offset + self.cells + 1
        self.state.length = self.state.first + self.cells
        self.state.numbers = self.state.length + self.cells
        self.state.wide = self.wide
        self.state.cells = self.cells
        self.state.k = ceil(1 / config.epsilon_sw)

    def __dealloc__(self) -> None:
        free(self.state.ends)
        free(self.state.offset)

    @cython.cfunc
    @cython.nogil
    def arrivals_of(self, cell: int64_t) -> int64_t:
        """See `BucketCounters.arrivals_of`."""
        return self.state.numbers[cell]

    @cython.cfunc
    @cython.nogil
    def count_of(self, cell: int64_t) -> int64_t:
        """See `BucketCounters.count_of`."""
        return self.state.length[cell]

    @cython.cfunc
    @cython.nogil
    def history_of(self, cell: int64_t, ends: cython.pointer(int64_t), sizes: cython.pointer(int64_t)) -> cython.void:
        """See `BucketCounters.history_of`."""
        level = cython.declare(Level)
        count: int64_t = self.state.length[cell]
        left: int64_t
        one: int64_t = 1
        i: int64_t
        start_walk(cython.address(level), self.state.numbers[cell], self.state.k)
        left = level.count
        for i in range(count - 1, -1, -1):
            while left == 0:
                next_level(cython.address(level), self.state.k)
                left = level.count
            ends[i] = end_at(self.state.ends, self.state.wide, self.state.first[cell] + i)
            sizes[i] = one << level.level
            left -= 1

    @cython.cfunc
    @cython.nogil
    def straddle(self, cell: int64_t, since: int64_t, limit: int64_t, found: cython.pointer(Straddling)) -> cython.void:
        """See `BucketCounters.straddle`. O(log buckets)."""
        ends = self.state.ends
        wide: cython.bint = self.state.wide
        first: int64_t = self.state.first[cell]
        past: int64_t = first + self.state.length[cell]
        low: int64_t = first
        high: int64_t = past
        middle: int64_t
        while low < high:
            middle = (low + high) >> 1
            if end_at(ends, wide, middle) > since:
                high = middle
            else:
                low = middle + 1
        found[0].newer, found[0].size, found[0].start, found[0].end = 0, 0, UNKNOWN, 0
        if low > first and end_at(ends, wide, low - 1) > limit:
            found[0].start = end_at(ends, wide, low - 1)
        if low < past:
            newest_buckets(self.state.numbers[cell], past - low, self.state.k, found)
            found[0].end = end_at(ends, wide, low)

    @cython.cfunc
    @cython.nogil
    def move_live(self, shift: int64_t) -> cython.void:
        """See `BucketCounters.move_live`."""
        cell: int64_t
        i: int64_t
        for cell in range(self.cells):
            for i in range(self.state.first[cell], self.state.first[cell] + self.state.length[cell]):
                put_end(self.state.ends, self.state.wide, i, end_at(self.state.ends, self.state.wide, i) - shift)

    @cython.cfunc
    @cython.nogil
    def most_buckets(self, arrivals: int64_t) -> int64_t:
        """See `BucketCounters.most_buckets`."""
        return bucket_count(arrivals, self.state.k)

    @cython.cfunc
    @cython.nogil
    def stood_for(self, arrivals: int64_t, buckets: int64_t) -> int64_t:
        """See `BucketCounters.stood_for`."""
        oldest = cython.declare(Straddling)
        if buckets <= 0:
            return 0
        newest_buckets(arrivals, buckets, self.state.k, cython.address(oldest))
        return oldest.newer + oldest.size

    def reserve(self, arrivals: Arrivals, oldest: int, now: int) -> CounterChange:
        """See `Counters.reserve`."""
        shift = cython.declare(int64_t)
        change = HistogramChange()
        change.counters = change.histograms = self
        change.version = self.version
        change.arrivals = arrivals
        change.base = self.next_base(oldest, now, cython.address(shift))
        change.shift = shift
        change.get_scratch()
        count_arrivals(arrivals, change.coming, self.cells)
        self.check_numbers(change.coming)
        needed = cython.cast(cython.pointer(int64_t), change.endings)  # these are not needed yet
        if not change.forget_expired(now - self.window - change.base, needed):
            change.enlarge(needed)
        return change

    def restore(self, arrivals: Ints, offset: Ints, end: Ints, most: int) -> None:
        """See `BucketCounters.restore`."""
        count: int64_t = len(end)
        numbers, offsets, source = int64s(arrivals), int64s(offset), int64s(end)
        ends = allocate(count * (8 if self.wide else 4))
        cell: int64_t
        i: int64_t
        if ends == cython.NULL:
            raise MemoryError
        free(self.state.ends)
        self.state.ends, self.state.capacity = ends, count
        for i in range(count):
            put_end(ends, self.wide, i, source[i])
        memcpy(self.state.offset, offsets, cython.cast(cython.size_t, 8 * (self.cells + 1)))
        memcpy(self.state.first, offsets, cython.cast(cython.size_t, 8 * self.cells))
        memcpy(self.state.numbers, numbers, cython.cast(cython.size_t, 8 * self.cells))
        for cell in range(self.cells):
            self.state.length[cell] = offsets[cell + 1] - offsets[cell]

    def copy_live(self, other: Self) -> None:
        """See `BucketCounters.copy_live`."""
        target: ExponentialHistograms = other
        size: int64_t = self.state.capacity * (8 if self.wide else 4)
        ends = allocate(size)
        if ends == cython.NULL:
            raise MemoryError
        if size:
            memcpy(ends, self.state.ends, cython.cast(cython.size_t, size))
        memcpy(target.state.offset, self.state.offset, cython.cast(cython.size_t, 8 * (4 * self.cells + 1)))
        free(target.state.ends)
        target.state.ends, target.state.capacity = ends, self.state.capacity

    @property
    def live_nbytes(self) -> int:
        """See `BucketCounters.live_nbytes`."""
        return self.state.capacity * (8 if self.wide else 4) + 8 * (4 * self.cells + 1)


@cython.cclass
class HistogramChange(CounterChange):
    """Arrivals that are about to be counted, with the memory for it."""

    def __dealloc__(self) -> None:
        free(self.scratch)
        free(self.ends)
        free(self.offset)

    @cython.cfunc
    @cython.exceptval(-1)
    def get_scratch(self) -> cython.int:
        """Get what every change needs, in one piece: seven words per cell, and a cell's ends."""
        cells: int64_t = self.histograms.cells
        longest: int64_t = 0
        cell: int64_t
        for cell in range(cells):
            longest = max(longest, self.histograms.state.length[cell])
        self.scratch = cython.cast(cython.pointer(int64_t), allocate(8 * (7 * cells + longest)))
        if self.scratch == cython.NULL:
            raise MemoryError
        self.coming = self.scratch
        self.first = self.scratch + cells
        self.length = self.scratch + 2 * cells
        self.endings = cython.cast(cython.pointer(Ending), self.scratch + 3 * cells)
        self.kept = self.scratch + 7 * cells
        return 0

    @cython.cfunc
    @cython.nogil
    def forget_expired(self, limit: int64_t, needed: cython.pointer(int64_t)) -> cython.bint:
        """Write each cell's first end after `limit`, how many there are, and how many ends it needs space for.

        Returns whether there is space for them already.
        """
        state = cython.address(self.histograms.state)
        first: int64_t
        length: int64_t
        total: int64_t
        cell: int64_t
        fits: cython.bint = True
        for cell in range(state[0].cells):
            first, length = state[0].first[cell], state[0].length[cell]
            while length > 0 and max(end_at(state[0].ends, state[0].wide, first) - self.shift, 0) <= limit:
                first += 1
                length -= 1
            self.first[cell], self.length[cell] = first, length
            if self.coming[cell] > 0:
                total = state[0].numbers[cell] + self.coming[cell]
                length += buckets_within(total, self.coming[cell], state[0].k)
                length = min(length, bucket_count(total, state[0].k))
            needed[cell] = length
            fits = fits and length <= state[0].offset[cell + 1] - state[0].offset[cell]
        return fits

    @cython.cfunc
    @cython.exceptval(-1)
    def enlarge(self, needed: cython.pointer(int64_t)) -> cython.int:
        """Make a larger arena with the ends that stay: every cell gets what it needs and an eighth more."""
        state = cython.address(self.histograms.state)
        cell: int64_t
        i: int64_t
        self.offset = cython.cast(cython.pointer(int64_t), allocate(8 * (state[0].cells + 1)))
        if self.offset == cython.NULL:
            raise MemoryError
        self.offset[0] = 0
        for cell in range(state[0].cells):
            self.offset[cell + 1] = self.offset[cell] + needed[cell] + (needed[cell] >> 3) + 2
        self.capacity = self.offset[state[0].cells]
        self.ends = allocate(self.capacity * (8 if state[0].wide else 4))
        if self.ends == cython.NULL:
            raise MemoryError
        with cython.nogil:
            for cell in range(state[0].cells):
                for i in range(self.length[cell]):
                    put_end(
                        self.ends, state[0].wide, self.offset[cell] + i,
                        end_at(state[0].ends, state[0].wide, self.first[cell] + i) - self.shift,
                    )  # fmt: skip
                self.first[cell] = self.offset[cell]
        return 0

    @cython.cfunc
    def apply(self) -> cython.void:
        """See `CounterChange.apply`."""
        state = cython.address(self.histograms.state)
        size: cython.size_t = 8 * state[0].cells
        enlarged: cython.bint = self.ends != cython.NULL
        with cython.nogil:
            if enlarged:
                free(state[0].ends)
                state[0].ends, state[0].capacity = self.ends, self.capacity
                self.ends = cython.NULL
                memcpy(state[0].offset, self.offset, size + 8)
            memcpy(state[0].first, self.first, size)
            memcpy(state[0].length, self.length, size)
            self.histograms.move_base(self.base, self.shift, enlarged)
            self.lay_out()
            pick_all(state, self.arrivals, self.coming, self.endings, self.base, self.histograms.spread)

    @cython.cfunc
    @cython.nogil
    def lay_out(self) -> cython.void:
        """Let every cell keep the old ends that still end a bucket, and note where the new ones go."""
        state = cython.address(self.histograms.state)
        level = cython.declare(Level)
        ending = cython.declare(cython.pointer(Ending))
        cell: int64_t
        coming: int64_t
        after: int64_t
        length: int64_t
        survivors: int64_t
        untouched = cython.declare(int64_t)
        for cell in range(state[0].cells):
            coming = self.coming[cell]
            self.coming[cell] = 0
            if coming == 0:
                continue
            after = state[0].numbers[cell] + coming
            survivors = keep_survivors(state, cell, after, self.kept, cython.address(untouched))
            length = untouched + survivors + buckets_within(after, coming, state[0].k)
            make_space(state, cell, untouched, self.kept, survivors, length)
            state[0].numbers[cell] = after
            start_walk(cython.address(level), after, state[0].k)
            ending = self.endings + cell
            ending[0].position = state[0].first[cell] + length - 1
            ending[0].level = 0
            ending[0].left = level.count
            ending[0].older = (after - level.count) >> 1


@cython.cfunc
@cython.nogil
def end_at(ends: cython.p_void, wide: cython.bint, i: int64_t) -> int64_t:
    """An end, as an offset."""
    if wide:
        return cython.cast(cython.pointer(int64_t), ends)[i]
    return cython.cast(int64_t, cython.cast(cython.pointer(uint32_t), ends)[i])


@cython.cfunc
@cython.nogil
def put_end(ends: cython.p_void, wide: cython.bint, i: int64_t, end: int64_t) -> cython.void:
    """Write an end, as an offset of 0 or more."""
    end = max(end, 0)
    if wide:
        cython.cast(cython.pointer(int64_t), ends)[i] = end
    else:
        cython.cast(cython.pointer(uint32_t), ends)[i] = cython.cast(uint32_t, end)


@cython.cfunc
@cython.nogil
def level_count(arrived: int64_t, minimum: int64_t) -> int64_t:
    """Buckets at a level that `arrived` buckets have come to, with at most minimum + 1 staying."""
    if arrived < minimum + 2:
        return arrived
    return minimum + ((arrived - minimum) & 1)


@cython.cfunc
@cython.nogil
def start_walk(level: cython.pointer(Level), arrivals: int64_t, k: int64_t) -> cython.void:
    """Begin at the newest level of a cell with so many arrivals."""
    level[0].arrived, level[0].level, level[0].count = arrivals, 0, level_count(arrivals, k)


@cython.cfunc
@cython.nogil
def next_level(level: cython.pointer(Level), k: int64_t) -> cython.void:
    """Go one level up, to larger buckets."""
    level[0].arrived = (level[0].arrived - level[0].count) >> 1
    level[0].level += 1
    level[0].count = level_count(level[0].arrived, (k + 1) >> 1)


@cython.cfunc
@cython.nogil
def bucket_count(arrivals: int64_t, k: int64_t) -> int64_t:
    """Buckets of a cell with that many arrivals."""
    level = cython.declare(Level)
    buckets: int64_t = 0
    start_walk(cython.address(level), arrivals, k)
    while level.arrived > 0:
        buckets += level.count
        next_level(cython.address(level), k)
    return buckets


@cython.cfunc
@cython.nogil
def buckets_within(arrivals: int64_t, newest: int64_t, k: int64_t) -> int64_t:
    """How many buckets end at one of the `newest` latest arrivals."""
    level = cython.declare(Level)
    buckets: int64_t = 0
    passed: int64_t = 0
    reached: int64_t
    one: int64_t = 1
    start_walk(cython.address(level), arrivals, k)
    while passed < newest:
        reached = (newest - passed + (one << level.level) - 1) >> level.level
        if reached <= level.count:
            return buckets + reached
        buckets += level.count
        passed += level.count << level.level
        next_level(cython.address(level), k)
    return buckets


@cython.cfunc
@cython.nogil
def newest_buckets(arrivals: int64_t, buckets: int64_t, k: int64_t, oldest: cython.pointer(Straddling)) -> cython.void:
    """Write the size of the oldest of the newest `buckets` (at least one), and how many arrivals are newer."""
    level = cython.declare(Level)
    total: int64_t = 0
    one: int64_t = 1
    start_walk(cython.address(level), arrivals, k)
    while buckets > level.count:
        buckets -= level.count
        total += level.count << level.level
        next_level(cython.address(level), k)
    oldest[0].newer = total + ((buckets - 1) << level.level)
    oldest[0].size = one << level.level


@cython.cfunc
@cython.nogil
def keep_survivors(
    state: cython.pointer(Histograms), cell: int64_t, after: int64_t, kept: cython.pointer(int64_t),
    untouched: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Write to `kept` the old ends, newest first, that still end a bucket once `after` arrivals have come.

    Returns how many these are; so many of the oldest ends, `untouched`, stay in place.
    An old end at arrival number a survives if a is a multiple of 2^level, for the level that a lies in once the
    batch has come. From the first level that the batch did not reach, everything older stays in place.
    """
    old = cython.declare(Level)
    new = cython.declare(Level)
    k: int64_t = state[0].k
    first: int64_t = state[0].first[cell]
    number: int64_t = state[0].numbers[cell]
    at: int64_t = first + state[0].length[cell] - 1
    survivors: int64_t = 0
    left: int64_t
    one: int64_t = 1
    start_walk(cython.address(old), number, k)
    start_walk(cython.address(new), after, k)
    left = old.count
    while at >= first:
        if left == 0:
            next_level(cython.address(old), k)
            left = old.count
        while number <= (new.arrived - new.count) << new.level:
            next_level(cython.address(new), k)
        if left == old.count and new.level == old.level and new.arrived == old.arrived:
            break
        if number & ((one << new.level) - 1) == 0:
            kept[survivors] = end_at(state[0].ends, state[0].wide, at)
            survivors += 1
        number -= one << old.level
        left -= 1
        at -= 1
    untouched[0] = at - first + 1
    return survivors


@cython.cfunc
@cython.nogil
def make_space(
    state: cython.pointer(Histograms), cell: int64_t, untouched: int64_t, kept: cython.pointer(int64_t),
    survivors: int64_t, length: int64_t,
) -> cython.void:  # fmt: skip
    """Let a cell hold `length` ends: the untouched ones, then the survivors; the rest is still to be written.

    If they do not fit behind the untouched ends, these move to the start of the cell's part of the arena.
    """
    first: int64_t = state[0].first[cell]
    begin: int64_t = state[0].offset[cell]
    i: int64_t
    if first + length > state[0].offset[cell + 1]:
        for i in range(untouched):
            put_end(state[0].ends, state[0].wide, begin + i, end_at(state[0].ends, state[0].wide, first + i))
        first = begin
    for i in range(survivors):
        put_end(state[0].ends, state[0].wide, first + untouched + i, kept[survivors - 1 - i])
    state[0].first[cell], state[0].length[cell] = first, length


@cython.cfunc
@cython.nogil
def end_bucket(state: cython.pointer(Histograms), ending: cython.pointer(Ending), tick: int64_t) -> int64_t:
    """Let a bucket end at a tick, an offset, and step to the next older one; returns the ended bucket's size."""
    one: int64_t = 1
    size: int64_t = one << ending[0].level
    put_end(state[0].ends, state[0].wide, ending[0].position, tick)
    ending[0].position -= 1
    ending[0].left -= 1
    if ending[0].left == 0:
        ending[0].left = level_count(ending[0].older, (state[0].k + 1) >> 1)
        ending[0].level += 1
        ending[0].older = (ending[0].older - ending[0].left) >> 1
    return size


@cython.cfunc
@cython.nogil
def pick_all(
    state: cython.pointer(Histograms), arrivals: Arrivals, skip: cython.pointer(int64_t),
    endings: cython.pointer(Ending), base: int64_t, spread: int64_t,
) -> cython.void:  # fmt: skip
    """Walk a batch from its newest event and keep the ticks that end a bucket; skip[cell] arrivals do not."""
    cells: cython.pointer(uint32_t)
    ticks: cython.pointer(int64_t)
    block: int64_t
    size: int64_t
    begin: int64_t
    for block in range(arrivals.blocks - 1, -1, -1):
        cells = arrivals.load(block)
        size = arrivals.size_of(block)
        begin = block * arrivals.block
        ticks = arrivals.ticks + begin
        for _ in range(arrivals.depth):
            if arrivals.weights == cython.NULL:
                pick(state, cells, ticks, size, skip, endings, base)
            else:
                pick_weighted(state, cells, ticks, arrivals.weights + begin, size, skip, endings, base, spread)
            cells = cells + arrivals.stride_of(block)


@cython.cfunc
@cython.nogil
def pick(
    state: cython.pointer(Histograms), cells: cython.pointer(uint32_t), ticks: cython.pointer(int64_t), size: int64_t,
    skip: cython.pointer(int64_t), endings: cython.pointer(Ending), base: int64_t,
) -> cython.void:  # fmt: skip
    """Pick from events of weight one.

    Few events end a bucket, so four at a time are passed over on trial, and taken one by one only if one
    of them should not have been: about a sixth faster, in all, than asking each.
    """
    i: int64_t = size - 1
    stop: int64_t
    cell: int64_t
    a: int64_t
    b: int64_t
    c: int64_t
    d: int64_t
    left_a: int64_t
    left_b: int64_t
    left_c: int64_t
    left_d: int64_t
    while i >= 0:
        if i >= 3:
            a, b, c, d = cells[i], cells[i - 1], cells[i - 2], cells[i - 3]
            left_a = skip[a] - 1
            skip[a] = left_a
            left_b = skip[b] - 1
            skip[b] = left_b
            left_c = skip[c] - 1
            skip[c] = left_c
            left_d = skip[d] - 1
            skip[d] = left_d
            if (left_a | left_b | left_c | left_d) >= 0:
                i -= 4
                continue
            skip[a] += 1
            skip[b] += 1
            skip[c] += 1
            skip[d] += 1
        stop = max(i - 4, -1)
        while i > stop:
            cell = cells[i]
            if skip[cell] == 0:
                skip[cell] = end_bucket(state, endings + cell, ticks[i] - base)
            skip[cell] -= 1
            i -= 1


@cython.cfunc
@cython.nogil
def pick_weighted(
    state: cython.pointer(Histograms), cells: cython.pointer(uint32_t), ticks: cython.pointer(int64_t),
    weights: cython.pointer(int64_t), size: int64_t, skip: cython.pointer(int64_t), endings: cython.pointer(Ending),
    base: int64_t, spread: int64_t,
) -> cython.void:  # fmt: skip
    """Pick from events that stand for `weight` arrivals: on one tick, or (spread=1) on as many ticks."""
    i: int64_t
    cell: int64_t
    passing: int64_t
    for i in range(size - 1, -1, -1):
        cell = cells[i]
        passing = skip[cell]
        while passing < weights[i]:
            passing += end_bucket(state, endings + cell, ticks[i] - spread * passing - base)
        skip[cell] = passing - weights[i]
