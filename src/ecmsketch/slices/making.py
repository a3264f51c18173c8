"""Making slices of old events: after all others, between two of them, or inside one that covers their ticks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from ecmsketch.kernels import kernel
from ecmsketch.slices.profile import fill_facts
from ecmsketch.slices.settling import count_events, weigh
from ecmsketch.slices.table_pool import (
    ARRIVALS,
    BEGIN,
    END,
    FACTS,
    FIRST,
    LAST,
    SLICES,
    add_slice,
    insert_slot,
    release_tables,
    stored,
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
    work: Any, place: Any, items: Any, ticks: Any, weights: Any, begin: Any, end: Any, kept: Any, after: Any, plan: Any
) -> Any:
    """Make slices of events at a place among the others, as large as the arrivals after them allow.

    `after` counts the events themselves and all that came later. Events that stay move to `kept`.
    """
    weighted = weights.shape[0] > 0
    facts = np.full(FACTS, -1, np.int64)
    at = begin
    while at < end:
        weight = weights[at] if weighted else int64(1)
        after -= weight
        if float64(weight) > 2.0 * plan.epsilon_t * float64(after + int64(1)):
            move_event(items, ticks, weights, at, kept)
            kept += int64(1)
            at += int64(1)
            continue
        first, total = at, weight
        at += int64(1)
        if not weighted:  # the most that the rule allows, without looking at each event
            more = int64(2.0 * plan.epsilon_t * float64(after + int64(2)) / (1.0 + 2.0 * plan.epsilon_t)) - int64(2)
            more = max(min(more, end - at), int64(0))
            total, after, at = total + more, after - more, at + more
        while at < end:
            weight = weights[at] if weighted else int64(1)
            if float64(total + weight) > 2.0 * plan.epsilon_t * float64(after - weight + int64(1)):
                break
            total += weight
            after -= weight
            at += int64(1)
        fill_facts(ticks, weights, first, at, plan.counted, facts)
        facts[BEGIN], facts[END] = first, at
        work = with_space(work, int64(1), int64(0), int64(0))
        insert_slot(work, place)
        work.facts[place] = facts
        place += int64(1)
    return work, kept


@kernel
def move_event(items: Any, ticks: Any, weights: Any, source: Any, target: Any) -> None:
    """Copy an event to another place."""
    items[target], ticks[target] = items[source], ticks[source]
    if weights.shape[0] > 0:
        weights[target] = weights[source]


@kernel
def make_inside(
    work: Any, items: Any, ticks: Any, weights: Any, begin: Any, end: Any, newest: Any, plan: Any, rows: Any, table: Any
) -> Any:
    """Count events that lie before the end of the newest slice: each in the slice that covers its tick, or in a new
    one between two slices. Returns (slices, where later events begin, where events that stay end).
    """
    tail = begin
    while tail < end and ticks[tail] < work.facts[work.used[SLICES] - 1, LAST]:
        tail += int64(1)
    after = newest + weigh(weights, tail, end)  # arrivals newer than the slice at hand, itself included
    for older in range(work.used[SLICES]):
        after += work.facts[older, ARRIVALS]
    at, kept, slot = begin, begin, int64(0)
    while at < tail:
        while work.facts[slot, LAST] < ticks[at]:
            after -= work.facts[slot, ARRIVALS]
            slot += int64(1)
        stop = at
        if work.facts[slot, FIRST] > ticks[at]:
            while stop < tail and ticks[stop] < work.facts[slot, FIRST]:
                stop += int64(1)
            known = work.used[SLICES]
            late = weigh(weights, at, stop)
            work, kept = make_slices(work, slot, items, ticks, weights, at, stop, kept, after + late, plan)
            slot += work.used[SLICES] - known
        else:
            while stop < tail and ticks[stop] <= work.facts[slot, LAST]:
                stop += int64(1)
            most = 2.0 * plan.epsilon_t * float64(after - work.facts[slot, ARRIVALS] + int64(1))
            work, kept = _count_in(work, slot, items, ticks, weights, at, stop, kept, most, rows, table)
        at = stop
    return work, tail, kept


@kernel
def _count_in(
    work: Any, slot: Any, items: Any, ticks: Any, weights: Any, begin: Any, end: Any, kept: Any, most: Any, rows: Any,
    table: Any,
) -> Any:  # fmt: skip
    """Count events in a slice while it has no more arrivals than `most`; the others move to `kept`."""
    weighted = weights.shape[0] > 0
    table[:] = 0
    changed = False
    for i in range(begin, end):
        weight = weights[i] if weighted else int64(1)
        if float64(work.facts[slot, ARRIVALS] + weight) <= most:
            count_events(items, weights, i, i + int64(1), rows, table)
            work.facts[slot, ARRIVALS] += weight
            changed = True
        else:
            move_event(items, ticks, weights, i, kept)
            kept += int64(1)
    if changed:
        add_slice(work, slot, table)
        release_tables(work, slot)
        work = stored(work, slot, table)
    return work, kept
