"""Bytes <-> the header of a sketch: magic, kind, config, and the few numbers of a state (docs/format.md)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.kernels.varint import put_scalar
from ecmsketch.sketch.config_bytes import CONFIG, decode_config, encode_config
from ecmsketch.sketch.field_reader import FieldReader, zigzag
from ecmsketch.sketch.state import MAX_LEVELS, SketchState

MAGIC = b"ECMS"
VERSION = 1
KIND_SKETCH = 0
KIND_PREFIX = 1
ENVELOPE = struct.Struct("<4sBBB")
"""Magic, version, kind, and the bytes of the config."""
LEAST_SIZE = ENVELOPE.size + CONFIG.size + 3
"""Bytes of the shortest header: window, flags and the size of the item kinds take at least one each."""

HAS_CLOCK, HAS_ORIGIN, HAS_COUNTERS, HAS_SETTLED, HAS_NAMES, HAS_LATE, HAS_LEVELS = (1 << bit for bit in range(7))
_KEY = struct.Struct("<Q")
_MAX_LATE = 2**62


class Header(NamedTuple):
    """The numbers of a state, in the order of their bytes."""

    flags: int
    key: int = 0
    levels: int = 0
    now: int = 0
    origin: int = 0
    frontier: int = MIN_TICK
    counted: int = 0
    dropped: int = 0
    held_count: int = 0
    kinds_size: int = 0
    counters_size: int = 0
    settled_size: int = 0

    def has(self, flag: int) -> bool:
        """Whether a flag is set."""
        return bool(self.flags & flag)


def encode_header(state: SketchState, kind: int, kinds: bytes, counters: bytes, settled: bytes) -> bytes:
    """Everything before the kinds of a sketch's items, which are given as bytes, as are its counters."""
    config, late, now = encode_config(state.config), state.late, state.now or 0
    held = len(late.held.ticks)
    has_late = bool(late.frontier != MIN_TICK or late.counted or late.dropped or held)
    has_clock, has_origin = state.now is not None, state.origin is not None
    has_counters, has_settled = state.counters is not None, late.settled is not None
    flags = (
        has_clock * HAS_CLOCK
        | has_origin * HAS_ORIGIN
        | has_counters * HAS_COUNTERS
        | has_settled * HAS_SETTLED
        | state.config.heavy_hitters * HAS_NAMES
        | has_late * HAS_LATE
        | (state.levels > 0) * HAS_LEVELS
    )
    settled_until = 0 if late.frontier == MIN_TICK else now - late.frontier + 1
    fields = (
        (has_clock, zigzag(now)),
        (has_origin, now - (state.origin or 0)),
        (state.levels > 0, state.levels),
        *((has_late, number) for number in (settled_until, late.counted, late.dropped, held)),
        (True, len(kinds)),
        (has_counters, len(counters)),
        (has_settled, len(settled)),
    )
    return b"".join(
        [
            ENVELOPE.pack(MAGIC, VERSION, kind, len(config)),
            config,
            bytes((flags,)),
            _KEY.pack(state.key) if state.config.counter == "rw" else b"",
            *(put_scalar(number) for there, number in fields if there),
        ]
    )


def decode_header(body: bytes) -> tuple[SketchConfig, Header, int]:
    """The config and the numbers that a sketch's bytes begin with, and the position after them."""
    *_, kind, size = ENVELOPE.unpack_from(body)
    reader = FieldReader(body, ENVELOPE.size, "sketch")
    data, flags = reader.take(size), reader.byte()
    if flags >= 2 * HAS_LEVELS:
        raise FormatError(f"sketch: expected flags below {2 * HAS_LEVELS}, got {flags}")
    try:
        config = decode_config(data, kind == KIND_PREFIX, bool(flags & HAS_NAMES))
    except ConfigError as error:
        raise FormatError(f"config: {error}") from error
    header = _read_state(reader, flags, config.counter == "rw")
    _check(header, config, kind)
    return config, header, reader.at


def _read_state(reader: FieldReader, flags: int, drawn: bool) -> Header:
    if flags & HAS_ORIGIN and not flags & HAS_CLOCK:
        raise FormatError("sketch: it has a first arrival, but no clock")
    key = reader.word() if drawn else 0
    now = reader.signed() if flags & HAS_CLOCK else 0
    origin = now - reader.number() if flags & HAS_ORIGIN else 0
    levels = reader.present(bool(flags & HAS_LEVELS), 0, MAX_LEVELS)
    frontier, counted, dropped, held = MIN_TICK, 0, 0, 0
    if flags & HAS_LATE:
        since = reader.number()
        frontier = now - since + 1 if since else MIN_TICK
        counted, dropped, held = reader.number(_MAX_LATE), reader.number(_MAX_LATE), reader.number()
        if (since and frontier <= MIN_TICK) or not (since or counted or dropped or held):
            raise FormatError("sketch: its late arrivals are settled up to no tick, or there are none")
    kinds_size = reader.number()
    counters_size = reader.number() if flags & HAS_COUNTERS else 0
    settled_size = reader.number() if flags & HAS_SETTLED else 0
    return Header(
        flags, key, levels, now, origin, frontier, counted, dropped, held, kinds_size, counters_size, settled_size
    )


def _check(header: Header, config: SketchConfig, kind: int) -> None:
    """Refuse numbers that no state with this config has."""
    ticks = (header.origin, header.now, header.frontier)
    if not MIN_TICK <= min(ticks) <= max(ticks) <= MAX_TICK:
        raise FormatError(f"sketch: expected ticks from -2**61 to 2**62, got {header.origin}, {header.now}")
    has_late = bool(header.held_count or header.has(HAS_SETTLED))
    if (config.model == "count" or config.counter == "slices") and has_late:
        raise FormatError("sketch: it has more late arrivals than can be")
    if header.has(HAS_ORIGIN) != (header.has(HAS_COUNTERS) or has_late):
        raise FormatError("sketch: it has a first arrival but no arrivals, or arrivals but no first")
    if header.kinds_size and kind == KIND_PREFIX:
        raise FormatError("item kinds: expected none in a PrefixSketch, which counts numbers only")
