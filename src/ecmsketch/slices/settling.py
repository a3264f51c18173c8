"""Counting events in tables, and adding up the tables of slices that were joined."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int32, int64
from numpy.typing import NDArray

from ecmsketch.counters.contract import Ints
from ecmsketch.inputs.row_hashes import hash_row, mix_items
from ecmsketch.kernels import kernel
from ecmsketch.slices.table_adding import add_to
from ecmsketch.slices.table_planes import stored
from ecmsketch.slices.table_pool import ARRIVALS, BEGIN, END, NEXT, SLICES, TABLE, release_tables, without_dead
from ecmsketch.slices.table_summing import add_tables

_CHUNK = 4096
"""Events counted at a time in all rows."""
_MOST_SMALL = 2**31 - 1
"""The most arrivals that are counted in cells of 32 bits."""

_FEW_TABLES = 3
"""So many tables of a slice are added to each other in planes. More are added up in scratch memory."""


class Scratch(NamedTuple):
    """Memory in which events are counted before their table is stored. It takes twelve bytes a cell."""

    small: NDArray[np.int32]
    """For events that stand for few arrivals: cells of 32 bits, which are stored in less time."""
    large: Ints


def scratch(cells: int) -> Scratch:
    """Memory to count events in."""
    return Scratch(np.zeros(-(-cells // 2) * 2, np.int32), np.empty(cells, np.int64))


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
def clear(scratch: Any, arrivals: Any) -> None:
    """Set the memory to zero in which so many arrivals are counted."""
    if arrivals <= int64(_MOST_SMALL):
        scratch.small[:] = 0
    else:
        scratch.large[:] = 0


@kernel
def count_in_scratch(items: Any, weights: Any, begin: Any, end: Any, rows: Any, scratch: Any, arrivals: Any) -> None:
    """Count the events begin .. end - 1, which are some of so many arrivals."""
    if arrivals <= int64(_MOST_SMALL):
        _count_events(items, weights, begin, end, rows, scratch.small)
    else:
        _count_events(items, weights, begin, end, rows, scratch.large)


@kernel
def _count_events(items: Any, weights: Any, begin: Any, end: Any, rows: Any, table: Any) -> None:
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
            mix_items(part, rows, row, words)
            hash_row(words, rows, row, cells[:count])
            if weights.shape[0]:
                for i in range(count):
                    table[cells[i]] += kind(weights[chunk + i])
            else:
                for i in range(count):
                    table[cells[i]] += kind(1)


@kernel
def settle(work: Any, items: Any, weights: Any, rows: Any, scratch: Any) -> Any:
    """The slices with one table each: events are counted that are not counted yet, and chains are added up."""
    for slot in range(work.used[SLICES]):
        begin, end = work.facts[slot, BEGIN], work.facts[slot, END]
        if _chain_length(work, slot) > int64(_FEW_TABLES):
            work = _unpacked(work, slot, items, weights, rows, scratch)
        elif begin < end:
            arrivals = weigh(weights, begin, end)
            clear(scratch, arrivals)
            count_in_scratch(items, weights, begin, end, rows, scratch, arrivals)
            work = with_counted(work, slot, arrivals, scratch)
            work.facts[slot, BEGIN] = work.facts[slot, END] = int64(0)
        elif work.where[work.facts[slot, TABLE], NEXT] >= 0:
            work = _with_one_table(work, slot)
    return without_dead(work)


@kernel
def _chain_length(work: Any, slot: Any) -> Any:
    """How many tables a slice consists of."""
    length, number = int64(0), work.facts[slot, TABLE]
    while number >= 0:
        length += int64(1)
        number = int64(work.where[number, NEXT])
    return length


@kernel
def _unpacked(work: Any, slot: Any, items: Any, weights: Any, rows: Any, scratch: Any) -> Any:
    """The slices with the tables and events of one slice added up in scratch memory: quicker if there are many."""
    arrivals = work.facts[slot, ARRIVALS]
    clear(scratch, arrivals)
    count_in_scratch(items, weights, work.facts[slot, BEGIN], work.facts[slot, END], rows, scratch, arrivals)
    if arrivals <= int64(_MOST_SMALL):
        add_tables(work, slot, scratch.small)
    else:
        add_tables(work, slot, scratch.large)
    release_tables(work, slot)
    work.facts[slot, BEGIN] = work.facts[slot, END] = int64(0)
    return stored(work, slot, scratch.small) if arrivals <= int64(_MOST_SMALL) else stored(work, slot, scratch.large)


@kernel
def with_counted(work: Any, slot: Any, arrivals: Any, scratch: Any) -> Any:
    """The slices with so many arrivals in scratch memory added to the tables of one, which then has one table."""
    head = work.facts[slot, TABLE]
    work = stored(work, slot, scratch.small) if arrivals <= int64(_MOST_SMALL) else stored(work, slot, scratch.large)
    work.where[work.facts[slot, TABLE], NEXT] = int32(head)
    return _with_one_table(work, slot)


@kernel
def _with_one_table(work: Any, slot: Any) -> Any:
    """The slices with the tables of one slice added up."""
    number = work.facts[slot, TABLE]
    following = int64(work.where[number, NEXT])
    while following >= 0:
        rest = work.where[following, NEXT]
        work, number = add_to(work, number, following)
        work.where[number, NEXT] = rest
        following = int64(rest)
    work.facts[slot, TABLE] = number
    return work
