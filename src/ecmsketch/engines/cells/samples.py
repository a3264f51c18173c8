"""The samples of randomized waves: levels that arrivals draw, and for each cell, instance and level a list of ticks.

An arrival draws level 0 with probability 1/2, level 1 with 1/4, and so on; the last level takes what is left. Draws
come from a counter-based generator: arrival number n of a stream with a given key always draws the same. So a batch is
drawn twice and its draws are never stored: once to count what comes to each list, once to keep it.

The lists lie one after the other in an arena. A full list forgets all but its newest ticks, and is then long enough for
a quarter more: one tick costs O(1) moves on average.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.cells.arrivals import Arrivals
from cython.cimports.ecmsketch.kernels.memory import allocate, bytes_of
from cython.cimports.ecmsketch.kernels.packing import trailing_zeros
from cython.cimports.libc.math import cos, floor, log, sqrt
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memset
from numpy.typing import NDArray

PI = cython.declare(cython.double, 3.141592653589793)
WAVE_LEVELS = cython.declare(int64_t, 56)
"""Levels of a wave (config/memory.py): 2^55 is more than any counter's arrivals, so the last level is never full."""
CYCLE = cython.declare(int64_t, 2**58)
"""Arrivals draw by their number modulo this."""
ONE_BY_ONE = cython.declare(int64_t, 64)
"""Weights up to this draw for each arrival; larger ones draw how many of them go to each level."""


@cython.cfunc
@cython.nogil
def mixed(word: uint64_t) -> uint64_t:
    """SplitMix64's output function (kernels/hashing.py), here where the compiler can inline it."""
    word = cython.cast(uint64_t, (word ^ (word >> 30)) * cython.cast(uint64_t, 0xBF58476D1CE4E5B9))
    word = cython.cast(uint64_t, (word ^ (word >> 27)) * cython.cast(uint64_t, 0x94D049BB133111EB))
    return word ^ (word >> 31)


@cython.cfunc
@cython.nogil
def random_word(key: uint64_t, number: uint64_t) -> uint64_t:
    """The 64 random bits of arrival `number`; mixed twice, so that neighbouring keys differ as well."""
    word: uint64_t = cython.cast(uint64_t, key * cython.cast(uint64_t, 0xD1342543DE82EF95))
    word = cython.cast(uint64_t, word + cython.cast(uint64_t, number * cython.cast(uint64_t, 0x9E3779B97F4A7C15)))
    word = cython.cast(uint64_t, word + cython.cast(uint64_t, 0x632BE59BD9B4E019))
    return mixed(cython.cast(uint64_t, mixed(word) + key))


@cython.cfunc
@cython.nogil
def random_level(key: uint64_t, number: int64_t) -> int64_t:
    """The level that an arrival draws: 0 with probability 1/2, 1 with 1/4 ...; the last one takes what is left."""
    last: uint64_t = cython.cast(uint64_t, 1) << cython.cast(uint64_t, WAVE_LEVELS - 1)
    return trailing_zeros(random_word(key, cython.cast(uint64_t, number & (CYCLE - 1))) | last)


@cython.cfunc
@cython.nogil
def half_of(key: uint64_t, number: uint64_t, count: int64_t) -> int64_t:
    """How many of `count` coins show heads: exact up to 4,096 of them, beyond by the normal distribution."""
    heads: int64_t = 0
    left: int64_t = count
    word: uint64_t
    one: cython.double
    two: cython.double
    normal: cython.double
    if count <= 4096:
        while left > 0:
            word = random_word(key, number)
            if left < 64:
                word &= cython.cast(uint64_t, cython.cast(uint64_t, 1) << left) - 1
            while word != 0:
                word &= word - 1
                heads += 1
            left -= 64
            key = cython.cast(uint64_t, key + cython.cast(uint64_t, 0x9E3779B97F4A7C15))
        return heads
    coins: cython.double = cython.cast(cython.double, count)
    one = (cython.cast(cython.double, random_word(key, number) >> 11) + 0.5) * 2.0**-53
    key ^= cython.cast(uint64_t, 0xFFFFFFFFFFFFFFFF)
    two = cython.cast(cython.double, random_word(key, number) >> 11) * 2.0**-53
    normal = sqrt(-2.0 * log(one)) * cos(2.0 * PI * two)
    heads = cython.cast(int64_t, floor(coins / 2.0 + normal * sqrt(coins) / 2.0 + 0.5))
    return min(max(heads, 0), count)


def drawn_levels(key: int, first: int, count: int) -> NDArray[np.uint8]:
    """The levels that the arrivals first + 1 .. first + count draw."""
    levels = np.empty(count, np.uint8)
    target, before = bytes_of(levels), cython.declare(int64_t, first)
    i: int64_t
    for i in range(cython.cast(int64_t, count)):
        target[i] = cython.cast(uint8_t, random_level(key, before + i + 1))
    return levels


def heads(key: int, number: int, count: int) -> int:
    """What `half_of` says: how many of `count` arrivals, from `number` on, go no further than the first level."""
    return half_of(key, number, count)


@cython.cfunc
@cython.nogil
def get_tick(state: cython.pointer(Samples), at: int64_t) -> int64_t:
    """The offset at a place of the arena; 0 means that it expired long ago."""
    if state[0].wide:
        return cython.cast(cython.pointer(int64_t), state[0].ticks)[at]
    return cython.cast(int64_t, cython.cast(cython.pointer(uint32_t), state[0].ticks)[at])


@cython.cfunc
@cython.nogil
def put_tick(state: cython.pointer(Samples), at: int64_t, tick: int64_t) -> cython.void:
    """Write an offset to a place of the arena."""
    tick = max(tick, 0)
    if state[0].wide:
        cython.cast(cython.pointer(int64_t), state[0].ticks)[at] = tick
    else:
        cython.cast(cython.pointer(uint32_t), state[0].ticks)[at] = cython.cast(uint32_t, tick)


@cython.cfunc
@cython.nogil
def first_after(state: cython.pointer(Samples), low: int64_t, high: int64_t, since: int64_t) -> int64_t:
    """The first place in [low, high) whose tick lies after `since`."""
    middle: int64_t
    while low < high:
        middle = (low + high) >> 1
        if get_tick(state, middle) > since:
            high = middle
        else:
            low = middle + 1
    return low


@cython.cfunc
@cython.nogil
def push(state: cython.pointer(Samples), at: int64_t, tick: int64_t, copies: int64_t) -> cython.void:
    """Append arrivals on one tick to a list; a full list first forgets all but its newest."""
    first: int64_t = state[0].offset[at]
    keep: int64_t = state[0].keep
    stay: int64_t
    gone: int64_t
    j: int64_t
    copies = min(copies, keep)
    if first + state[0].filled[at] + copies > state[0].offset[at + 1]:
        stay = min(keep - copies, state[0].filled[at])
        gone = state[0].filled[at] - stay
        for j in range(stay):
            put_tick(state, first + j, get_tick(state, first + gone + j))
        state[0].filled[at] = stay
    first += state[0].filled[at]
    for j in range(copies):
        put_tick(state, first + j, tick)
    state[0].filled[at] += copies


@cython.cfunc
@cython.nogil
def take(
    state: cython.pointer(Samples), at: int64_t, tick: int64_t, copies: int64_t, coming: cython.pointer(int64_t)
) -> cython.void:
    """Keep arrivals on one tick in a list, or only count them."""
    if coming == cython.NULL:
        push(state, at, tick, copies)
    else:
        coming[at] += min(copies, state[0].keep)


@cython.cfunc
@cython.nogil
def key_of(draws: cython.pointer(Draws), instance: int64_t) -> uint64_t:
    """The key by which an instance draws."""
    return cython.cast(uint64_t, draws[0].key + cython.cast(uint64_t, instance))


@cython.cfunc
@cython.nogil
def draw(
    state: cython.pointer(Samples), arrivals: Arrivals, block: int64_t, begin: int64_t, end: int64_t,
    draws: cython.pointer(Draws), coming: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Keep the events begin .. end - 1 of a block, or count how many come to each list if `coming` is given."""
    cells = arrivals.load(block) + begin
    ticks = arrivals.ticks + block * arrivals.block + begin
    stride: int64_t = arrivals.stride_of(block)
    if arrivals.weights == cython.NULL:
        draw_units(state, cells, stride, arrivals.depth, ticks, end - begin, draws, coming)
        return
    weights = arrivals.weights + block * arrivals.block + begin
    i: int64_t
    for i in range(end - begin):
        if draws[0].spread:
            draw_spread(state, cells + i, stride, arrivals.depth, ticks[i], weights[i], draws, coming)
        else:
            draw_weighted(state, cells + i, stride, arrivals.depth, ticks[i], weights[i], draws, coming)


@cython.cfunc
@cython.nogil
def draw_units(
    state: cython.pointer(Samples), cells: cython.pointer(uint32_t), stride: int64_t, rows: int64_t,
    ticks: cython.pointer(int64_t), count: int64_t, draws: cython.pointer(Draws), coming: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Draw a level for each of some arrivals."""
    levels = cython.declare(uint8_t[1024])
    key: uint64_t
    begin: int64_t = 0
    some: int64_t
    instance: int64_t
    row: int64_t
    i: int64_t
    at: int64_t
    while begin < count:
        some = min(count - begin, 1024)
        for instance in range(state[0].instances):
            key = key_of(draws, instance)
            for i in range(some):
                levels[i] = cython.cast(uint8_t, random_level(key, draws[0].number + i + 1))
            for row in range(rows):
                line = cells + row * stride + begin
                for i in range(some):
                    at = cython.cast(int64_t, line[i]) * state[0].instances + instance
                    take(state, at * WAVE_LEVELS + levels[i], ticks[begin + i] - draws[0].base, 1, coming)
        draws[0].number += some
        begin += some


@cython.cfunc
@cython.nogil
def take_in_rows(
    state: cython.pointer(Samples), cells: cython.pointer(uint32_t), stride: int64_t, rows: int64_t, instance: int64_t,
    level: int64_t, tick: int64_t, copies: int64_t, coming: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Keep arrivals of one level in the cells of all rows, or only count them."""
    at: int64_t
    row: int64_t
    for row in range(rows):
        at = cython.cast(int64_t, cells[row * stride]) * state[0].instances + instance
        take(state, at * WAVE_LEVELS + level, tick, copies, coming)


@cython.cfunc
@cython.nogil
def draw_weighted(
    state: cython.pointer(Samples), cells: cython.pointer(uint32_t), stride: int64_t, rows: int64_t, tick: int64_t,
    weight: int64_t, draws: cython.pointer(Draws), coming: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Draw the levels of an event that stands for several arrivals on one tick."""
    key: uint64_t
    number: int64_t = draws[0].number
    left: int64_t
    here: int64_t
    instance: int64_t
    level: int64_t
    unit: int64_t
    tick -= draws[0].base
    for instance in range(state[0].instances):
        key = key_of(draws, instance)
        if weight <= ONE_BY_ONE:
            for unit in range(weight):
                level = random_level(key, number + unit + 1)
                take_in_rows(state, cells, stride, rows, instance, level, tick, 1, coming)
            continue
        left = weight
        key ^= cython.cast(uint64_t, 0xA5A5A5A5A5A5A5A5)
        for level in range(WAVE_LEVELS):
            here = left
            if level < WAVE_LEVELS - 1:
                here = half_of(key, cython.cast(uint64_t, (number + level) & (CYCLE - 1)), left)
            if here > 0:
                take_in_rows(state, cells, stride, rows, instance, level, tick, here, coming)
            left -= here
    draws[0].number += weight


@cython.cfunc
@cython.nogil
def draw_spread(
    state: cython.pointer(Samples), cells: cython.pointer(uint32_t), stride: int64_t, rows: int64_t, last: int64_t,
    weight: int64_t, draws: cython.pointer(Draws), coming: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Draw the levels of an event that stands for arrivals on as many ticks, which are their numbers."""
    tick: int64_t = max(last - weight, draws[0].oldest)
    level: int64_t
    instance: int64_t
    while tick < last:
        tick += 1
        for instance in range(state[0].instances):
            level = random_level(key_of(draws, instance), tick)
            take_in_rows(state, cells, stride, rows, instance, level, tick - draws[0].base, 1, coming)
    draws[0].number += weight


@cython.cfunc
@cython.nogil
def new_samples(state: cython.pointer(Samples)) -> cython.bint:
    """Give samples without memory their lists, all empty. False if there is no memory."""
    size: int64_t = 8 * state[0].lists
    state[0].ticks = allocate(0)
    state[0].offset = cython.cast(cython.pointer(int64_t), allocate(size + 8))
    state[0].filled = cython.cast(cython.pointer(int64_t), allocate(size))
    if state[0].ticks == cython.NULL or state[0].offset == cython.NULL or state[0].filled == cython.NULL:
        free_samples(state)
        return False
    memset(state[0].offset, 0, cython.cast(cython.size_t, size + 8))
    memset(state[0].filled, 0, cython.cast(cython.size_t, size))
    return True


@cython.cfunc
@cython.nogil
def free_samples(state: cython.pointer(Samples)) -> cython.void:
    """Give the memory back."""
    free(state[0].ticks)
    free(state[0].offset)
    free(state[0].filled)
    state[0].ticks = cython.NULL
    state[0].offset = cython.NULL
    state[0].filled = cython.NULL


@cython.cfunc
@cython.nogil
def copy_samples(old: cython.pointer(Samples), new: cython.pointer(Samples)) -> cython.bint:
    """Write a copy to `new`, which has no memory yet. False if there is no memory."""
    size: int64_t = 8 * old[0].lists
    nbytes: int64_t = (8 if old[0].wide else 4) * old[0].offset[old[0].lists]
    new[0] = old[0]
    new[0].ticks = allocate(nbytes)
    new[0].offset = cython.cast(cython.pointer(int64_t), allocate(size + 8))
    new[0].filled = cython.cast(cython.pointer(int64_t), allocate(size))
    if new[0].ticks == cython.NULL or new[0].offset == cython.NULL or new[0].filled == cython.NULL:
        free_samples(new)
        return False
    memcpy(new[0].ticks, old[0].ticks, cython.cast(cython.size_t, nbytes))
    memcpy(new[0].offset, old[0].offset, cython.cast(cython.size_t, size + 8))
    memcpy(new[0].filled, old[0].filled, cython.cast(cython.size_t, size))
    return True


@cython.cfunc
@cython.nogil
def move_ticks(state: cython.pointer(Samples), shift: int64_t) -> cython.void:
    """Let offsets count from a base that is `shift` later."""
    at: int64_t
    j: int64_t
    for at in range(state[0].lists):
        for j in range(state[0].offset[at], state[0].offset[at] + state[0].filled[at]):
            put_tick(state, j, get_tick(state, j) - shift)


@cython.cfunc
@cython.nogil
def make_arena(
    old: cython.pointer(Samples), coming: cython.pointer(int64_t), shift: int64_t, new: cython.pointer(Samples)
) -> cython.bint:
    """Write the same ticks, `shift` earlier, to a larger arena if any list needs one: every list gets what it needs and
    an eighth more. False if there is no memory. `new` has no memory yet, and never gets any for `filled`.
    """
    needed: int64_t
    fits: cython.bint = True
    at: int64_t
    j: int64_t
    most: int64_t = old[0].keep + old[0].keep // 4 + 8
    new[0] = old[0]
    new[0].ticks, new[0].offset, new[0].filled = cython.NULL, cython.NULL, cython.NULL
    for at in range(old[0].lists):
        fits = fits and min(old[0].filled[at] + coming[at], most) <= old[0].offset[at + 1] - old[0].offset[at]
    if fits:
        return True
    new[0].offset = cython.cast(cython.pointer(int64_t), allocate(8 * (old[0].lists + 1)))
    if new[0].offset == cython.NULL:
        return False
    new[0].offset[0] = 0
    for at in range(old[0].lists):
        needed = min(old[0].filled[at] + coming[at], most)
        new[0].offset[at + 1] = new[0].offset[at] + max(needed + (needed >> 3), old[0].filled[at])
    new[0].ticks = allocate((8 if new[0].wide else 4) * new[0].offset[old[0].lists])
    if new[0].ticks == cython.NULL:
        free(new[0].offset)
        new[0].offset = cython.NULL
        return False
    for at in range(old[0].lists):
        for j in range(old[0].filled[at]):
            put_tick(new, new[0].offset[at] + j, get_tick(old, old[0].offset[at] + j) - shift)
    return True


@cython.cfunc
@cython.nogil
def unite(
    one: cython.pointer(Samples), other: cython.pointer(Samples), shift: int64_t, new: cython.pointer(Samples)
) -> cython.bint:
    """Write to `new`, which has no memory yet, both samples of each list in order of time, cut to the newest.

    `shift` is added to the other's offsets. False if there is no memory.
    """
    keep: int64_t = one[0].keep
    at: int64_t
    into: int64_t
    left: int64_t
    right: int64_t
    mine: int64_t
    theirs: int64_t
    new[0] = one[0]
    new[0].ticks = cython.NULL
    new[0].offset = cython.cast(cython.pointer(int64_t), allocate(8 * (one[0].lists + 1)))
    new[0].filled = cython.cast(cython.pointer(int64_t), allocate(8 * one[0].lists))
    if new[0].offset == cython.NULL or new[0].filled == cython.NULL:
        free_samples(new)
        return False
    new[0].offset[0] = 0
    for at in range(one[0].lists):
        new[0].filled[at] = min(min(one[0].filled[at], keep) + min(other[0].filled[at], keep), keep)
        new[0].offset[at + 1] = new[0].offset[at] + new[0].filled[at]
    new[0].ticks = allocate((8 if new[0].wide else 4) * new[0].offset[one[0].lists])
    if new[0].ticks == cython.NULL:
        free_samples(new)
        return False
    for at in range(one[0].lists):
        left = one[0].offset[at] + one[0].filled[at]
        right = other[0].offset[at] + other[0].filled[at]
        into = new[0].offset[at + 1]
        while into > new[0].offset[at]:
            into -= 1
            mine = get_tick(one, left - 1) if left > one[0].offset[at] else -1
            theirs = max(get_tick(other, right - 1) + shift, 0) if right > other[0].offset[at] else -1
            if mine >= theirs:
                put_tick(new, into, mine)
                left -= 1
            else:
                put_tick(new, into, theirs)
                right -= 1
    return True
