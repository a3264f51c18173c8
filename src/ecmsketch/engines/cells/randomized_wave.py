"""Randomized waves (Gibbons, Tirthapura), one per cell: samples that merge without loss.

Every arrival draws a level g with probability 2^-(g+1), and each level keeps the newest `samples` arrivals that drew
it. Arrivals of levels l and above are a sample of one in 2^l, complete back to some tick. A query takes the finest
sample that is complete over its range, and answers 2^l times its count; with l = 0 that is exact. If level l - 1 is
not complete, it holds `samples` arrivals of the range, so about as many are in the sample: its relative error is
normal, with a deviation of at most 1/sqrt(samples). The median of several instances answers.

The paper keeps an arrival in all levels up to g. Keeping it in level g only gives the same samples with half the
memory, and one write an arrival.

What is kept is decided by ticks and levels alone. So the union of two waves, cut to the newest `samples` of each
level, is the wave of the united stream, exactly.

Arrival number n of the stream with a given key always draws the same level (samples.py). Streams must have different
keys, or sites that see the same pattern would sample the same arrivals.
"""

from __future__ import annotations

import struct

import cython
import numpy as np
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.ecmsketch.engines.cells.arrivals import Arrivals
from cython.cimports.ecmsketch.engines.cells.counters import CounterArray, CounterChange
from cython.cimports.ecmsketch.engines.cells.sample_bytes import decode, encode, most_bytes
from cython.cimports.ecmsketch.engines.cells.samples import (
    WAVE_LEVELS,
    Draws,
    Samples,
    copy_samples,
    draw,
    first_after,
    free_samples,
    get_tick,
    make_arena,
    move_ticks,
    new_samples,
    random_word,
    unite,
)
from cython.cimports.ecmsketch.kernels.memory import allocate, bytes_of, doubles, int64s, uint32s
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.engines.cells.arrivals import placed
from ecmsketch.engines.cells.counters import MOST_NUMBERED
from ecmsketch.engines.contract import Reading
from ecmsketch.errors import FormatError, InputError, MergeError

Ints = NDArray[np.int64]

PART = cython.declare(int64_t, 1 << 14)
"""Weighted events drawn between two looks for signals: each may be many draws."""
_HEADER = struct.Struct("<Qq")


@cython.cclass
class SampleChange(CounterChange):
    """Arrivals that will be drawn again and kept."""

    def __dealloc__(self) -> None:
        free_samples(cython.address(self.arena))

    @cython.cfunc
    def apply(self) -> cython.void:
        """See `CounterChange.apply`."""
        waves = cython.cast(RandomizedWaves, self.counters)
        with cython.nogil:
            keep_samples(waves, self)


@cython.cfunc
@cython.nogil
def keep_samples(waves: RandomizedWaves, change: SampleChange) -> cython.void:
    """Move to the larger arena if there is one, then draw all arrivals and keep them."""
    draws = cython.declare(Draws)
    block: int64_t
    if change.arena.ticks != cython.NULL:
        free(waves.state.ticks)
        free(waves.state.offset)
        waves.state.ticks, waves.state.offset = change.arena.ticks, change.arena.offset
        change.arena.ticks, change.arena.offset = cython.NULL, cython.NULL
    elif change.base != waves.base:
        move_ticks(cython.address(waves.state), change.base - waves.base)
    draws.key, draws.number, draws.base = change.key, waves.arrived, change.base
    draws.oldest, draws.spread = change.oldest, change.spread
    for block in range(change.arrivals.blocks):
        draw(
            cython.address(waves.state), change.arrivals, block, 0, change.arrivals.size_of(block),
            cython.address(draws), cython.NULL,
        )  # fmt: skip
    waves.key, waves.base = change.key, change.base
    waves.arrived += change.total


@cython.cclass
class RandomizedWaves(CounterArray):
    """An array of randomized waves; fulfils `Counters`."""

    lossless = True
    certain = False
    joins_proven = False

    def __cinit__(self, config: SketchConfig, key: int = 0) -> None:
        self.config = config
        self.key = key
        self.state.wide = config.tick_bytes != 4
        self.state.instances = config.wave_instances
        self.state.keep = config.samples
        self.state.lists = config.cells * config.wave_instances * WAVE_LEVELS
        if not new_samples(cython.address(self.state)):
            raise MemoryError

    def __dealloc__(self) -> None:
        free_samples(cython.address(self.state))

    @classmethod
    def new(cls, config: SketchConfig, key: int = 0) -> RandomizedWaves:
        """See `Counters.new`."""
        return cls(config, key)

    def reserve(self, arrivals: Arrivals, oldest: int, now: int) -> SampleChange:
        """See `Counters.reserve`. Every arrival, and every part of a weight, draws its own level."""
        config = self.config
        change = SampleChange()
        change.counters, change.version, change.arrivals = self, self.version, arrivals
        change.key, change.base = self.key, self.base
        change.spread = config.model == "count"
        change.oldest = now - config.window
        change.total = number_of(arrivals)
        if change.total >= MOST_NUMBERED - self.arrived:
            raise InputError("counter: a randomized wave numbers at most 2**59 arrivals; begin a new sketch")
        if arrivals.limit > config.cells:
            raise IndexError(f"expected cells below {config.cells}, got {arrivals.limit - 1}")
        if arrivals.count == 0:
            return change
        if self.arrived == 0:  # streams of one name, such as the days of a site, begin differently
            first: uint64_t = arrivals.load(0)[0]
            change.key = random_word(self.key, (oldest & (2**64 - 1)) ^ cython.cast(uint64_t, first << 40))
            change.base = max(oldest - 1, now - config.window - 1)
        if not self.state.wide and now - change.base > 0xFFFFFFFF:
            change.base = now - config.window - 1
        find_memory(self, change)
        return change

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """See `Counters.add`."""
        self.reserve(placed(cells, ticks, weights), oldest, now).commit()

    def read(self, cells: NDArray[np.uint32], since: int, now: int, origin: int) -> Reading:
        """See `Counters.read`. O(levels log samples) per cell and instance; bounds hold but for delta_sw."""
        asked: int64_t = len(cells)
        start: int64_t = max(since - self.base, 0)
        epsilon: cython.double = self.config.epsilon_sw
        numbers = uint32s(cells)
        reading = Reading(np.empty(asked), np.empty(asked), np.empty(asked))
        value, lower, upper = doubles(reading.value), doubles(reading.lower), doubles(reading.upper)
        if asked and cells.max() >= self.config.cells:
            raise IndexError(f"expected cells below {self.config.cells}, got {cells.max()}")
        found = cython.declare(cython.double[3])
        i: int64_t
        with cython.nogil:
            for i in range(asked):
                read_cell(cython.address(self.state), numbers[i], start, epsilon, found)
                value[i] = found[0]
                lower[i] = found[1]
                upper[i] = found[2]
        return reading

    @classmethod
    def merge(cls, parts: list[RandomizedWaves], origins: list[int], now: int) -> RandomizedWaves:
        """See `Counters.merge`: per level the union, cut to the newest. No error is added."""
        config = parts[0].config
        if len({part.key for part in parts}) < len(parts):
            raise MergeError(
                "two of the sketches drew the same samples: they are copies, or share their name and first arrival; "
                "give sites and segments names of their own"
            )
        arrived = sum(part.arrived for part in parts)
        if arrived >= MOST_NUMBERED:
            raise MergeError("the sketches have counted more than 2**59 arrivals, and no more can be numbered")
        result: RandomizedWaves = cls(config, random_word(parts[0].key, len(parts)))
        result.arrived = arrived
        result.base = max(now - config.window - 1, min(part.base for part in parts))
        for part in parts:
            result.unite_with(part)
            PyErr_CheckSignals()
        return result

    @cython.cfunc
    @cython.exceptval(-1)
    def unite_with(self, part: RandomizedWaves) -> cython.int:
        """Take the samples of another array into this one, which nobody else knows yet."""
        united = cython.declare(Samples)
        done: cython.bint
        if part.state.lists != self.state.lists or part.state.wide != self.state.wide:
            raise ValueError("expected waves of one config")
        with cython.nogil:
            done = unite(
                cython.address(self.state), cython.address(part.state), part.base - self.base, cython.address(united)
            )
        if not done:
            raise MemoryError
        free_samples(cython.address(self.state))
        self.state = united
        return 0

    @classmethod
    def concat(cls, segments: list[RandomizedWaves], now: int) -> RandomizedWaves:
        """See `Counters.concat`: merging adds no error, and the last segment's draws go on."""
        return cls.merge([segment for segment in segments if segment.arrived], [], now)

    def encode(self, now: int) -> bytes:
        """See `Counters.encode`."""
        clock: int64_t = now - self.base
        limit: int64_t = clock - self.config.window
        out = np.empty(most_bytes(cython.address(self.state)), np.uint8)
        target = bytes_of(out)
        size: int64_t
        with cython.nogil:
            size = encode(cython.address(self.state), clock, limit, target)
        return _HEADER.pack(self.key, self.arrived) + out[:size].tobytes()

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int, most: int) -> RandomizedWaves:
        """See `Counters.decode`."""
        lines = config.cells * config.wave_instances
        if len(data) < _HEADER.size + lines:
            raise FormatError(f"counters: {len(data)} bytes cannot hold {lines} counters; the data is truncated")
        key, arrived = _HEADER.unpack_from(data[: _HEADER.size].tobytes())
        if not 0 <= arrived < MOST_NUMBERED:
            raise FormatError(f"counters: expected arrivals numbered from 0 to below 2**59, got {arrived}")
        result: RandomizedWaves = cls(config, key)
        result.arrived = arrived
        result.base = now - config.window - 1
        size: int64_t = len(data) - _HEADER.size
        ticks = np.empty(size, np.int64)
        source = bytes_of(data) + cython.cast(int64_t, _HEADER.size)
        decode(source, size, config.window, most, cython.address(result.state), int64s(ticks))
        return result

    def shift(self, ticks: int) -> None:
        """See `Counters.shift`."""
        self.base += ticks
        self.version += 1

    def copy(self, config: SketchConfig | None = None) -> RandomizedWaves:
        """See `Counters.copy`."""
        other = RandomizedWaves(config or self.config, self.key)
        copied = cython.declare(Samples)
        if other.state.lists != self.state.lists or other.state.wide != self.state.wide:
            raise ValueError("expected a config with the same waves")
        if not copy_samples(cython.address(self.state), cython.address(copied)):
            raise MemoryError
        free_samples(cython.address(other.state))
        other.state = copied
        other.arrived, other.base = self.arrived, self.base
        return other

    @property
    def nbytes(self) -> int:
        """See `Counters.nbytes`."""
        ticks: int64_t = self.state.offset[self.state.lists]
        return ticks * (8 if self.state.wide else 4) + 16 * self.state.lists + 8

    @property
    def bucket_count(self) -> int:
        """See `Counters.bucket_count`."""
        total: int64_t = 0
        at: int64_t
        for at in range(self.state.lists):
            total += min(self.state.filled[at], self.state.keep)
        return total

    def lists(self) -> tuple[Ints, Ints]:
        """Every list's newest ticks, oldest first: (offset of each list, ticks)."""
        offset, ticks = np.zeros(self.state.lists + 1, np.int64), np.empty(self.bucket_count, np.int64)
        into, past = int64s(ticks), int64s(offset)
        filled: int64_t = 0
        kept: int64_t
        at: int64_t
        j: int64_t
        for at in range(self.state.lists):
            kept = min(self.state.filled[at], self.state.keep)
            for j in range(kept):
                into[filled + j] = get_tick(
                    cython.address(self.state), self.state.offset[at] + self.state.filled[at] - kept + j
                )
            filled += kept
            past[at + 1] = filled
        return offset, ticks + self.base


@cython.cfunc
@cython.exceptval(-1)
def number_of(arrivals: Arrivals) -> int64_t:
    """How many arrivals the events stand for; at most 2^59 is as good as more."""
    total: int64_t = 0
    i: int64_t
    if arrivals.weights == cython.NULL:
        return arrivals.count
    for i in range(arrivals.count):
        total += arrivals.weights[i]
        if total >= cython.cast(int64_t, 1) << 59:
            break
    return total


@cython.cfunc
@cython.exceptval(-1)
def find_memory(waves: RandomizedWaves, change: SampleChange) -> cython.int:
    """Draw all arrivals to count how many come to each list, and get a larger arena if a list is too short."""
    arrivals = change.arrivals
    draws = cython.declare(Draws)
    block: int64_t
    begin: int64_t
    end: int64_t
    size: int64_t = 8 * waves.state.lists
    done: cython.bint
    coming = cython.cast(cython.pointer(int64_t), allocate(size))
    if coming == cython.NULL:
        raise MemoryError
    try:
        memset(coming, 0, cython.cast(cython.size_t, size))
        draws.key, draws.number, draws.base = change.key, waves.arrived, change.base
        draws.oldest, draws.spread = change.oldest, change.spread
        for block in range(arrivals.blocks):
            begin = 0
            while begin < arrivals.size_of(block):
                end = arrivals.size_of(block)
                if arrivals.weights != cython.NULL:
                    end = min(end, begin + PART)
                with cython.nogil:
                    draw(
                        cython.address(waves.state), arrivals, block, begin, end, cython.address(draws), coming
                    )
                PyErr_CheckSignals()
                begin = end
        with cython.nogil:
            done = make_arena(
                cython.address(waves.state), coming, change.base - waves.base, cython.address(change.arena)
            )
        if not done:
            raise MemoryError
    finally:
        free(coming)
    return 0


@cython.cfunc
@cython.nogil
def read_cell(
    state: cython.pointer(Samples), cell: int64_t, since: int64_t, epsilon: cython.double,
    reading: cython.pointer(cython.double),
) -> cython.void:  # fmt: skip
    """Write value, lower and upper: the median of the instances' answers, or the exact number where every level of
    an instance is complete.
    """
    answers = cython.declare(cython.double[99])
    least: int64_t = 0
    exact: cython.bint = False
    complete: cython.bint
    instances: int64_t = state[0].instances
    keep: int64_t = state[0].keep
    line: int64_t
    sampled: int64_t
    level: int64_t
    past: int64_t
    found: int64_t
    instance: int64_t
    i: int64_t
    answer: cython.double
    for instance in range(instances):
        line = (cell * instances + instance) * WAVE_LEVELS
        sampled = 0
        level = WAVE_LEVELS
        complete = True
        while level > 0 and complete:
            past = state[0].offset[line + level - 1] + state[0].filled[line + level - 1]
            found = past - first_after(state, max(state[0].offset[line + level - 1], past - keep), past, since)
            complete = found < keep
            if complete:
                sampled += found
                level -= 1
            else:
                least = max(least, sampled + found)
        answer = cython.cast(cython.double, sampled) * cython.cast(cython.double, cython.cast(int64_t, 1) << level)
        i = instance
        while i > 0 and answers[i - 1] > answer:
            answers[i] = answers[i - 1]
            i -= 1
        answers[i] = answer
        if complete:
            exact = True
            least = sampled
    if exact:
        reading[0] = least
        reading[1] = least
        reading[2] = least
        return
    answer = (answers[(instances - 1) >> 1] + answers[instances >> 1]) / 2.0
    reading[0] = max(answer, cython.cast(cython.double, least))
    reading[1] = max(reading[0] / (1.0 + epsilon), cython.cast(cython.double, least))
    reading[2] = reading[0] / (1.0 - epsilon)
