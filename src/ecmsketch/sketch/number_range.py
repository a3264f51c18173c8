"""A range of numbers in the tree of prefixes: which prefixes lie in it, and what their counts say about its sum.

Only prefixes that an end of the range cuts are looked into. They form one path for each end, and the children of those
paths make up all numbers. The children are in the range, outside it, or cut themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.config.prefix_config import Level
from ecmsketch.kernels import kernel
from ecmsketch.sketch.projection import project

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class CutPrefixes(NamedTuple):
    """The prefixes that the ends of a range cut, each after the one that it lies in. The first is the empty prefix."""

    begin: Ints
    end: Ints
    """The children from `begin` to `end` - 1 lie in the range."""
    parent: Ints
    """The place in this list of the prefix that it lies in, -1 for the first."""
    child: Ints
    """As which child it lies in that prefix."""


class Sides(NamedTuple):
    """Bounds of what is inside a range of numbers, and of what is outside."""

    inside_least: float
    inside_most: float
    outside_least: float
    outside_most: float


def cut_prefixes(levels: tuple[Level, ...], low: int, end: int) -> tuple[CutPrefixes, list[tuple[Level, list[int]]]]:
    """The prefixes that the range low .. end - 1 cuts; and the same as numbers, with the level of their children."""
    rows: list[tuple[int, int, int, int]] = []
    by_level = []
    waiting = [(0, -1, 0)]
    for before, level in zip((0, *(above.bits for above in levels[:-1])), levels, strict=True):
        fan, drop = 1 << (level.bits - before), level.drop
        first, last = -(-low >> drop), end >> drop
        cut = {x >> drop for x in (low, end) if x & ((1 << drop) - 1)}
        by_level.append((level, [prefix for prefix, _, _ in waiting]))
        following = []
        for prefix, parent, child in waiting:
            base = prefix * fan
            begin = min(max(first - base, 0), fan)
            rows.append((begin, max(min(last - base, fan), begin), parent, child))
            following += [(x, len(rows) - 1, x - base) for x in sorted(cut) if 0 <= x - base < fan]
        waiting = following
        if not waiting:
            break
    return CutPrefixes(*np.array(rows, np.int64).T.copy()), by_level


@kernel
def project_range(cut: Any, value: Any, lower: Any, upper: Any, total: Any) -> Any:
    """The sum of a range. Row i has the children of the i-th cut prefix; every row is made to add up to its parent."""
    found = np.empty_like(value)
    result = 0.0
    for i in range(value.shape[0]):
        parent = total if cut.parent[i] < 0 else found[cut.parent[i], cut.child[i]]
        project(value[i], lower[i], upper[i], parent, found[i])
        for j in range(cut.begin[i], cut.end[i]):
            result += found[i, j]
    return result


@kernel
def bound_range(cut: Any, lower: Any, upper: Any, least: Any, most: Any, paths: Any) -> Any:
    """Bounds of the sums inside and outside a range: (inside least, most, outside least, most).

    `lower` and `upper` bound the children of each cut prefix, `least` and `most` all arrivals. Without `paths`, bounds
    of the cut prefixes themselves are left out. No better bounds follow from these (docs/guarantees.md).
    """
    count = lower.shape[0]
    sums = np.zeros((count, 6))  # inside least, most; outside least, most; both least, most
    is_cut = np.zeros(lower.shape, np.bool_)
    for i in range(1, count):
        is_cut[cut.parent[i], cut.child[i]] = True
    for i in range(count - 1, -1, -1):
        for j in range(lower.shape[1]):
            if not is_cut[i, j]:
                side = int64(0) if cut.begin[i] <= j < cut.end[i] else int64(2)
                for place in (side, int64(4)):
                    sums[i, place] += lower[i, j]
                    sums[i, place + int64(1)] += upper[i, j]
        at, child = cut.parent[i], cut.child[i]
        if at < 0:
            _meet(sums[i], least, most)
        else:
            if paths:
                _meet(sums[i], lower[at, child], upper[at, child])
            sums[at] += sums[i]
    return sums[0, 0], sums[0, 1], sums[0, 2], sums[0, 3]


@kernel
def _meet(sums: Any, least: Any, most: Any) -> None:
    """Let both sides together be from `least` to `most`, and narrow each side by what the other leaves it."""
    sums[4] = max(sums[4], least)
    sums[5] = min(sums[5], most)
    inside, outside = sums[0], sums[2]
    sums[0] = max(inside, sums[4] - sums[3])
    sums[2] = max(outside, sums[4] - sums[1])
    sums[1] = min(sums[1], sums[5] - outside)
    sums[3] = min(sums[3], sums[5] - inside)
