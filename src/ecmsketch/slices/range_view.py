"""A range of time over slices: those that lie inside it, and those that it cuts.

Slices inside a range are added up by age: one table for those with as many newer arrivals, to a power of two. An item's
count in it is at most the least of its cells in each of these tables, added up. That is never above the least
cell of all tables added up, and far below it if items come in bursts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel
from ecmsketch.slices.centring import Blocks, expected_collisions
from ecmsketch.slices.profile import share_until
from ecmsketch.slices.table_pool import ARRIVALS, FIRST, LAST, SLICES, TablePool, add_slice

OUTSIDE, CUT = -1, -2
"""What a slice is to a range, apart from the number of its age."""


class Places(NamedTuple):
    """What each slice is to a range."""

    role: NDArray[np.int64]
    """The number of its age if it lies inside, else OUTSIDE or CUT."""
    share: NDArray[np.float64]
    """The share of its arrivals that lies inside, as its profile says."""
    inside: int
    """Arrivals of slices inside the range."""
    cut: int
    """Arrivals of slices that the range cuts."""
    later: int
    """Arrivals of slices that begin after the range begins."""


class RangeView(NamedTuple):
    """The tables of a range: one for each age of slices inside it, then one for each slice that it cuts."""

    tables: NDArray[Any]
    whole: int
    """Tables of slices inside the range; the others are of those that it cuts."""
    noise: NDArray[np.float64]
    """What collisions are expected to add to an item's count, in each table and block."""
    slots: NDArray[np.int64]
    """The slices that the range cuts."""


@kernel
def _find_places(facts: Any, count: Any, since: Any, until: Any) -> Any:
    role, share = np.full(count, OUTSIDE, np.int64), np.zeros(count)
    newer = inside = cut = later = int64(0)
    for slot in range(count - 1, -1, -1):
        first, last, arrivals = facts[slot, FIRST], facts[slot, LAST], facts[slot, ARRIVALS]
        if first > since:
            later += arrivals
        if last > since and first <= until:
            if first > since and last <= until:
                role[slot], share[slot] = int64(np.log2(float64(newer + int64(1)))), 1.0
                inside += arrivals
            else:
                role[slot] = int64(CUT)
                share[slot] = share_until(facts, slot, until) - share_until(facts, slot, since)
                cut += arrivals
        newer += arrivals
    return role, share, inside, cut, later


def find_places(pool: TablePool, since: int, until: int) -> Places:
    """Sort slices by what they are to the range (since, until]."""
    return Places(*_find_places(pool.facts, int(pool.used[SLICES]), since, until))


def build_view(pool: TablePool, places: Places, blocks: Blocks, cells: int) -> RangeView:
    """Add up the tables of a range."""
    ages = np.unique(places.role[places.role >= 0])
    slots = np.flatnonzero(places.role == CUT)
    cell = np.int32 if places.inside + places.cut < 2**31 else np.int64
    tables = np.zeros((len(ages) + len(slots), cells), cell)
    target = np.where(places.role >= 0, np.searchsorted(ages, places.role), OUTSIDE)
    target[slots] = len(ages) + np.arange(len(slots))
    noise = np.zeros((len(tables), len(blocks.first)))
    _fill(pool, target, tables, noise, blocks)
    return RangeView(tables, len(ages), noise, slots)


@kernel
def _fill(pool: Any, target: Any, tables: Any, noise: Any, blocks: Any) -> None:
    for slot in range(target.shape[0]):
        if target[slot] >= 0:
            add_slice(pool, slot, tables[target[slot]])
    for i in range(tables.shape[0]):
        noise[i] = expected_collisions(tables[i], blocks)


@kernel
def read_points(tables: Any, whole: Any, cells: Any, noise: Any, shares: Any, slack: Any, most: Any) -> Any:
    """Read items, whose cells are rows x items. For slice i of those that the range cuts, shares[i] of it lies inside.

    Returns, for each item: the least cell of all slices inside the range added up; what tables say at most; and what
    they say, less expected collisions. What a cut slice adds is kept within slack[i] of both ends, so that it errs by
    no more, and at most most[i] of it is inside.
    """
    rows, count = cells.shape
    sure, upper, value = np.zeros(count), np.zeros(count), np.zeros(count)
    sums = np.empty(rows)
    for i in range(count):
        sums[:] = 0.0
        for t in range(whole):
            smallest = float64(np.inf)
            for row in range(rows):
                cell = float64(tables[t, cells[row, i]])
                sums[row] += cell
                smallest = min(smallest, cell)
            upper[i] += smallest
            value[i] += max(smallest - noise[t], 0.0)
        sure[i] = sums.min()
        for cut in range(tables.shape[0] - whole):
            smallest = float64(np.inf)
            for row in range(rows):
                smallest = min(smallest, float64(tables[whole + cut, cells[row, i]]))
            upper[i] += min(smallest, most[cut])
            low, high = smallest - slack[cut], slack[cut]
            centred = max(smallest - noise[whole + cut], 0.0)
            value[i] += min(max(shares[cut] * centred, low), high)
    return sure, upper, value
