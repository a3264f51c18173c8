"""Frozen buckets: they hold older segments of a stream below its live buckets, without added error.

Their sizes are explicit, since older segments end in small buckets. They are older than all live buckets, so later
arrivals only make them smaller in comparison with everything newer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.counters.buckets.straddling import UNKNOWN, Straddling, first_after
from ecmsketch.counters.contract import Ints
from ecmsketch.kernels import kernel


class History(NamedTuple):
    """Cell c has buckets offset[c] .. offset[c+1]-1, oldest first, known by their end and size."""

    offset: Ints
    end: Ints
    size: Ints


class Frozen(NamedTuple):
    """A history whose `tail` counts a bucket and all newer frozen ones of its cell. If empty, all arrays are empty."""

    offset: Ints
    end: Ints
    tail: Ints


def nothing_frozen() -> Frozen:
    """No frozen buckets."""
    none = np.empty(0, np.int64)
    return Frozen(none, none, none)


def frozen_history(frozen: Frozen, cells: int) -> History:
    """Frozen buckets with their sizes."""
    if not len(frozen.end):
        return History(np.zeros(cells + 1, np.int64), frozen.end, frozen.tail)
    size = frozen.tail.copy()
    size[:-1] -= frozen.tail[1:]
    newest = frozen.offset[1:][np.diff(frozen.offset) > 0] - 1
    size[newest] = frozen.tail[newest]
    return History(frozen.offset, frozen.end, size)


def chain(histories: list[History]) -> History:
    """Histories of consecutive segments as one: each cell's buckets one after the other."""
    cells = len(histories[0].offset) - 1
    owner = np.concatenate([np.repeat(np.arange(cells), np.diff(history.offset)) for history in histories])
    order = np.argsort(owner, kind="stable")
    offset = np.zeros(cells + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=cells), out=offset[1:])
    end = np.concatenate([history.end for history in histories])[order]
    size = np.concatenate([history.size for history in histories])[order]
    return History(offset, end, size)


def freeze(arrivals: Ints, history: History, limit: int, epsilon: float) -> Frozen:
    """A history as frozen buckets under a live part with that many `arrivals` per cell."""
    ends, tail, offset = _join(arrivals, history.offset, history.end, history.size, limit, epsilon)
    return Frozen(offset, ends, tail) if len(ends) else nothing_frozen()


@kernel
def _join(arrivals: Any, offset: Any, end: Any, size: Any, limit: Any, epsilon: Any) -> Any:
    """Join neighbours, newest first, while size <= 2 epsilon (1 + newer): paper section 3, invariant 1.

    Buckets that expired at `limit` are left out. Joins in place, towards each cell's new end.
    """
    cells = offset.shape[0] - 1
    tail = np.empty(size.shape[0], np.int64)
    joined_offset = np.zeros(cells + 1, np.int64)
    for cell in range(cells):
        newer, at = arrivals[cell], offset[cell + 1] - int64(1)
        into = offset[cell + 1]
        while at >= offset[cell] and end[at] > limit:
            joined, joined_end = size[at], end[at]
            at -= int64(1)
            most = 2.0 * epsilon * np.float64(newer + int64(1))
            while at >= offset[cell] and end[at] > limit and np.float64(joined + size[at]) <= most:
                joined += size[at]
                at -= int64(1)
            newer += joined
            into -= int64(1)
            end[into], tail[into] = joined_end, newer - arrivals[cell]
        joined_offset[cell + 1] = joined_offset[cell] + offset[cell + 1] - into
    ends = np.empty(joined_offset[cells], np.int64)
    tails = np.empty(joined_offset[cells], np.int64)
    for cell in range(cells):
        shift = offset[cell + 1] - joined_offset[cell + 1]
        for i in range(joined_offset[cell], joined_offset[cell + 1]):
            ends[i], tails[i] = end[i + shift], tail[i + shift]
    return ends, tails, joined_offset


def override_by_frozen(
    found: Straddling, frozen: Frozen, arrivals: Ints, cells: NDArray[np.uint32], since: Ints, limit: int
) -> None:
    """Put a frozen bucket in place of the live one where a range begins in it; elsewhere set the live one's start."""
    _override(found, frozen, arrivals, cells, since, limit)


@kernel
def _override(found: Any, frozen: Any, arrivals: Any, cells: Any, since: Any, limit: Any) -> None:
    for i in range(cells.shape[0]):
        cell = int64(cells[i])
        low, high = frozen.offset[cell], frozen.offset[cell + 1]
        at = first_after(frozen.end, low, high, since[i])
        start_known = at > low and frozen.end[at - 1] > limit
        if at < high:
            newer = frozen.tail[at + 1] if at + 1 < high else int64(0)
            found.newer[i] = arrivals[cell] + newer
            found.size[i] = frozen.tail[at] - newer
            found.start[i] = frozen.end[at - 1] if start_known else int64(UNKNOWN)
            found.end[i] = frozen.end[at]
        elif start_known and found.start[i] == int64(UNKNOWN):
            found.start[i] = frozen.end[at - 1]
