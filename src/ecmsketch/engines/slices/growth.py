"""How slices grow: making them of events, and joining neighbours.

All slices are sorted by their last ticks. Here it is decided which events and tables a slice consists of; stream.py
counts and adds them.

Two promises decide which slices may become one, looked at from the newest to the oldest (docs/guarantees.md):

- A joined slice has at most 2 epsilon_t (S + 1) arrivals, if S are in newer slices and events. So few slices are
  enough for a long window.
- Slices of several sites lie over each other. At every moment, those that have begun and not ended hold at most
  2 carried (S + 1) arrivals together, if S surely came later. In one stream no two overlap, and the first rule decides.

Nothing here allocates or fails: callers give memory. Joining costs O(slices), where they overlap up to its square.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.slices.profile import (
    SLICE_WORDS,
    batch_of,
    fill_slice,
    join_group,
    weight_of,
)
from cython.cimports.ecmsketch.engines.slices.types import Batch, Plan, Slice
from cython.cimports.ecmsketch.kernels.memory import doubles, int64s
from cython.cimports.ecmsketch.kernels.sorting import sort_ticks
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from numpy.typing import NDArray

from ecmsketch.engines.slices.profile import as_words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CELLS_PER_EVENT = cython.declare(int64_t, 32)
"""A slice beside a full one has an event for so many cells at least. With fewer, its table would take more memory."""
LEAST_BESIDE = cython.declare(int64_t, 8)


@cython.cfunc
@cython.nogil
def apart(slices: cython.pointer(Slice), count: int64_t) -> cython.bint:
    """Whether no two slices overlap, as in one stream. They may meet at one tick."""
    overlaps: int64_t = 0
    slot: int64_t
    for slot in range(1, count):
        overlaps += 1 if slices[slot].first < slices[slot - 1].last else 0
    return overlaps == 0


@cython.cfunc
@cython.nogil
def join_scratch(count: int64_t) -> int64_t:
    """Words of memory that joining so many slices needs."""
    return 5 * count


@cython.cfunc
@cython.nogil
def join_slices(
    slices: cython.pointer(Slice), count: int64_t, newer: int64_t, epsilon_t: cython.double, carried: cython.double,
    scratch: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Join neighbours as far as the promises allow; `newer` arrivals are in events. Returns how many are left.

    It is decided from the newest group of slices to the oldest, and written from the oldest to the newest.
    """
    groups: int64_t
    group: int64_t
    begin: int64_t
    end: int64_t
    made: int64_t = 0
    if apart(slices, count):
        groups = group_apart(slices, count, newer, epsilon_t, scratch)
    else:
        groups = group_overlapping(slices, count, newer, epsilon_t, carried, scratch)
    if groups == count:
        return count
    for group in range(groups - 1, -1, -1):
        begin = scratch[group]
        end = count if group == 0 else scratch[group - 1]
        if end - begin > 1:
            join_group(slices, begin, end, made)
        elif made != begin:
            slices[made] = slices[begin]
        made += 1
    return made


@cython.cfunc
@cython.nogil
def group_apart(
    slices: cython.pointer(Slice), count: int64_t, newer: int64_t, epsilon_t: cython.double,
    starts: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Write where each group of slices begins, the newest first, if no two overlap: all that is newer came later.

    Returns how many groups there are.
    """
    groups: int64_t = 0
    slot: int64_t = count - 1
    arrivals: int64_t
    most: cython.double
    while slot >= 0:
        most = 2.0 * epsilon_t * cython.cast(cython.double, newer + 1)
        arrivals = slices[slot].arrivals
        while slot > 0 and cython.cast(cython.double, arrivals + slices[slot - 1].arrivals) <= most:
            slot -= 1
            arrivals += slices[slot].arrivals
        starts[groups] = slot
        groups += 1
        newer += arrivals
        slot -= 1
    return groups


@cython.cfunc
@cython.nogil
def group_overlapping(
    slices: cython.pointer(Slice), count: int64_t, newer: int64_t, epsilon_t: cython.double, carried: cython.double,
    scratch: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """The same where slices overlap: only groups that begin where a slice ends, or later, surely came after it."""
    starts = scratch
    overlapping = scratch + count  # the groups that began before the slice at hand ends
    first_of = scratch + 2 * count
    arrivals_of = scratch + 3 * count
    spare = cython.cast(cython.pointer(cython.double), scratch + 4 * count)
    groups: int64_t = 0
    overlaps: int64_t = 0
    kept: int64_t
    over_arrivals: int64_t = 0
    sure: int64_t = newer
    later: int64_t = newer
    slot: int64_t = count - 1
    last: int64_t
    arrivals: int64_t
    first: int64_t
    begin: int64_t
    end: int64_t
    i: int64_t
    most: cython.double
    more: cython.double
    spare_arrivals(slices, count, newer, carried, spare, scratch)
    while slot >= 0:
        last = slices[slot].last
        kept = 0
        for i in range(overlaps):
            if first_of[overlapping[i]] >= last:
                sure += arrivals_of[overlapping[i]]
                over_arrivals -= arrivals_of[overlapping[i]]
            else:
                overlapping[kept] = overlapping[i]
                kept += 1
        overlaps = kept
        most = 2.0 * epsilon_t * cython.cast(cython.double, later + 1)
        more = 2.0 * carried * cython.cast(cython.double, sure + 1) - cython.cast(cython.double, over_arrivals)
        most = min(most, more)
        arrivals, first, end = slices[slot].arrivals, slices[slot].first, slot
        while slot > 0 and cython.cast(cython.double, arrivals + slices[slot - 1].arrivals) <= most:
            begin = min(first, slices[slot - 1].first)
            if not may_cover(slices, slot - 1, begin, arrivals + slices[slot - 1].arrivals, spare):
                break
            slot -= 1
            arrivals += slices[slot].arrivals
            first = begin
        cover(slices, slot, end, first, spare)
        starts[groups], first_of[groups], arrivals_of[groups] = slot, first, arrivals
        overlapping[overlaps] = groups
        overlaps += 1
        over_arrivals += arrivals
        groups += 1
        later += arrivals
        slot -= 1
    return groups


@cython.cfunc
@cython.nogil
def may_cover(
    slices: cython.pointer(Slice), slot: int64_t, first: int64_t, arrivals: int64_t,
    spare: cython.pointer(cython.double),
) -> cython.bint:  # fmt: skip
    """Whether a group that begins with a slot, at a tick, may cover the ends of the slices before the slot."""
    k: int64_t = slot - 1
    while k >= 0 and slices[k].last > first:
        if cython.cast(cython.double, arrivals) > spare[k]:
            return False
        k -= 1
    return True


@cython.cfunc
@cython.nogil
def cover(
    slices: cython.pointer(Slice), begin: int64_t, end: int64_t, first: int64_t, spare: cython.pointer(cython.double)
) -> cython.void:
    """Note that the slots begin .. end are one: those of them that came later than another's end are not sure now."""
    k: int64_t = begin - 1
    slot: int64_t
    while end > begin and k >= 0 and slices[k].last > first:
        for slot in range(begin, end + 1):
            if slices[slot].first >= slices[k].last:
                spare[k] -= cython.cast(cython.double, slices[slot].arrivals)
        k -= 1


@cython.cfunc
@cython.nogil
def spare_scratch(count: int64_t) -> int64_t:
    """Words of memory that `spare_arrivals` needs."""
    return 4 * count


@cython.cfunc
@cython.nogil
def spare_arrivals(
    slices: cython.pointer(Slice), count: int64_t, newer: int64_t, carried: cython.double,
    spare: cython.pointer(cython.double), scratch: cython.pointer(int64_t),
) -> cython.bint:  # fmt: skip
    """Write how many sure arrivals the moment before each slice ends can do without; False if no two slices overlap.

    If T arrivals lie in slices that end no earlier, S of them surely later, then T - S straddle that moment, and may be
    2 carried (S + 1). So S may fall to (T - 2 carried) / (1 + 2 carried).
    """
    firsts = scratch
    by_first = scratch + count
    at: int64_t = count - 1
    ahead: int64_t = count - 1
    sure: int64_t = newer
    total: int64_t = newer
    slot: int64_t
    least: cython.double
    if apart(slices, count):
        return False
    for slot in range(count):
        firsts[slot], by_first[slot] = slices[slot].first, slot
    sort_ticks(firsts, by_first, count, scratch + 2 * count)
    for slot in range(count - 1, -1, -1):
        while ahead >= 0 and slices[ahead].last >= slices[slot].last:
            total += slices[ahead].arrivals
            ahead -= 1
        while at >= 0 and firsts[at] >= slices[slot].last:
            sure += slices[by_first[at]].arrivals
            at -= 1
        least = (cython.cast(cython.double, total) - 2.0 * carried) / (1.0 + 2.0 * carried)
        spare[slot] = cython.cast(cython.double, sure) - least
    return True


# Making slices of events


@cython.cfunc
@cython.nogil
def make_slices(
    made: cython.pointer(Slice), events: cython.pointer(Batch), begin: int64_t, end: int64_t,
    stays: cython.pointer(int64_t), kept: cython.pointer(int64_t), after: int64_t, plan: cython.pointer(Plan),
    most: cython.double,
) -> int64_t:  # fmt: skip
    """Make slices of events, as large as the arrivals after them allow; returns how many.

    `after` counts the events themselves and all that came later. Events that alone have more arrivals than a slice may
    have stay: they are noted in `stays`, which has `kept` of them. Each slice may have `most` arrivals, whatever came
    after them. There is space for `most_slices`.
    """
    two: cython.double = 2.0 * plan[0].epsilon_t
    allowed: cython.double
    slices: int64_t = 0
    at: int64_t = begin
    first: int64_t
    total: int64_t
    more: int64_t
    weight: int64_t
    while at < end:
        weight = weight_of(events, at)
        after -= weight
        if cython.cast(cython.double, weight) > min(two * cython.cast(cython.double, after + 1), most):
            stays[kept[0]] = at
            kept[0] += 1
            at += 1
            continue
        first, total = at, weight
        at += 1
        if events[0].weights == cython.NULL:  # the most that the rule allows, without looking at each event
            more = min(min(surely_more(after, plan[0].epsilon_t), end - at), whole(most) - 1)
            total, after, at = total + more, after - more, at + more
        while at < end:
            weight = weight_of(events, at)
            allowed = min(two * cython.cast(cython.double, after - weight + 1), most)
            if cython.cast(cython.double, total + weight) > allowed:
                break
            total += weight
            after -= weight
            at += 1
        fill_slice(events, first, at, plan[0].counted, made + slices)
        slices += 1
    return slices


@cython.cfunc
@cython.nogil
def whole(most: cython.double) -> int64_t:
    """A limit that may be infinite, as a whole number."""
    return cython.cast(int64_t, min(most, 4611686018427387904.0))


@cython.cfunc
@cython.nogil
def surely_more(after: int64_t, epsilon_t: cython.double) -> int64_t:
    """How many events of weight one surely fit into a slice besides one, if so many came after that one."""
    fit: cython.double = 2.0 * epsilon_t * cython.cast(cython.double, after + 2) / (1.0 + 2.0 * epsilon_t)
    return max(cython.cast(int64_t, fit) - 2, 0)


@cython.cfunc
@cython.nogil
def most_slices(events: int64_t, weighted: cython.bint, newest: int64_t, epsilon_t: cython.double) -> int64_t:
    """How many slices some events become at most, if `newest` arrivals are newer than all of them."""
    return events if weighted else events // (surely_more(newest, epsilon_t) + 1) + 2


@cython.cfunc
@cython.nogil
def least_beside(plan: cython.pointer(Plan)) -> int64_t:
    """How many events a slice beside a full one has at least."""
    return max(plan[0].cells // CELLS_PER_EVENT, LEAST_BESIDE)


@cython.cfunc
@cython.nogil
def most_beside(events: int64_t, plan: cython.pointer(Plan)) -> int64_t:
    """How many slices beside a full one some events become at most."""
    return events // least_beside(plan)


@cython.cfunc
@cython.nogil
def split_full_slice(
    slices: cython.pointer(Slice), count: int64_t, made: cython.pointer(Slice), events: cython.pointer(Batch),
    stays: cython.pointer(int64_t), known: int64_t, kept: cython.pointer(int64_t), newer: int64_t,
    plan: cython.pointer(Plan),
) -> int64_t:  # fmt: skip
    """Make slices of late events that a full slice covers, to be inserted before it; returns how many.

    A slice holds as much as what came later allows, so a flood of late events that it covers does not fit into it. But
    most of the flood came later than its oldest events, so these may become slices beside the full one: at every moment
    the slices that have begun and not ended hold at most 2 carried (S + 1) arrivals, if S surely came later. A slice on
    one tick straddles no moment, and may hold any number. The newest of a flood stay events.

    The events are numbered in stays[known .. kept - 1], oldest first; those that stay are left there. `newer` arrivals
    surely came after all of these.
    """
    slots: int64_t = 0
    least: int64_t = least_beside(plan)
    covering: int64_t = 0
    later: int64_t = newer
    at: int64_t = known
    left: int64_t = known
    begin: int64_t
    end: int64_t
    i: int64_t
    arrivals: int64_t
    weight: int64_t
    most: cython.double
    one_tick: cython.bint
    if kept[0] - known < least:
        return 0
    for i in range(count):
        if slices[i].first >= events[0].ticks[stays[kept[0] - 1]]:
            later += slices[i].arrivals
        elif slices[i].last > events[0].ticks[stays[known]]:
            covering += slices[i].arrivals
    for i in range(known, kept[0]):
        later += weight_of(events, stays[i])
    while at < kept[0]:
        begin, end, arrivals = stays[at], at, 0
        while end < kept[0] and stays[end] == begin + (end - at):
            weight = weight_of(events, stays[end])
            most = 2.0 * plan[0].carried * cython.cast(cython.double, later - weight + 1)
            most -= cython.cast(cython.double, covering)
            most = min(most, 2.0 * plan[0].epsilon_t * cython.cast(cython.double, later - weight + 1))
            one_tick = events[0].ticks[stays[end]] == events[0].ticks[begin]
            if not one_tick and cython.cast(cython.double, arrivals + weight) > most:
                break
            arrivals, later, end = arrivals + weight, later - weight, end + 1
        if end - at >= least:
            fill_slice(events, begin, begin + (end - at), plan[0].counted, made + slots)
            slots += 1
        else:
            for i in range(at, end):
                stays[left] = stays[i]
                left += 1
        at = end
    kept[0] = left
    return slots


# Doors for tests


def joined(facts: Ints, newer: int, epsilon_t: float, carried: float) -> Ints:
    """The slices that are left when neighbours are joined."""
    words = as_words(facts)
    scratch = np.empty(join_scratch(len(facts)), np.int64)
    memory, numbers = int64s(words), int64s(scratch)
    left: int64_t = join_slices(
        cython.cast(cython.pointer(Slice), memory), len(facts), newer, epsilon_t, carried, numbers
    )
    return words[:left]


def spare(facts: Ints, newer: int, carried: float) -> Floats:
    """What `spare_arrivals` writes; nothing if no two slices overlap."""
    words, found = as_words(facts), np.empty(len(facts))
    scratch = np.empty(spare_scratch(len(facts)), np.int64)
    memory, numbers, target = int64s(words), int64s(scratch), doubles(found)
    overlap: cython.bint = spare_arrivals(
        cython.cast(cython.pointer(Slice), memory), len(facts), newer, carried, target, numbers
    )
    return found if overlap else found[:0]


def made(
    ticks: Ints, weights: Ints | None, begin: int, end: int, after: int, epsilon_t: float, counted: int,
    most: float = INFINITY,
) -> tuple[Ints, Ints]:  # fmt: skip
    """(Slices of the events begin .. end - 1, events that stay)."""
    events = batch_of(ticks, weights)
    plan = cython.declare(Plan)
    kept: int64_t = 0
    words, stays = np.zeros((end - begin, SLICE_WORDS), np.int64), np.empty(end - begin, np.int64)
    memory, numbers = int64s(words), int64s(stays)
    plan.epsilon_t, plan.counted = epsilon_t, counted
    slices: int64_t = make_slices(
        cython.cast(cython.pointer(Slice), memory), cython.address(events), begin, end, numbers, cython.address(kept),
        after, cython.address(plan), most,
    )  # fmt: skip
    return words[:slices], stays[:kept]


def most_made(events: int, weighted: bool, newest: int, epsilon_t: float) -> int:
    """How many slices some events become at most."""
    return most_slices(events, weighted, newest, epsilon_t)


def beside(
    facts: Ints, ticks: Ints, weights: Ints | None, stays: Ints, known: int, newer: int, epsilon_t: float,
    carried: float, cells: int, counted: int,
) -> tuple[Ints, Ints]:  # fmt: skip
    """(Slices made of late events that a full one covers, events that stay)."""
    events = batch_of(ticks, weights)
    plan = cython.declare(Plan)
    kept: int64_t = len(stays)
    plan.epsilon_t, plan.carried, plan.cells, plan.counted = epsilon_t, carried, cells, counted
    slices, left = as_words(facts), stays.copy()
    found = np.zeros((most_beside(max(len(stays) - known, 0), cython.address(plan)), SLICE_WORDS), np.int64)
    memory, numbers, target = int64s(slices), int64s(left), int64s(found)
    slots: int64_t = split_full_slice(
        cython.cast(cython.pointer(Slice), memory), len(facts), cython.cast(cython.pointer(Slice), target),
        cython.address(events), numbers, known, cython.address(kept), newer, cython.address(plan),
    )  # fmt: skip
    return found[:slots], left[:kept]
