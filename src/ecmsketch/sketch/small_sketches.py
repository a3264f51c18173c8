"""Many small sketches as bytes: made, fed and merged without an object for each.

A sketch with counter="slices" keeps a small stream as its events. Its bytes (docs/format.md) are then an envelope that
all sketches of a config share, a header and the events. They are read and written here by what reads and writes one
sketch: header.py, and the events of engines/slices/bytes.py. The results are what `update_many`, `advance`, `serialize`
and `merge` give, byte for byte. Whatever is not as simple, or is malformed, is left to these, which say what is wrong.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any, NamedTuple

import cython
import numpy as np
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.ecmsketch.engines.slices.bytes import (
    Section,
    most_section,
    open_section,
    put_section,
    read_events,
)
from cython.cimports.ecmsketch.engines.slices.stream import adopt
from cython.cimports.ecmsketch.engines.slices.types import Batch
from cython.cimports.ecmsketch.kernels.hashing import xxhash64
from cython.cimports.ecmsketch.kernels.memory import allocate, bytes_of, int64s, uint64s
from cython.cimports.ecmsketch.kernels.sorting import sort_ticks
from cython.cimports.ecmsketch.sketch.header import (
    HAS_CLOCK,
    HAS_COUNTERS,
    HAS_LATE,
    HAS_ORIGIN,
    LEAST_TICK,
    MOST_HEADER,
    MOST_TICK,
    Numbers,
    read_header,
    write_header,
)
from cython.cimports.libc.stdint import int64_t, uint8_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcmp, memcpy, memmove, memset
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.errors import FormatError
from ecmsketch.inputs.kinds import Kinds, decode_kinds, encode_kinds, unite_kinds
from ecmsketch.sketch.codec import CHECKSUM_SEED, KIND_SKETCH, envelope_of

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

_CHECKSUM = cython.declare(int64_t, 8)
_SEED = cython.declare(uint64_t, CHECKSUM_SEED)
_MOST_ARRIVALS = cython.declare(int64_t, 2**53)
_MOST_KINDS = cython.declare(int64_t, 64)
"""Different kinds of items that a column may have. Sketches with others are left to be loaded."""


def can_append(config: SketchConfig) -> bool:
    """Whether sketches of a config may be so simple that events can be put into their bytes."""
    return consists_of_events(config) and not isinstance(config, PrefixConfig)


def consists_of_events(config: SketchConfig) -> bool:
    """Whether sketches of a config consist of their events while these are few."""
    return config.counter == "slices" and config.model == "time" and not config.heavy_hitters


@cython.cclass
class BytesTemplate:
    """What all sketches of a config and of one kind of items have in common."""

    def __init__(self, config: SketchConfig, type_id: int, kinds: bytes) -> None:
        self.prefix, self.kinds = envelope_of(config, type_id), kinds
        self.prefix_data, self.prefix_size = bytes_of(self.prefix), len(self.prefix)
        self.kinds_data, self.kinds_size = bytes_of(self.kinds), len(self.kinds)
        self.window, self.block, self.cells = config.window, config.block, config.cells


@cython.cclass
class Workspace:
    """Memory for the events of one sketch after the other, which grows as they need it."""

    def __dealloc__(self) -> None:
        free(self.memory)

    @cython.cfunc
    @cython.nogil
    def reserve(self, events: int64_t, other: int64_t) -> cython.bint:
        """Have space for so many events, and for a sketch of as many with so many other bytes; False without memory.

        What was there is gone.
        """
        size: int64_t = 8 * (5 * events + 2) + most_section(events, 0) + other
        if size > self.size:
            free(self.memory)
            self.size = 0
            self.memory = allocate(2 * size)
            if self.memory == cython.NULL:
                return False
            self.size = 2 * size
        self.keys = cython.cast(cython.pointer(uint64_t), self.memory)
        self.ticks = cython.cast(cython.pointer(int64_t), self.keys + events)
        self.scratch = cython.cast(cython.pointer(uint64_t), self.ticks + events)
        self.out = cython.cast(cython.pointer(uint8_t), self.scratch + 3 * events + 2)
        return True


@cython.cfunc
@cython.nogil
def checksum_at(data: cython.pointer(uint8_t)) -> uint64_t:
    """Eight bytes as a number, the lowest first."""
    word: uint64_t = 0
    place: cython.int
    for place in range(8):
        word |= cython.cast(uint64_t, data[place]) << (8 * place)
    return word


@cython.cfunc
@cython.nogil
def read_small(
    data: cython.pointer(uint8_t), begin: int64_t, end: int64_t, template: BytesTemplate,
    small: cython.pointer(SmallSketch),
) -> cython.bint:  # fmt: skip
    """Read the bytes begin .. end - 1 up to the events; False if they are no sketch that consists of events."""
    at: int64_t = begin + template.prefix_size
    end -= _CHECKSUM
    numbers: cython.pointer(Numbers) = cython.address(small[0].numbers)
    section: cython.pointer(Section) = cython.address(small[0].section)
    memset(small, 0, cython.sizeof(SmallSketch))
    if at >= end or memcmp(data + begin, template.prefix_data, cython.cast(cython.size_t, template.prefix_size)) != 0:
        return False
    if xxhash64(data + begin, end - begin, _SEED) != checksum_at(data + end):
        return False
    at = read_header(data, at, end, False, numbers)
    if at < 0 or numbers[0].flags & ~(HAS_CLOCK | HAS_ORIGIN | HAS_COUNTERS | HAS_LATE) != 0:
        return False
    if numbers[0].since != 0 or numbers[0].held != 0:
        return False
    if numbers[0].kinds_size > cython.cast(uint64_t, end - at):
        return False
    small[0].data = data
    small[0].kinds_at = at
    at += cython.cast(int64_t, numbers[0].kinds_size)
    if numbers[0].counters_size != cython.cast(uint64_t, end - at):
        return False
    if numbers[0].flags & HAS_COUNTERS == 0:
        section[0].at = section[0].end = end
        return True
    if open_section(data, at, end, template.block, template.cells, section) != 0:
        return False
    return section[0].weighted == 0 and section[0].slices == 0


@cython.cfunc
@cython.nogil
def read_small_events(
    small: cython.pointer(SmallSketch), window: int64_t, keys: cython.pointer(uint64_t),
    ticks: cython.pointer(int64_t), scratch: cython.pointer(uint64_t),
) -> cython.bint:  # fmt: skip
    """Read the events of a sketch, oldest first; False if they are malformed."""
    section: Section = small[0].section
    if small[0].numbers.flags & HAS_COUNTERS == 0:
        return True
    if read_events(
        small[0].data, cython.address(section), small[0].numbers.now, window, ticks, cython.NULL, cython.NULL, keys,
        scratch,
    ):  # fmt: skip
        return False
    return section.at == section.end


@cython.cfunc
@cython.nogil
def put_sketch(
    template: BytesTemplate, numbers: cython.pointer(Numbers), fresh: int64_t, keys: cython.pointer(uint64_t),
    ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t), count: int64_t, kinds: cython.pointer(uint8_t),
    work: Workspace,
) -> int64_t:  # fmt: skip
    """Write a sketch of the events that are inside its window, checksum included; returns its size."""
    out: cython.pointer(uint8_t) = work.out
    limit: int64_t = numbers[0].now - template.window
    head: int64_t = template.prefix_size + MOST_HEADER + cython.cast(int64_t, numbers[0].kinds_size)
    first: int64_t = 0
    at: int64_t = template.prefix_size
    after: int64_t = head
    checksum: uint64_t
    place: cython.int
    while first < count and ticks[first] <= limit:
        first += 1
    if weights != cython.NULL:
        weights = weights + first
    if numbers[0].flags & HAS_COUNTERS:  # the header says how many bytes the events take, so they are written first
        after = put_section(
            out, head, numbers[0].now, fresh, keys + first, ticks + first, weights, count - first, cython.NULL, 0,
            work.scratch,
        )  # fmt: skip
    numbers[0].counters_size = cython.cast(uint64_t, after - head)
    memcpy(out, template.prefix_data, cython.cast(cython.size_t, at))
    at = write_header(numbers, False, out, at)
    memcpy(out + at, kinds, cython.cast(cython.size_t, numbers[0].kinds_size))
    at += cython.cast(int64_t, numbers[0].kinds_size)
    memmove(out + at, out + head, cython.cast(cython.size_t, after - head))
    at += after - head
    checksum = xxhash64(out, at, _SEED)
    for place in range(8):
        out[at + place] = cython.cast(uint8_t, (checksum >> (8 * place)) & 255)
    return at + _CHECKSUM


class Appended(NamedTuple):
    """Sketches after some events, None where `update_many` has to be asked; and what each has counted as late."""

    sketches: list[bytes | None]
    late_counted: list[int]
    late_dropped: list[int]


def append_events(
    config: SketchConfig, kinds: bytes, sketches: list[bytes], keys: Keys, ticks: Ints, ends: Ints, clocks: Ints
) -> Appended:
    """Count events into sketches: those of sketch i end at ends[i], sorted by tick, and its clock goes to clocks[i].

    `keys` are hashed items, whose kinds are given as `encode_kinds` writes them. A clock is not moved back.
    """
    template: BytesTemplate = BytesTemplate(config, KIND_SKETCH, kinds)
    work: Workspace = Workspace()
    small = cython.declare(SmallSketch)
    ends, clocks = np.ascontiguousarray(ends, np.int64), np.ascontiguousarray(clocks, np.int64)
    more_keys: cython.pointer(uint64_t) = uint64s(keys)
    more_ticks: cython.pointer(int64_t) = int64s(ticks)
    stops: cython.pointer(int64_t) = int64s(ends)
    moments: cython.pointer(int64_t) = int64s(clocks)
    data: bytes
    begin: int64_t = 0
    end: int64_t
    size: int64_t
    i: int64_t
    made: list[bytes | None] = []
    counted: list[int] = []
    dropped: list[int] = []
    if len(keys) != len(ticks) or len(ends) != len(sketches) or len(clocks) != len(sketches):
        raise ValueError(f"append_events: expected as many keys as ticks, and an end and a clock for {len(sketches)}")
    for i, given in enumerate(sketches):
        end = stops[i]
        if not begin <= end <= len(ticks):
            raise ValueError(f"ends: expected ascending numbers up to {len(ticks)}, got {end}")
        data = bytes(given)
        size = 0
        if read_small(bytes_of(data), 0, len(data), template, cython.address(small)):
            size = append_to(
                cython.address(small), template, more_keys + begin, more_ticks + begin, end - begin, moments[i], work
            )
            if size < 0:
                raise MemoryError
            counted.append(small.numbers.counted)
            dropped.append(small.numbers.dropped)
        else:
            counted.append(0)
            dropped.append(0)
        made.append(PyBytes_FromStringAndSize(cython.cast(cython.p_char, work.out), size) if size else None)
        begin = end
    return Appended(made, counted, dropped)


@cython.cfunc
@cython.nogil
def may_append(
    small: cython.pointer(SmallSketch), template: BytesTemplate, ticks: cython.pointer(int64_t), more: int64_t,
    clock: int64_t,
) -> cython.bint:  # fmt: skip
    """Whether events can be put in: on time, none of them makes older ones become slices, and all are of one kind."""
    has_clock: cython.bint = small[0].numbers.flags & HAS_CLOCK != 0
    size: int64_t = cython.cast(int64_t, small[0].numbers.kinds_size)
    i: int64_t
    if clock >= MOST_TICK:
        return False
    if more == 0:
        return has_clock
    if ticks[0] < LEAST_TICK or ticks[more - 1] >= MOST_TICK or (has_clock and ticks[0] < small[0].numbers.now):
        return False
    for i in range(1, more):
        if ticks[i] < ticks[i - 1]:
            return False
    if small[0].section.fresh + more >= template.block:
        return False
    if size == 0:
        return True
    if size != template.kinds_size:
        return False
    return memcmp(small[0].data + small[0].kinds_at, template.kinds_data, cython.cast(cython.size_t, size)) == 0


@cython.cfunc
@cython.nogil
def append_to(
    small: cython.pointer(SmallSketch), template: BytesTemplate, keys: cython.pointer(uint64_t),
    ticks: cython.pointer(int64_t), more: int64_t, clock: int64_t, work: Workspace,
) -> int64_t:  # fmt: skip
    """Write a sketch with more events into the workspace; returns its size; 0: it is not simple, -1: no memory."""
    known: int64_t = small[0].section.count
    numbers: Numbers = small[0].numbers
    kinds: cython.pointer(uint8_t) = small[0].data + small[0].kinds_at
    origin: int64_t
    if not may_append(small, template, ticks, more, clock):
        return 0
    other: int64_t = template.prefix_size + MOST_HEADER + template.kinds_size + _CHECKSUM
    if not work.reserve(known + more, other + cython.cast(int64_t, numbers.kinds_size)):
        return -1
    if not read_small_events(small, template.window, work.keys, work.ticks, work.scratch):
        return 0
    if more:
        memcpy(work.keys + known, keys, cython.cast(cython.size_t, 8 * more))
        memcpy(work.ticks + known, ticks, cython.cast(cython.size_t, 8 * more))
    origin = ticks[0] if more else 0
    if numbers.flags & HAS_ORIGIN:
        origin = numbers.now - cython.cast(int64_t, numbers.age)
    if numbers.flags & HAS_CLOCK == 0 or clock > numbers.now:
        numbers.now = clock
    if more:
        numbers.now = max(numbers.now, ticks[more - 1])
        numbers.flags |= HAS_CLOCK | HAS_ORIGIN | HAS_COUNTERS
        if numbers.kinds_size == 0:
            numbers.kinds_size = template.kinds_size
            kinds = template.kinds_data
    if numbers.flags & HAS_ORIGIN:
        numbers.age = cython.cast(uint64_t, numbers.now - origin)
    return put_sketch(
        template, cython.address(numbers), small[0].section.fresh + more, work.keys, work.ticks, cython.NULL,
        known + more, kinds, work,
    )  # fmt: skip


@cython.cclass
class EventSketchWriter:
    """Makes the bytes of sketches of slices, each from its events: the very bytes that the sketch itself would give."""

    def __init__(self, config: SketchConfig, type_id: int, kinds: Kinds) -> None:
        """`type_id` is the sketch's class by number (codec.py), `kinds` are those of its items."""
        self.template = BytesTemplate(config, type_id, encode_kinds(kinds))
        self.work = Workspace()

    def fits(self, ticks: Ints, weights: Ints | None = None) -> bool:
        """Whether a sketch of events, which are sorted by tick, would still consist of them: they are few, and each
        has a positive weight.
        """
        counts: cython.pointer(int64_t) = cython.NULL
        if weights is not None:
            if len(weights) != len(ticks):
                raise ValueError(f"weights: expected {len(ticks)}, got {len(weights)}")
            counts = int64s(weights)
        return may_write(self.template, int64s(ticks), counts, len(ticks))

    def serialize(self, keys: Keys, ticks: Ints, weights: Ints | None = None) -> bytes:
        """The bytes of a sketch that has counted these events, which fit."""
        numbers = cython.declare(Numbers)
        template: BytesTemplate = self.template
        count: int64_t = len(ticks)
        counts: cython.pointer(int64_t) = cython.NULL
        if weights is not None:
            counts = int64s(weights)
        moments: cython.pointer(int64_t) = int64s(ticks)
        if len(keys) != count or not self.fits(ticks, weights):
            raise ValueError("events: expected few, sorted by tick, with positive weights, and a key for each")
        other: int64_t = template.prefix_size + MOST_HEADER + template.kinds_size + _CHECKSUM
        if not self.work.reserve(count, other):
            raise MemoryError
        memset(cython.address(numbers), 0, cython.sizeof(Numbers))
        numbers.flags = HAS_CLOCK | HAS_ORIGIN | HAS_COUNTERS
        numbers.now = moments[count - 1]
        numbers.age = cython.cast(uint64_t, moments[count - 1] - moments[0])
        numbers.kinds_size = template.kinds_size
        size: int64_t = put_sketch(
            template, cython.address(numbers), count, uint64s(keys), moments, counts, count, template.kinds_data,
            self.work,
        )  # fmt: skip
        return PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.work.out), size)


@cython.cfunc
@cython.nogil
def may_write(
    template: BytesTemplate, ticks: cython.pointer(int64_t), weights: cython.pointer(int64_t), count: int64_t
) -> cython.bint:
    """Whether a sketch of some events would consist of them."""
    total: int64_t = 0
    i: int64_t
    if not 0 < count < template.block or ticks[0] < LEAST_TICK or ticks[count - 1] > MOST_TICK:
        return False
    for i in range(1, count):
        if ticks[i] < ticks[i - 1]:
            return False
    if weights != cython.NULL:
        for i in range(count):
            if weights[i] < 1 or weights[i] > _MOST_ARRIVALS - total:
                return False
            total += weights[i]
    return True


class Union(NamedTuple):
    """Some small sketches as one: what merging them gives, but for `stream`, whose events may have to become slices."""

    now: int | None
    first_tick: int | None
    late_counted: int
    late_dropped: int
    kinds: Kinds
    stream: Any
    """Their events as a SliceStream; None if nothing was ever counted. The events of several sketches are one too many
    for a stream until it was merged: `SliceStream.merge([stream], now)`, or together with the streams of others.
    """
    is_merged: bool
    """Whether the stream is that of one sketch, so that nothing has to be merged."""


@cython.cclass
class SketchColumn:
    """The small ones among many sketches of a config. Sketch i has the bytes begins[i] .. ends[i] - 1 of the data."""

    def __init__(self, config: SketchConfig, data: Any, begins: Ints, ends: Ints) -> None:
        self.config, self.data = config, data
        begins, ends = np.ascontiguousarray(begins, np.int64), np.ascontiguousarray(ends, np.int64)
        count: int64_t = len(begins)
        if len(ends) != count:
            raise ValueError(f"ends: expected {count} of them, got {len(ends)}")
        template: BytesTemplate = BytesTemplate(config, KIND_SKETCH, b"")
        self.simple = np.zeros(count, np.bool_)
        self.known = cython.cast(
            cython.pointer(SmallSketch), allocate(count * cython.cast(int64_t, cython.sizeof(SmallSketch)))
        )
        if self.known == cython.NULL:
            raise MemoryError
        self.count = count
        size: int64_t = len(data)
        source: cython.pointer(uint8_t) = bytes_of(data) if size else cython.NULL
        good: cython.pointer(uint8_t) = bytes_of(self.simple)
        firsts: cython.pointer(int64_t) = int64s(begins)
        stops: cython.pointer(int64_t) = int64s(ends)
        work: Workspace = Workspace()
        enough: cython.bint = True
        i: int64_t
        with cython.nogil:
            for i in range(count):
                self.known[i].number = 0
                if 0 <= firsts[i] <= stops[i] <= size and stops[i] - firsts[i] > _CHECKSUM:
                    good[i] = read_small(source, firsts[i], stops[i], template, self.known + i)
                if good[i]:
                    enough = work.reserve(self.known[i].section.count, 0)
                    if not enough:
                        break
                    good[i] = read_small_events(self.known + i, template.window, work.keys, work.ticks, work.scratch)
        if not enough:
            raise MemoryError
        self.find_kinds(good)
        self.simple.flags.writeable = False

    def __dealloc__(self) -> None:
        free(self.known)

    @cython.cfunc
    def find_kinds(self, good: cython.pointer(uint8_t)) -> object:
        """Number the kinds of items that occur. Sketches whose kinds are malformed, or too many, are not simple."""
        firsts = cython.declare(int64_t[64])
        found: int64_t = 0
        number: int64_t
        size: int64_t
        i: int64_t
        one: cython.pointer(SmallSketch)
        other: cython.pointer(SmallSketch)
        self.kinds = []
        wrong: list[bool] = []
        for i in range(self.count):
            if not good[i]:
                continue
            one = self.known + i
            size = cython.cast(int64_t, one[0].numbers.kinds_size)
            number = 0
            while number < found:
                other = self.known + firsts[number]
                if cython.cast(int64_t, other[0].numbers.kinds_size) == size and memcmp(
                    other[0].data + other[0].kinds_at, one[0].data + one[0].kinds_at, cython.cast(cython.size_t, size)
                ) == 0:  # fmt: skip
                    break
                number += 1
            if number == found:
                if found == _MOST_KINDS:
                    good[i] = False
                    continue
                text = PyBytes_FromStringAndSize(cython.cast(cython.p_char, one[0].data + one[0].kinds_at), size)
                firsts[found] = i
                found += 1
                try:
                    self.kinds.append(decode_kinds(text))
                    wrong.append(False)
                except FormatError:
                    self.kinds.append(frozenset())
                    wrong.append(True)
            one[0].number = number
            if wrong[number]:
                good[i] = False
        return None

    def gather(self, chosen: NDArray[np.bool_]) -> Union:
        """Some of the simple ones as one. Of events with the same tick, those of earlier sketches come first."""
        wanted: cython.pointer(uint8_t) = bytes_of(chosen)
        if len(chosen) != self.count or bool((chosen & ~self.simple).any()):
            raise ValueError("chosen: expected simple sketches only")
        template: BytesTemplate = BytesTemplate(self.config, KIND_SKETCH, b"")
        work: Workspace = Workspace()
        batch = cython.declare(Batch)
        now: int64_t = LEAST_TICK
        origin: int64_t = MOST_TICK
        fresh: int64_t = 0
        full: int64_t = 0
        most: int64_t = 0
        events: int64_t = 0
        has_clock: cython.bint = False
        counted: object = 0
        dropped: object = 0
        numbers: cython.pointer(Numbers)
        i: int64_t
        used: list[bool] = [False] * len(self.kinds)
        for i in range(self.count):
            if not wanted[i]:
                continue
            numbers = cython.address(self.known[i].numbers)
            if numbers[0].flags & HAS_CLOCK:
                now = max(now, numbers[0].now)
                has_clock = True
            if numbers[0].flags & HAS_ORIGIN:
                origin = min(origin, numbers[0].now - cython.cast(int64_t, numbers[0].age))
                fresh = self.known[i].section.fresh
                full += 1
            counted += numbers[0].counted
            dropped += numbers[0].dropped
            used[self.known[i].number] = True
            events += self.known[i].section.count
            most = max(most, self.known[i].section.count)
        kinds = unite_kinds(some for some, there in zip(self.kinds, used, strict=True) if there)
        if full == 0:
            return Union(now if has_clock else None, None, counted, dropped, kinds, None, True)
        keys, ticks, scratch = np.empty(events, np.uint64), np.empty(events, np.int64), np.empty(2 * events, np.int64)
        batch.keys, batch.ticks, batch.weights, batch.count = uint64s(keys), int64s(ticks), cython.NULL, 0
        memory: cython.pointer(int64_t) = int64s(scratch)
        if not work.reserve(most, 0):
            raise MemoryError
        good: cython.bint = True
        with cython.nogil:
            for i in range(self.count):
                if wanted[i] and good:
                    good = take_events(self.known + i, template, now - template.window, work, cython.address(batch))
            sort_ticks(batch.ticks, cython.cast(cython.pointer(int64_t), batch.keys), batch.count, memory)
        if not good:
            raise FormatError("sketch: its bytes were changed after they were checked")
        stream = adopt(self.config, 0, fresh if full == 1 else 0, cython.NULL, 0, cython.address(batch))
        return Union(now, origin, counted, dropped, kinds, stream, full == 1)


@cython.cfunc
@cython.nogil
def take_events(
    small: cython.pointer(SmallSketch), template: BytesTemplate, limit: int64_t, work: Workspace,
    batch: cython.pointer(Batch),
) -> cython.bint:  # fmt: skip
    """Put the events of a sketch that are after a tick behind others; False if they are malformed."""
    count: int64_t = small[0].section.count
    first: int64_t = 0
    if not read_small_events(small, template.window, work.keys, work.ticks, work.scratch):
        return False
    while first < count and work.ticks[first] <= limit:
        first += 1
    if first < count:
        memcpy(batch[0].keys + batch[0].count, work.keys + first, cython.cast(cython.size_t, 8 * (count - first)))
        memcpy(batch[0].ticks + batch[0].count, work.ticks + first, cython.cast(cython.size_t, 8 * (count - first)))
        batch[0].count += count - first
    return True
