"""Reads the bytes of sketches by docs/format.md alone, as another program would: the code is not asked."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import NamedTuple

from hand_written import sealed, signed, varint


class Slice(NamedTuple):
    """One slice: its ticks from first to last with the seven knots between them, and how its table is written."""

    first: int
    knots: list[int]
    last: int
    arrivals: int
    code: int
    table: bytes


class Sketch(NamedTuple):
    """A sketch, taken apart. `fields` are the numbers of the state that there are, by their names."""

    kind: int
    config: bytes
    flags: int
    fields: dict[str, int]
    key: int | None
    kinds: bytes
    counters: bytes
    settled: bytes
    rest: bytes
    """Held late arrivals and frequent items."""


def take_varint(data: bytes, at: int) -> tuple[int, int]:
    """(A number, the position after it)."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def take_varints(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    numbers = []
    for _ in range(count):
        number, at = take_varint(data, at)
        numbers.append(number)
    return numbers, at


STATE = (
    (1, "now"), (2, "age"), (64, "levels"), (32, "settled_until"), (32, "counted"), (32, "dropped"), (32, "held"),
    (0, "kinds"), (4, "counters"), (8, "settled"),
)  # fmt: skip
"""The numbers of a state: the flag with which each is there (0: always), and its name."""


def taken_apart(data: bytes) -> Sketch:
    body = data[:-8]
    assert body[:5] == b"ECMS\x01"
    kind, size = body[5], body[6]
    config, at = body[7 : 7 + size], 7 + size
    randomized = struct.unpack_from("<H", config, 16)[0] & 7 == 2
    flags, at = body[at], at + 1
    key = None
    if randomized:
        (key,), at = struct.unpack_from("<Q", body, at), at + 8
    fields = {}
    for flag, name in STATE:
        if not flag or flags & flag:
            fields[name], at = take_varint(body, at)
    if "now" in fields:
        fields["now"] = (fields["now"] >> 1) ^ -(fields["now"] & 1)
    parts = []
    for name in ("kinds", "counters", "settled"):
        parts.append(body[at : at + fields.get(name, 0)])
        at += fields.pop(name, 0)
    return Sketch(kind, config, flags, fields, key, *parts, body[at:])


def put_together(sketch: Sketch) -> bytes:
    """The bytes of a sketch that was taken apart and changed; the checksum fits."""
    sizes = {name: len(getattr(sketch, name)) for name in ("kinds", "counters", "settled")}
    fields = {**sketch.fields, **sizes}
    state = bytes((sketch.flags,)) + (b"" if sketch.key is None else struct.pack("<Q", sketch.key))
    for flag, name in STATE:
        if not flag or sketch.flags & flag:
            state += (signed if name == "now" else varint)(fields[name])
    head = b"ECMS" + bytes((1, sketch.kind, len(sketch.config)))
    return sealed(head + sketch.config + state + sketch.kinds + sketch.counters + sketch.settled + sketch.rest)


def packed_size(data: bytes, at: int, count: int) -> int:
    """The position after packed numbers."""
    how, at = data[at], at + 1
    if how <= 64:
        return at + -(-how * count // 8)
    assert how == 65
    different, at = take_varint(data, at)
    parameter, at = data[at], at + 1
    bits = 8 * at

    def bit() -> int:
        nonlocal bits
        bits += 1
        return data[(bits - 1) // 8] >> (7 - (bits - 1) % 8) & 1

    for _ in range(different):
        while not bit():
            pass
        bits += parameter
    bits += count * (different - 1).bit_length()
    return -(-bits // 8)


class Slices(NamedTuple):
    """What the counters of a sketch with counter="slices" hold, oldest first."""

    event_ticks: list[int]
    fresh: int
    weights: list[int]
    items: bytes
    """Packed, as they are."""
    slices: list[Slice]


def read_slices(sketch: Sketch) -> Slices:
    data, now = sketch.counters, sketch.fields["now"]
    if not data:
        return Slices([], 0, [], b"", [])
    (events, fresh, weighted, count), at = take_varints(data, 0, 4)
    gaps, at = take_varints(data, at, events)
    weights, at = take_varints(data, at, events * weighted)
    numbers, at = take_varints(data, at, 12 * count)
    ticks, tick = [], now
    for gap in gaps:
        tick -= gap
        ticks.append(tick)
    begin, at = at, packed_size(data, at, events) if events else at
    items, found = data[begin:at], []
    for i in range(count):
        row = numbers[12 * i : 12 * i + 12]
        last, knots = now - row[0], []
        tick = last
        for gap in row[1:9]:
            tick -= gap
            knots.append(tick)
        found.append(Slice(knots[-1], knots[-2::-1], last, row[9], row[10], data[at : at + row[11]]))
        at += row[11]
    assert at == len(data)
    return Slices(ticks[::-1], fresh, weights, items, found)


def write_slices(content: Slices, now: int) -> bytes:
    """The bytes of a sketch's counters, whatever the numbers are."""
    numbers = [len(content.event_ticks), content.fresh, int(bool(content.weights)), len(content.slices)]
    later = now
    for tick in reversed(content.event_ticks):
        numbers.append(later - tick)
        later = tick
    numbers += content.weights
    for each in content.slices:
        ticks = [each.first, *each.knots, each.last]
        gaps = [after - before for before, after in pairwise(ticks)][::-1]
        numbers += [now - each.last, *gaps, each.arrivals, each.code, len(each.table)]
    return b"".join(map(varint, numbers)) + content.items + b"".join(each.table for each in content.slices)


def coded(numbers: list[int]) -> tuple[int, bytes]:
    """(The parameter, the bits) of a table in exponential Golomb code, as docs/format.md says."""
    average = sum(numbers) // len(numbers)
    middle = max(average.bit_length(), 1)
    best: tuple[int, int, str] | None = None
    for parameter in range(max(middle - 6, 0), min(middle + 3, 53) + 1):
        bits = ""
        for number in numbers:
            quotient = (number >> parameter) + 1
            bits += "0" * (quotient.bit_length() - 1) + f"{quotient:b}"
            bits += f"{number & ((1 << parameter) - 1):0{parameter}b}" if parameter else ""
        if best is None or len(bits) < best[0]:
            best = len(bits), parameter, bits
    assert best is not None
    size, parameter, bits = best
    return parameter, int(bits.ljust(-(-size // 8) * 8, "0"), 2).to_bytes(-(-size // 8), "big")


def slice_of(first: int, last: int, arrivals: int, cells: list[int]) -> Slice:
    """A slice that is the first of all, so that its table is written as it is."""
    parameter, table = coded(cells)
    return Slice(first, [last] * 7, last, arrivals, 2 * parameter, table)
