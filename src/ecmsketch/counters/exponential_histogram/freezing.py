"""Consecutive segments of one stream under each other, without added error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.counters.contract import Ints
from ecmsketch.counters.exponential_histogram.layout import Cells
from ecmsketch.kernels import kernel


def frozen_history(state: Cells) -> tuple[Ints, Ints, Ints]:
    """The frozen buckets alone, as `history` gives them."""
    if not len(state.frozen_ends):
        return np.zeros(len(state.arrivals) + 1, np.int64), state.frozen_ends, state.frozen_tail
    size = state.frozen_tail.copy()
    size[:-1] -= state.frozen_tail[1:]
    newest = state.frozen_offset[1:][np.diff(state.frozen_offset) > 0] - 1
    size[newest] = state.frozen_tail[newest]
    return state.frozen_offset, state.frozen_ends, size


def chain(histories: list[tuple[Ints, Ints, Ints]], cells: int) -> tuple[Ints, Ints, Ints]:
    """Histories of consecutive segments as one: each cell's buckets one after the other."""
    owner = np.concatenate([np.repeat(np.arange(cells), np.diff(offset)) for offset, _, _ in histories])
    order = np.argsort(owner, kind="stable")
    offset = np.zeros(cells + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=cells), out=offset[1:])
    return (
        offset,
        np.concatenate([end for _, end, _ in histories])[order],
        np.concatenate([size for _, _, size in histories])[order],
    )


@kernel
def freeze(arrivals: Any, offset: Any, end: Any, size: Any, limit: Any, epsilon: Any) -> Any:
    """Join neighbours, newest first, while size <= 2 epsilon (1 + newer): paper section 3, invariant 1.

    `arrivals` are newer than all of them, per cell. Buckets that expired at `limit` are left out.
    Returns (ends, tail, offset) as `Cells` keeps them. Joins in place, towards each cell's new end.
    """
    cells = offset.shape[0] - 1
    tail = np.empty(size.shape[0], np.int64)
    frozen_offset = np.zeros(cells + 1, np.int64)
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
        frozen_offset[cell + 1] = frozen_offset[cell] + offset[cell + 1] - into
    ends = np.empty(frozen_offset[cells], np.int64)
    tails = np.empty(frozen_offset[cells], np.int64)
    for cell in range(cells):
        shift = offset[cell + 1] - frozen_offset[cell + 1]
        for i in range(frozen_offset[cell], frozen_offset[cell + 1]):
            ends[i], tails[i] = end[i + shift], tail[i + shift]
    return ends, tails, frozen_offset
