"""Counting events in tables, and adding up the tables of slices that were joined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint32, uint64

from ecmsketch.counters.contract import Ints
from ecmsketch.inputs.row_hashes import mix_items
from ecmsketch.kernels import kernel
from ecmsketch.slices.table_planes import add_slice, stored
from ecmsketch.slices.table_pool import ARRIVALS, BEGIN, END, NEXT, SLICES, TABLE, TablePool, release_tables

_CHUNK = 4096
"""Events counted at a time in all rows."""


def scratch(pool: TablePool, cells: int, weights: Ints) -> Ints:
    """Memory for one table, of a type that holds all arrivals of slices and of events with these weights."""
    arrivals = float(pool.facts[: pool.used[SLICES], ARRIVALS].sum(dtype=np.float64)) + float(
        weights.sum(dtype=np.float64)
    )
    return np.empty(cells, np.int32 if arrivals < 2**30 else np.int64)


@kernel
def weigh(weights: Any, begin: Any, end: Any) -> Any:
    """How many arrivals some events stand for."""
    if weights.shape[0] == 0:
        return end - begin
    arrivals = int64(0)
    for i in range(begin, end):
        arrivals += weights[i]
    return arrivals


@kernel
def count_events(items: Any, weights: Any, begin: Any, end: Any, rows: Any, table: Any) -> None:
    """Count the events begin .. end - 1 in a table, some thousands at a time: these stay in the processor's cache.

    The cells of a chunk are found before they are counted, in a loop that the compiler turns into vector instructions.
    """
    kind = table.dtype.type
    cells = np.empty(min(end - begin, int64(_CHUNK)), np.uint32)
    words = np.empty(min(end - begin, int64(_CHUNK)), np.uint64)
    for chunk in range(begin, end, _CHUNK):
        part = items[chunk : min(chunk + int64(_CHUNK), end)]
        count = part.shape[0]
        for row in range(rows.low.shape[0]):
            low, high, shift = rows.low[row], rows.high[row], rows.shift[row]
            width, first = rows.width[row], rows.first[row]
            mix_items(part, rows, row, words)
            for i in range(count):
                x = words[i]
                mixed = (low * (x & uint64(0xFFFFFFFF)) + high * (x >> uint64(32)) + shift) >> uint64(32)
                cells[i] = uint32(first + ((mixed * width) >> uint64(32)))
            if weights.shape[0]:
                for i in range(count):
                    table[cells[i]] += kind(weights[chunk + i])
            else:
                for i in range(count):
                    table[cells[i]] += kind(1)


@kernel
def settle(work: Any, items: Any, weights: Any, rows: Any, table: Any) -> Any:
    """The slices with one table each: chains are added up, and events counted that are not counted yet."""
    for slot in range(work.used[SLICES]):
        begin, end, head = work.facts[slot, BEGIN], work.facts[slot, END], work.facts[slot, TABLE]
        if begin < end or work.where[head, NEXT] >= 0:
            table[:] = 0
            add_slice(work, slot, table)
            count_events(items, weights, begin, end, rows, table)
            release_tables(work, slot)
            work = stored(work, slot, table)
            work.facts[slot, BEGIN] = work.facts[slot, END] = int64(0)
    return work
