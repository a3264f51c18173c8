"""How events become slices.

The newest events stay as they are. After every `block` events the older ones become slices, or are counted in the slice
that covers their ticks if they came late. An event stays an event, however old, while it alone has more arrivals than
a slice may have: so no heavy event blurs a range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.kernels import kernel
from ecmsketch.slices.joining import join_slices
from ecmsketch.slices.making import make_inside, make_slices, most_slices, move_event
from ecmsketch.slices.settling import settle, weigh
from ecmsketch.slices.table_pool import LAST, SLICES, drop_oldest, with_space


@kernel
def absorb(
    work: Any, items: Any, ticks: Any, weights: Any, known: Any, fresh: Any, plan: Any, rows: Any, scratch: Any
) -> Any:
    """Take events in, of which the first `known` were taken in before; `fresh` of these came since the last block.

    All events are sorted by tick. Weights may be empty, which means ones. Returns the slices, where the events
    that stay begin, and how many came since the last block. Events that stay are moved together in the arrays.
    `scratch` is memory to count events in.
    """
    start, end, total = int64(0), known, items.shape[0]
    arrivals = weigh(weights, int64(0), known)
    while end + (plan.block - fresh) <= total:
        taken = plan.block - fresh
        arrivals += weigh(weights, end, end + taken)
        end, fresh = end + taken, int64(0)
        work, start, arrivals = age(work, items, ticks, weights, start, end, arrivals, plan, rows, scratch)
    return settle(work, items, weights, rows, scratch), start, fresh + (total - end)


@kernel
def absorb_late(
    work: Any,
    items: Any,
    ticks: Any,
    weights: Any,
    known: Any,
    late: Any,
    fresh: Any,
    plan: Any,
    rows: Any,
    scratch: Any,
) -> Any:
    """Take in late events, sorted by tick, among the `known` ones that the arrays begin with; else as `absorb`.

    The arrays have room for all. `late` has items, ticks and weights of the late events; weights are spelled out.
    """
    start, end, at, total = int64(0), known, int64(0), late.ticks.shape[0]
    while at < total:
        taken = min(plan.block - fresh, total - at)
        _merge_sorted(items, ticks, weights, start, end, late, at, taken)
        end, at, fresh = end + taken, at + taken, fresh + taken
        if fresh == plan.block:
            fresh = int64(0)
            arrivals = weigh(weights, start, end)
            work, start, arrivals = age(work, items, ticks, weights, start, end, arrivals, plan, rows, scratch)
    return settle(work, items, weights, rows, scratch), start, fresh


@kernel
def _merge_sorted(
    items: Any, ticks: Any, weights: Any, start: Any, end: Any, late: Any, begin: Any, count: Any
) -> None:
    """Merge some late events into the events start .. end - 1; those on the tick of others come after them."""
    source, other = end - int64(1), begin + count - int64(1)
    target = end + count - int64(1)
    while other >= begin:
        if source >= start and ticks[source] > late.ticks[other]:
            items[target], ticks[target], weights[target] = items[source], ticks[source], weights[source]
            source -= int64(1)
        else:
            items[target], ticks[target] = late.items[other], late.ticks[other]
            weights[target] = late.weights[other]
            other -= int64(1)
        target -= int64(1)


@kernel
def age(
    work: Any, items: Any, ticks: Any, weights: Any, start: Any, end: Any, arrivals: Any, plan: Any, rows: Any,
    scratch: Any,
) -> Any:  # fmt: skip
    """Forget what is outside the window; let all but the newest of the events start .. end - 1 become slices.

    Returns the slices, where the events that stay begin, and how many arrivals these are.
    """
    limit = ticks[end - 1] - plan.window
    if work.used[SLICES] and work.facts[0, LAST] <= limit:
        drop_oldest(work, limit)
    weighted = weights.shape[0] > 0
    while start < end and ticks[start] <= limit:
        arrivals -= weights[start] if weighted else int64(1)
        start += int64(1)
    old = end - plan.recent
    if old <= start:
        return work, start, arrivals
    newest = arrivals - weigh(weights, start, old)
    tail, stay, stays = start, int64(0), np.empty(old - start, np.int64)
    count = work.used[SLICES]
    if count and ticks[start] < work.facts[count - 1, LAST]:
        work = settle(work, items, weights, rows, scratch)
        work, tail, stay = make_inside(work, items, ticks, weights, start, old, stays, newest, plan, rows, scratch)
        work = settle(work, items, weights, rows, scratch)
    after = newest + weigh(weights, tail, old)
    work = with_space(work, most_slices(old - tail, weighted, newest, plan.epsilon_t), int64(0), int64(0))
    stay = make_slices(
        work.facts, work.used, work.used[SLICES], ticks, weights, tail, old, stays, stay, after, plan.epsilon_t,
        plan.counted, np.inf,
    )  # fmt: skip
    if stay:  # these move up to the newest ones, once the others are counted
        work = settle(work, items, weights, rows, scratch)
        for i in range(1, stay + 1):
            move_event(items, ticks, weights, stays[stay - i], old - i)
    join_slices(work.facts, work.where, work.used, newest, plan.epsilon_t, plan.carried)
    return work, old - stay, newest + weigh(weights, old - stay, old)
