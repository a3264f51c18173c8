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
from ecmsketch.slices.table_pool import ARRIVALS, BEGIN, END, FACTS, FIRST, LAST, NEXT, SLICES, TABLE, move_facts


@kernel
def join_slices(work: Any, newer: Any, epsilon_t: Any, carried: Any) -> None:
    """Join neighbours as far as the promises allow; `newer` arrivals are in events. Their tables are chained."""
    count = work.used[SLICES]
    starts, groups = _decide(work.facts, count, newer, epsilon_t, carried)
    if groups == count:
        return
    facts = np.empty(FACTS, np.int64)
    made = int64(0)
    for group in range(groups - 1, -1, -1):
        begin, end = starts[group], count if group == 0 else starts[group - 1]
        if end - begin > int64(1):
            join_facts(work.facts, begin, end, facts)
            _chain(work, begin, end, facts)
            work.facts[made] = facts
        elif made != begin:
            move_facts(work.facts, begin, made)
        made += int64(1)
    work.used[SLICES] = made


@kernel
def _chain(work: Any, begin: Any, end: Any, out: Any) -> None:
    """Write into `out` one chain of the tables of the slices begin .. end - 1, and one range of their events.

    Slices with events that are not counted yet are neighbours, and so are their events.
    """
    out[TABLE], out[BEGIN], out[END] = int64(-1), int64(0), int64(0)
    for slot in range(begin, end):
        if work.facts[slot, END] > work.facts[slot, BEGIN]:
            if out[END] == out[BEGIN]:
                out[BEGIN] = work.facts[slot, BEGIN]
            out[END] = work.facts[slot, END]
        head = work.facts[slot, TABLE]
        if head >= 0:
            tail = head
            while work.where[tail, NEXT] >= 0:
                tail = int64(work.where[tail, NEXT])
            work.where[tail, NEXT] = int32(out[TABLE])
            out[TABLE] = head


@kernel
def _decide(facts: Any, count: Any, newer: Any, epsilon_t: Any, carried: Any) -> Any:
    """(Where each group of slices begins, from the newest group to the oldest; how many groups there are)."""
    starts = np.empty(count, np.int64)
    groups = int64(0)
    overlapping = np.empty(count, np.int64)  # groups that began before the slice at hand ends, by their last slots
    first_of, arrivals_of = np.empty(count, np.int64), np.empty(count, np.int64)
    over_count, over_arrivals = int64(0), int64(0)
    sure = later = newer
    slot = count - int64(1)
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
        arrivals, first = facts[slot, ARRIVALS], facts[slot, FIRST]
        while slot > 0 and float64(arrivals + facts[slot - 1, ARRIVALS]) <= most:
            slot -= int64(1)
            arrivals += facts[slot, ARRIVALS]
            first = min(first, facts[slot, FIRST])
        starts[groups], first_of[groups], arrivals_of[groups] = slot, first, arrivals
        overlapping[over_count] = groups
        over_count += int64(1)
        over_arrivals += arrivals
        groups += int64(1)
        later += arrivals
        slot -= int64(1)
    return starts, groups
