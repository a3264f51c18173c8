"""Late events whose slice is full: they become slices of their own beside it.

A slice holds as much as what came later allows (joining.py). A flood of late events that it covers does not fit into
it. But most of the flood came later than its oldest events, so these may become slices beside the full one: at every
moment, the slices that have begun and not ended hold at most 2 carried (S + 1) arrivals, if S surely came later.
A slice on one tick straddles no moment, and may hold any number. The newest of a flood stay events.
"""

from __future__ import annotations

from typing import Any

from numba import float64, int64

from ecmsketch.kernels import kernel
from ecmsketch.slices.profile import fill_facts
from ecmsketch.slices.table_pool import ARRIVALS, BEGIN, END, FIRST, LAST, SLICES, TABLE, insert_slot, with_space

_CELLS_PER_EVENT = 32
"""A slice beside another has an event for so many cells at least. With fewer, its table would take more memory."""

_LEAST = 8


@kernel
def make_beside(
    work: Any, place: Any, ticks: Any, weights: Any, stays: Any, known: Any, kept: Any, newer: Any, plan: Any
) -> Any:
    """Make slices, before a place, of events that the slice there covers: (slices, how many events stay).

    The events are numbered in stays[known:kept], oldest first; those that stay are left there. `newer` arrivals
    surely came after all of these.
    """
    least = max(plan.cells // int64(_CELLS_PER_EVENT), int64(_LEAST))
    if kept - known < least:
        return work, kept
    work = with_space(work, (kept - known) // least + int64(1), int64(0), int64(0))
    covering, later = _around(work, ticks[stays[known]], ticks[stays[kept - 1]])
    later += newer
    for i in range(known, kept):
        later += _weight(weights, stays[i])
    at, left = known, known
    while at < kept:
        begin, end, arrivals = stays[at], at, int64(0)
        while end < kept and stays[end] == begin + (end - at):
            weight = _weight(weights, stays[end])
            most = 2.0 * plan.carried * float64(later - weight + int64(1)) - float64(covering)
            most = min(most, 2.0 * plan.epsilon_t * float64(later - weight + int64(1)))
            if ticks[stays[end]] > ticks[begin] and float64(arrivals + weight) > most:
                break
            arrivals, later, end = arrivals + weight, later - weight, end + int64(1)
        if end - at >= least:
            insert_slot(work.facts, work.used, place)
            fill_facts(ticks, weights, begin, begin + (end - at), plan.counted, work.facts, place)
            work.facts[place, TABLE], work.facts[place, BEGIN] = int64(-1), begin
            work.facts[place, END] = begin + (end - at)
            place += int64(1)
        else:
            for i in range(at, end):
                stays[left] = stays[i]
                left += int64(1)
        at = end
    return work, left


@kernel
def _weight(weights: Any, event: Any) -> Any:
    return weights[event] if weights.shape[0] > 0 else int64(1)


@kernel
def _around(work: Any, first: Any, last: Any) -> Any:
    """(Arrivals of slices that straddle a moment between two ticks, arrivals of slices that begin after these)."""
    covering = later = int64(0)
    for slot in range(work.used[SLICES]):
        if work.facts[slot, FIRST] >= last:
            later += work.facts[slot, ARRIVALS]
        elif work.facts[slot, LAST] > first:
            covering += work.facts[slot, ARRIVALS]
    return covering, later
