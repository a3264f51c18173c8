"""A range of time over slices: those that lie inside it, and those that it cuts.

A few slices inside a range are read one by one. Many are added up by age first: one table for all with as many newer
arrivals, to a power of two. An item's count is at most the least of its cells in each of these tables, added up. That
is never above the least cell of all tables added up, and far below it if items come in bursts.

Of a slice that is cut, a share is counted: that of its arrivals that came inside the range, by its profile. It is kept
within a slack of both ends, so that all cut slices together err by at most carried (S + 1) arrivals, if S surely came
after the start of the range.

Locating a range costs O(slices). Many ranges of one stream are narrowed first, so that each looks at few slices.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.profile import share_until
from cython.cimports.ecmsketch.engines.slices.types import Plan, Slice
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.libc.math import log2
from cython.cimports.libc.stdint import int32_t, int64_t

FEW = cython.declare(int64_t, 16)
"""So many slices inside a range are read one by one."""
OUTSIDE = cython.declare(int32_t, -1)
CUT = cython.declare(int32_t, -2)
ONE_BY_ONE = cython.declare(int32_t, 64)
"""A role below this is an age; from here on it is this and a slot."""


@cython.cfunc
@cython.nogil
def new_range(count: int64_t, found: cython.pointer(Range)) -> cython.bint:
    """Memory for a range over so many slices; False if there is none."""
    found[0].slots = cython.cast(cython.pointer(int64_t), allocate(36 * count))
    if found[0].slots == cython.NULL:
        return False
    found[0].shares = cython.cast(cython.pointer(cython.double), found[0].slots + count)
    found[0].slack = found[0].shares + count
    found[0].most = found[0].slack + count
    found[0].roles = cython.cast(cython.pointer(int32_t), found[0].most + count)
    return True


@cython.cfunc
@cython.nogil
def locate(
    slices: cython.pointer(Slice), plan: cython.pointer(Plan), half: cython.bint, later: int64_t,
    found: cython.pointer(Range),
) -> cython.void:  # fmt: skip
    """Find the role of each slice, and what those that are cut may add, if so many arrivals of events are later.

    An age is the logarithm of newer arrivals, rounded down.
    """
    since: int64_t = found[0].since
    until: int64_t = found[0].until
    newer: int64_t = found[0].newer
    cut: int64_t = 0
    arrivals: int64_t
    slot: int64_t
    later += newer
    found[0].whole, found[0].inside = 0, 0
    for slot in range(found[0].high - 1, found[0].low - 1, -1):
        arrivals = slices[slot].arrivals
        found[0].roles[slot] = OUTSIDE
        if slices[slot].first > since:
            later += arrivals
        if slices[slot].last > since and slices[slot].first <= until:
            if slices[slot].first > since and slices[slot].last <= until:
                found[0].roles[slot] = cython.cast(int32_t, log2(cython.cast(cython.double, newer + 1)))
                found[0].inside += arrivals
                found[0].whole += 1
            else:
                found[0].roles[slot] = CUT
                cut += arrivals
        newer += arrivals
    weigh_cuts(slices, plan, half, later, cut, found)


@cython.cfunc
@cython.nogil
def weigh_cuts(
    slices: cython.pointer(Slice), plan: cython.pointer(Plan), half: cython.bint, later: int64_t, cut: int64_t,
    found: cython.pointer(Range),
) -> cython.void:  # fmt: skip
    """What slices that are cut may add: their share, slack and most. They have `cut` arrivals together."""
    since: int64_t = found[0].since
    until: int64_t = found[0].until
    at: int64_t = 0
    arrivals: int64_t
    slot: int64_t
    spare: cython.double = max(
        0.5,
        plan[0].carried * cython.cast(cython.double, later + 1) / cython.cast(cython.double, max(cut, 1)),
    )
    for slot in range(found[0].low, found[0].high):
        if found[0].roles[slot] >= 0 and found[0].whole <= FEW:
            found[0].roles[slot] = ONE_BY_ONE + cython.cast(int32_t, slot)
        elif found[0].roles[slot] == CUT:
            arrivals = slices[slot].arrivals
            found[0].slots[at] = slot
            found[0].slack[at] = cython.cast(cython.double, arrivals) * spare
            if half:
                found[0].shares[at] = 0.5
            else:
                found[0].shares[at] = share_until(slices, slot, until) - share_until(slices, slot, since)
            if plan[0].counted:  # each tick is one arrival
                arrivals = min(arrivals, min(slices[slot].last, until) - max(slices[slot].first - 1, since))
            found[0].most[at] = cython.cast(cython.double, arrivals)
            at += 1
    found[0].cuts = at


@cython.cfunc
@cython.nogil
def sum_newer(
    slices: cython.pointer(Slice), count: int64_t, newer: cython.pointer(int64_t), firsts: cython.pointer(int64_t)
) -> cython.void:
    """Write arrivals of the slices from each slot on, and the first tick of any of them."""
    slot: int64_t
    newer[count], firsts[count] = 0, 2**63 - 1
    for slot in range(count - 1, -1, -1):
        newer[slot] = newer[slot + 1] + slices[slot].arrivals
        firsts[slot] = min(firsts[slot + 1], slices[slot].first)


@cython.cfunc
@cython.nogil
def narrow(
    slices: cython.pointer(Slice), count: int64_t, newer: cython.pointer(int64_t), firsts: cython.pointer(int64_t),
    found: cython.pointer(Range),
) -> cython.void:  # fmt: skip
    """Set which slices a range needs to look at. Slices are sorted by their last ticks, and `firsts` ascend."""
    low: int64_t = 0
    high: int64_t = count
    middle: int64_t
    while low < high:
        middle = (low + high) // 2
        if slices[middle].last <= found[0].since:
            low = middle + 1
        else:
            high = middle
    found[0].low = low
    high = count
    while low < high:
        middle = (low + high) // 2
        if firsts[middle] <= found[0].until:
            low = middle + 1
        else:
            high = middle
    found[0].high, found[0].newer = low, newer[low]


@cython.cfunc
@cython.nogil
def sum_pairwise(numbers: cython.pointer(cython.double), count: int64_t, stride: int64_t) -> cython.double:
    """Add numbers up as numpy does: eight partial sums, and halves if there are many."""
    part = cython.declare(cython.double[8])
    total: cython.double = 0.0
    half: int64_t
    i: int64_t
    k: int64_t
    if count < 8:
        for i in range(count):
            total += numbers[i * stride]
        return total
    if count > 128:
        half = count // 2
        half -= half % 8
        return sum_pairwise(numbers, half, stride) + sum_pairwise(numbers + half * stride, count - half, stride)
    for k in range(8):
        part[k] = numbers[k * stride]
    for i in range(8, count - count % 8, 8):
        for k in range(8):
            part[k] += numbers[(i + k) * stride]
    total = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]))
    for i in range(count - count % 8, count):
        total += numbers[i * stride]
    return total
