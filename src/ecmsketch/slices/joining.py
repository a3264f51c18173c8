"""Which slices may become one, and joining them.

Slices are looked at from the newest to the oldest. Two promises decide (docs/guarantees.md):
- A joined slice has at most 2 epsilon_t (S + 1) arrivals, if S are in newer slices and events. So few slices are
  enough for a long window.
- Slices of several sites lie over each other. At every moment, those that have begun and not ended hold at most
  2 carried (S + 1) arrivals together, if S surely came later. In one stream no two overlap, and the first rule decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64

from ecmsketch.kernels import kernel
from ecmsketch.slices.profile import join_facts
from ecmsketch.slices.table_pool import ARRIVALS, BEGIN, END, FIRST, LAST, NEXT, SLICES, TABLE, move_facts


@kernel
def join_slices(facts: Any, where: Any, used: Any, newer: Any, epsilon_t: Any, carried: Any) -> None:
    """Join neighbours as far as the promises allow; `newer` arrivals are in events. Their tables are chained."""
    count = used[SLICES]
    if _apart(facts, count):
        starts, groups = _decide_apart(facts, count, newer, epsilon_t)
    else:
        starts, groups = _decide(facts, count, newer, epsilon_t, carried)
    if groups == count:
        return
    made = int64(0)
    for group in range(groups - 1, -1, -1):
        begin, end = starts[group], count if group == 0 else starts[group - 1]
        if end - begin > int64(1):
            head, first, last = _chain(facts, where, begin, end)
            join_facts(facts, begin, end, made)
            facts[made, TABLE], facts[made, BEGIN], facts[made, END] = head, first, last
        elif made != begin:
            move_facts(facts, begin, made)
        made += int64(1)
    used[SLICES] = made


@kernel
def _chain(facts: Any, where: Any, begin: Any, end: Any) -> Any:
    """One chain of the tables of the slices begin .. end - 1, and one range of their events: (table, begin, end).

    Slices with events that are not counted yet are neighbours, and so are their events.
    """
    chain, first, last = int64(-1), int64(0), int64(0)
    for slot in range(begin, end):
        if facts[slot, END] > facts[slot, BEGIN]:
            if last == first:
                first = facts[slot, BEGIN]
            last = facts[slot, END]
        head = facts[slot, TABLE]
        if head >= 0:
            tail = head
            while where[tail, NEXT] >= 0:
                tail = int64(where[tail, NEXT])
            where[tail, NEXT] = int32(chain)
            chain = head
    return chain, first, last


@kernel
def spare_arrivals(facts: Any, count: Any, newer: Any, carried: Any) -> Any:
    """How many sure arrivals the moment before each slice ends can do without; nothing if no two slices overlap.

    If T arrivals lie in slices that end no earlier, S of them surely later, then T - S straddle that moment, and may be
    2 carried (S + 1). So S may fall to (T - 2 carried) / (1 + 2 carried).
    """
    if _apart(facts, count):
        return np.empty(0)
    spare = np.empty(count)
    by_first = np.argsort(facts[:count, FIRST])
    at, ahead, sure, total = count - int64(1), count - int64(1), newer, newer
    for slot in range(count - 1, -1, -1):
        while ahead >= 0 and facts[ahead, LAST] >= facts[slot, LAST]:
            total += facts[ahead, ARRIVALS]
            ahead -= int64(1)
        while at >= 0 and facts[by_first[at], FIRST] >= facts[slot, LAST]:
            sure += facts[by_first[at], ARRIVALS]
            at -= int64(1)
        spare[slot] = float64(sure) - (float64(total) - 2.0 * carried) / (1.0 + 2.0 * carried)
    return spare


@kernel
def _apart(facts: Any, count: Any) -> Any:
    """Whether no two slices overlap, as in one stream."""
    overlaps = int64(0)
    for slot in range(1, count):
        overlaps += int64(facts[slot, FIRST] < facts[slot - 1, LAST])
    return overlaps == int64(0)


@kernel
def _decide_apart(facts: Any, count: Any, newer: Any, epsilon_t: Any) -> Any:
    """What `_decide` finds if no two slices overlap: all that is newer surely came later."""
    starts = np.empty(count, np.int64)
    groups, slot = int64(0), count - int64(1)
    while slot >= 0:
        most = 2.0 * epsilon_t * float64(newer + int64(1))
        arrivals = facts[slot, ARRIVALS]
        while slot > 0 and float64(arrivals + facts[slot - 1, ARRIVALS]) <= most:
            slot -= int64(1)
            arrivals += facts[slot, ARRIVALS]
        starts[groups] = slot
        groups += int64(1)
        newer += arrivals
        slot -= int64(1)
    return starts, groups


@kernel
def _may_cover(facts: Any, slot: Any, first: Any, arrivals: Any, spare: Any) -> Any:
    """Whether a group that begins with a slot, at a tick, may cover the ends of the slices before the slot."""
    k = slot - int64(1)
    while k >= 0 and facts[k, LAST] > first:
        if arrivals > spare[k]:
            return False
        k -= int64(1)
    return True


@kernel
def _cover(facts: Any, begin: Any, end: Any, first: Any, spare: Any) -> None:
    """Note that the slots begin .. end are one: those of them that came later than another's end, are not sure now."""
    k = begin - int64(1)
    while end > begin and k >= 0 and facts[k, LAST] > first:
        for slot in range(begin, end + 1):
            if facts[slot, FIRST] >= facts[k, LAST]:
                spare[k] -= float64(facts[slot, ARRIVALS])
        k -= int64(1)


@kernel
def _decide(facts: Any, count: Any, newer: Any, epsilon_t: Any, carried: Any) -> Any:
    """(Where each group of slices begins, from the newest group to the oldest; how many groups there are)."""
    starts = np.empty(count, np.int64)
    groups = int64(0)
    overlapping = np.empty(count, np.int64)  # groups that began before the slice at hand ends, by their last slots
    first_of, arrivals_of = np.empty(count, np.int64), np.empty(count, np.int64)
    over_count, over_arrivals, slot = int64(0), int64(0), count - int64(1)
    spare = spare_arrivals(facts, count, newer, carried)
    sure = later = newer
    while slot >= 0:
        last = facts[slot, LAST]
        kept = int64(0)
        for i in range(over_count):
            group = overlapping[i]
            if first_of[group] >= last:
                sure += arrivals_of[group]
                over_arrivals -= arrivals_of[group]
            else:
                overlapping[kept] = group
                kept += int64(1)
        over_count = kept
        most = 2.0 * epsilon_t * float64(later + int64(1))
        most = min(most, 2.0 * carried * float64(sure + int64(1)) - float64(over_arrivals))
        arrivals, first, end = facts[slot, ARRIVALS], facts[slot, FIRST], slot
        while slot > 0 and float64(arrivals + facts[slot - 1, ARRIVALS]) <= most:
            begin = min(first, facts[slot - 1, FIRST])
            if not _may_cover(facts, slot - 1, begin, float64(arrivals + facts[slot - 1, ARRIVALS]), spare):
                break
            slot -= int64(1)
            arrivals += facts[slot, ARRIVALS]
            first = begin
        _cover(facts, slot, end, first, spare)
        starts[groups], first_of[groups], arrivals_of[groups] = slot, first, arrivals
        overlapping[over_count] = groups
        over_count += int64(1)
        over_arrivals += arrivals
        groups += int64(1)
        later += arrivals
        slot -= int64(1)
    return starts, groups
