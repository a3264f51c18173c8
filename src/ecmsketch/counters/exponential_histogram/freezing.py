"""Consecutive segments of one stream under each other, without added error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.counters.contract import Ints
from ecmsketch.counters.exponential_histogram.layout import Cells
from ecmsketch.kernels import kernel


@kernel
def frozen_history(state: Cells) -> Any:
    """The frozen buckets alone, as `_history` gives them."""
    cells = state.arrivals.shape[0]
    size = state.frozen_tail.copy()
    offset = np.zeros(cells + 1, np.int64)
    if state.frozen_offset.shape[0] > 0:
        offset[:] = state.frozen_offset
        for cell in range(cells):
            for i in range(offset[cell], offset[cell + 1] - 1):
                size[i] -= state.frozen_tail[i + 1]
    return offset, state.frozen_ends.copy(), size


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
def freeze(state: Cells, offset: Any, end: Any, size: Any, limit: Any, epsilon: Any) -> Any:
    """Join neighbours, newest first, while size <= 2 epsilon (1 + newer): paper section 3, invariant 1.

    Buckets that expired at `limit` are left out.
    """
    cells = offset.shape[0] - 1
    ends = np.empty_like(end)
    tail = np.empty_like(size)
    frozen_offset = np.zeros_like(offset)
    filled = int64(0)
    for cell in range(cells):
        newer = state.arrivals[cell]
        total = int64(0)
        at = offset[cell + 1] - 1
        begin = filled
        while at >= offset[cell] and end[at] > limit:
            joined, joined_end = size[at], end[at]
            at -= 1
            while (
                at >= offset[cell]
                and end[at] > limit
                and np.float64(joined + size[at]) <= 2.0 * epsilon * np.float64(newer + int64(1))
            ):
                joined += size[at]
                at -= 1
            newer += joined
            total += joined
            ends[filled], tail[filled] = joined_end, total
            filled += int64(1)
        ends[begin:filled] = ends[begin:filled][::-1].copy()
        tail[begin:filled] = tail[begin:filled][::-1].copy()
        frozen_offset[cell + 1] = filled
    return ends[:filled].copy(), tail[:filled].copy(), frozen_offset
