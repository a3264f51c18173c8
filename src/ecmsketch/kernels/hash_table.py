"""An open-addressing hash table of places in an array of keys, by linear probing.

Slots hold places plus a number `since`. A slot below `since` is empty. So a table is emptied without touching it:
its user goes on with a `since` beyond all numbers stored so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64

from ecmsketch.kernels.decorator import inlined, kernel
from ecmsketch.kernels.splitmix import GOLDEN


@kernel
def new_slots(capacity: Any) -> Any:
    """Empty slots for up to `capacity` keys: a power of two, at most half of which are ever used."""
    size = int64(16)
    while size < int64(2) * capacity:
        size *= int64(2)
    return np.full(size, -1, np.int64)


@inlined
def first_slot(slots: Any, key: Any) -> Any:
    """The slot at which the search for a key begins."""
    return int64((uint64(key) * uint64(GOLDEN)) >> uint64(32)) & (slots.shape[0] - int64(1))


@inlined
def find_slot(slots: Any, since: Any, keys: Any, key: Any) -> Any:
    """The slot of a key: it holds the key's place in `keys` plus `since`, or is empty and free for it."""
    mask = slots.shape[0] - int64(1)
    slot = first_slot(slots, key)
    while slots[slot] >= since and keys[slots[slot] - since] != key:
        slot = (slot + int64(1)) & mask
    return slot
