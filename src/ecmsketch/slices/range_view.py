"""A range of time over slices: those that lie inside it, and those that it cuts.

A few slices inside a range are read one by one. Many are added up by age first: one table for all with as many newer
arrivals, to a power of two. An item's count is at most the least of its cells in each of these tables, added up. That
is never above the least cell of all tables added up, and far below it if items come in bursts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from ecmsketch.inputs.row_hashes import fill_cells
from ecmsketch.kernels import kernel
from ecmsketch.slices.centring import Blocks, expected_collisions
from ecmsketch.slices.profile import share_until
from ecmsketch.slices.recent_events import count_between
from ecmsketch.slices.table_planes import add_slice
from ecmsketch.slices.table_pool import ARRIVALS, FIRST, LAST, SLICES, TablePool

FEW = 16
"""So many slices inside a range are read one by one."""
_OUTSIDE, _CUT, ONE_BY_ONE = -1, -2, 64
"""What a slice is to a range: outside, cut by its ends, or inside: then the number of its age, or 64 + its place."""


class Located(NamedTuple):
    """What the slices are to a range, and what those that it cuts may add to a count.

    A cut slice adds shares[i] of its count, kept within slack[i] of both ends, and at most most[i].
    """

    role: NDArray[np.int64]
    slots: NDArray[np.int64]
    """The slices that the range cuts."""
    shares: NDArray[np.float64]
    slack: NDArray[np.float64]
    most: NDArray[np.float64]
    inside: int
    """Arrivals of slices inside the range."""


class RangeView(NamedTuple):
    """The tables of a range: of slices inside it, `whole` of them, then one for each slice that it cuts."""

    tables: NDArray[Any]
    whole: int
    noise: NDArray[np.float64]
    """What collisions are expected to add to an item's count, in each table and block."""
    summed: NDArray[np.int64]
    """The tables of slices inside the range as one: a Count-Min table of their arrivals."""


NOISE, SHARE, SLACK, MOST = 0, 1, 2, 3
"""Columns of `table_parts`: a table adds SHARE of an item's count less NOISE, kept within SLACK, and MOST at most."""


@kernel
def locate(facts: Any, count: Any, since: Any, until: Any, events: Any, carried: Any, half: Any, counted: Any) -> Any:
    """What the slices are to the range (since, until], if so many arrivals of events came after `since`.

    The slack of cut slices is such that all of them together err by at most carried (S + 1), if S surely came later.
    """
    role = np.full(count, _OUTSIDE, np.int64)
    newer, inside, cut, later, whole, cuts = int64(0), int64(0), int64(0), events, int64(0), int64(0)
    for slot in range(count - 1, -1, -1):
        first, last, arrivals = facts[slot, FIRST], facts[slot, LAST], facts[slot, ARRIVALS]
        if first > since:
            later += arrivals
        if last > since and first <= until:
            if first > since and last <= until:
                role[slot] = int64(np.log2(float64(newer + int64(1))))
                inside += arrivals
                whole += int64(1)
            else:
                role[slot] = int64(_CUT)
                cut += arrivals
                cuts += int64(1)
        newer += arrivals
    slots, shares, slack, most = np.empty(cuts, np.int64), np.empty(cuts), np.empty(cuts), np.empty(cuts)
    at, spare = int64(0), max(0.5, carried * float64(later + int64(1)) / float64(max(cut, int64(1))))
    for slot in range(count):
        if role[slot] >= 0 and whole <= int64(FEW):
            role[slot] = int64(ONE_BY_ONE) + slot
        if role[slot] == int64(_CUT):
            arrivals = facts[slot, ARRIVALS]
            slots[at], slack[at], most[at] = slot, float64(arrivals) * spare, float64(arrivals)
            shares[at] = 0.5 if half else share_until(facts, slot, until) - share_until(facts, slot, since)
            if counted:  # each tick is one arrival
                ticks = min(facts[slot, LAST], until) - max(facts[slot, FIRST] - int64(1), since)
                most[at] = float64(min(arrivals, ticks))
            at += int64(1)
    return role, slots, shares, slack, most, inside


def build_view(pool: TablePool, located: Located, blocks: Blocks, cells: int, noise: NDArray[np.float64]) -> RangeView:
    """Add up the tables of a range. `noise` is what collisions add in single slices; nan where it is not known yet."""
    role, slots = located.role, located.slots
    groups = np.unique(role[role >= 0])
    tables: NDArray[Any] = np.zeros((len(groups) + len(slots), cells), cell_type(pool))
    target = np.where(role >= 0, np.searchsorted(groups, role), _OUTSIDE)
    target[slots] = len(groups) + np.arange(len(slots))
    single = np.concatenate([groups - ONE_BY_ONE, slots])
    found = _fill(pool, target, single, blocks, noise, tables)
    summed = tables[: len(groups)].sum(axis=0, dtype=np.int64) if len(groups) else np.zeros(cells, np.int64)
    return RangeView(tables, len(groups), found, summed)


def cell_type(pool: TablePool) -> type:
    """The type of numbers that hold all arrivals of some slices."""
    arrivals = float(pool.facts[: pool.used.item(SLICES), ARRIVALS].sum(dtype=np.float64))
    return np.int32 if arrivals < 2**31 else np.int64


def table_parts(view: RangeView, located: Located, block: int) -> NDArray[np.float64]:
    """What each table of a range adds to an item's count: all of it, or what is known of a slice that is cut."""
    parts = np.empty((len(view.tables), 4))
    parts[:, NOISE], parts[: view.whole, SHARE], parts[: view.whole, SLACK:] = view.noise[:, block], 1.0, np.inf
    cut = parts[view.whole :]
    cut[:, SHARE], cut[:, SLACK], cut[:, MOST] = located.shares, located.slack, located.most
    return parts


@kernel
def _fill(pool: Any, target: Any, single: Any, blocks: Any, noise: Any, tables: Any) -> Any:
    """Add up tables, and find out what collisions add in each of them. `single` are those of one slice, or negative."""
    for slot in range(target.shape[0]):
        if target[slot] >= 0:
            add_slice(pool, slot, tables[target[slot]])
    found = np.empty((tables.shape[0], noise.shape[1]))
    for i in range(tables.shape[0]):
        slot = single[i]
        if slot < 0:
            found[i] = expected_collisions(tables[i], blocks)
        else:
            if np.isnan(noise[slot, 0]):
                noise[slot] = expected_collisions(tables[i], blocks)
            found[i] = noise[slot]
    return found


@kernel
def read_points(tables: Any, whole: Any, parts: Any, cells: Any, exact: Any, likely: Any) -> Any:
    """Read items, whose cells are rows x items, from the tables of a range: (value, lower, upper).

    `exact` is what events say. An item's least collision in the sum of the whole tables is above `likely` only with the
    probability that was asked; without any such promise `likely` is infinite (docs/guarantees.md).
    """
    rows, count = cells.shape
    value, lower, upper = np.empty(count), np.empty(count), np.empty(count)
    sums = np.empty(rows)
    for i in range(count):
        sums[:] = 0.0
        best, largest = 0.0, 0.0
        for t in range(tables.shape[0]):
            smallest = float64(np.inf)
            for row in range(rows):
                cell = float64(tables[t, cells[row, i]])
                smallest = min(smallest, cell)
                if t < whole:
                    sums[row] += cell
            largest += min(smallest, parts[t, MOST])
            part = parts[t, SHARE] * (smallest - parts[t, NOISE])
            best += min(max(part, smallest - parts[t, SLACK]), parts[t, SLACK])
        upper[i] = exact[i] + largest
        lower[i] = min(exact[i] + max(sums.min() - likely, 0.0), upper[i])
        value[i] = min(max(exact[i] + best, lower[i]), upper[i])
    return value, lower, upper


@kernel
def read_point(
    keys: Any, rows: Any, items: Any, weights: Any, begin: Any, end: Any, tables: Any, whole: Any, parts: Any,
    likely: Any,
) -> Any:  # fmt: skip
    """Read one item from the tables of a range and the events begin .. end - 1: (value, lower, upper)."""
    cells = np.empty((rows.low.shape[0], 1), np.uint32)
    fill_cells(keys, rows, cells)
    exact = np.full(1, count_between(items, weights, keys[0], begin, end))
    value, lower, upper = read_points(tables, whole, parts, cells, exact, likely)
    return value[0], lower[0], upper[0]
