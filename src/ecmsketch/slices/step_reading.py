"""One item over many steps of a range at once, each read as a range of its own.

What does not depend on the item is found first, once for all items: what collisions add in the tables of each step, and
how much they are likely to add at most. Reading an item then takes a few cells of each slice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel
from ecmsketch.slices.centring import expected_least, likely_collision
from ecmsketch.slices.range_view import ONE_BY_ONE, locate
from ecmsketch.slices.table_planes import add_slice, read_cell
from ecmsketch.slices.table_pool import TABLE

NO_GROUP = -1


class Steps(NamedTuple):
    """Ranges (since[i], until[i]], with what `locate` needs to know about them."""

    since: NDArray[np.int64]
    until: NDArray[np.int64]
    later: NDArray[np.int64]
    """Arrivals of events after `since`."""
    carried: float
    half: bool
    counted: bool


class Weighed(NamedTuple):
    """What collisions add in each step."""

    ages: NDArray[np.float64]
    """What they are expected to add, by step and age, where slices are added up by age."""
    likely: NDArray[np.float64]
    """What they exceed with the probability that was asked, in all slices inside the step together."""


@kernel
def locate_step(pool: Any, count: Any, steps: Any, i: Any) -> Any:
    """What the slices are to one of the steps."""
    return locate(
        pool.facts, count, steps.since[i], steps.until[i], steps.later[i], steps.carried, steps.half, steps.counted
    )


@kernel
def weigh_steps(pool: Any, count: Any, steps: Any, blocks: Any, delta: Any, noise: Any, table: Any) -> Any:
    """(ages, likely) of `Weighed`. It also writes into `noise` what collisions add in single slices.

    `table` is memory for one table.
    """
    ages, likely = np.full((steps.since.shape[0], ONE_BY_ONE), np.nan), np.zeros(steps.since.shape[0])
    summed = np.empty_like(table)
    for i in range(steps.since.shape[0]):
        role, cut = locate_step(pool, count, steps, i)[:2]
        summed[:], table[:] = 0, 0
        group = int64(NO_GROUP)
        for slot in range(count - 1, -1, -1):
            if role[slot] >= 0:
                if role[slot] != group:
                    _finish(group, blocks, ages[i], noise, table, summed)
                    group = role[slot]
                add_slice(pool, slot, table)
        _finish(group, blocks, ages[i], noise, table, summed)
        for slot in cut:
            if np.isnan(noise[slot, 0]):
                add_slice(pool, slot, table)
                noise[slot, 0] = expected_least(table, int64(0), blocks.rows[0], blocks.width[0])
                table[:] = 0
        if group != int64(NO_GROUP):
            likely[i] = float64(likely_collision(summed, blocks, int64(0), delta))
    return ages, likely


@kernel
def _finish(group: Any, blocks: Any, ages: Any, noise: Any, table: Any, summed: Any) -> None:
    """Note what collisions add in the table of a group of slices, and add it to the sum of all. It is empty then."""
    if group == int64(NO_GROUP):
        return
    if group < int64(ONE_BY_ONE):
        ages[group] = expected_least(table, int64(0), blocks.rows[0], blocks.width[0])
    elif np.isnan(noise[group - int64(ONE_BY_ONE), 0]):
        noise[group - int64(ONE_BY_ONE), 0] = expected_least(table, int64(0), blocks.rows[0], blocks.width[0])
    for j in range(table.shape[0]):
        summed[j] += table[j]
        table[j] = 0


@kernel
def read_steps(pool: Any, count: Any, steps: Any, cells: Any, exact: Any, noise: Any, ages: Any, likely: Any) -> Any:
    """Read one item, whose cells are one a row, in each of the steps: (value, lower, upper). `exact` is of events."""
    total = steps.since.shape[0]
    value, lower, upper = np.empty(total), np.empty(total), np.empty(total)
    sums, sizes = np.empty(cells.shape[0]), np.empty(cells.shape[0])
    for i in range(total):
        role, cut, shares, slack, most, _ = locate_step(pool, count, steps, i)
        best, largest, group, collisions = 0.0, 0.0, int64(NO_GROUP), 0.0
        sums[:], sizes[:] = 0.0, 0.0
        for slot in range(count - 1, -1, -1):
            if role[slot] >= 0:
                if role[slot] != group:
                    largest += sizes.min()
                    sizes[:] = 0.0
                    group = role[slot]
                    age = group < int64(ONE_BY_ONE)
                    collisions += ages[i, group] if age else noise[slot, 0]
                _add_cells(pool, slot, cells, sizes, sums)
        largest += sizes.min()
        best = largest - collisions
        for at in range(cut.shape[0]):
            sizes[:] = 0.0
            _add_cells(pool, cut[at], cells, sizes, sizes[:0])
            smallest = sizes.min()
            largest += min(smallest, most[at])
            part = shares[at] * (smallest - noise[cut[at], 0])
            best += min(max(part, smallest - slack[at]), slack[at])
        upper[i] = exact[i] + largest
        lower[i] = min(exact[i] + max(sums.min() - likely[i], 0.0), upper[i])
        value[i] = min(max(exact[i] + best, lower[i]), upper[i])
    return value, lower, upper


@kernel
def _add_cells(pool: Any, slot: Any, cells: Any, sizes: Any, sums: Any) -> None:
    """Add the cells of a slice to `sizes`, and to `sums` unless that is empty."""
    number = pool.facts[slot, TABLE]
    for row in range(cells.shape[0]):
        cell = float64(read_cell(pool, number, int64(cells[row])))
        sizes[row] += cell
        if sums.shape[0]:
            sums[row] += cell
