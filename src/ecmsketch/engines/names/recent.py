"""The newest events of a stream, exactly as they came, in as few bytes as their ticks and weights allow: most often
12 bytes an event. Arrays are never changed in place, so values share them.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any, NamedTuple

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import int64s, uint32s, uint64s
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

_NO_WEIGHTS = np.empty(0, np.int64)
_NARROW = np.dtype(np.uint32)
_NO_OFFSETS = np.empty(0, np.uint32)


class RecentEvents(NamedTuple):
    """Events sorted by tick. Event i has the tick base + offsets[i], or base + i if there are no offsets.

    No weights means that all are one.
    """

    keys: Keys
    base: int
    offsets: NDArray[Any]
    weights: Ints

    @property
    def count(self) -> int:
        """How many events there are."""
        return len(self.keys)

    @property
    def ticks(self) -> Ints:
        """All ticks."""
        if len(self.offsets) == 0:
            return np.arange(self.base, self.base + len(self.keys), dtype=np.int64)
        return self.offsets.astype(np.int64) + self.base

    def columns(self) -> tuple[Keys, Ints, Ints | None]:
        """Keys, ticks, and weights (None: all one)."""
        return self.keys, self.ticks, self.weights if len(self.weights) else None

    def explicit_weights(self) -> Ints:
        """The weights, with ones spelled out."""
        return self.weights if len(self.weights) else np.ones(len(self.keys), np.int64)

    def inside(self, since: int, until: int, counted: int) -> Ints:
        """How much of each event lies in (since, until].

        A weight counts whole at its tick. If ticks number arrivals, it counts at as many ticks up to its own.
        """
        ticks, weights = self.ticks, self.explicit_weights()
        if not counted:
            return np.where((ticks > since) & (ticks <= until), weights, 0)
        part: Ints = np.minimum(ticks, until) - np.maximum(ticks - weights, since)
        return np.maximum(part, 0)

    def shifted(self, by: int) -> RecentEvents:
        """The same events, later by so many ticks."""
        return RecentEvents(self.keys, self.base + by, self.offsets, self.weights)


_NOTHING = RecentEvents(np.empty(0, np.uint64), 0, _NO_OFFSETS, _NO_WEIGHTS)


def no_events() -> RecentEvents:
    """No events at all."""
    return _NOTHING


def newest_events(recent: RecentEvents, keys: Keys, ticks: Ints, weights: Ints | None, left: int) -> RecentEvents:
    """The newest `left` of some events, and of others that follow them; `left` is at least 1."""
    known, count = len(recent.keys), cython.cast(int64_t, left)
    fresh: int64_t = min(count, len(keys))
    older: int64_t = count - fresh
    skipped: int64_t = known - older
    begin: int64_t = len(keys) - fresh
    if len(ticks) != len(keys) or (weights is not None and len(weights) != len(keys)):
        raise ValueError("events: expected columns of one length")
    moments: cython.pointer(int64_t) = int64s(ticks) + begin
    narrow: cython.pointer(uint32_t) = cython.NULL
    wide: cython.pointer(int64_t) = cython.NULL
    base: int64_t = recent.base
    first: int64_t = base + skipped
    last: int64_t
    offsets: object = recent.offsets
    if len(offsets) and offsets.dtype is _NARROW:
        narrow = uint32s(offsets) + skipped
        first = base + (narrow[0] if older else 0)
    elif len(offsets):
        wide = int64s(offsets) + skipped
        first = base + (wide[0] if older else 0)
    if older == 0:
        first = moments[0]
    if fresh:
        last = moments[fresh - 1]
    elif len(offsets):
        last = base + int(offsets[known - 1])
    else:
        last = base + known - 1
    made = np.empty(count, np.uint64)
    copy_keys(uint64s(made), uint64s(recent.keys) + skipped, older)
    copy_keys(uint64s(made) + older, uint64s(keys) + begin, fresh)
    if last - first < cython.cast(int64_t, 1) << 32:
        offsets = np.empty(count, np.uint32)
        fill_narrow(uint32s(offsets), narrow, wide, base - first, older, moments, fresh, first)
        if last - first == count - 1 and numbered(uint32s(offsets), count):
            offsets = _NO_OFFSETS
    else:
        offsets = np.empty(count, np.int64)
        fill_wide(int64s(offsets), narrow, wide, base - first, older, moments, fresh, first)
    return RecentEvents(made, first, offsets, newest_weights(recent.weights, weights, skipped, older, begin, fresh))


@cython.cfunc
@cython.nogil
def copy_keys(target: cython.pointer(uint64_t), source: cython.pointer(uint64_t), count: int64_t) -> cython.void:
    """Copy some keys."""
    if count:
        memcpy(target, source, cython.cast(cython.size_t, 8 * count))


@cython.cfunc
@cython.nogil
def fill_narrow(
    target: cython.pointer(uint32_t), narrow: cython.pointer(uint32_t), wide: cython.pointer(int64_t), shift: int64_t,
    older: int64_t, moments: cython.pointer(int64_t), fresh: int64_t, first: int64_t,
) -> cython.void:  # fmt: skip
    """Write offsets to the first tick: those of older events, which were offsets to first + shift, and fresh ones."""
    i: int64_t
    if narrow != cython.NULL:
        for i in range(older):
            target[i] = cython.cast(uint32_t, narrow[i] + shift)
    elif wide != cython.NULL:
        for i in range(older):
            target[i] = cython.cast(uint32_t, wide[i] + shift)
    else:
        for i in range(older):
            target[i] = cython.cast(uint32_t, i)
    for i in range(fresh):
        target[older + i] = cython.cast(uint32_t, moments[i] - first)


@cython.cfunc
@cython.nogil
def fill_wide(
    target: cython.pointer(int64_t), narrow: cython.pointer(uint32_t), wide: cython.pointer(int64_t), shift: int64_t,
    older: int64_t, moments: cython.pointer(int64_t), fresh: int64_t, first: int64_t,
) -> cython.void:  # fmt: skip
    """Do what `fill_narrow` does, where offsets need 64 bits."""
    i: int64_t
    if narrow != cython.NULL:
        for i in range(older):
            target[i] = narrow[i] + shift
    elif wide != cython.NULL:
        for i in range(older):
            target[i] = wide[i] + shift
    else:
        for i in range(older):
            target[i] = i
    for i in range(fresh):
        target[older + i] = moments[i] - first


def packed_events(keys: Keys, ticks: Ints, weights: Ints | None) -> RecentEvents:
    """Events in as few bytes as they need."""
    return newest_events(_NOTHING, keys, ticks, weights, len(keys)) if len(keys) else _NOTHING


@cython.cfunc
@cython.exceptval(-1, check=False)
def unpack_recent(
    recent: object, keys: cython.pointer(uint64_t), ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t)
) -> cython.int:
    """Write keys and ticks, and weights unless that is NULL."""
    count: int64_t = len(recent.keys)
    base: int64_t = recent.base
    given: cython.pointer(int64_t) = cython.NULL
    narrow: cython.pointer(uint32_t) = cython.NULL
    wide: cython.pointer(int64_t) = cython.NULL
    offsets: object = recent.offsets
    i: int64_t
    if len(recent.weights):
        given = int64s(recent.weights)
    if len(offsets) and offsets.dtype is _NARROW:
        narrow = uint32s(offsets)
    elif len(offsets):
        wide = int64s(offsets)
    copy_keys(keys, uint64s(recent.keys), count)
    fill_wide(ticks, narrow, wide, base, count, cython.NULL, 0, 0)
    if narrow == cython.NULL and wide == cython.NULL:
        for i in range(count):
            ticks[i] += base
    if weights != cython.NULL:
        for i in range(count):
            weights[i] = 1 if given == cython.NULL else given[i]
    return 0


@cython.cfunc
def newest_weights(
    known: object, weights: object, skipped: int64_t, older: int64_t, begin: int64_t, fresh: int64_t
) -> object:
    """The weights from `skipped` on of known events (empty: ones), and those from `begin` on of fresh ones (None:
    ones); empty if all are one.
    """
    total: int64_t = 0
    i: int64_t
    if not len(known) and weights is None:
        return _NO_WEIGHTS
    made = np.empty(older + fresh, np.int64)
    target: cython.pointer(int64_t) = int64s(made)
    source: cython.pointer(int64_t) = cython.NULL
    if len(known):
        source = int64s(known)
    for i in range(older):
        target[i] = 1 if source == cython.NULL else source[skipped + i]
    source = cython.NULL
    if weights is not None:
        source = int64s(weights)
    for i in range(fresh):
        target[older + i] = 1 if source == cython.NULL else source[begin + i]
    for i in range(older + fresh):
        total += 1 if target[i] != 1 else 0
    return made if total else _NO_WEIGHTS


@cython.cfunc
@cython.nogil
def numbered(places: cython.pointer(uint32_t), count: int64_t) -> cython.bint:
    """Whether places are 0, 1, 2, ..."""
    others: int64_t = 0
    i: int64_t
    for i in range(count):
        others += 1 if places[i] != cython.cast(uint32_t, i) else 0
    return others == 0
