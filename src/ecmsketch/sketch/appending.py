"""Counts a few events into each of many small sketches, as bytes: no sketch becomes an object.

A sketch with counter="slices" keeps a small stream as its events. Its bytes (docs/format.md) are then a header, the
gaps between ticks, newest first, and the items, oldest first, packed. Counting more events on time puts their gaps
before the others and their items behind, writes the header anew, and leaves out what has left the window. The result is
what `update_many`, `advance` and `serialize` give, byte for byte. Whatever is not as simple is left to them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.inputs.ticks import MAX_TICK
from ecmsketch.kernels import kernel
from ecmsketch.kernels.packed_numbers import packed, unpacked
from ecmsketch.kernels.varint import get_varint, put_varint
from ecmsketch.sketch import header_bytes as header
from ecmsketch.sketch.config_bytes import encode_config
from ecmsketch.sketch.many_checksums import are_sound, write_checksums

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_HEADER = 64
"""Bytes that a header takes at most, apart from the config and the kinds of items."""
_PER_EVENT = 17
"""Bytes that an event takes at most: a gap and an item."""
FLAGS, CLOCK, ORIGIN, COUNTED, DROPPED, KINDS, KINDS_END, COUNT, FRESH, GAPS, ITEMS, END = range(12)
FACTS = 12
"""Places of what is read of a sketch: its numbers, and where its parts are."""
_CLOCK_FLAG, _ORIGIN_FLAG = int64(header.HAS_CLOCK), int64(header.HAS_ORIGIN)
_COUNTERS_FLAG, _LATE_FLAG = int64(header.HAS_COUNTERS), int64(header.HAS_LATE)


class Appended(NamedTuple):
    """Sketches after some events, None where `update_many` has to be asked; and what each has counted as late."""

    sketches: list[bytes | None]
    late_counted: list[int]
    late_dropped: list[int]


class Plan(NamedTuple):
    """What kernels need to know of a config: what bytes begin with, the kinds of items, the window and the block."""

    prefix: Bytes
    kinds: Bytes
    window: int
    block: int


def can_append(config: SketchConfig) -> bool:
    """Whether sketches of a config may be so simple that events can be put into their bytes."""
    slices = config.counter == "slices" and config.model == "time" and not config.heavy_hitters
    return slices and not isinstance(config, PrefixConfig)


def plan_of(config: SketchConfig, kinds: bytes) -> Plan:
    """What kernels need to know of a config and of the kinds of items, which are given as bytes."""
    beginning = encode_config(config)
    envelope = header.ENVELOPE.pack(header.MAGIC, header.VERSION, header.KIND_SKETCH, len(beginning))
    prefix = np.frombuffer(envelope + beginning, np.uint8)
    return Plan(prefix, np.frombuffer(kinds, np.uint8), config.window, config.block)


def append_events(
    config: SketchConfig, kinds: bytes, sketches: list[bytes], keys: Any, ticks: Ints, ends: Ints, clocks: Ints
) -> Appended:
    """Count events into sketches: those of sketch i end at ends[i], sorted by tick, and its clock goes to clocks[i].

    `keys` are hashed items, whose kinds are given as `encode_kinds` writes them. A clock is not moved back.
    """
    plan = plan_of(config, kinds)
    stops = np.cumsum([len(sketch) for sketch in sketches])
    data = np.frombuffer(b"".join(sketches), np.uint8)
    starts = np.concatenate([[0], stops[:-1]])
    sound = are_sound(data, starts, stops)
    events = len(data) + len(ticks)  # at most: each takes a byte or more
    room = _PER_EVENT * events + (_HEADER + len(plan.prefix) + len(plan.kinds)) * len(sketches)
    out, late = np.empty(room, np.uint8), np.zeros((2, len(sketches)), np.int64)
    made = _append_all(data, starts, stops, sound, keys, ticks, ends, clocks, plan, out, late)
    begins = np.concatenate([[0], made[:-1]])
    write_checksums(out, begins, made)
    written = out[: made[-1]].tobytes() if len(made) else b""
    return Appended(
        [written[begin:end] or None for begin, end in zip(begins.tolist(), made.tolist(), strict=True)],
        late[0].tolist(),
        late[1].tolist(),
    )


@kernel
def _append_all(
    data: Any, starts: Any, stops: Any, sound: Any, keys: Any, ticks: Any, ends: Any, clocks: Any, plan: Any, out: Any,
    late: Any,
) -> Any:  # fmt: skip
    """Where the bytes of each sketch end, with room for a checksum; where those before end if it is not simple."""
    made, facts = np.empty(starts.shape[0], np.int64), np.empty(FACTS, np.int64)
    at, begin = int64(0), int64(0)
    for i in range(starts.shape[0]):
        if sound[i] and read_small(data, starts[i], stops[i] - int64(8), plan, facts):
            late[0, i], late[1, i] = facts[COUNTED], facts[DROPPED]
            if _is_simple(facts, ticks, begin, ends[i], clocks[i], data, plan):
                after = _write(data, facts, keys, ticks, begin, ends[i], clocks[i], plan, out, at)
                at = after + int64(8) if after >= int64(0) else at
        made[i], begin = at, ends[i]
    return made


@kernel
def read_small(data: Any, at: Any, end: Any, plan: Any, facts: Any) -> Any:
    """Read a sketch that is kept as events; False if there is anything else in it."""
    for i in range(plan.prefix.shape[0]):
        if at + i >= end or data[at + i] != plan.prefix[i]:
            return False
    at += plan.prefix.shape[0]
    if at >= end:
        return False
    flags = int64(data[at])
    facts[:] = int64(0)
    facts[FLAGS], at = flags, at + int64(1)
    if flags & ~(_CLOCK_FLAG | _ORIGIN_FLAG | _COUNTERS_FLAG | _LATE_FLAG):
        return False
    if flags & _CLOCK_FLAG:
        number, at = get_varint(data, at)
        facts[CLOCK] = (number >> int64(1)) ^ -(number & int64(1))
    if flags & _ORIGIN_FLAG:
        number, at = get_varint(data, at)
        facts[ORIGIN] = facts[CLOCK] - number
    if flags & _LATE_FLAG:
        settled, at = get_varint(data, at)
        facts[COUNTED], at = get_varint(data, at)
        facts[DROPPED], at = get_varint(data, at)
        held, at = get_varint(data, at)
        if settled or held:
            return False
    return at >= int64(0) and _read_events(data, at, end, facts)


@kernel
def _read_events(data: Any, at: Any, end: Any, facts: Any) -> Any:
    kinds, at = get_varint(data, at)
    size = int64(0)
    if facts[FLAGS] & _COUNTERS_FLAG:
        size, at = get_varint(data, at)
    if at < int64(0) or kinds > end - at or size != end - at - kinds:
        return False
    facts[KINDS], facts[KINDS_END] = at, at + kinds
    if size == int64(0):
        return True
    facts[COUNT], at = get_varint(data, at + kinds)
    facts[FRESH], at = get_varint(data, at)
    weighted, at = get_varint(data, at)
    slices, at = get_varint(data, at)
    facts[GAPS], facts[END] = at, end
    for _ in range(facts[COUNT]):
        if at < int64(0) or at >= end:
            return False
        _, at = get_varint(data, at)
    facts[ITEMS] = at
    return int64(0) <= at <= end and not weighted and not slices


@kernel
def _is_simple(facts: Any, ticks: Any, begin: Any, end: Any, clock: Any, data: Any, plan: Any) -> Any:
    """Whether events can be put in: on time, none of them makes older ones become slices, and all are of one kind."""
    more = end - begin
    if max(clock, ticks[end - int64(1)] if more else clock) >= int64(MAX_TICK):
        return False
    if more == int64(0):
        return facts[FLAGS] & _CLOCK_FLAG != int64(0)
    if facts[FLAGS] & _CLOCK_FLAG and ticks[begin] < facts[CLOCK]:
        return False
    if facts[FRESH] + more >= plan.block:
        return False
    size = facts[KINDS_END] - facts[KINDS]
    if size != int64(0) and size != plan.kinds.shape[0]:
        return False
    same = True
    for i in range(size):
        same &= data[facts[KINDS] + i] == plan.kinds[i]
    return same


@kernel
def _write(
    data: Any, facts: Any, keys: Any, ticks: Any, begin: Any, end: Any, clock: Any, plan: Any, out: Any, at: Any
) -> Any:
    """Write a sketch with more events; returns the position after it, or -1 if its own are malformed."""
    more, flags, now = end - begin, facts[FLAGS] | _CLOCK_FLAG, clock
    if facts[FLAGS] & _CLOCK_FLAG:
        now = max(now, facts[CLOCK])
    if more:
        now = max(now, ticks[end - int64(1)])
        flags |= _ORIGIN_FLAG | _COUNTERS_FLAG
    size, events = int64(0), np.empty(int64(_HEADER) + int64(_PER_EVENT) * (facts[COUNT] + more), np.uint8)
    if flags & _COUNTERS_FLAG:
        size = _put_events(data, facts, keys, ticks, begin, end, now, plan, events)
        if size < int64(0):
            return size
    first = facts[ORIGIN] if facts[FLAGS] & _ORIGIN_FLAG else ticks[begin] if more else now
    at = _copy(plan.prefix, int64(0), plan.prefix.shape[0], out, at)
    at = _put_numbers(facts, flags, now, first, out, at)
    known = facts[KINDS_END] - facts[KINDS]
    new_kinds = known == int64(0) and more > int64(0)
    at = put_varint(out, at, plan.kinds.shape[0] if new_kinds else known)
    if flags & _COUNTERS_FLAG:
        at = put_varint(out, at, size)
    if new_kinds:
        at = _copy(plan.kinds, int64(0), plan.kinds.shape[0], out, at)
    else:
        at = _copy(data, facts[KINDS], facts[KINDS_END], out, at)
    return _copy(events, int64(0), size, out, at)


@kernel
def _put_numbers(facts: Any, flags: Any, now: Any, first: Any, out: Any, at: Any) -> Any:
    """Write flags, clock, the first tick and what is known of late arrivals."""
    out[at] = np.uint8(flags)
    at = put_varint(out, at + int64(1), (now << int64(1)) ^ (now >> int64(63)))
    if flags & _ORIGIN_FLAG:
        at = put_varint(out, at, now - first)
    if flags & _LATE_FLAG:
        for number in (int64(0), facts[COUNTED], facts[DROPPED], int64(0)):
            at = put_varint(out, at, number)
    return at


@kernel
def _copy(source: Any, begin: Any, end: Any, out: Any, at: Any) -> Any:
    for i in range(begin, end):
        out[at] = source[i]
        at += int64(1)
    return at


@kernel
def _put_events(
    data: Any, facts: Any, keys: Any, ticks: Any, begin: Any, end: Any, now: Any, plan: Any, out: Any
) -> Any:
    """Write the events inside the window at `now`: old ones from their bytes, new ones behind. Returns the size.

    It is -1 if the items of old ones are malformed.
    """
    limit, known = now - plan.window, facts[COUNT]
    gaps = np.empty(known + end - begin, np.int64)
    last, count = now, int64(0)
    for i in range(end - int64(1), begin - int64(1), int64(-1)):
        if ticks[i] <= limit:
            break
        gaps[count], last = last - ticks[i], ticks[i]
        count += int64(1)
    fresh, old, tick, at = count, int64(0), facts[CLOCK], facts[GAPS]
    while old < known:
        gap, at = get_varint(data, at)
        tick -= gap
        if tick <= limit:
            break
        gaps[count], last = last - tick, tick
        old, count = old + int64(1), count + int64(1)
    place = put_varint(out, int64(0), count)
    for number in (facts[FRESH] + (end - begin), int64(0), int64(0)):
        place = put_varint(out, place, number)
    for i in range(count):
        place = put_varint(out, place, gaps[i])
    items = np.empty(count, np.uint64)
    if known:
        before, after = unpacked(data[facts[ITEMS] : facts[END]], int64(0), known)
        if after != facts[END] - facts[ITEMS]:
            return int64(-1)
        items[:old] = before[known - old :]
    items[old:] = keys[end - fresh : end]
    if count:
        written = packed(items)
        place = _copy(written, int64(0), written.shape[0], out, place)
    return place
