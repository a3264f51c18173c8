"""Merges many small sketches from their bytes: no sketch becomes an object.

A sketch with counter="slices" keeps a small stream as its events (appending.py reads such bytes). Merging is then
putting the events of all in order of time. What is not as simple, or malformed, is left to `load`, which says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.errors import FormatError
from ecmsketch.inputs.kinds import Kinds, decode_kinds, unite_kinds
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.inputs.xxhash64 import xxhash64_many
from ecmsketch.kernels import kernel
from ecmsketch.kernels.packed_numbers import unpacked
from ecmsketch.kernels.radix_sort import sort_by_tick
from ecmsketch.kernels.varint import get_varint
from ecmsketch.sketch.appending import (
    CLOCK,
    COUNT,
    COUNTED,
    DROPPED,
    END,
    FACTS,
    FLAGS,
    FRESH,
    GAPS,
    ITEMS,
    KINDS,
    KINDS_END,
    ORIGIN,
    Plan,
    plan_of,
    read_small,
)
from ecmsketch.sketch.ecm import EcmSketch
from ecmsketch.sketch.header_bytes import HAS_CLOCK, HAS_COUNTERS, HAS_LATE, HAS_ORIGIN
from ecmsketch.sketch.many_checksums import are_sound
from ecmsketch.sketch.merging import merge
from ecmsketch.sketch.state import SketchState
from ecmsketch.slices import SlicedStream
from ecmsketch.slices.recent_events import RecentEvents

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CLOCK_FLAG, _ORIGIN_FLAG = int64(HAS_CLOCK), int64(HAS_ORIGIN)
_COUNTERS_FLAG, _LATE_FLAG = int64(HAS_COUNTERS), int64(HAS_LATE)
_NO_WEIGHTS = np.empty(0, np.int64)


class SmallSketches:
    """The small ones among many sketches of a config. Sketch i has the bytes begins[i] .. ends[i] - 1 of the data."""

    def __init__(self, config: SketchConfig, data: Bytes, begins: Ints, ends: Ints) -> None:
        self._config, self._data = config, data
        self._facts = np.zeros((len(begins), FACTS), np.int64)
        self.simple: Mask = np.zeros(len(begins), np.bool_)
        """Which sketches are small, and whole. The others have to be loaded."""
        _read_all(data, begins, ends, are_sound(data, begins, ends), plan_of(config, b""), self._facts, self.simple)
        self._kinds = self._known_kinds()

    def merge(self, chosen: Mask, others: Sequence[EcmSketch] = ()) -> EcmSketch:
        """One sketch for some of the simple ones, and for others, merged in one step as by `merge`."""
        facts = self._facts[chosen]
        clocks = facts[facts[:, FLAGS] & HAS_CLOCK > 0, CLOCK]
        full = facts[facts[:, FLAGS] & HAS_ORIGIN > 0]
        state = SketchState(self._config, now=int(clocks.max()) if len(clocks) else None)
        if len(full) and state.now is not None:
            state.origin = int(full[:, ORIGIN].min())
            stream = SlicedStream(self._config)
            stream.events = self._events(full, state.now - self._config.window)
            stream.fresh = int(full[0, FRESH]) if len(full) == 1 else 0
            state.counters = stream if others or len(full) == 1 else SlicedStream.merge([stream], state.now)
        state.kinds = unite_kinds(self._kinds[number] for number in np.unique(facts[:, KINDS]).tolist())
        state.late.counted, state.late.dropped = int(facts[:, COUNTED].sum()), int(facts[:, DROPPED].sum())
        made = EcmSketch._of(state)
        return merge([made, *others]) if others else made

    def _events(self, facts: Ints, limit: int) -> RecentEvents:
        """The events of some sketches after a tick, in order of time; of those with one tick, in order of sketches."""
        items, ticks, count = _gather(self._data, facts, limit)
        order, ticks = np.arange(count), ticks[:count]
        sort_by_tick(ticks, order)
        return RecentEvents.of(items[order], ticks, _NO_WEIGHTS)

    def _known_kinds(self) -> list[Kinds]:
        """The kinds of items that occur. What the facts say of them is then which of these; wrong ones are not simple.

        Bytes are told apart by a hash of 64 bits.
        """
        facts = self._facts
        marks = xxhash64_many(self._data, facts[:, KINDS], facts[:, KINDS_END], np.zeros(len(facts), np.uint64))
        _, firsts, numbers = np.unique(marks, return_index=True, return_inverse=True)
        known: list[Kinds] = []
        for number, first in enumerate(firsts.tolist()):
            try:
                known.append(decode_kinds(self._data[facts[first, KINDS] : facts[first, KINDS_END]].tobytes()))
            except FormatError:
                known.append(frozenset())
                self.simple[numbers == number] = False
        facts[:, KINDS] = numbers
        return known


@kernel
def _read_all(data: Any, begins: Any, ends: Any, sound: Any, plan: Plan, facts: Any, simple: Any) -> None:
    """Read what is known of each sketch, and whether it is simple. Facts of others are zeros."""
    for i in range(begins.shape[0]):
        good = sound[i] and read_small(data, begins[i], ends[i] - int64(8), plan, facts[i]) and _is_possible(facts[i])
        if good and facts[i, COUNT] > int64(0):
            good = _are_events(data, facts[i], plan)
        elif good:
            good = facts[i, ITEMS] == facts[i, END] and facts[i, FRESH] < plan.block
        simple[i] = good
        if not good:
            facts[i] = int64(0)


@kernel
def _is_possible(facts: Any) -> Any:
    """Whether the numbers of a header are those of a state (header_bytes.py)."""
    flags = facts[FLAGS]
    if flags & _ORIGIN_FLAG and not flags & _CLOCK_FLAG:
        return False
    has_counters = flags & _COUNTERS_FLAG != int64(0)
    if (flags & _ORIGIN_FLAG != int64(0)) != has_counters or (facts[END] != int64(0)) != has_counters:
        return False
    if min(facts[CLOCK], facts[ORIGIN]) < int64(MIN_TICK) or max(facts[CLOCK], facts[ORIGIN]) > int64(MAX_TICK):
        return False
    if flags & _LATE_FLAG and not facts[COUNTED] and not facts[DROPPED]:
        return False
    return max(facts[COUNTED], facts[DROPPED]) <= int64(2**62)


@kernel
def _are_events(data: Any, facts: Any, plan: Any) -> Any:
    """Whether all events of a sketch are inside its window, and their items are whole."""
    if facts[FRESH] >= plan.block:
        return False
    past, at = int64(0), facts[GAPS]
    for _ in range(facts[COUNT]):
        gap, at = get_varint(data, at)
        if gap >= plan.window - past:
            return False
        past += gap
    if facts[CLOCK] - past < int64(MIN_TICK):
        return False
    _, after = unpacked(data[facts[ITEMS] : facts[END]], int64(0), facts[COUNT])
    return after == facts[END] - facts[ITEMS]


@kernel
def _gather(data: Any, facts: Any, limit: Any) -> Any:
    """(Items and ticks of the events after a tick, sketch by sketch from the oldest on; how many there are)."""
    room = facts[:, COUNT].sum()
    items, ticks, count = np.empty(room, np.uint64), np.empty(room, np.int64), int64(0)
    for i in range(facts.shape[0]):
        known = facts[i, COUNT]
        if known == int64(0):
            continue
        mine, _ = unpacked(data[facts[i, ITEMS] : facts[i, END]], int64(0), known)
        tick, at, inside = facts[i, CLOCK], facts[i, GAPS], int64(0)
        for j in range(known):
            gap, at = get_varint(data, at)
            tick -= gap
            if tick <= limit:
                break
            ticks[count + known - int64(1) - j] = tick
            inside += int64(1)
        for j in range(inside):
            ticks[count + j] = ticks[count + known - inside + j]
            items[count + j] = mine[known - inside + j]
        count += inside
    return items, ticks, count
