"""Making slices of old events: after all others, between two of them, or inside one that covers their ticks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from ecmsketch.kernels import kernel
from ecmsketch.slices.crowding import make_beside
from ecmsketch.slices.joining import spare_arrivals
from ecmsketch.slices.profile import fill_facts
from ecmsketch.slices.settling import clear, count_in_scratch, weigh, with_counted
from ecmsketch.slices.table_pool import (
    ARRIVALS,
    BEGIN,
    END,
    FIRST,
    LAST,
    SLICES,
    TABLE,
    insert_slot,
    with_space,
)


class Plan(NamedTuple):
    """When events become slices, and how many arrivals a slice may have."""

    recent: int
    """Newest events that stay as they are."""
    block: int
    """Events after which older ones become slices."""
    window: int
    counted: int
    """1 if ticks number arrivals, else 0."""
    epsilon_t: float
    carried: float
    """epsilon_t after the levels of merging behind the slices."""
    cells: int


@kernel
def make_slices(
    facts: Any, used: Any, place: Any, ticks: Any, weights: Any, begin: Any, end: Any, stays: Any, kept: Any,
    after: Any, epsilon_t: Any, counted: Any, room: Any,
) -> Any:  # fmt: skip
    """Make slices of events at a place among the others, as large as the arrivals after them allow.

    `after` counts the events themselves and all that came later. Events that stay are noted in `stays`, which has
    `kept` of them; returns how many there are then. There is space for all slices (`most_slices`). Each may have `room`
    arrivals, whatever came after them.
    """
    weighted = weights.shape[0] > 0
    at = begin
    while at < end:
        weight = weights[at] if weighted else int64(1)
        after -= weight
        if float64(weight) > min(2.0 * epsilon_t * float64(after + int64(1)), room):
            stays[kept] = at
            kept += int64(1)
            at += int64(1)
            continue
        first, total = at, weight
        at += int64(1)
        if not weighted:  # the most that the rule allows, without looking at each event
            more = min(_allowed(after, epsilon_t), end - at, int64(min(room, 2.0**62)) - int64(1))
            total, after, at = total + more, after - more, at + more
        while at < end:
            weight = weights[at] if weighted else int64(1)
            if float64(total + weight) > min(2.0 * epsilon_t * float64(after - weight + int64(1)), room):
                break
            total += weight
            after -= weight
            at += int64(1)
        insert_slot(facts, used, place)
        fill_facts(ticks, weights, first, at, counted, facts, place)
        facts[place, TABLE], facts[place, BEGIN], facts[place, END] = int64(-1), first, at
        place += int64(1)
    return kept


@kernel
def _allowed(after: Any, epsilon_t: Any) -> Any:
    """How many events surely fit into a slice besides one, if so many came after that one."""
    return max(int64(2.0 * epsilon_t * float64(after + int64(2)) / (1.0 + 2.0 * epsilon_t)) - int64(2), int64(0))


@kernel
def most_slices(events: Any, weighted: Any, newest: Any, epsilon_t: Any) -> Any:
    """How many slices some events become at most, if `newest` arrivals are newer than all of them."""
    return events if weighted else events // (_allowed(newest, epsilon_t) + int64(1)) + int64(2)


@kernel
def move_event(items: Any, ticks: Any, weights: Any, source: Any, target: Any) -> None:
    """Copy an event to another place."""
    items[target], ticks[target] = items[source], ticks[source]
    if weights.shape[0] > 0:
        weights[target] = weights[source]


@kernel
def make_inside(
    work: Any, items: Any, ticks: Any, weights: Any, begin: Any, end: Any, stays: Any, newest: Any, plan: Any,
    rows: Any, scratch: Any,
) -> Any:  # fmt: skip
    """Count events that lie before the end of the newest slice: each in the slice that covers its tick, or in a new
    one between two slices. Returns (slices, where later events begin, how many stay: these are noted in `stays`).
    """
    tail = begin + np.searchsorted(ticks[begin:end], work.facts[work.used[SLICES] - 1, LAST])
    after = newest + weigh(weights, begin, end)  # arrivals of events from the one at hand on, and of slices likewise
    after += work.facts[: work.used[SLICES], ARRIVALS].sum()
    at, kept, slot, newer = begin, int64(0), int64(0), newest + weigh(weights, tail, end)
    spare = _spare(work.facts, work.used[SLICES], tail - begin, newer, plan.carried)
    while at < tail:
        while work.facts[slot, LAST] < ticks[at]:
            after -= work.facts[slot, ARRIVALS]
            slot += int64(1)
        between = work.facts[slot, FIRST] > ticks[at]
        edge = work.facts[slot, FIRST] - int64(1) if between else work.facts[slot, LAST]
        stop = at + np.searchsorted(ticks[at:tail], edge, side="right")
        room = _room(work.facts, slot, between, spare, plan.carried)
        arrivals, known, waiting = weigh(weights, at, stop), work.used[SLICES], kept
        if between:
            work = with_space(work, stop - at, int64(0), int64(0))
            kept = make_slices(
                work.facts, work.used, slot, ticks, weights, at, stop, stays, kept, after, plan.epsilon_t,
                plan.counted, room,
            )  # fmt: skip
            _insert_spare(work.facts, work.used[SLICES], known, slot + work.used[SLICES] - known, spare)
        else:
            before = work.facts[slot, ARRIVALS]
            most = min(2.0 * plan.epsilon_t * float64(after - arrivals - before + int64(1)), float64(before) + room)
            work, kept = _count_in(work, slot, items, weights, at, stop, stays, kept, most, rows, scratch)
            after += work.facts[slot, ARRIVALS] - before
            _use_spare(work.facts, slot, float64(work.facts[slot, ARRIVALS] - before), spare)
            work, kept = make_beside(work, slot, ticks, weights, stays, waiting, kept, newer, plan)
            if work.used[SLICES] > known:
                spare = _spare(work.facts, work.used[SLICES], tail - begin, newer, plan.carried)
        after, at, slot = after - arrivals, stop, slot + work.used[SLICES] - known
    return work, tail, kept


@kernel
def _spare(facts: Any, count: Any, events: Any, newer: Any, carried: Any) -> Any:
    """What `spare_arrivals` says, with space for as many new slices as there are events; nothing if none overlap."""
    spare = spare_arrivals(facts, count, newer, carried)
    if spare.shape[0] == 0:
        return spare
    grown = np.empty(count + events)
    grown[:count] = spare
    return grown


@kernel
def _room(facts: Any, slot: Any, between: Any, spare: Any, carried: Any) -> Any:
    """How many arrivals may join a slice, or be a new one between it and those that ended before, if slices overlap.

    As many straddle the ends of others that the slice covers; none may get more than joining allows (joining.py).
    """
    if spare.shape[0] == 0:
        return np.inf
    least, k = spare[slot], slot - int64(1)
    while k >= 0 and not between and facts[k, LAST] > facts[slot, FIRST]:
        least = min(least, spare[k])
        k -= int64(1)
    return max(least * (1.0 + 2.0 * carried), 0.0)


@kernel
def _use_spare(facts: Any, slot: Any, arrivals: Any, spare: Any) -> None:
    """Note that arrivals have joined a slice."""
    k = slot
    while k >= 0 and spare.shape[0] > 0 and (k == slot or facts[k, LAST] > facts[slot, FIRST]):
        spare[k] -= arrivals
        k -= int64(1)


@kernel
def _insert_spare(facts: Any, count: Any, known: Any, slot: Any, spare: Any) -> None:
    """Make way for slices that were inserted before a slot, which was at another place while so many were known."""
    added = count - known
    if spare.shape[0] > 0:
        for i in range(count - 1, slot - 1, -1):
            spare[i] = spare[i - added]
        for i in range(slot - added, slot):
            spare[i] = spare[slot] - float64(facts[i, ARRIVALS])


@kernel
def _count_in(
    work: Any, slot: Any, items: Any, weights: Any, begin: Any, end: Any, stays: Any, kept: Any, most: Any, rows: Any,
    scratch: Any,
) -> Any:  # fmt: skip
    """Count events in a slice while it has no more arrivals than `most`; the others are noted in `stays`."""
    weighted, before, known = weights.shape[0] > 0, work.facts[slot, ARRIVALS], kept
    arrivals = before
    for i in range(begin, end):
        weight = weights[i] if weighted else int64(1)
        if float64(arrivals + weight) <= most:
            arrivals += weight
        else:
            stays[kept] = i
            kept += int64(1)
    if arrivals > before:
        work.facts[slot, ARRIVALS] = arrivals
        clear(scratch, arrivals - before)
        at = begin
        for i in range(known, kept):
            count_in_scratch(items, weights, at, stays[i], rows, scratch, arrivals - before)
            at = stays[i] + int64(1)
        count_in_scratch(items, weights, at, end, rows, scratch, arrivals - before)
        work = with_counted(work, slot, arrivals - before, scratch)
    return work, kept
