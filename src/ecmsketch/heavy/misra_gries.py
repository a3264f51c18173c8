"""Misra-Gries counts: at most `size` keys stay, each with a count that is too low by at most a known error.

Reducing takes the largest k with sum(min(count, k)) >= (size + 1) k from every count, so that at most `size` are left
and the error is never more than arrivals / (size + 1), however often counts were joined before (Agarwal and others,
Mergeable summaries).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from ecmsketch.counters.contract import Ints
from ecmsketch.inputs.items import Keys
from ecmsketch.kernels import kernel
from ecmsketch.kernels.decorator import inlined
from ecmsketch.kernels.hash_table import find_slot, first_slot, new_slots

_SMALL = 32
"""Counts below this are small."""


class Tally(NamedTuple):
    """Keys and their counts, found by a hash table whose slots are valid from some `since` on (hash_table.py)."""

    slots: Ints
    keys: Keys
    counts: Ints
    of_each: Ints
    """Scratch memory, in which small counts are counted by their size."""


@kernel
def new_tally(capacity: Any) -> Any:
    """A tally of up to `capacity` keys; its first `since` is 0."""
    slots, counts = new_slots(int64(2) * capacity), np.empty(capacity, np.int64)
    return Tally(slots, np.empty(capacity, np.uint64), counts, np.empty(_SMALL, np.int64))


@kernel
def emptied(tally: Any, since: Any) -> Any:
    """The `since` with which the tally is empty again."""
    return since + tally.keys.shape[0]


@inlined
def count_key(tally: Any, since: Any, used: Any, key: Any, count: Any) -> Any:
    """Add to a key's count; returns how many keys there are now.

    Whether a key is new cannot be foretold, so nothing branches on it: a new key is one more place with a count of 0.
    """
    slot = first_slot(tally.slots, key)
    at = tally.slots[slot] - since
    if int64(at >= int64(0)) & int64(tally.keys[max(at, int64(0))] != key):  # rare, since few slots are in use
        slot = find_slot(tally.slots, since, tally.keys, key)
        at = tally.slots[slot] - since
    new = int64(at < int64(0))
    place = used if new else at
    tally.slots[slot] = since + place
    tally.keys[place] = key
    tally.counts[place] = tally.counts[place] * (int64(1) - new) + count
    return used + new


@kernel
def narrowed(tally: Any, keys: Any) -> Any:
    """The same tally with fewer slots, enough for so many keys: fewer slots stay in the processor's cache."""
    size = int64(16)
    while size < int64(4) * keys:
        size *= int64(2)
    return Tally(tally.slots[: min(size, tally.slots.shape[0])], tally.keys, tally.counts, tally.of_each)


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
