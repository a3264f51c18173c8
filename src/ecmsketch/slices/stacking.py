"""Uniting the slices and events of several streams, in whatever order they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64
from xxhash import xxh64_intdigest

from ecmsketch.inputs.row_hashes import RowHashes
from ecmsketch.kernels import kernel
from ecmsketch.kernels.radix_sort import sort_by_tick
from ecmsketch.slices.absorbing import age
from ecmsketch.slices.joining import join_slices
from ecmsketch.slices.making import Plan
from ecmsketch.slices.recent_events import RecentEvents
from ecmsketch.slices.settling import scratch, settle, weigh
from ecmsketch.slices.table_pool import (
    LAST,
    OVER_BEGIN,
    PLANE,
    SLICES,
    TABLE,
    TablePool,
    drop_oldest,
    trimmed,
)

_FINENESS = 0.85
"""Slices of several streams are joined to this share of what one stream's may be. Else fewer would be left than one
stream has, since they are joined all at once, and the ends of ranges would blur.
"""

Part = tuple[RecentEvents, TablePool]


def united(parts: list[Part], plan: Plan, rows: RowHashes, now: int) -> Part:
    """The events and slices of all parts, those outside the window forgotten, and joined as the plan allows."""
    plan = plan._replace(epsilon_t=_FINENESS * plan.epsilon_t)
    parts = sorted(parts, key=_digest)  # so that the order in which they were given is lost
    pool = _stacked([pool for _, pool in parts])
    drop_oldest(pool, now - plan.window)
    items = np.concatenate([events.items for events, _ in parts])
    ticks = np.concatenate([events.ticks for events, _ in parts])
    any_weights = any(len(events.weights) for events, _ in parts)
    weighted = [events.explicit_weights() for events, _ in parts] if any_weights else []
    order = np.flatnonzero(ticks > now - plan.window)
    ticks = ticks[order]
    sort_by_tick(ticks, order)
    items = items[order]
    weights = np.concatenate(weighted)[order] if weighted else np.empty(0, np.int64)
    if (weights == 1).all():
        weights = weights[:0]
    if len(items) >= plan.recent + plan.block or (pool.used[SLICES] and len(parts) > 1):
        pool, start = _aged(pool, items, ticks, weights, plan, rows, scratch(plan.cells))
        items, ticks, weights = items[start:], ticks[start:], weights[start:]
    return RecentEvents.of(items, ticks, weights), trimmed(pool)


@kernel
def _aged(pool: Any, items: Any, ticks: Any, weights: Any, plan: Any, rows: Any, memory: Any) -> Any:
    """(Slices with all but the newest events, where these begin)."""
    count, start = items.shape[0], int64(0)
    arrivals = weigh(weights, start, count)
    if count > plan.recent:
        pool, start, arrivals = age(pool, items, ticks, weights, start, count, arrivals, plan, rows, memory)
    else:
        join_slices(pool.facts, pool.where, pool.used, arrivals, plan.epsilon_t, plan.carried)
    return settle(pool, items, weights, rows, memory), start


def _stacked(pools: list[TablePool]) -> TablePool:
    """All slices of some pools in one, sorted by time; the order of the pools is lost. Free rows stay unused."""
    facts = np.concatenate([pool.facts[: pool.used[SLICES]] for pool in pools])
    columns = max(pool.where.shape[1] for pool in pools)
    where = np.full((sum(len(pool.where) for pool in pools), columns), -1, np.int32)
    slices = tables = rows = overs = 0
    for pool in pools:
        count, places = int(pool.used[SLICES]), where[tables : tables + len(pool.where), : pool.where.shape[1]]
        places[:] = pool.where
        places[:, PLANE:] += rows
        places[:, OVER_BEGIN] += overs
        facts[slices : slices + count, TABLE] += tables
        slices, tables, rows, overs = (
            slices + count, tables + len(pool.where), rows + len(pool.pool), overs + len(pool.over),
        )  # fmt: skip
    pool_rows, entries = np.concatenate([p.pool for p in pools]), np.concatenate([p.over for p in pools])
    order = np.argsort(facts[:, LAST], kind="stable")
    used = np.array([len(facts), 0, 0, overs, 0], np.int64)
    free_tables, free_rows = np.empty(tables, np.int32), np.empty(rows, np.int32)
    return TablePool(facts[order], where, pool_rows, entries, free_tables, free_rows, used)


def _digest(part: Part) -> tuple[int, ...]:
    """A number for what a part holds."""
    events, pool = part
    columns = (events.items, events.offsets, events.weights, pool.facts[: pool.used[SLICES], :TABLE])
    return tuple(xxh64_intdigest(np.ascontiguousarray(column).data) for column in columns if column.size)
