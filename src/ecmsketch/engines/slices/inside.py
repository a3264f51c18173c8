"""Where late events go: each into the slice that covers its tick, into a new one between two slices, or nowhere yet.

A slice takes events in while its arrivals stay within the promises of growth.py. Those that do not fit become slices
beside it if there are enough of them; else they stay events. Here it is only decided; stream.py counts.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.slices.growth import make_slices, spare_arrivals, spare_scratch, split_full_slice
from cython.cimports.ecmsketch.engines.slices.profile import SLICE_WORDS, batch_of, weigh, weight_of
from cython.cimports.ecmsketch.engines.slices.types import Batch, Plan, Slice
from cython.cimports.ecmsketch.kernels.memory import int64s
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.string import memmove
from numpy.typing import NDArray

Ints = NDArray[np.int64]

CHUNK = cython.declare(int64_t, 16)
"""So many slices are put in their place at a time."""


@cython.cfunc
@cython.nogil
def inside_tail(
    slices: cython.pointer(Slice), count: int64_t, events: cython.pointer(Batch), begin: int64_t, end: int64_t
) -> int64_t:
    """Where the events begin that do not lie before the end of the newest slice."""
    return first_after(events[0].ticks, begin, end, slices[count - 1].last - 1)


@cython.cfunc
@cython.nogil
def first_after(ticks: cython.pointer(int64_t), begin: int64_t, end: int64_t, tick: int64_t) -> int64_t:
    """The first of some sorted ticks that is after another."""
    middle: int64_t
    while begin < end:
        middle = begin + (end - begin) // 2
        if ticks[middle] <= tick:
            begin = middle + 1
        else:
            end = middle
    return begin


@cython.cfunc
@cython.nogil
def inside_scratch(count: int64_t, events: int64_t) -> int64_t:
    """Words of memory that `place_inside` needs for so many slices and events."""
    return count + events + spare_scratch(count + events)


@cython.cfunc
@cython.nogil
def place_inside(
    slices: cython.pointer(Slice), count: int64_t, events: cython.pointer(Batch), begin: int64_t, tail: int64_t,
    end: int64_t, stays: cython.pointer(int64_t), kept: cython.pointer(int64_t), left_out: cython.pointer(int64_t),
    left_out_count: cython.pointer(int64_t), newest: int64_t, plan: cython.pointer(Plan),
    scratch: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Place the events begin .. tail - 1, which lie before the end of the newest slice; returns how many slices are.

    `newest` arrivals are newer than the events begin .. end - 1. No slice has uncounted events, and there is space for
    tail - begin more. A new slice has its events; an old one that takes some in has their range, of which it does not
    count those in `left_out`, which are in order. Events that stay are noted in `stays`.
    """
    spare = cython.cast(cython.pointer(cython.double), scratch)
    memory = scratch + count + (tail - begin)
    newer: int64_t = newest + weigh(events, tail, end)
    after: int64_t = newest + weigh(events, begin, end)  # arrivals of events and slices from those at hand on
    at: int64_t = begin
    slot: int64_t = 0
    stop: int64_t
    edge: int64_t
    arrivals: int64_t
    more: int64_t
    known: int64_t
    waiting: int64_t
    made: int64_t
    between: cython.bint
    most: cython.double
    overlap: cython.bint = spare_arrivals(slices, count, newer, plan[0].carried, spare, memory)
    for slot in range(count):
        after += slices[slot].arrivals
    slot = 0
    while at < tail:
        while slices[slot].last < events[0].ticks[at]:
            after -= slices[slot].arrivals
            slot += 1
        between = slices[slot].first > events[0].ticks[at]
        edge = slices[slot].first - 1 if between else slices[slot].last
        stop = first_after(events[0].ticks, at, tail, edge)
        arrivals = weigh(events, at, stop)
        most = admissible_arrivals(slices, slot, between, spare, plan[0].carried) if overlap else INFINITY
        if between:
            made = make_slices(slices + count, events, at, stop, stays, kept, after, plan, most)
            insert_slices(slices, count, slot, made)
            if overlap:
                insert_spare(slices, count, slot, made, spare)
        else:
            known = slices[slot].arrivals
            most = min(
                2.0 * plan[0].epsilon_t * cython.cast(cython.double, after - arrivals - known + 1),
                cython.cast(cython.double, known) + most,
            )
            waiting = kept[0]
            more = take_in(slices + slot, events, at, stop, stays, kept, most)
            for edge in range(waiting, kept[0]):
                left_out[left_out_count[0]] = stays[edge]
                left_out_count[0] += 1
            after += more
            if overlap:
                use_spare(slices, slot, cython.cast(cython.double, more), spare)
            made = split_full_slice(slices, count, slices + count, events, stays, waiting, kept, newer, plan)
            insert_slices(slices, count, slot, made)
            if made:
                overlap = spare_arrivals(slices, count + made, newer, plan[0].carried, spare, memory)
        count += made
        slot += made
        after -= arrivals
        at = stop
    return count


@cython.cfunc
@cython.nogil
def insert_slices(slices: cython.pointer(Slice), count: int64_t, slot: int64_t, made: int64_t) -> cython.void:
    """Put slices that were written behind all others before a slot."""
    chunk = cython.declare(Slice[16])
    some: int64_t
    i: int64_t
    while made > 0:
        some = min(made, CHUNK)
        for i in range(some):
            chunk[i] = slices[count + i]
        memmove(slices + slot + some, slices + slot, cython.cast(cython.size_t, 8 * SLICE_WORDS * (count - slot)))
        for i in range(some):
            slices[slot + i] = chunk[i]
        count += some
        slot += some
        made -= some


@cython.cfunc
@cython.nogil
def take_in(
    target: cython.pointer(Slice), events: cython.pointer(Batch), begin: int64_t, end: int64_t,
    stays: cython.pointer(int64_t), kept: cython.pointer(int64_t), most: cython.double,
) -> int64_t:  # fmt: skip
    """Let a slice take events in while it has no more arrivals than `most`; the others are noted in `stays`.

    Returns how many arrivals joined it.
    """
    before: int64_t = target[0].arrivals
    arrivals: int64_t = before
    weight: int64_t
    i: int64_t
    for i in range(begin, end):
        weight = weight_of(events, i)
        if cython.cast(cython.double, arrivals + weight) <= most:
            arrivals += weight
        else:
            stays[kept[0]] = i
            kept[0] += 1
    if arrivals > before:
        target[0].arrivals, target[0].begin, target[0].end = arrivals, begin, end
    return arrivals - before


@cython.cfunc
@cython.nogil
def admissible_arrivals(
    slices: cython.pointer(Slice), slot: int64_t, between: cython.bint, spare: cython.pointer(cython.double),
    carried: cython.double,
) -> cython.double:  # fmt: skip
    """How many arrivals may join a slice, or be a new one between it and those that ended before, if slices overlap.

    As many straddle the ends of others that the slice covers; none may get more than joining allows (growth.py).
    """
    least: cython.double = spare[slot]
    k: int64_t = slot - 1
    while k >= 0 and not between and slices[k].last > slices[slot].first:
        least = min(least, spare[k])
        k -= 1
    return max(least * (1.0 + 2.0 * carried), 0.0)


@cython.cfunc
@cython.nogil
def use_spare(
    slices: cython.pointer(Slice), slot: int64_t, arrivals: cython.double, spare: cython.pointer(cython.double)
) -> cython.void:
    """Note that arrivals have joined a slice."""
    k: int64_t = slot
    while k >= 0 and (k == slot or slices[k].last > slices[slot].first):
        spare[k] -= arrivals
        k -= 1


@cython.cfunc
@cython.nogil
def insert_spare(
    slices: cython.pointer(Slice), known: int64_t, slot: int64_t, made: int64_t, spare: cython.pointer(cython.double)
) -> cython.void:
    """Make way for slices that were inserted before a slot, while so many were known."""
    i: int64_t
    for i in range(known + made - 1, slot + made - 1, -1):
        spare[i] = spare[i - made]
    for i in range(slot, slot + made):
        spare[i] = spare[slot + made] - cython.cast(cython.double, slices[i].arrivals)


# A door for tests


def placed(
    words: Ints, count: int, ticks: Ints, weights: Ints | None, begin: int, end: int, newest: int, epsilon_t: float,
    carried: float, cells: int, counted: int,
) -> tuple[Ints, int, Ints, Ints]:  # fmt: skip
    """(Slices, where later events begin, events that stay, events left out); `words` has space for a slice an event."""
    events = batch_of(ticks, weights)
    plan = cython.declare(Plan)
    kept: int64_t = 0
    left: int64_t = 0
    plan.epsilon_t, plan.carried, plan.cells, plan.counted = epsilon_t, carried, cells, counted
    slices = cython.cast(cython.pointer(Slice), int64s(words))
    tail: int64_t = inside_tail(slices, count, cython.address(events), begin, end)
    stays, left_out = np.empty(tail - begin, np.int64), np.empty(tail - begin, np.int64)
    scratch = np.empty(inside_scratch(count, tail - begin), np.int64)
    numbers, others, memory = int64s(stays), int64s(left_out), int64s(scratch)
    slots: int64_t = place_inside(
        slices, count, cython.address(events), begin, tail, end, numbers, cython.address(kept), others,
        cython.address(left), newest, cython.address(plan), memory,
    )  # fmt: skip
    return words[:slots], tail, stays[:kept], left_out[:left]
