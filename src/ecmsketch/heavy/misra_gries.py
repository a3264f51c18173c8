"""Misra-Gries counts: at most `size` keys stay, each with a count that is too low by at most a known error.

Reducing takes the largest k with sum(min(count, k)) >= (size + 1) k from every count, so that at most `size` are left
and the error is never more than arrivals / (size + 1), however often counts were joined before (Agarwal and others,
Mergeable summaries).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64

from ecmsketch.counters.contract import Ints
from ecmsketch.inputs.items import Keys
from ecmsketch.kernels import kernel
from ecmsketch.kernels.splitmix import GOLDEN

_SMALL = 32
"""Counts below this are small."""


class Tally(NamedTuple):
    """Keys and their counts, and the hash table in which they are counted."""

    slot_keys: Keys
    slot_counts: Ints
    """0 if a slot is free, as all are between two countings."""
    used_slots: Keys
    left_keys: Keys
    left_counts: Ints
    """What did not find a slot, and is counted again with another hash."""
    keys: Keys
    counts: Ints
    of_each: Ints
    """Scratch memory, in which small counts are counted by their size."""


@kernel
def new_tally(capacity: Any) -> Any:
    """A tally of up to `capacity` keys."""
    slots = int64(1) << _slot_bits(capacity)
    return Tally(
        np.empty(slots, np.uint64), np.zeros(slots, np.int64), np.empty(capacity, np.uint64),
        np.empty(capacity, np.uint64), np.empty(capacity, np.int64),
        np.empty(capacity, np.uint64), np.empty(capacity, np.int64), np.empty(_SMALL, np.int64),
    )  # fmt: skip


@kernel
def _slot_bits(keys: Any) -> Any:
    """Bits of a slot's number, for so many keys: at most half of the slots are ever used."""
    bits = int64(4)
    while int64(1) << bits < int64(2) * keys:
        bits += int64(1)
    return bits


@kernel
def count_keys(tally: Any, keys: Any, counts: Any) -> Any:
    """Add up the counts of each key in the tally, which is empty before; returns how many keys there are.

    No counts means ones. Whether a key has come before cannot be foretold, so nothing branches on it. A key whose slot
    another one has is left for the next time, with another hash. Each time one key at least finds a slot.
    """
    shift = uint64(int64(64) - _slot_bits(keys.shape[0]))
    multiplier = uint64(GOLDEN)
    used, left = _count_once(tally, keys, counts, multiplier, shift, int64(0))
    while left:
        multiplier *= uint64(GOLDEN)
        used, left = _count_once(tally, tally.left_keys[:left], tally.left_counts, multiplier, shift, used)
    return used


@kernel
def _count_once(tally: Any, keys: Any, counts: Any, multiplier: Any, shift: Any, known: Any) -> Any:
    """Count what finds a slot, and add it to the `known` keys: (keys there are now, events that are left)."""
    slot_keys, slot_counts, used_slots = tally.slot_keys, tally.slot_counts, tally.used_slots
    used, left, weighted = uint64(0), uint64(0), counts.shape[0] > 0
    for i in range(keys.shape[0]):
        key, count = keys[i], counts[i] if weighted else int64(1)
        slot = (key * multiplier) >> shift
        there = slot_keys[slot]
        free = slot_counts[slot] == int64(0)
        mine = free | (there == key)
        slot_keys[slot] = key if free else there
        slot_counts[slot] += count if mine else int64(0)
        used_slots[used] = slot
        used += uint64(free)
        tally.left_keys[left], tally.left_counts[left] = key, count
        left += uint64(1) - uint64(mine)
    for i in range(int64(used)):
        slot = used_slots[i]
        tally.keys[known + i], tally.counts[known + i] = slot_keys[slot], slot_counts[slot]
        slot_counts[slot] = int64(0)
    return known + int64(used), int64(left)


@kernel
def _surplus(counts: Any, used: Any, size: Any, of_each: Any) -> Any:
    """The largest k with sum(min(count, k)) >= (size + 1) k: it holds up to some k, and not after.

    That sum grows from k - 1 to k by the counts that are k or more, so most often it is found by counting small counts
    by their size, in `of_each`.
    """
    if used <= size:
        return int64(0)
    small = of_each.shape[0] - int64(1)
    of_each[:] = int64(0)
    total = int64(0)
    for i in range(used):
        total += counts[i]
        of_each[min(counts[i], small)] += int64(1)
    left, beyond = used, int64(0)
    for k in range(1, small + int64(1)):
        beyond += left - (size + int64(1))
        if beyond < int64(0):
            return k - int64(1)
        left -= of_each[k]
    low, high = small, total // (size + int64(1))
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
def write_reduced(tally: Any, used: Any, size: Any, keys: Any, counts: Any, at: Any) -> Any:
    """Write the reduced counts from position `at` on; returns (position after them, what was taken from each)."""
    k = _surplus(tally.counts, used, size, tally.of_each)
    for i in range(used):
        if tally.counts[i] > k:
            keys[at] = tally.keys[i]
            counts[at] = tally.counts[i] - k
            at += int64(1)
    return at, k
