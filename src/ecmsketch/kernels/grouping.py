"""Keys numbered by a hash table, and rows put together by the numbers of their groups, one pass a column.

A table of slots holds places in an array of keys, by linear probing: a power of two, at most half of which are used.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import allocate, int32s, int64s, uint64s
from cython.cimports.ecmsketch.kernels.sorting import in_order, sort_ticks
from cython.cimports.libc.stdint import int32_t, int64_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset
from numpy.typing import NDArray

from ecmsketch.kernels.sorting import is_sorted

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]


@cython.cfunc
@cython.nogil
def slots_for(capacity: int64_t) -> int64_t:
    """How many slots so many keys take."""
    size: int64_t = 16
    while size < 2 * capacity:
        size *= 2
    return size


@cython.cfunc
@cython.nogil
def find_slot(slots: cython.pointer(int32_t), mask: int64_t, keys: cython.pointer(uint64_t), key: uint64_t) -> int64_t:
    """The slot of a key: it holds the key's place in `keys`, or -1 and is free for it."""
    product: uint64_t = cython.cast(uint64_t, key * cython.cast(uint64_t, 0x9E3779B97F4A7C15))
    slot: int64_t = cython.cast(int64_t, product >> 32) & mask
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + 1) & mask
    return slot


@cython.cclass
class Numbering:
    """Gives different numbers of 64 bits the places 0, 1, 2, ... in order of appearance, up to a capacity."""

    def __init__(self, capacity: int) -> None:
        if self.keys != cython.NULL:
            raise RuntimeError("a numbering is made once")
        self.capacity = capacity
        self.count = 0
        self.mask = slots_for(capacity) - 1
        self.keys = cython.cast(cython.pointer(uint64_t), allocate(8 * self.capacity))
        self.slots = cython.cast(cython.pointer(int32_t), allocate(4 * (self.mask + 1)))
        if self.keys == cython.NULL or self.slots == cython.NULL:
            raise MemoryError
        memset(self.slots, 255, cython.cast(cython.size_t, 4 * (self.mask + 1)))

    def __dealloc__(self) -> None:
        free(self.keys)
        free(self.slots)

    def number(self, values: Ints) -> Codes | None:
        """The place of every value; None if there are more different ones than the capacity."""
        values = np.ascontiguousarray(values, np.int64)
        codes = np.empty(len(values), np.int32)
        source, target = int64s(values), int32s(codes)
        keys, slots = self.keys, self.slots
        count: int64_t = len(values)
        known: int64_t = self.count
        slot: int64_t
        done: int64_t = 0
        with cython.nogil:
            while done < count:
                slot = find_slot(slots, self.mask, keys, cython.cast(uint64_t, source[done]))
                if slots[slot] < 0:
                    if known == self.capacity:
                        break
                    slots[slot] = cython.cast(int32_t, known)
                    keys[known] = cython.cast(uint64_t, source[done])
                    known += 1
                target[done] = slots[slot]
                done += 1
        self.count = known
        return codes if done == count else None

    def known(self) -> Ints:
        """The different values, in order of their places."""
        values = np.empty(self.count, np.int64)
        target = int64s(values)
        i: int64_t
        for i in range(self.count):
            target[i] = cython.cast(int64_t, self.keys[i])
        return values


def add_counts(codes: Codes, counts: Ints) -> None:
    """Add every group's rows to its count."""
    source, target = int32s(codes), int64s(counts)
    groups: int64_t = len(counts)
    i: int64_t
    count: int64_t = len(codes)
    check_codes(source, count, groups)
    with cython.nogil:
        for i in range(count):
            target[source[i]] += 1


def scatter(columns: tuple[Ints, Ints], codes: Codes, at: Ints, out: tuple[Ints, Ints]) -> None:
    """Put two columns of integers where each group's next rows go, and move these places on."""
    first, second = (np.ascontiguousarray(column, np.int64) for column in columns)
    one, other, made, beside = int64s(first), int64s(second), int64s(out[0]), int64s(out[1])
    source, places = int32s(codes), int64s(at)
    count: int64_t = len(codes)
    space: int64_t = min(len(out[0]), len(out[1]))
    place: int64_t
    done: int64_t = 0
    check_codes(source, count, len(at))
    if min(len(first), len(second)) < count:
        raise ValueError("columns: expected a row for every code")
    with cython.nogil:
        while done < count:
            place = places[source[done]]
            if place < 0 or place >= space:
                break
            places[source[done]] = place + 1
            made[place] = one[done]
            beside[place] = other[done]
            done += 1
    if done < count:
        raise ValueError("at: expected places in the columns")


def order_runs(ticks: Ints, order: Ints, begins: Ints) -> None:
    """Sort ticks, and the numbers of their events along with them, from each place of `begins` to before the next."""
    source, companions, bounds = int64s(ticks), int64s(order), int64s(begins)
    runs: int64_t = len(begins) - 1
    longest: int64_t = 0
    i: int64_t
    inside = not len(begins) or (bounds[0] >= 0 and bounds[runs] <= len(ticks))
    if len(order) != len(ticks) or not is_sorted(begins) or not inside:
        raise ValueError("begins: expected places in the ticks, in order")
    with cython.nogil:
        for i in range(runs):
            if not in_order(source + bounds[i], bounds[i + 1] - bounds[i]):
                longest = max(longest, bounds[i + 1] - bounds[i])
    scratch = np.empty(2 * longest, np.int64)
    memory = int64s(scratch)
    with cython.nogil:
        for i in range(runs):
            if longest and not in_order(source + bounds[i], bounds[i + 1] - bounds[i]):
                sort_ticks(source + bounds[i], companions + bounds[i], bounds[i + 1] - bounds[i], memory)


def find_last(wanted: Keys, keys: Keys) -> Ints:
    """The last place of each of some different keys, or -1."""
    places = np.full(len(wanted), -1, np.int64)
    looked_for, given, found = uint64s(wanted), uint64s(keys), int64s(places)
    left: int64_t = len(wanted)
    at: int64_t = len(keys)
    mask: int64_t = slots_for(left) - 1
    place: int64_t
    slots: cython.pointer(int32_t) = cython.cast(cython.pointer(int32_t), allocate(4 * (mask + 1)))
    if slots == cython.NULL:
        raise MemoryError
    with cython.nogil:
        memset(slots, 255, cython.cast(cython.size_t, 4 * (mask + 1)))
        for place in range(left):
            slots[find_slot(slots, mask, looked_for, looked_for[place])] = cython.cast(int32_t, place)
        while at > 0 and left > 0:
            at -= 1
            place = slots[find_slot(slots, mask, looked_for, given[at])]
            if place >= 0 and found[place] < 0:
                found[place] = at
                left -= 1
        free(slots)
    return places


@cython.cfunc
@cython.exceptval(-1, check=False)
def check_codes(codes: cython.pointer(int32_t), count: int64_t, groups: int64_t) -> cython.int:
    """Refuse numbers of groups that there are not."""
    wrong: int64_t = 0
    i: int64_t
    for i in range(count):
        wrong += 1 if codes[i] < 0 or codes[i] >= groups else 0
    if wrong:
        raise ValueError("codes: expected numbers of groups")
    return 0
