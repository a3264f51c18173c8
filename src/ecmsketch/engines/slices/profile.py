"""What a slice knows about its arrivals: first and last tick, and the ticks by which each eighth of them had come.

In between, arrivals are taken to be spread evenly. Only values depend on it, bounds do not.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.slices.types import Batch, Slice
from cython.cimports.ecmsketch.kernels.memory import doubles, int64s
from cython.cimports.libc.stdint import int64_t
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PARTS = cython.declare(int64_t, 8)
SLICE_WORDS = cython.declare(int64_t, 15)
"""Words of 64 bits that a slice takes."""


@cython.cfunc
@cython.nogil
def share_until(slices: cython.pointer(Slice), slot: int64_t, tick: int64_t) -> cython.double:
    """The share of a slice's arrivals that came at ticks up to `tick`."""
    begin: int64_t = slices[slot].first - 1
    end: int64_t
    part: int64_t
    inside: cython.double
    if tick <= begin:
        return 0.0
    if tick >= slices[slot].last:
        return 1.0
    for part in range(PARTS):
        end = slices[slot].last if part == PARTS - 1 else slices[slot].knots[part]
        if tick < end:
            inside = cython.cast(cython.double, tick - begin) / cython.cast(cython.double, end - begin)
            return (cython.cast(cython.double, part) + inside) / cython.cast(cython.double, PARTS)
        begin = end
    return 1.0


@cython.cfunc
@cython.nogil
def tick_of_share(slices: cython.pointer(Slice), slot: int64_t, share: cython.double) -> int64_t:
    """The tick by which a share of a slice's arrivals had come."""
    part: int64_t = min(cython.cast(int64_t, share * cython.cast(cython.double, PARTS)), PARTS - 1)
    begin: int64_t = slices[slot].first - 1 if part == 0 else slices[slot].knots[part - 1]
    end: int64_t = slices[slot].last if part == PARTS - 1 else slices[slot].knots[part]
    inside: cython.double = share * cython.cast(cython.double, PARTS) - cython.cast(cython.double, part)
    return begin + cython.cast(int64_t, cython.cast(cython.double, end - begin) * inside + 0.5)


@cython.cfunc
@cython.nogil
def weigh(events: cython.pointer(Batch), begin: int64_t, end: int64_t) -> int64_t:
    """How many arrivals some events stand for."""
    arrivals: int64_t = 0
    i: int64_t
    if events[0].weights == cython.NULL:
        return end - begin
    for i in range(begin, end):
        arrivals += events[0].weights[i]
    return arrivals


@cython.cfunc
@cython.nogil
def weight_of(events: cython.pointer(Batch), event: int64_t) -> int64_t:
    """How many arrivals an event stands for."""
    return 1 if events[0].weights == cython.NULL else events[0].weights[event]


@cython.cfunc
@cython.nogil
def fill_slice(
    events: cython.pointer(Batch), begin: int64_t, end: int64_t, counted: int64_t, target: cython.pointer(Slice)
) -> cython.void:
    """Write a slice of the events begin .. end - 1, which are sorted by tick and not counted yet.

    If ticks number arrivals (`counted`), an event of weight w begins w - 1 ticks before its own.
    """
    arrivals: int64_t = weigh(events, begin, end)
    at: int64_t = begin
    came: int64_t
    part: int64_t
    target[0].first, target[0].last, target[0].arrivals = events[0].ticks[begin], events[0].ticks[end - 1], arrivals
    target[0].table = cython.NULL
    target[0].low, target[0].high, target[0].begin, target[0].end = 0, 0, begin, end
    if events[0].weights == cython.NULL:
        for part in range(PARTS - 1):
            at = begin + (arrivals * (part + 1) + PARTS - 1) // PARTS - 1
            target[0].knots[part] = events[0].ticks[at]
        return
    if counted:
        target[0].first -= events[0].weights[begin] - 1
    came = events[0].weights[begin]
    for part in range(PARTS - 1):
        while cython.cast(cython.double, came) < eighths(arrivals, part + 1):
            at += 1
            came += events[0].weights[at]
        target[0].knots[part] = events[0].ticks[at]


@cython.cfunc
@cython.nogil
def eighths(arrivals: int64_t, parts: int64_t) -> cython.double:
    """So many eighths of some arrivals."""
    return cython.cast(cython.double, arrivals) * cython.cast(cython.double, parts) / cython.cast(cython.double, PARTS)


@cython.cfunc
@cython.nogil
def join_group(slices: cython.pointer(Slice), begin: int64_t, end: int64_t, target: int64_t) -> cython.void:
    """Write the slice that has what the neighbours begin .. end - 1 have, at `target` <= begin.

    Neighbours that have tables or uncounted events at all have neighbouring ones.
    """
    first: int64_t = slices[begin].first
    last: int64_t = slices[begin].last
    arrivals: int64_t = 0
    low: int64_t = 0
    high: int64_t = 0
    start: int64_t = 0
    stop: int64_t = 0
    follow: cython.bint = True
    i: int64_t
    for i in range(begin, end):
        if i > begin and slices[i].first < slices[i - 1].last:
            follow = False
        first, last = min(first, slices[i].first), max(last, slices[i].last)
        arrivals += slices[i].arrivals
        if slices[i].high > slices[i].low:
            low = low if high > low else slices[i].low
            high = slices[i].high
        if slices[i].end > slices[i].begin:
            start = start if stop > start else slices[i].begin
            stop = slices[i].end
    if follow:
        join_knots(slices, begin, end, target, arrivals, first, last)
    else:
        mix_knots(slices, begin, end, target, arrivals, first, last)
    slices[target].first, slices[target].last, slices[target].arrivals = first, last, arrivals
    slices[target].table = cython.NULL
    slices[target].low, slices[target].high, slices[target].begin, slices[target].end = low, high, start, stop


@cython.cfunc
@cython.nogil
def join_knots(
    slices: cython.pointer(Slice), begin: int64_t, end: int64_t, target: int64_t, arrivals: int64_t, first: int64_t,
    last: int64_t,
) -> cython.void:  # fmt: skip
    """Write the knots of slices that follow one another.

    The target may be the first of the slices: no knot is read any more once it is written, since the same number of
    arrivals is a larger share of one slice than of all.
    """
    slot: int64_t = begin
    before: int64_t = first
    tick: int64_t
    part: int64_t
    passed: cython.double = 0.0
    wanted: cython.double
    one: cython.double
    for part in range(PARTS - 1):
        wanted = eighths(arrivals, part + 1)
        one = cython.cast(cython.double, slices[slot].arrivals)
        while slot < end - 1 and passed + one < wanted:
            passed += one
            slot += 1
            one = cython.cast(cython.double, slices[slot].arrivals)
        tick = tick_of_share(slices, slot, min((wanted - passed) / one, 1.0))
        before = min(max(tick, before), last)
        slices[target].knots[part] = before


@cython.cfunc
@cython.nogil
def mix_knots(
    slices: cython.pointer(Slice), begin: int64_t, end: int64_t, target: int64_t, arrivals: int64_t, first: int64_t,
    last: int64_t,
) -> cython.void:  # fmt: skip
    """Write the knots of slices that lie over each other."""
    knots = cython.declare(int64_t[7])
    before: int64_t = first - 1
    part: int64_t
    for part in range(PARTS - 1):
        before = tick_of_count(slices, begin, end, eighths(arrivals, part + 1), before, last)
        knots[part] = before
    for part in range(PARTS - 1):  # not before: the target may be one of the slices
        slices[target].knots[part] = knots[part]


@cython.cfunc
@cython.nogil
def tick_of_count(
    slices: cython.pointer(Slice), begin: int64_t, end: int64_t, wanted: cython.double, low: int64_t, high: int64_t
) -> int64_t:
    """The least tick by which so many arrivals of several slices had come, which lies in (low, high]."""
    middle: int64_t
    i: int64_t
    came: cython.double
    low = min(low, high - 1)
    while high - low > 1:
        middle = low + (high - low) // 2
        came = 0.0
        for i in range(begin, end):
            came += share_until(slices, i, middle) * cython.cast(cython.double, slices[i].arrivals)
        if came >= wanted:
            high = middle
        else:
            low = middle
    return high


# Doors for tests. Slices are rows of first, last, arrivals and seven knots; results have all words of each slice.


def as_words(facts: Ints, more: int = 0) -> Ints:
    """Slices as the words of structs, with space for more: each has a table, its own number, and no events."""
    words = np.zeros((len(facts) + more, SLICE_WORDS), np.int64)
    words[: len(facts), : facts.shape[1]] = facts
    if facts.shape[1] < SLICE_WORDS:
        words[: len(facts), 11] = np.arange(len(facts))
        words[: len(facts), 12] = np.arange(1, len(facts) + 1)
    return words


def one_of(facts: Ints, begin: int, end: int, target: int) -> Ints:
    """All slices, with the slices begin .. end - 1 as one at `target`."""
    words = as_words(facts)
    memory = int64s(words)
    join_group(cython.cast(cython.pointer(Slice), memory), begin, end, target)
    return words


def shares(facts: Ints, slot: int, ticks: Ints) -> Floats:
    """The share of a slice's arrivals that came up to each of some ticks."""
    words, found = as_words(facts), np.empty(len(ticks))
    memory, source, target = int64s(words), int64s(ticks), doubles(found)
    count: int64_t = len(ticks)
    i: int64_t
    for i in range(count):
        target[i] = share_until(cython.cast(cython.pointer(Slice), memory), slot, source[i])
    return found


def ticks_of_shares(facts: Ints, slot: int, some: Floats) -> Ints:
    """The ticks by which some shares of a slice's arrivals had come."""
    words, found = as_words(facts), np.empty(len(some), np.int64)
    memory, source, target = int64s(words), doubles(some), int64s(found)
    count: int64_t = len(some)
    i: int64_t
    for i in range(count):
        target[i] = tick_of_share(cython.cast(cython.pointer(Slice), memory), slot, source[i])
    return found


@cython.cfunc
@cython.exceptval(check=True)
def batch_of(ticks: object, weights: object) -> Batch:
    """Events without keys, in the memory of two arrays."""
    events = cython.declare(Batch)
    events.keys, events.ticks, events.weights, events.count = cython.NULL, int64s(ticks), cython.NULL, len(ticks)
    if weights is not None:
        events.weights = int64s(weights)
    return events


def filled(ticks: Ints, weights: Ints | None, begin: int, end: int, counted: int) -> Ints:
    """A slice of the events begin .. end - 1."""
    events = batch_of(ticks, weights)
    words = np.zeros((1, SLICE_WORDS), np.int64)
    memory = int64s(words)
    fill_slice(cython.address(events), begin, end, counted, cython.cast(cython.pointer(Slice), memory))
    return words
