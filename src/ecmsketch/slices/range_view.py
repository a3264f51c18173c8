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

from ecmsketch.kernels import kernel
from ecmsketch.slices.centring import Blocks, expected_collisions
from ecmsketch.slices.profile import share_until
from ecmsketch.slices.table_planes import add_slice, read_cell
from ecmsketch.slices.table_pool import ARRIVALS, FIRST, LAST, SLICES, TABLE, TablePool

FEW = 16
"""So many slices inside a range are read one by one."""
_OUTSIDE, _CUT, _ONE_BY_ONE = -1, -2, 64
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
            role[slot] = int64(_ONE_BY_ONE) + slot
        if role[slot] == int64(_CUT):
            arrivals = facts[slot, ARRIVALS]
            slots[at], slack[at], most[at] = slot, float64(arrivals) * spare, float64(arrivals)
            shares[at] = 0.5 if half else share_until(facts, slot, until) - share_until(facts, slot, since)
            if counted:  # each tick is one arrival
                ticks = min(facts[slot, LAST], until) - max(facts[slot, FIRST] - int64(1), since)
                most[at] = float64(min(arrivals, ticks))
            at += int64(1)
    return role, slots, shares, slack, most, inside


def build_view(pool: TablePool, located: Located, blocks: Blocks, cells: int, known: dict[int, Any]) -> RangeView:
    """Add up the tables of a range. `known` is what collisions add in single slices, as far as that is known."""
    role, slots = located.role, located.slots
    groups = np.unique(role[role >= 0])
    tables: NDArray[Any] = np.zeros((len(groups) + len(slots), cells), _cell_type(pool))
    target = np.where(role >= 0, np.searchsorted(groups, role), _OUTSIDE)
    target[slots] = len(groups) + np.arange(len(slots))
    _fill(pool, target, tables)
    noise = np.empty((len(tables), len(blocks.first)))
    for i, slot in enumerate([*(groups - _ONE_BY_ONE).tolist(), *slots.tolist()]):
        if slot < 0:
            noise[i] = expected_collisions(tables[i], blocks)
        else:
            if slot not in known:
                known[slot] = expected_collisions(tables[i], blocks)
            noise[i] = known[slot]
    return RangeView(tables, len(groups), noise)


def view_cells(
    pool: TablePool, located: Located, blocks: Blocks, cells: NDArray[np.uint32], known: dict[int, Any]
) -> RangeView | None:
    """The tables of a range, of which only some cells are read; None if many slices lie inside the range."""
    inside = np.flatnonzero(located.role >= 0)
    if len(inside) and located.role.item(inside.item(0)) < _ONE_BY_ONE:
        return None
    slots = np.concatenate([inside, located.slots])
    for slot in slots.tolist():
        if slot not in known:
            table: NDArray[Any] = np.zeros(int((blocks.rows * blocks.width).sum()), _cell_type(pool))
            add_slice(pool, slot, table)
            known[slot] = expected_collisions(table, blocks)
    noise = np.array([known[slot] for slot in slots.tolist()])
    return RangeView(_read_cells(pool, slots, cells.ravel()), len(inside), noise)


def _cell_type(pool: TablePool) -> type:
    arrivals = float(pool.facts[: pool.used.item(SLICES), ARRIVALS].sum(dtype=np.float64))
    return np.int32 if arrivals < 2**31 else np.int64


@kernel
def _read_cells(pool: Any, slots: Any, cells: Any) -> Any:
    found = np.empty((slots.shape[0], cells.shape[0]), np.int64)
    for i in range(slots.shape[0]):
        number = pool.facts[slots[i], TABLE]
        for j in range(cells.shape[0]):
            found[i, j] = read_cell(pool, number, int64(cells[j]))
    return found


@kernel
def _fill(pool: Any, target: Any, tables: Any) -> None:
    for slot in range(target.shape[0]):
        if target[slot] >= 0:
            add_slice(pool, slot, tables[target[slot]])


@kernel
def read_points(
    tables: Any, whole: Any, cells: Any, noise: Any, shares: Any, slack: Any, most: Any, exact: Any, inside: Any,
    share: Any,
) -> Any:  # fmt: skip
    """Read items, whose cells are rows x items, from the tables of a range: (value, lower, upper).

    `exact` is what events say. At most `share` of the `inside` arrivals collide with an item, with the probability of
    the config's confidence: f >= cell - share (inside - f) solved for f is the lower bound (docs/guarantees.md).
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
            if t < whole:
                largest += smallest
                best += smallest - noise[t]
            else:
                cut = t - whole
                largest += min(smallest, most[cut])
                part = shares[cut] * (smallest - noise[t])
                best += min(max(part, smallest - slack[cut]), slack[cut])
        upper[i] = exact[i] + largest
        sure = max((sums.min() - share * float64(inside)) / (1.0 - share), 0.0) if share < 1.0 else 0.0
        lower[i] = min(exact[i] + sure, upper[i])
        value[i] = min(max(exact[i] + best, lower[i]), upper[i])
    return value, lower, upper
