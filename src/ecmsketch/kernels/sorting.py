"""Sorting: radix sorts, since the ticks of a batch lie close together and need few digits. All are stable."""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import int64s
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

Ints = NDArray[np.int64]

FEW = cython.declare(int64_t, 32)
"""So few words are sorted by insertion."""
SHORT = cython.declare(int64_t, 4096)
"""Fewer words are sorted eight bits at a time: clearing the counts of longer digits would take most of the time."""


def is_sorted(ticks: Ints) -> bool:
    """Whether no tick is smaller than the one before it."""
    pointer = int64s(ticks)
    count: int64_t = len(ticks)
    sorted_already: cython.bint
    with cython.nogil:
        sorted_already = in_order(pointer, count)
    return sorted_already


def sort_by_tick(ticks: Ints, companions: Ints) -> None:
    """Sort ticks in place, and int64 companions along with them."""
    scratch = np.empty(2 * len(ticks), np.int64)
    first, second, memory = int64s(ticks), int64s(companions), int64s(scratch)
    count: int64_t = len(ticks)
    with cython.nogil:
        sort_ticks(first, second, count, memory)


def order_of(ticks: Ints) -> Ints:
    """The places of the ticks in sorted order; places of equal ticks keep their order."""
    order = np.arange(len(ticks), dtype=np.int64)
    sort_by_tick(ticks.copy(), order)
    return order


@cython.cfunc
@cython.nogil
def in_order(ticks: cython.pointer(int64_t), count: int64_t) -> cython.bint:
    """Whether no tick is smaller than the one before it. Without a branch: the compiler makes the loop parallel."""
    descents: int64_t = 0
    i: int64_t
    for i in range(1, count):
        descents += 1 if ticks[i] < ticks[i - 1] else 0
    return descents == 0


@cython.cfunc
@cython.nogil
def sort_ticks(
    ticks: cython.pointer(int64_t), companions: cython.pointer(int64_t), count: int64_t,
    scratch: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Sort ticks and their companions, eleven bits at a time. `scratch` has space for twice as many numbers."""
    starts = cython.declare(int64_t[2049])
    least: int64_t
    most: int64_t
    i: int64_t
    digit: int64_t
    shift: cython.int = 0
    if count < 2:
        return
    least = ticks[0]
    most = ticks[0]
    for i in range(count):
        least = min(least, ticks[i])
        most = max(most, ticks[i])
    while shift < 63 and (most - least) >> shift > 0:
        for digit in range(2049):
            starts[digit] = 0
        for i in range(count):
            starts[(((ticks[i] - least) >> shift) & 2047) + 1] += 1
        for digit in range(2048):
            starts[digit + 1] += starts[digit]
        for i in range(count):
            digit = ((ticks[i] - least) >> shift) & 2047
            scratch[starts[digit]] = ticks[i]
            scratch[count + starts[digit]] = companions[i]
            starts[digit] += 1
        memcpy(ticks, scratch, cython.cast(cython.size_t, 8 * count))
        memcpy(companions, scratch + count, cython.cast(cython.size_t, 8 * count))
        shift += 11


@cython.cfunc
@cython.nogil
def sort_words(words: cython.pointer(uint64_t), count: int64_t, scratch: cython.pointer(uint64_t)) -> cython.void:
    """Sort words in ascending order. `scratch` has space for as many."""
    starts = cython.declare(int64_t[2049])
    all_bits: uint64_t = 0
    word: uint64_t
    i: int64_t
    j: int64_t
    digit: int64_t
    bits: cython.int = 8 if count < SHORT else 11
    digits: int64_t = 256 if count < SHORT else 2048
    shift: cython.int = 0
    if count <= FEW:
        for i in range(1, count):
            word = words[i]
            j = i
            while j > 0 and words[j - 1] > word:
                words[j] = words[j - 1]
                j -= 1
            words[j] = word
        return
    for i in range(count):
        all_bits |= words[i]
    while shift < 64 and all_bits >> shift:
        for digit in range(digits + 1):
            starts[digit] = 0
        for i in range(count):
            starts[cython.cast(int64_t, (words[i] >> shift) & cython.cast(uint64_t, digits - 1)) + 1] += 1
        for digit in range(digits):
            starts[digit + 1] += starts[digit]
        for i in range(count):
            digit = cython.cast(int64_t, (words[i] >> shift) & cython.cast(uint64_t, digits - 1))
            scratch[starts[digit]] = words[i]
            starts[digit] += 1
        memcpy(words, scratch, cython.cast(cython.size_t, 8 * count))
        shift += bits
