"""When the arrivals of a slice came: its first and last tick, and the ticks by which each eighth of them had come.

In between, arrivals are taken to be spread evenly. Only values depend on it, bounds do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64

from ecmsketch.kernels import kernel
from ecmsketch.slices.table_pool import ARRIVALS, FIRST, KNOT, LAST, PARTS


@kernel
def share_until(facts: Any, slot: Any, tick: Any) -> Any:
    """The share of a slice's arrivals that came at ticks up to `tick`."""
    begin = facts[slot, FIRST] - int64(1)
    if tick <= begin:
        return 0.0
    if tick >= facts[slot, LAST]:
        return 1.0
    for part in range(PARTS):
        end = facts[slot, LAST] if part == PARTS - 1 else facts[slot, KNOT + part]
        if tick < end:
            return (float64(part) + float64(tick - begin) / float64(end - begin)) / float64(PARTS)
        begin = end
    return 1.0


@kernel
def tick_of_share(facts: Any, slot: Any, share: Any) -> Any:
    """The tick by which a share of a slice's arrivals had come."""
    part = min(int64(share * float64(PARTS)), int64(PARTS - 1))
    begin = facts[slot, FIRST] - int64(1) if part == 0 else facts[slot, KNOT + part - 1]
    end = facts[slot, LAST] if part == PARTS - 1 else facts[slot, KNOT + part]
    inside = share * float64(PARTS) - float64(part)
    return begin + int64(float64(end - begin) * inside + 0.5)


@kernel
def join_facts(facts: Any, begin: Any, end: Any, target: Any) -> None:
    """Write the facts of one slice that has the arrivals of the slices begin .. end - 1, at `target` <= begin."""
    first, last, arrivals = facts[begin, FIRST], facts[begin, LAST], int64(0)
    apart = True
    for i in range(begin, end):
        if i > begin and facts[i, FIRST] < facts[i - 1, LAST]:
            apart = False
        first, last = min(first, facts[i, FIRST]), max(last, facts[i, LAST])
        arrivals += facts[i, ARRIVALS]
    if apart:
        _join_knots(facts, begin, end, target, arrivals, first, last)
    else:
        _mix_knots(facts, begin, end, target, arrivals, first, last)
    facts[target, FIRST], facts[target, LAST], facts[target, ARRIVALS] = first, last, arrivals


@kernel
def _join_knots(facts: Any, begin: Any, end: Any, target: Any, arrivals: Any, first: Any, last: Any) -> None:
    """Write the knots of slices that follow one another.

    The target may be the first of the slices: no knot is read any more once it is written, since the same number of
    arrivals is a larger share of one slice than of all.
    """
    slot, passed, before = begin, float64(0), first
    for part in range(PARTS - 1):
        wanted = float64(arrivals) * float64(part + 1) / float64(PARTS)
        while slot < end - 1 and passed + float64(facts[slot, ARRIVALS]) < wanted:
            passed += float64(facts[slot, ARRIVALS])
            slot += 1
        tick = tick_of_share(facts, slot, min((wanted - passed) / float64(facts[slot, ARRIVALS]), 1.0))
        before = min(max(tick, before), last)
        facts[target, KNOT + part] = before


@kernel
def _mix_knots(facts: Any, begin: Any, end: Any, target: Any, arrivals: Any, first: Any, last: Any) -> None:
    """Write the knots of slices that lie over each other."""
    knots = np.empty(PARTS - 1, np.int64)
    before = first - int64(1)
    for part in range(PARTS - 1):
        wanted = float64(arrivals) * float64(part + 1) / float64(PARTS)
        before = _tick_of_count(facts, begin, end, wanted, before, last)
        knots[part] = before
    for part in range(PARTS - 1):  # not before: the target may be one of the slices
        facts[target, KNOT + part] = knots[part]


@kernel
def _tick_of_count(facts: Any, begin: Any, end: Any, wanted: Any, low: Any, high: Any) -> Any:
    """The least tick by which so many arrivals of several slices had come, which lies in (low, high]."""
    low = min(low, high - int64(1))
    while high - low > int64(1):
        middle = low + (high - low) // int64(2)
        came = 0.0
        for i in range(begin, end):
            came += share_until(facts, i, middle) * float64(facts[i, ARRIVALS])
        if came >= wanted:
            high = middle
        else:
            low = middle
    return high


@kernel
def fill_facts(ticks: Any, weights: Any, begin: Any, end: Any, counted: Any, facts: Any, slot: Any) -> None:
    """Write the facts of a slice of the events begin .. end - 1, which are sorted by tick.

    If ticks number arrivals (`counted`), an event of weight w begins w - 1 ticks before its own.
    """
    weighted = weights.shape[0] > 0
    arrivals = end - begin
    if weighted:
        arrivals = int64(0)
        for i in range(begin, end):
            arrivals += weights[i]
    before = weights[begin] - int64(1) if weighted and counted else int64(0)
    facts[slot, FIRST], facts[slot, LAST], facts[slot, ARRIVALS] = ticks[begin] - before, ticks[end - 1], arrivals
    if not weighted:
        for part in range(PARTS - 1):
            at = begin + (arrivals * (part + int64(1)) + int64(PARTS - 1)) // int64(PARTS) - int64(1)
            facts[slot, KNOT + part] = ticks[at]
        return
    at, came = begin, weights[begin]
    for part in range(PARTS - 1):
        while float64(came) < float64(arrivals) * float64(part + 1) / float64(PARTS):
            at += int64(1)
            came += weights[at]
        facts[slot, KNOT + part] = ticks[at]
