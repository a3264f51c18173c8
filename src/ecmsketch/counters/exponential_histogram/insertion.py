"""Insertion of a whole batch: count, lay out, pick. The result is bit for bit that of single insertions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from ecmsketch.counters.contract import Ints
from ecmsketch.counters.exponential_histogram.layout import Cells, bucket_count, buckets_within, level_count, next_level
from ecmsketch.kernels import kernel
from ecmsketch.kernels.decorator import inlined


class Layout(NamedTuple):
    """The plan for each cell while a batch is picked: arrivals to skip until the next bucket end, and where it goes."""

    skip: Ints
    position: Ints
    level: Ints
    left: Ints
    older: Ints


@kernel
def needed(state: Cells, arrivals: Any, k: Any, limit: Any) -> Any:
    """Forget what expired at `limit`, then say how many buckets each cell can hold after the batch."""
    cells = state.arrivals.shape[0]
    needed = np.empty(cells, np.int64)
    fits = True
    for cell in range(cells):
        first, length = state.first[cell], state.length[cell]
        while length > int64(0) and int64(state.ends[first]) <= limit:
            first += int64(1)
            length -= int64(1)
        state.first[cell], state.length[cell] = first, length
        new = arrivals[cell]
        if new > int64(0):
            total = state.arrivals[cell] + new
            length = min(length + buckets_within(total, new, k), bucket_count(total, k))
        needed[cell] = length
        fits = fits and length <= state.offset[cell + 1] - state.offset[cell]
    return needed, fits


@kernel
def repack(state: Cells, needed: Any) -> Cells:
    """The same state in a larger arena: every cell gets what it needs and an eighth more."""
    cells = needed.shape[0]
    offset = np.empty(cells + 1, np.int64)
    offset[0] = int64(0)
    for cell in range(cells):
        offset[cell + 1] = offset[cell] + needed[cell] + (needed[cell] >> int64(3)) + int64(2)
    ends = np.empty(offset[cells], state.ends.dtype)
    first = offset[:cells].copy()
    for cell in range(cells):
        for i in range(state.length[cell]):
            ends[first[cell] + i] = state.ends[state.first[cell] + i]
    return Cells(ends, offset, first, state.length, state.arrivals)


@kernel
def lay_out(state: Cells, arrivals: Any, k: Any) -> Layout:
    """Make room for a batch: keep the old ends that still end a bucket, and note where new ones go."""
    cells = arrivals.shape[0]
    layout = Layout(
        np.zeros(cells, np.int64), np.empty(cells, np.int64), np.zeros(cells, np.int64),
        np.empty(cells, np.int64), np.empty(cells, np.int64),
    )  # fmt: skip
    longest = int64(0)
    for cell in range(cells):
        longest = max(longest, state.length[cell])
    kept = np.empty(longest, state.ends.dtype)
    for cell in range(cells):
        new = arrivals[cell]
        if new == int64(0):
            continue
        after = state.arrivals[cell] + new
        untouched, survivors = _survivors(state, cell, after, k, kept)
        length = untouched + survivors + buckets_within(after, new, k)
        _make_room(state, cell, untouched, kept, survivors, length)
        state.arrivals[cell] = after

        count = level_count(after, k)
        layout.position[cell] = state.first[cell] + length - int64(1)
        layout.left[cell] = count
        layout.older[cell] = (after - count) >> int64(1)
    return layout


@inlined
def _survivors(state: Cells, cell: Any, after: Any, k: Any, kept: Any) -> Any:
    """Write to `kept` the old ends, newest first, that still end a bucket once `after` arrivals have come.

    Returns (untouched, survivors): so many of the oldest ends stay in place, and so many newer ones are in `kept`.
    An old end at arrival number a survives if a is a multiple of 2^level, for the level that a lies in once the
    batch has come. From the first level that the batch did not reach, everything older stays in place.
    """
    half = (k + int64(1)) >> int64(1)
    first = state.first[cell]
    number = state.arrivals[cell]
    old_arrived, old_level, old_count = number, int64(0), level_count(number, k)
    new_arrived, new_level, new_count = after, int64(0), level_count(after, k)
    left = old_count
    survivors = int64(0)
    at = first + state.length[cell] - int64(1)
    while at >= first:
        if left == int64(0):
            old_arrived, old_level, old_count = next_level(old_arrived, old_level, old_count, half)
            left = old_count
        while number <= (new_arrived - new_count) << new_level:
            new_arrived, new_level, new_count = next_level(new_arrived, new_level, new_count, half)
        if left == old_count and new_level == old_level and new_arrived == old_arrived:
            break
        if number & ((int64(1) << new_level) - int64(1)) == int64(0):
            kept[survivors] = state.ends[at]
            survivors += int64(1)
        number -= int64(1) << old_level
        left -= int64(1)
        at -= int64(1)
    return at - first + int64(1), survivors


@inlined
def _make_room(state: Cells, cell: Any, untouched: Any, kept: Any, survivors: Any, length: Any) -> None:
    """Let a cell hold `length` ends: the untouched ones, then the survivors; the rest is still to be written.

    If they do not fit behind the untouched ends, these move to the start of the cell's segment.
    """
    first = state.first[cell]
    if first + length > state.offset[cell + 1]:
        for i in range(untouched):
            state.ends[state.offset[cell] + i] = state.ends[first + i]
        first = state.offset[cell]
    for i in range(survivors):
        state.ends[first + untouched + i] = kept[survivors - int64(1) - i]
    state.first[cell], state.length[cell] = first, length


@kernel
def end_bucket(ends: Any, layout: Layout, cell: Any, tick: Any, k: Any) -> Any:
    """Let a bucket end at `tick` and step to the next older one; returns the ended bucket's size."""
    position = layout.position[cell]
    ends[position] = max(tick, int64(0))
    layout.position[cell] = position - int64(1)
    size = int64(1) << layout.level[cell]
    left = layout.left[cell] - int64(1)
    if left == int64(0):
        arrived = layout.older[cell]
        left = level_count(arrived, (k + int64(1)) >> int64(1))
        layout.level[cell] += int64(1)
        layout.older[cell] = (arrived - left) >> int64(1)
    layout.left[cell] = left
    return size


@kernel
def pick(ends: Any, layout: Layout, cells: Any, ticks: Any, base: Any, k: Any) -> None:
    """Walk the batch from its newest event and keep the ticks that end a bucket. Unit weights.

    Few events end a bucket, so four at a time are passed over on trial, and taken one by one only if one
    of them should not have been: about a sixth faster, in all, than asking each.
    """
    skip = layout.skip
    one = int64(1)
    for row in range(cells.shape[0]):
        line = cells[row]
        i = int64(line.shape[0]) - one
        while i >= int64(0):
            if i >= int64(3):
                a, b, c, d = line[i], line[i - 1], line[i - 2], line[i - 3]
                left_a = skip[a] - one
                skip[a] = left_a
                left_b = skip[b] - one
                skip[b] = left_b
                left_c = skip[c] - one
                skip[c] = left_c
                left_d = skip[d] - one
                skip[d] = left_d
                if (left_a | left_b | left_c | left_d) >= int64(0):
                    i -= int64(4)
                    continue
                skip[a] += one
                skip[b] += one
                skip[c] += one
                skip[d] += one
            for _ in range(min(i + one, int64(4))):
                cell = line[i]
                if skip[cell] == int64(0):
                    skip[cell] = end_bucket(ends, layout, cell, ticks[i] - base, k)
                skip[cell] -= one
                i -= one


@kernel
def pick_weighted(
    ends: Any, layout: Layout, cells: Any, ticks: Any, weights: Any, spread: Any, base: Any, k: Any
) -> None:
    """Do what `pick` does for events that stand for `weight` arrivals: on one tick, or (spread=1) on as many ticks."""
    skip = layout.skip
    for row in range(cells.shape[0]):
        for back in range(cells.shape[1]):
            i = cells.shape[1] - 1 - back
            cell = cells[row, i]
            passing = skip[cell]
            while passing < weights[i]:
                passing += end_bucket(ends, layout, cell, ticks[i] - spread * passing - base, k)
            skip[cell] = passing - weights[i]
