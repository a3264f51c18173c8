"""Deterministic waves (Gibbons, Tirthapura), one per cell: O(1) worst-case update.

A cell's arrivals are numbered 1, 2, 3 ... Level j keeps the ticks of the newest `ring` arrivals whose number is an
odd multiple of 2^j, in a ring; the top level keeps all multiples of 2^top, in a ring twice as long. So an arrival
is one write, at a place that its number alone decides, and no numbers are stored.

Kept arrivals are ends of buckets, as everywhere. With ring >= (1/epsilon + 1) / 2 a bucket of size C, with S newer
arrivals, has C / 2 <= epsilon (S + 1): the middle of a bucket of size 2^j is not kept, so `ring` newer odd
multiples of 2^(j-1) are, and S >= (ring - 1/2) 2^j.

A weight v counts as v arrivals on one tick. It costs at most min(v, places of a cell) writes: still bounded,
whatever came before, but not O(1). Storing totals and weights with each entry would make it O(1), at three to
five times the memory (docs/decisions/006-deterministic-wave.md).

The rings cover a number of arrivals that doubles with each level. Before arrivals inside the window would be
overwritten, all cells get another level: `max_arrivals` only says with how many levels to begin, so that none
needs to be added while arrivals come (default: the least, about 1/epsilon arrivals).
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.cells.arrivals import Arrivals, count_arrivals
from cython.cimports.ecmsketch.engines.cells.buckets import BucketCounters, Straddling
from cython.cimports.ecmsketch.engines.cells.counters import CounterChange
from cython.cimports.ecmsketch.engines.cells.rings import (
    all_expired,
    count_history,
    find_straddling,
    get_history,
    get_tick,
    last_lost,
    levels_needed,
    lowest_kept,
    push,
    push_weighted,
    put_history,
    put_tick,
)
from cython.cimports.ecmsketch.kernels.memory import allocate, int64s
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memset
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.budget import wave_ring, wave_top
from ecmsketch.errors import ConfigError

Ints = NDArray[np.int64]

MAX_RING_BYTES = 2**31
"""Most bytes of all rings together, however many levels arrivals have asked for."""


@cython.cclass
class RingChange(CounterChange):
    """Arrivals that will be pushed into the rings, or into wider ones."""

    def __dealloc__(self) -> None:
        free(self.wider.ticks)

    @cython.cfunc
    def apply(self) -> cython.void:
        """See `CounterChange.apply`."""
        waves = cython.cast(DeterministicWaves, self.counters)
        with cython.nogil:
            push_all(waves, self, self.arrivals)


@cython.cfunc
@cython.nogil
def push_all(waves: DeterministicWaves, change: RingChange, arrivals: Arrivals) -> cython.void:
    """Move to the wider rings if there are some, then count all arrivals."""
    block: int64_t
    row: int64_t
    at: int64_t
    if change.wider.ticks != cython.NULL:
        free(waves.rings.ticks)
        waves.rings = change.wider
        change.wider.ticks = cython.NULL
        waves.move_base(change.base, change.shift, True)
    else:
        waves.move_base(change.base, change.shift, False)
    for block in range(arrivals.blocks):
        cells = arrivals.load(block)
        at = block * arrivals.block
        for row in range(arrivals.depth):
            line = cells + row * arrivals.stride_of(block)
            if arrivals.weights == cython.NULL:
                push(cython.address(waves.rings), line, arrivals.ticks + at, arrivals.size_of(block), waves.base)
            else:
                push_weighted(
                    cython.address(waves.rings), line, arrivals.ticks + at, arrivals.weights + at,
                    arrivals.size_of(block), waves.spread, waves.base,
                )  # fmt: skip


@cython.cclass
class DeterministicWaves(BucketCounters):
    """An array of deterministic waves."""

    def __init__(self, config: SketchConfig) -> None:
        BucketCounters.__init__(self, config)
        ring = wave_ring(config.epsilon_sw)
        if self.rings.arrivals != cython.NULL:
            raise RuntimeError("expected to be initialized once")
        self.rings.wide, self.rings.cells, self.rings.ring = self.wide, self.cells, ring
        self.rings.arrivals = cython.cast(cython.pointer(int64_t), allocate(8 * self.cells))
        if self.rings.arrivals == cython.NULL:
            raise MemoryError
        memset(self.rings.arrivals, 0, cython.cast(cython.size_t, 8 * self.cells))
        make_ticks(cython.address(self.rings), wave_top(ring, config.max_arrivals or 0))

    def __dealloc__(self) -> None:
        free(self.rings.ticks)
        free(self.rings.arrivals)

    @property
    def ring(self) -> int:
        """Ticks kept of each level."""
        return self.rings.ring

    @property
    def top(self) -> int:
        """The top level."""
        return self.rings.top

    @cython.cfunc
    @cython.nogil
    def arrivals_of(self, cell: int64_t) -> int64_t:
        """See `BucketCounters.arrivals_of`."""
        return self.rings.arrivals[cell]

    @cython.cfunc
    @cython.nogil
    def count_of(self, cell: int64_t) -> int64_t:
        """See `BucketCounters.count_of`."""
        return count_history(cython.address(self.rings), cell)

    @cython.cfunc
    @cython.nogil
    def history_of(
        self, cell: int64_t, ends: cython.pointer(int64_t), sizes: cython.pointer(int64_t)
    ) -> cython.void:
        """See `BucketCounters.history_of`."""
        get_history(cython.address(self.rings), cell, ends, sizes)

    @cython.cfunc
    @cython.nogil
    def straddle(
        self, cell: int64_t, since: int64_t, limit: int64_t, found: cython.pointer(Straddling)
    ) -> cython.void:
        """See `BucketCounters.straddle`. O(levels) per cell."""
        find_straddling(cython.address(self.rings), cell, since, limit, found)

    @cython.cfunc
    @cython.nogil
    def move_live(self, shift: int64_t) -> cython.void:
        """See `BucketCounters.move_live`."""
        place: int64_t
        for place in range(self.rings.cells * self.rings.places):
            put_tick(cython.address(self.rings), 0, place, get_tick(cython.address(self.rings), 0, place) - shift)

    @cython.cfunc
    @cython.nogil
    def most_buckets(self, arrivals: int64_t) -> int64_t:
        """See `BucketCounters.most_buckets`."""
        total: int64_t = 0
        level: int64_t
        for level in range(60):
            total += min(((arrivals >> level) + 1) >> 1, self.rings.ring)
        return total

    @cython.cfunc
    @cython.nogil
    def stood_for(self, arrivals: int64_t, buckets: int64_t) -> int64_t:
        """See `BucketCounters.stood_for`."""
        return arrivals + 1 - lowest_kept(arrivals, buckets, self.rings.ring)

    def reserve(self, arrivals: Arrivals, oldest: int, now: int) -> RingChange:
        """See `Counters.reserve`. O(1) worst case per arrival and row."""
        change = RingChange()
        shift = cython.declare(int64_t[1])
        change.counters, change.version, change.arrivals, change.base = self, self.version, arrivals, self.base
        if arrivals.count == 0:
            return change
        change.base = self.next_base(oldest, now, shift)
        change.shift = shift[0]
        find_rings(self, change, now - self.window)
        return change

    def restore(self, arrivals: Ints, offset: Ints, end: Ints, most: int) -> None:
        """See `BucketCounters.restore`."""
        numbers, offsets, ends = int64s(arrivals), int64s(offset), int64s(end)
        rings = cython.declare(Rings, self.rings)
        lowest: int64_t
        cell: int64_t
        if len(arrivals) != self.cells or len(offset) != self.cells + 1:
            raise ValueError(f"expected arrivals of {self.cells} counters, got {len(arrivals)}")
        for cell in range(self.cells):
            lowest = lowest_kept(numbers[cell], offsets[cell + 1] - offsets[cell], rings.ring)
            while lowest <= last_lost(numbers[cell], rings.ring, rings.top):
                rings.top += 1
        if rings.top > self.rings.top:
            nbytes = ring_bytes(self.cells, rings.ring, rings.top, rings.wide)
            if nbytes > most:
                raise ConfigError(
                    f"deterministic waves take {nbytes:,} bytes of memory for these arrivals, and {most:,} are "
                    "allowed; give a larger max_nbytes if you trust these bytes"
                )
        make_ticks(cython.address(rings), rings.top)
        free(self.rings.ticks)
        self.rings = rings
        memcpy(rings.arrivals, numbers, cython.cast(cython.size_t, 8 * self.cells))
        with cython.nogil:
            for cell in range(self.cells):
                put_history(cython.address(rings), cell, ends + offsets[cell], offsets[cell + 1] - offsets[cell])

    def copy_live(self, other: DeterministicWaves) -> None:
        """See `BucketCounters.copy_live`."""
        rings = cython.declare(Rings, self.rings)
        if other.rings.cells != rings.cells or other.rings.ring != rings.ring or other.rings.wide != rings.wide:
            raise ValueError("expected a config with the same waves")
        make_ticks(cython.address(rings), rings.top)
        rings.arrivals = other.rings.arrivals
        free(other.rings.ticks)
        other.rings = rings
        memcpy(rings.arrivals, self.rings.arrivals, cython.cast(cython.size_t, 8 * rings.cells))
        memcpy(rings.ticks, self.rings.ticks, cython.cast(cython.size_t, self.live_nbytes - 8 * rings.cells))

    @property
    def live_nbytes(self) -> int:
        """See `BucketCounters.live_nbytes`."""
        size: int64_t = 8 if self.rings.wide else 4
        return self.rings.cells * (self.rings.places * size + 8)


@cython.cfunc
@cython.exceptval(-1)
def find_rings(waves: DeterministicWaves, change: RingChange, limit: int64_t) -> cython.int:
    """Make wider rings if arrivals that are inside the window at `limit` would be overwritten."""
    cells: int64_t = waves.cells
    rings = cython.address(waves.rings)
    top: int64_t = waves.rings.top
    coming = cython.cast(cython.pointer(int64_t), allocate(16 * cells))
    if coming == cython.NULL:
        raise MemoryError
    lost = coming + cells
    try:
        count_arrivals(change.arrivals, coming, cells)
        waves.check_numbers(coming)
        with cython.nogil:
            top = levels_needed(rings, top, coming, limit - waves.base, lost)
            while not only_expired(waves, change.arrivals, lost, limit):
                top = levels_needed(rings, top + 1, coming, limit - waves.base, lost)
        if top > waves.rings.top:
            widen(waves, change, top)
    finally:
        free(coming)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def widen(waves: DeterministicWaves, change: RingChange, top: int64_t) -> cython.int:
    """Copy all kept arrivals to rings with more levels."""
    kept: int64_t
    cell: int64_t
    i: int64_t
    places: int64_t = waves.rings.places
    ends = cython.cast(cython.pointer(int64_t), allocate(16 * places))
    if ends == cython.NULL:
        raise MemoryError
    try:
        change.wider = waves.rings
        change.wider.ticks = cython.NULL
        make_ticks(cython.address(change.wider), top)
        with cython.nogil:
            for cell in range(waves.cells):
                kept = get_history(cython.address(waves.rings), cell, ends, ends + places)
                for i in range(kept):
                    ends[i] -= change.shift
                put_history(cython.address(change.wider), cell, ends, kept)
    finally:
        free(ends)
    return 0


@cython.cfunc
@cython.nogil
def only_expired(
    waves: DeterministicWaves, arrivals: Arrivals, lost: cython.pointer(int64_t), limit: int64_t
) -> cython.bint:
    """Whether the first lost[cell] arrivals of each cell have all expired at `limit`; uses `lost` up."""
    any_lost: cython.bint = False
    block: int64_t
    row: int64_t
    cell: int64_t
    at: int64_t
    for cell in range(waves.cells):
        any_lost = any_lost or lost[cell] > 0
    if not any_lost:
        return True
    for block in range(arrivals.blocks):
        cells = arrivals.load(block)
        at = block * arrivals.block
        weights = cython.cast(cython.pointer(int64_t), cython.NULL)
        if arrivals.weights != cython.NULL:
            weights = arrivals.weights + at
        for row in range(arrivals.depth):
            line = cells + row * arrivals.stride_of(block)
            if not all_expired(line, arrivals.ticks + at, weights, arrivals.size_of(block), lost, waves.spread, limit):
                return False
    return True


def ring_bytes(cells: int, ring: int, top: int, wide: bool) -> int:
    """Memory of rings with so many levels."""
    return cells * (top + 2) * ring * (8 if wide else 4)


@cython.cfunc
@cython.exceptval(-1)
def make_ticks(rings: cython.pointer(Rings), top: int64_t) -> cython.int:
    """Give rings memory of their own for ticks of so many levels, all 0, unless it is more than MAX_RING_BYTES."""
    nbytes = ring_bytes(rings[0].cells, rings[0].ring, top, rings[0].wide)
    if nbytes > MAX_RING_BYTES:
        raise ConfigError(
            f"counter: deterministic waves would take {nbytes:,} bytes for {rings[0].cells:,} counters with {top + 2} "
            f"levels, at most {MAX_RING_BYTES:,} are allowed; choose a larger epsilon, a shorter window, or "
            "counter='eh'"
        )
    ticks = allocate(nbytes)
    if ticks == cython.NULL:
        raise MemoryError
    memset(ticks, 0, cython.cast(cython.size_t, cython.cast(int64_t, nbytes)))
    rings[0].ticks, rings[0].top, rings[0].places = ticks, top, (top + 2) * rings[0].ring
    return 0
