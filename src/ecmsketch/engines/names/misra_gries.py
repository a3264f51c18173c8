"""Misra-Gries counts: at most `size` keys stay, each with a count that is too low by at most a known error.

Reducing takes the largest k with sum(min(count, k)) >= (size + 1) k from every count, so that at most `size` are left
and the error is never more than arrivals / (size + 1), however often counts were joined before (Agarwal and others,
Mergeable summaries). Counting takes one pass without branches; reducing one or two passes over the different keys.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import allocate, int64s, uint64s
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset
from numpy.typing import NDArray

SMALL = cython.declare(int64_t, 31)
"""Counts below this are small: they are counted by their size."""


@cython.cfunc
@cython.nogil
def slot_bits(keys: int64_t) -> int64_t:
    """Bits of a slot's number, for so many keys: at most half of the slots are ever used."""
    bits: int64_t = 4
    while cython.cast(int64_t, 1) << bits < 2 * keys:
        bits += 1
    return bits


@cython.cfunc
@cython.nogil
def open_tally(tally: cython.pointer(Tally), capacity: int64_t) -> cython.bint:
    """Make a tally of up to `capacity` keys; False without memory."""
    slots: int64_t = cython.cast(int64_t, 1) << slot_bits(capacity)
    words: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), allocate(16 * slots + 40 * capacity))
    tally[0].memory = cython.cast(cython.p_void, words)
    if words == cython.NULL:
        return False
    tally[0].slots = words
    words = words + 2 * slots
    tally[0].used_slots = words
    tally[0].left_keys = words + capacity
    tally[0].left_counts = cython.cast(cython.pointer(int64_t), words + 2 * capacity)
    tally[0].keys = words + 3 * capacity
    tally[0].counts = cython.cast(cython.pointer(int64_t), words + 4 * capacity)
    memset(tally[0].slots, 0, cython.cast(cython.size_t, 16 * slots))
    return True


@cython.cfunc
@cython.nogil
def close_tally(tally: cython.pointer(Tally)) -> cython.void:
    """Give the memory of a tally back."""
    free(tally[0].memory)
    tally[0].memory = cython.NULL


@cython.cfunc
@cython.nogil
def count_keys(
    tally: cython.pointer(Tally), keys: cython.pointer(uint64_t), counts: cython.pointer(int64_t), count: int64_t
) -> int64_t:
    """Add up the counts (NULL: ones) of each key in the tally, which is empty before; returns how many keys there are.

    Whether a key has come before cannot be foretold, so nothing branches on it. A key whose slot another one has is
    left for the next time, with another hash. Each time one key at least finds a slot.
    """
    golden: uint64_t = 0x9E3779B97F4A7C15
    multiplier: uint64_t = golden
    bits: int64_t = slot_bits(count)
    used: int64_t = 0
    left: int64_t = 0
    if counts == cython.NULL:
        left = count_ones(tally, keys, count, multiplier, 64 - bits, cython.address(used))
    else:
        left = count_weighted(tally, keys, counts, count, multiplier, 64 - bits, cython.address(used))
    while left:
        multiplier = cython.cast(uint64_t, multiplier * golden)
        left = count_weighted(
            tally, tally[0].left_keys, tally[0].left_counts, left, multiplier, 64 - bits, cython.address(used)
        )
    return used


@cython.cfunc
@cython.nogil
def count_ones(
    tally: cython.pointer(Tally), keys: cython.pointer(uint64_t), count: int64_t, multiplier: uint64_t,
    shift: int64_t, known: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Do what `count_weighted` does, for counts of one."""
    slots: cython.pointer(uint64_t) = tally[0].slots
    used_slots: cython.pointer(uint64_t) = tally[0].used_slots
    left_keys: cython.pointer(uint64_t) = tally[0].left_keys
    key: uint64_t
    there: uint64_t
    slot: uint64_t
    before: uint64_t
    free_slot: uint64_t
    mine: uint64_t
    used: int64_t = 0
    left: int64_t = 0
    i: int64_t
    for i in range(count):
        key = keys[i]
        slot = (cython.cast(uint64_t, key * multiplier) >> shift) << 1
        there = slots[slot]
        before = slots[slot + 1]
        free_slot = before == 0
        mine = free_slot | (there == key)
        slots[slot] = there ^ ((there ^ key) & cython.cast(uint64_t, 0 - mine))
        slots[slot + 1] = before + mine
        used_slots[used] = slot
        used += cython.cast(int64_t, free_slot)
        left_keys[left] = key
        left += 1 - cython.cast(int64_t, mine)
    for i in range(left):
        tally[0].left_counts[i] = 1
    collect_slots(tally, used, known)
    return left


@cython.cfunc
@cython.nogil
def count_weighted(
    tally: cython.pointer(Tally), keys: cython.pointer(uint64_t), counts: cython.pointer(int64_t), count: int64_t,
    multiplier: uint64_t, shift: int64_t, known: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Count what finds a slot, and append it to the `known` keys; returns how many events are left."""
    slots: cython.pointer(uint64_t) = tally[0].slots
    used_slots: cython.pointer(uint64_t) = tally[0].used_slots
    left_keys: cython.pointer(uint64_t) = tally[0].left_keys
    left_counts: cython.pointer(int64_t) = tally[0].left_counts
    key: uint64_t
    there: uint64_t
    slot: uint64_t
    weight: uint64_t
    before: uint64_t
    free_slot: uint64_t
    mine: uint64_t
    used: int64_t = 0
    left: int64_t = 0
    i: int64_t
    for i in range(count):
        key = keys[i]
        weight = cython.cast(uint64_t, counts[i])
        slot = (cython.cast(uint64_t, key * multiplier) >> shift) << 1
        there = slots[slot]
        before = slots[slot + 1]
        free_slot = before == 0
        mine = free_slot | (there == key)
        slots[slot] = there ^ ((there ^ key) & cython.cast(uint64_t, 0 - mine))
        slots[slot + 1] = before + (weight & cython.cast(uint64_t, 0 - mine))
        used_slots[used] = slot
        used += cython.cast(int64_t, free_slot)
        left_keys[left] = key
        left_counts[left] = cython.cast(int64_t, weight)
        left += 1 - cython.cast(int64_t, mine)
    collect_slots(tally, used, known)
    return left


@cython.cfunc
@cython.nogil
def collect_slots(tally: cython.pointer(Tally), used: int64_t, known: cython.pointer(int64_t)) -> cython.void:
    """Append the keys of the slots in use, with their counts, to the known ones, and free the slots."""
    keys: cython.pointer(uint64_t) = tally[0].keys + known[0]
    counts: cython.pointer(int64_t) = tally[0].counts + known[0]
    slot: uint64_t
    i: int64_t
    for i in range(used):
        slot = tally[0].used_slots[i]
        keys[i] = tally[0].slots[slot]
        counts[i] = cython.cast(int64_t, tally[0].slots[slot + 1])
        tally[0].slots[slot + 1] = 0
    known[0] += used


@cython.cfunc
@cython.nogil
def surplus(counts: cython.pointer(int64_t), used: int64_t, size: int64_t) -> int64_t:
    """The largest k with sum(min(count, k)) >= (size + 1) k: it holds up to some k, and not after.

    That sum grows from k - 1 to k by the counts that are k or more, so most often it is found by counting small counts
    by their size.
    """
    of_each = cython.declare(int64_t[32])
    total: int64_t = 0
    beyond: int64_t = 0
    left: int64_t = used
    low: int64_t = SMALL
    high: int64_t
    taken: int64_t
    k: int64_t
    i: int64_t
    if used <= size:
        return 0
    for i in range(SMALL + 1):
        of_each[i] = 0
    for i in range(used):
        total += counts[i]
        of_each[min(counts[i], SMALL)] += 1
    for k in range(1, SMALL + 1):
        beyond += left - (size + 1)
        if beyond < 0:
            return k - 1
        left -= of_each[k]
    high = total // (size + 1)
    while low < high:
        k = (low + high + 1) // 2
        taken = 0
        for i in range(used):
            taken += min(counts[i], k)
        if taken >= (size + 1) * k:
            low = k
        else:
            high = min(k - 1, taken // (size + 1))
    return low


@cython.cfunc
@cython.nogil
def write_reduced(
    tally: cython.pointer(Tally), used: int64_t, size: int64_t, keys: cython.pointer(uint64_t),
    counts: cython.pointer(int64_t), at: int64_t, taken: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Write the reduced counts from position `at` on; returns the position after them, and what was taken from each."""
    k: int64_t = surplus(tally[0].counts, used, size)
    i: int64_t
    for i in range(used):
        if tally[0].counts[i] > k:
            keys[at] = tally[0].keys[i]
            counts[at] = tally[0].counts[i] - k
            at += 1
    taken[0] = k
    return at


def reduced_counts(
    keys: NDArray[np.uint64], counts: NDArray[np.int64] | None, size: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """At most `size` of the keys with their counts (None: all ones), in order of appearance, and what was taken from
    each count. A size of as many keys leaves their counts as they are.
    """
    tally = cython.declare(Tally)
    most: int64_t = size
    count: int64_t = len(keys)
    left: int64_t
    taken: int64_t = 0
    names, numbers = np.empty(count, np.uint64), np.empty(count, np.int64)
    source, target, found = uint64s(keys), uint64s(names), int64s(numbers)
    weights: cython.pointer(int64_t) = cython.NULL
    if counts is not None:
        if len(counts) != count:
            raise ValueError(f"counts: expected {count}, got {len(counts)}")
        weights = int64s(counts)
    if not open_tally(cython.address(tally), count):
        raise MemoryError
    with cython.nogil:
        left = count_keys(cython.address(tally), source, weights, count)
        left = write_reduced(cython.address(tally), left, most, target, found, 0, cython.address(taken))
        close_tally(cython.address(tally))
    return names[:left], numbers[:left], taken
