"""Numbers in the tree of prefixes: ranges and quantiles from the counts of prefixes at several levels.

A range: only prefixes that an end of the range cuts are looked into. They form one path for each end, and the children
of those paths make up all numbers. The children are in the range, outside it, or cut themselves.

Quantiles: descents from the empty prefix to the numbers at which counts reach their targets, many at once. Some follow
values, which are made to add up to those of the prefixes above. Others follow bounds, from the left or from the right:
no number that they pass can be the one where the exact counts reach the target.

Rows of counts have one child of a prefix after the other; all rows have as many.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import bytes_of, doubles, int64s, uint64s
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t, uint64_t
from numpy.typing import NDArray

from ecmsketch.config.prefix_config import Level

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


class Descents(NamedTuple):
    """Where some descents are. Each is at a prefix, and has passed all numbers on one side of it."""

    prefix: NDArray[np.uint64]
    target: Floats
    passed: Floats
    """The count of the numbers that were passed; with bounds, at most that."""
    reached: Floats
    """With bounds: at most so many are passed or have the prefix."""
    own: Floats
    """The count of the prefix itself; with bounds, at most that."""
    from_right: NDArray[np.bool_]

    @classmethod
    def start(cls, targets: Floats, total: float, from_right: NDArray[np.bool_] | None = None) -> Descents:
        """Descents that are at the empty prefix, which counts all arrivals."""
        count = len(targets)
        sides = np.zeros(count, np.bool_) if from_right is None else from_right
        every = np.full(count, total)
        return cls(np.zeros(count, np.uint64), targets, np.zeros(count), every, every.copy(), sides)


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


def project(value: Floats, lower: Floats, upper: Floats, parent: float) -> Floats:
    """The children's values, changed so that they add up to the parent.

    Collisions add about the same to all children of a prefix. So one amount is taken from all of them, and none falls
    below what it certainly is. It is the least change, as a sum of squares, that makes them add up. If the values add
    up to too little, each goes the same part of the way to its upper bound. If even the lower bounds add up to too
    much, they are scaled down: of a parent that is 0 all children are 0.
    """
    value, lower, upper = (np.ascontiguousarray(column, np.float64) for column in (value, lower, upper))
    found = np.empty_like(value)
    check_rows(value, lower, upper)
    project_row(doubles(value), doubles(lower), doubles(upper), value.size, parent, doubles(found))
    return found


def project_range(cut: CutPrefixes, value: Floats, lower: Floats, upper: Floats, total: float) -> float:
    """The sum of a range. Row i has the children of the i-th cut prefix; every row is made to add up to its parent."""
    value, lower, upper = (np.ascontiguousarray(column, np.float64) for column in (value, lower, upper))
    found = np.empty_like(value)
    check_rows(value, lower, upper)
    paths = cython.declare(Cut)
    point_at(cython.address(paths), cut, value)
    begin, end, above, child = paths.begin, paths.end, paths.parent, paths.child
    values, least, most, target = doubles(value), doubles(lower), doubles(upper), doubles(found)
    fan: int64_t = value.shape[1]
    rows: int64_t = value.shape[0]
    result: cython.double = 0.0
    parent: cython.double
    i: int64_t
    j: int64_t
    for i in range(rows):
        parent = total
        if above[i] >= 0:
            parent = target[above[i] * fan + child[i]]
        project_row(values + i * fan, least + i * fan, most + i * fan, fan, parent, target + i * fan)
        for j in range(begin[i], end[i]):
            result += target[i * fan + j]
    return result


def bound_range(
    cut: CutPrefixes, lower: Floats, upper: Floats, least: float, most: float, paths: bool
) -> tuple[float, float, float, float]:
    """Bounds of the sums inside and outside a range: (inside least, most, outside least, most).

    `lower` and `upper` bound the children of each cut prefix, `least` and `most` all arrivals. Without `paths`, bounds
    of the cut prefixes themselves are left out. No better bounds follow from these (docs/guarantees.md).
    """
    lower, upper = np.ascontiguousarray(lower, np.float64), np.ascontiguousarray(upper, np.float64)
    check_rows(lower, lower, upper)
    ends = cython.declare(Cut)
    point_at(cython.address(ends), cut, lower)
    begin, end, above, child = ends.begin, ends.end, ends.parent, ends.child
    is_cut, sums = np.zeros(lower.shape, np.uint8), np.zeros(6 * lower.shape[0])
    low, high, marks, both = doubles(lower), doubles(upper), bytes_of(is_cut), doubles(sums)
    fan: int64_t = lower.shape[1]
    with_paths: cython.bint = paths
    row: cython.pointer(cython.double)
    at: int64_t
    side: int64_t
    i: int64_t
    j: int64_t
    for i in range(1, lower.shape[0]):
        marks[above[i] * fan + child[i]] = 1
    for i in range(lower.shape[0] - 1, -1, -1):
        row = both + 6 * i  # inside least, most; outside least, most; both least, most
        for j in range(fan):
            if not marks[i * fan + j]:
                side = 0 if begin[i] <= j < end[i] else 2
                row[side] += low[i * fan + j]
                row[side + 1] += high[i * fan + j]
                row[4] += low[i * fan + j]
                row[5] += high[i * fan + j]
        if above[i] < 0:
            meet(row, least, most)
            continue
        at = above[i] * fan + child[i]
        if with_paths:
            meet(row, low[at], high[at])
        for j in range(6):
            both[6 * above[i] + j] += row[j]
    return both[0], both[1], both[2], both[3]


def follow_values(descents: Descents, digit: int, value: Floats, lower: Floats, upper: Floats) -> None:
    """Go on to the child where values, added up from the left, reach the target. Row i is for descent i."""
    value, lower, upper = (np.ascontiguousarray(column, np.float64) for column in (value, lower, upper))
    check_rows(value, lower, upper)
    check_descents(descents, value)
    prefix, target, own = uint64s(descents.prefix), doubles(descents.target), doubles(descents.own)
    passing = doubles(descents.passed)
    values, least, most = doubles(value), doubles(lower), doubles(upper)
    fan: int64_t = value.shape[1]
    found = np.empty(fan)
    children = doubles(found)
    shift: uint64_t = digit
    before: cython.double
    passed: cython.double
    at: int64_t
    i: int64_t
    j: int64_t
    for i in range(value.shape[0]):
        project_row(values + i * fan, least + i * fan, most + i * fan, fan, own[i], children)
        at = 0
        passed = passing[i]
        before = passed
        for j in range(fan):
            if children[j] > 0.0:
                at = j  # the last of them if rounding leaves the target out of reach
                before = passed
                passed += children[j]
                if passed >= target[i]:
                    break
        passing[i] = before
        own[i] = children[at]
        prefix[i] = cython.cast(uint64_t, prefix[i] << shift) | cython.cast(uint64_t, at)


def follow_bounds(descents: Descents, digit: int, lower: Floats, upper: Floats) -> None:
    """Go on to the first child at whose end the target may be reached. Row i is for descent i.

    In a child and its siblings before it at most their upper bounds came, and at most what the parent leaves when the
    siblings after it have their lower bounds.
    """
    lower, upper = np.ascontiguousarray(lower, np.float64), np.ascontiguousarray(upper, np.float64)
    check_rows(lower, lower, upper)
    check_descents(descents, lower)
    prefix, target, own = uint64s(descents.prefix), doubles(descents.target), doubles(descents.own)
    passed, reached, from_right = doubles(descents.passed), doubles(descents.reached), bytes_of(descents.from_right)
    low, high = doubles(lower), doubles(upper)
    fan: int64_t = lower.shape[1]
    shift: uint64_t = digit
    least: cython.double
    most: cython.double
    after: cython.double
    end: cython.double
    before: cython.double
    tolerance: cython.double
    at: int64_t
    child: int64_t
    step: int64_t
    i: int64_t
    for i in range(lower.shape[0]):
        least = sum_of(low + i * fan, fan)
        most = 0.0
        after = least
        end = passed[i]
        before = passed[i]
        at = 0
        tolerance = reached[i] * 2.0**-48 if reached[i] < INFINITY else 0.0
        for step in range(fan):
            child = fan - 1 - step if from_right[i] else step
            if step == 0 or high[i * fan + child] > 0.0:  # the last of them if the target is out of reach
                at = child
                before = end
            most += high[i * fan + child]
            after = max(after - low[i * fan + child], 0.0) if step < fan - 1 else 0.0
            end = min(passed[i] + min(most, own[i] - after), reached[i] - after)
            if end >= target[i] - tolerance:
                break
        own[i] = min(high[i * fan + at], own[i] - (least - low[i * fan + at]))
        passed[i] = before
        reached[i] = end
        prefix[i] = cython.cast(uint64_t, prefix[i] << shift) | cython.cast(uint64_t, at)


@cython.cfunc
@cython.nogil
def sum_of(numbers: cython.pointer(cython.double), count: int64_t) -> cython.double:
    """Numbers added up in order."""
    total: cython.double = 0.0
    i: int64_t
    for i in range(count):
        total += numbers[i]
    return total


@cython.cfunc
@cython.nogil
def project_row(
    value: cython.pointer(cython.double), lower: cython.pointer(cython.double), upper: cython.pointer(cython.double),
    count: int64_t, parent: cython.double, found: cython.pointer(cython.double),
) -> cython.void:  # fmt: skip
    """Write into `found` what `project` returns."""
    have: cython.double = sum_of(value, count)
    least: cython.double = sum_of(lower, count)
    most: cython.double = sum_of(upper, count)
    part: cython.double
    amount: cython.double
    i: int64_t
    if have <= parent:
        part = min((parent - have) / (most - have), 1.0) if most > have else 0.0
        for i in range(count):
            found[i] = value[i] + part * (upper[i] - value[i])
    elif least >= parent:
        for i in range(count):
            found[i] = lower[i] * (parent / least) if least > 0.0 else 0.0
    else:
        amount = common_amount(value, lower, count, parent)
        for i in range(count):
            found[i] = max(value[i] - amount, lower[i])


@cython.cfunc
@cython.nogil
def common_amount(
    value: cython.pointer(cython.double), lower: cython.pointer(cython.double), count: int64_t, parent: cython.double
) -> cython.double:
    """The amount that leaves `parent` in all, if it is taken from every value, down to its lower bound.

    Those that an amount brings down to their lower bounds stay there, and the others must give more. So the amount only
    grows, and each round but the last fixes at least one value.
    """
    amount: cython.double = 0.0
    given: cython.double
    fixed: int64_t = -1
    free: int64_t
    now_fixed: int64_t
    i: int64_t
    while True:
        given = -parent
        free = 0
        now_fixed = 0
        for i in range(count):
            if value[i] - amount <= lower[i] and fixed >= 0:
                given += lower[i]
                now_fixed += 1
            else:
                given += value[i]
                free += 1
        if now_fixed == fixed or free == 0:
            return amount
        fixed = now_fixed
        amount = max(given / cython.cast(cython.double, free), amount)


@cython.cfunc
@cython.nogil
def meet(sums: cython.pointer(cython.double), least: cython.double, most: cython.double) -> cython.void:
    """Let both sides together be from `least` to `most`, and narrow each side by what the other leaves it."""
    inside: cython.double = sums[0]
    outside: cython.double = sums[2]
    sums[4] = max(sums[4], least)
    sums[5] = min(sums[5], most)
    sums[0] = max(inside, sums[4] - sums[3])
    sums[2] = max(outside, sums[4] - sums[1])
    sums[1] = min(sums[1], sums[5] - outside)
    sums[3] = min(sums[3], sums[5] - inside)


@cython.cfunc
@cython.exceptval(-1, check=False)
def check_rows(value: object, lower: object, upper: object) -> cython.int:
    """Refuse rows of different shapes."""
    if not value.shape == lower.shape == upper.shape:
        raise ValueError("lower, upper: expected bounds for every value")
    return 0


@cython.cfunc
@cython.exceptval(-1, check=False)
def point_at(paths: cython.pointer(Cut), cut: object, rows: object) -> cython.int:
    """Point at the columns of cut prefixes; refuse those that are not of these rows."""
    begin, end, parent, child = cut
    count: int64_t = len(rows)
    fan: int64_t = rows.shape[1]
    wrong: int64_t = 0
    i: int64_t
    if not (0 < count == len(begin) == len(end) == len(parent) == len(child)):
        raise ValueError("cut: expected a row for every cut prefix")
    paths[0].begin = int64s(begin)
    paths[0].end = int64s(end)
    paths[0].parent = int64s(parent)
    paths[0].child = int64s(child)
    for i in range(count):
        wrong += 1 if paths[0].begin[i] < 0 or paths[0].end[i] > fan or paths[0].parent[i] >= i else 0
        wrong += 1 if paths[0].child[i] < 0 or paths[0].child[i] >= fan or (paths[0].parent[i] < 0 and i > 0) else 0
    if wrong:
        raise ValueError("cut: expected children of prefixes before them")
    return 0


@cython.cfunc
@cython.exceptval(-1, check=False)
def check_descents(descents: object, rows: object) -> cython.int:
    """Refuse descents that are not those of the rows."""
    if not all(len(column) == len(rows) for column in descents) or rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError("descents: expected a row for each")
    return 0
