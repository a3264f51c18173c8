"""The rings of deterministic waves: what is kept of an arrival, and where, follows from its number.

Ticks lie cell after cell. Level j has the places j * ring .. (j + 1) * ring - 1 of a cell, for the newest odd multiples
of 2^j; the top level has twice as many, for all multiples of 2^top. A kept arrival is the end of a bucket, which holds
the arrivals since the next older kept one.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.cells.buckets import UNKNOWN
from cython.cimports.ecmsketch.kernels.packing import trailing_zeros
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t


@cython.cfunc
@cython.nogil
def get_tick(rings: cython.pointer(Rings), cell: int64_t, place: int64_t) -> int64_t:
    """The offset at one of a cell's places; 0 means that it never had one, or that it expired long ago."""
    at: int64_t = cell * rings[0].places + place
    if rings[0].wide:
        return cython.cast(cython.pointer(int64_t), rings[0].ticks)[at]
    return cython.cast(int64_t, cython.cast(cython.pointer(uint32_t), rings[0].ticks)[at])


@cython.cfunc
@cython.nogil
def put_tick(rings: cython.pointer(Rings), cell: int64_t, place: int64_t, tick: int64_t) -> cython.void:
    """Write an offset to one of a cell's places."""
    at: int64_t = cell * rings[0].places + place
    tick = max(tick, 0)
    if rings[0].wide:
        cython.cast(cython.pointer(int64_t), rings[0].ticks)[at] = tick
    else:
        cython.cast(cython.pointer(uint32_t), rings[0].ticks)[at] = cython.cast(uint32_t, tick)


@cython.cfunc
@cython.nogil
def last_lost(arrivals: int64_t, ring: int64_t, top: int64_t) -> int64_t:
    """The newest number that the rings no longer reach; everything up to it has expired."""
    return max((arrivals >> top) - 2 * ring, 0) << top


@cython.cfunc
@cython.nogil
def place_of(number: int64_t, ring: int64_t, top: int64_t) -> int64_t:
    """The place where an arrival's tick is kept."""
    level: int64_t = trailing_zeros(cython.cast(uint64_t, number))
    multiple: uint64_t
    if level >= top:
        multiple = cython.cast(uint64_t, number >> top)
        return top * ring + cython.cast(int64_t, multiple % cython.cast(uint64_t, 2 * ring))
    multiple = cython.cast(uint64_t, number >> (level + 1))
    return level * ring + cython.cast(int64_t, multiple % cython.cast(uint64_t, ring))


@cython.cfunc
@cython.nogil
def least_kept(arrivals: int64_t, level: int64_t, ring: int64_t) -> int64_t:
    """The least odd multiple of 2^level that is kept: `(2 (odd - ring) + 1) 2^level`, if `odd` of them have come."""
    odd: int64_t = ((arrivals >> level) + 1) >> 1
    return (2 * max(odd - ring, 0) + 1) << level


@cython.cfunc
@cython.nogil
def step_below(kept: cython.pointer(Kept), arrivals: int64_t, ring: int64_t) -> cython.void:
    """Go to the next older kept arrival, or to a number of 0 or less."""
    kept[0].number -= cython.cast(int64_t, 1) << kept[0].level
    while kept[0].number > 0 and kept[0].number < least_kept(arrivals, kept[0].level, ring):
        kept[0].level += 1
        kept[0].number = (kept[0].number >> kept[0].level) << kept[0].level


@cython.cfunc
@cython.nogil
def lowest_kept(arrivals: int64_t, buckets: int64_t, ring: int64_t) -> int64_t:
    """The number of the oldest of a cell's newest kept arrivals."""
    kept = cython.declare(Kept)
    _: int64_t
    if buckets <= 0:
        return arrivals + 1
    kept.number, kept.level = arrivals, 0
    for _ in range(buckets - 1):
        step_below(cython.address(kept), arrivals, ring)
    return kept.number


@cython.cfunc
@cython.nogil
def put_history(
    rings: cython.pointer(Rings), cell: int64_t, ends: cython.pointer(int64_t), buckets: int64_t
) -> cython.void:
    """Put the ends of a cell's newest buckets, oldest first, in their places."""
    kept = cython.declare(Kept)
    arrivals: int64_t = rings[0].arrivals[cell]
    kept.number, kept.level = arrivals, 0
    while buckets > 0 and kept.number > 0:
        buckets -= 1
        put_tick(rings, cell, place_of(kept.number, rings[0].ring, rings[0].top), ends[buckets])
        step_below(cython.address(kept), arrivals, rings[0].ring)


@cython.cfunc
@cython.nogil
def get_history(
    rings: cython.pointer(Rings), cell: int64_t, ends: cython.pointer(int64_t), sizes: cython.pointer(int64_t)
) -> int64_t:
    """Write a cell's buckets, oldest first, in at most as many elements as it has places; returns how many."""
    kept = cython.declare(Kept)
    arrivals: int64_t = rings[0].arrivals[cell]
    lost: int64_t = last_lost(arrivals, rings[0].ring, rings[0].top)
    filled: int64_t = 0
    number: int64_t
    tick: int64_t
    i: int64_t
    kept.number, kept.level = arrivals, 0
    while kept.number > lost:
        number = kept.number
        tick = get_tick(rings, cell, place_of(number, rings[0].ring, rings[0].top))
        step_below(cython.address(kept), arrivals, rings[0].ring)
        if tick > 0:
            ends[filled] = tick
            sizes[filled] = number - max(kept.number, 0)
            filled += 1
    for i in range(filled >> 1):
        ends[i], ends[filled - 1 - i] = ends[filled - 1 - i], ends[i]
        sizes[i], sizes[filled - 1 - i] = sizes[filled - 1 - i], sizes[i]
    return filled


@cython.cfunc
@cython.nogil
def count_history(rings: cython.pointer(Rings), cell: int64_t) -> int64_t:
    """How many buckets `get_history` writes."""
    kept = cython.declare(Kept)
    arrivals: int64_t = rings[0].arrivals[cell]
    lost: int64_t = last_lost(arrivals, rings[0].ring, rings[0].top)
    filled: int64_t = 0
    kept.number, kept.level = arrivals, 0
    while kept.number > lost:
        if get_tick(rings, cell, place_of(kept.number, rings[0].ring, rings[0].top)) > 0:
            filled += 1
        step_below(cython.address(kept), arrivals, rings[0].ring)
    return filled


@cython.cfunc
@cython.nogil
def oldest_after(
    rings: cython.pointer(Rings), cell: int64_t, since: int64_t, oldest: cython.pointer(Kept)
) -> cython.void:
    """Find the oldest kept arrival whose tick lies after `since`; its number is 0 if there is none.

    Goes level by level towards the past, until one reaches before `since`, and searches that one by bisection.
    """
    kept = cython.declare(Kept)
    ring: int64_t = rings[0].ring
    top: int64_t = rings[0].top
    arrivals: int64_t = rings[0].arrivals[cell]
    lost: int64_t = last_lost(arrivals, ring, top)
    lowest: int64_t
    low: int64_t
    high: int64_t
    middle: int64_t
    oldest[0].number, oldest[0].level = 0, 0
    kept.number, kept.level = arrivals, 0
    while kept.number > lost and get_tick(rings, cell, place_of(kept.number, ring, top)) > since:
        lowest = max(least_kept(arrivals, kept.level, ring), lost + 1)
        low, high = 0, (kept.number - lowest) >> kept.level
        while low < high:
            middle = (low + high + 1) >> 1
            if get_tick(rings, cell, place_of(kept.number - (middle << kept.level), ring, top)) > since:
                low = middle
            else:
                high = middle - 1
        oldest[0].number, oldest[0].level = kept.number - (low << kept.level), kept.level
        if oldest[0].number > lowest:
            break
        kept.number, kept.level = oldest[0].number, oldest[0].level
        step_below(cython.address(kept), arrivals, ring)


@cython.cfunc
@cython.nogil
def find_straddling(
    rings: cython.pointer(Rings), cell: int64_t, since: int64_t, limit: int64_t, found: cython.pointer(Straddling)
) -> cython.void:
    """Find the bucket in which a range begins: it starts where the next older one ends, unless that has expired."""
    kept = cython.declare(Kept)
    ring: int64_t = rings[0].ring
    arrivals: int64_t = rings[0].arrivals[cell]
    oldest: int64_t
    found[0].newer, found[0].size, found[0].start, found[0].end = 0, 0, UNKNOWN, 0
    oldest_after(rings, cell, since, cython.address(kept))
    if kept.number == 0:
        return
    oldest = kept.number
    found[0].end = get_tick(rings, cell, place_of(oldest, ring, rings[0].top))
    step_below(cython.address(kept), arrivals, ring)
    found[0].newer = arrivals - oldest
    found[0].size = oldest - max(kept.number, 0)
    if kept.number > last_lost(arrivals, ring, rings[0].top):
        since = get_tick(rings, cell, place_of(kept.number, ring, rings[0].top))
        if since > limit:
            found[0].start = since


@cython.cfunc
@cython.nogil
def push(
    rings: cython.pointer(Rings), cells: cython.pointer(uint32_t), ticks: cython.pointer(int64_t), count: int64_t,
    base: int64_t,
) -> cython.void:  # fmt: skip
    """Count events of weight one, in order: for each, one number is counted and one tick written."""
    arrivals = rings[0].arrivals
    ring: int64_t = rings[0].ring
    top: int64_t = rings[0].top
    places: int64_t = rings[0].places
    narrow = cython.cast(cython.pointer(uint32_t), rings[0].ticks)
    wide = cython.cast(cython.pointer(int64_t), rings[0].ticks)
    is_wide: cython.bint = rings[0].wide
    cell: int64_t
    number: int64_t
    at: int64_t
    i: int64_t
    for i in range(count):
        cell = cells[i]
        number = arrivals[cell] + 1
        arrivals[cell] = number
        at = cell * places + place_of(number, ring, top)
        if is_wide:
            wide[at] = max(ticks[i] - base, 0)
        else:
            narrow[at] = cython.cast(uint32_t, max(ticks[i] - base, 0))


@cython.cfunc
@cython.nogil
def push_weighted(
    rings: cython.pointer(Rings), cells: cython.pointer(uint32_t), ticks: cython.pointer(int64_t),
    weights: cython.pointer(int64_t), count: int64_t, spread: int64_t, base: int64_t,
) -> cython.void:  # fmt: skip
    """Count events that stand for `weight` arrivals: on one tick, or (spread=1) on as many ticks."""
    ring: int64_t = rings[0].ring
    top: int64_t = rings[0].top
    one: int64_t = 1
    cell: int64_t
    before: int64_t
    after: int64_t
    step: int64_t
    length: int64_t
    first: int64_t
    newest: int64_t
    number: int64_t
    level: int64_t
    i: int64_t
    for i in range(count):
        cell = cells[i]
        before = rings[0].arrivals[cell]
        after = before + weights[i]
        rings[0].arrivals[cell] = after
        for level in range(top + 1):
            step = one << level if level == top else 2 * one << level
            length = 2 * ring if level == top else ring
            first = 0 if level == top else one << level
            newest = after - ((after - first) & (step - 1))
            number = max(newest - step * (length - 1), first)
            if number <= before:
                number += ((before - number) // step + 1) * step
            while number <= newest:
                put_tick(rings, cell, place_of(number, ring, top), ticks[i] - spread * (after - number) - base)
                number += step


@cython.cfunc
@cython.nogil
def levels_needed(
    rings: cython.pointer(Rings), top: int64_t, coming: cython.pointer(int64_t), limit: int64_t,
    itself: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """The least top level, from `top` on, with which no arrival inside the window would be lost that is kept now.

    Writes how many of the coming arrivals of each cell get lost themselves.
    """
    ring: int64_t = rings[0].ring
    before: int64_t
    lost: int64_t
    kept_before: int64_t
    cell: int64_t = 0
    while cell < rings[0].cells:
        itself[cell] = 0
        if coming[cell] > 0:
            before = rings[0].arrivals[cell]
            lost = last_lost(before + coming[cell], ring, top)
            kept_before = last_lost(before, ring, rings[0].top)
            if lost > before:
                itself[cell] = lost - before
            elif (
                lost > max(kept_before, last_lost(before, ring, top))
                and get_tick(rings, cell, place_of(lost, ring, rings[0].top)) > limit
            ):
                top += 1
                cell = -1
        cell += 1
    return top


@cython.cfunc
@cython.nogil
def all_expired(
    cells: cython.pointer(uint32_t), ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t), count: int64_t,
    lost: cython.pointer(int64_t), spread: int64_t, limit: int64_t,
) -> cython.bint:  # fmt: skip
    """Whether the first lost[cell] arrivals of a batch have all expired at `limit`; uses `lost` up."""
    left: int64_t
    weight: int64_t
    tick: int64_t
    i: int64_t
    for i in range(count):
        left = lost[cells[i]]
        if left > 0:
            weight = 1 if weights == cython.NULL else weights[i]
            tick = ticks[i] if left >= weight else ticks[i] - spread * (weight - left)
            if tick > limit:
                return False
            lost[cells[i]] = left - weight
    return True
