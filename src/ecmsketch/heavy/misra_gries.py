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
from ecmsketch.kernels.hash_table import find_slot, new_slots


class Tally(NamedTuple):
    """Keys and their counts, found by a hash table whose slots are valid from some `since` on (hash_table.py)."""

    slots: Ints
    keys: Keys
    counts: Ints


@kernel
def new_tally(capacity: Any) -> Any:
    """A tally of up to `capacity` keys; its first `since` is 0."""
    return Tally(new_slots(capacity), np.empty(capacity, np.uint64), np.empty(capacity, np.int64))


@kernel
def emptied(tally: Any, since: Any) -> Any:
    """The `since` with which the tally is empty again."""
    return since + tally.keys.shape[0]


@kernel
def count_key(tally: Any, since: Any, used: Any, key: Any, count: Any) -> Any:
    """Add to a key's count; returns how many keys there are now."""
    slot = find_slot(tally.slots, since, tally.keys, key)
    at = tally.slots[slot] - since
    if at >= int64(0):
        tally.counts[at] += count
        return used
    tally.slots[slot] = since + used
    tally.keys[used] = key
    tally.counts[used] = count
    return used + int64(1)


@kernel
def _surplus(counts: Any, used: Any, size: Any) -> Any:
    """The largest k with sum(min(count, k)) >= (size + 1) k: it holds up to some k, and not after."""
    total = int64(0)
    for i in range(used):
        total += counts[i]
    low, high = int64(0), total // (size + int64(1))
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
    k = _surplus(tally.counts, used, size)
    for i in range(used):
        if tally.counts[i] > k:
            keys[at] = tally.keys[i]
            counts[at] = tally.counts[i] - k
            at += int64(1)
    return at, k
