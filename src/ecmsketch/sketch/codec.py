"""Bytes <-> state. docs/format.md describes the format byte by byte. Bytes from outside are never trusted."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from ecmsketch.kernels.hashing import hash_bytes as xxh64_intdigest

from ecmsketch.config import SketchConfig
from ecmsketch.config.memory import HISTOGRAM_NBYTES
from ecmsketch.counters import MAX_ARRIVALS, counter_class
from ecmsketch.counters.arrivals import Batch
from ecmsketch.errors import FormatError
from ecmsketch.heavy.candidates import FrequentItems
from ecmsketch.heavy.names import decode_names, encode_names, forget_names
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.kinds import Kinds, decode_kinds, encode_kinds
from ecmsketch.inputs.ticks import MIN_TICK
from ecmsketch.sketch.engines import engine_class
from ecmsketch.sketch.header_bytes import (
    ENVELOPE,
    HAS_CLOCK,
    HAS_COUNTERS,
    HAS_ORIGIN,
    HAS_SETTLED,
    KIND_PREFIX,
    KIND_SKETCH,
    LEAST_SIZE,
    MAGIC,
    VERSION,
    Header,
    decode_header,
    encode_header,
)
from ecmsketch.sketch.late import LateArrivals
from ecmsketch.sketch.state import SketchState
from ecmsketch.slices import SlicedStream

__all__ = ["KIND_PREFIX", "KIND_SKETCH", "MAX_NBYTES", "Summary", "decode", "decode_summary", "encode", "kind_in"]

_KIND_NAMES = {KIND_SKETCH: "an EcmSketch", KIND_PREFIX: "a PrefixSketch"}
_CHECKSUM = struct.Struct("<Q")
_FREQUENT = struct.Struct("<BQQQ")
"""(heavy_hitters=True) After everything else: which parts there are, and the bytes of each."""
_CHECKSUM_SEED = 0
_LEAST_SIZE = LEAST_SIZE + _CHECKSUM.size
_HELD_SIZE = 24
"""Bytes of one late arrival that is held: tick, item and weight."""
_NONE_HELD = Batch(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


class Summary(NamedTuple):
    """What is known of a sketch without reading its counters: config, clock, first tick and the kinds of its items."""

    config: SketchConfig
    now: int | None
    first_tick: int | None
    kinds: Kinds


MAX_NBYTES = 2**26
"""Memory that the counters of a sketch from unknown bytes may take, unless there are many bytes."""
_PER_BYTE = HISTOGRAM_NBYTES
"""Memory that each byte may take, beyond that: exponential histograms, one byte each when empty, always may."""


def encode(state: SketchState, kind: int) -> bytes:
    """A sketch as bytes. Equal sketches give equal bytes."""
    now, held = state.now or 0, state.late.held
    counters = b"" if state.counters is None else state.counters.encode(now)
    settled = b"" if state.late.settled is None else state.late.settled.encode(now)
    kinds = encode_kinds(state.kinds)
    columns = (held.ticks, held.items, held.explicit_weights()) if len(held.ticks) else ()
    body = b"".join(
        [
            encode_header(state, kind, kinds, counters, settled),
            kinds,
            counters,
            settled,
            *(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns),
            _encode_frequent(state) if state.config.heavy_hitters else b"",
        ]
    )
    return body + _CHECKSUM.pack(xxh64_intdigest(body, _CHECKSUM_SEED))


def decode(data: Any, kind: int, max_nbytes: int | None = MAX_NBYTES) -> SketchState:
    """The sketch in some bytes, or a FormatError that says what is wrong with them.

    A config whose counters would take more than `max_nbytes` at their first arrival is refused (None: never).
    """
    body = _open_envelope(data, kind)
    most = _allowed(body, max_nbytes)
    config, header, at = decode_header(body)
    _check_memory(config, most)
    begin = at + header.kinds_size
    frequent_begin = begin + header.counters_size + header.settled_size + _HELD_SIZE * header.held_count
    if frequent_begin > len(body) or (frequent_begin < len(body) and not config.heavy_hitters):
        raise FormatError(f"sketch: its parts add up to {frequent_begin} bytes, but there are {len(body)}")
    state = _decode_arrivals(np.frombuffer(body, np.uint8, frequent_begin - begin, begin), header, config, most)
    state.kinds = decode_kinds(body[at:begin])
    _check_late(state)
    if config.heavy_hitters:
        _decode_frequent(body[frequent_begin:], state)
    return state


def decode_summary(data: Any, kind: int) -> Summary:
    """What a sketch's header says, once its checksum is right; a FormatError otherwise. Counters are not looked at."""
    body = _open_envelope(data, kind)
    config, header, at = decode_header(body)
    now = header.now if header.has(HAS_CLOCK) else None
    origin = header.origin if header.has(HAS_ORIGIN) else None
    return Summary(config, now, origin, decode_kinds(body[at : at + header.kinds_size]))


def _check_memory(config: SketchConfig, most: int) -> None:
    """Refuse counters that take more memory than is allowed."""
    if config.first_nbytes > most:
        raise FormatError(
            f"config: epsilon={config.epsilon:g} with counter={config.counter!r} takes {config.first_nbytes:,} bytes "
            f"at the first arrival, and {most:,} are allowed; give a larger max_nbytes if you trust these bytes"
        )


def _decode_arrivals(sections: NDArray[np.uint8], header: Header, config: SketchConfig, most: int) -> SketchState:
    """A state with its counters and late arrivals, from the bytes of these."""
    now = header.now
    settled_begin = header.counters_size
    held_begin = settled_begin + header.settled_size
    counters, settled, held = sections[:settled_begin], sections[settled_begin:held_begin], sections[held_begin:]
    state = SketchState(
        config,
        header.key,
        now if header.has(HAS_CLOCK) else None,
        header.origin if header.has(HAS_ORIGIN) else None,
        header.levels,
        engine_class(config).decode(counters, config, now, most) if header.has(HAS_COUNTERS) else None,
        LateArrivals(
            0,
            _decode_held(held, header.held_count, now),
            counter_class(config).decode(settled, config, now, most) if header.has(HAS_SETTLED) else None,
            None,
            header.frontier,
            header.counted,
            header.dropped,
        ),
    )
    if isinstance(state.counters, SlicedStream):
        state.counters.levels = header.levels
    return state


def _encode_frequent(state: SketchState) -> bytes:
    now = state.now or 0
    parts = (state.frequent, state.late.frequent)
    flags = sum(bit for bit, part in zip((1, 2), parts, strict=True) if part is not None)
    encoded = [b"" if part is None else part.encode(now) for part in parts]
    encoded.append(encode_names(forget_names(state.names, state.named()).values()))
    return _FREQUENT.pack(flags, *(len(part) for part in encoded)) + b"".join(encoded)


def _decode_frequent(data: bytes, state: SketchState) -> None:
    if len(data) < _FREQUENT.size:
        raise FormatError("frequent items: they are missing; the data is truncated")
    flags, *sizes = _FREQUENT.unpack_from(data)
    if flags > 3 or _FREQUENT.size + sum(sizes) != len(data):
        raise FormatError(f"frequent items: expected {_FREQUENT.size + sum(sizes)} bytes of them, got {len(data)}")
    columns = np.frombuffer(data, np.uint8, offset=_FREQUENT.size)
    on_time, late, names = np.split(columns, np.cumsum(sizes)[:-1])
    expected = (1 if state.counters is not None else 0) | (2 if state.late.settled is not None else 0)
    if flags != expected:
        raise FormatError("frequent items: expected them for all counters that are there, and no others")
    if flags & 1:
        state.frequent = FrequentItems.decode(on_time, state.config, state.now or 0)
    if flags & 2:
        state.late.frequent = FrequentItems.decode(late, state.config, state.now or 0)
    state.names = decode_names(names.tobytes())
    if not np.isin(np.array(list(state.names), np.uint64), state.named()).all():
        raise FormatError("names: expected those of frequent items only")


def kind_in(data: Any) -> int | None:
    """What some bytes say they are, unchecked; None if they are too short to say."""
    return memoryview(data)[5] if isinstance(data, bytes | bytearray | memoryview) and len(data) > 5 else None


def _check_late(state: SketchState) -> None:
    """Settled late arrivals lie up to the frontier, held ones after it."""
    late, config = state.late, state.config
    if len(late.held.ticks) and int(late.held.ticks[0]) <= late.frontier:
        raise FormatError("sketch: it holds late arrivals that should be settled")
    if late.settled is not None and state.now is not None and state.origin is not None:
        since = max(late.frontier, state.now - config.window)
        cells = np.arange(config.cells, dtype=np.uint32)
        if since < state.now and late.settled.read(cells, since, state.now, state.origin).upper.any():
            raise FormatError("sketch: it has settled late arrivals after their frontier")


def _open_envelope(data: Any, expected_kind: int) -> bytes:
    """Everything before the checksum, once length, magic, version and checksum are right."""
    try:
        whole = bytes(memoryview(data))
    except TypeError as error:
        raise FormatError(f"sketch: expected bytes, got {type(data).__name__}") from error
    if len(whole) < _LEAST_SIZE:
        raise FormatError(f"sketch: expected at least {_LEAST_SIZE} bytes, got {len(whole)}; the data is truncated")
    magic, version, kind, _ = ENVELOPE.unpack_from(whole)
    if magic != MAGIC:
        raise FormatError(f"sketch: expected the bytes to begin with {MAGIC!r}, got {magic!r}; this is not a sketch")
    if version != VERSION:
        raise FormatError(f"sketch: format version {version} is unknown, this library reads version {VERSION}")
    if kind != expected_kind:
        raise FormatError(
            f"sketch: expected {_KIND_NAMES[expected_kind]}, got {_KIND_NAMES.get(kind, f'unknown kind {kind}')}"
        )
    body = whole[: -_CHECKSUM.size]
    (expected,) = _CHECKSUM.unpack_from(whole, len(body))
    if xxh64_intdigest(body, _CHECKSUM_SEED) != expected:
        raise FormatError("sketch: the checksum does not match; the data is corrupt or truncated")
    return body


def _allowed(data: bytes, max_nbytes: int | None) -> int:
    """How much memory some bytes may take."""
    if max_nbytes is None:
        return 2**63
    if not is_integer(max_nbytes) or max_nbytes < 0:
        raise FormatError(f"max_nbytes: expected a number of bytes, or None for no limit, got {max_nbytes!r}")
    return max(int(max_nbytes), _PER_BYTE * len(data))


def _decode_held(data: NDArray[np.uint8], count: int, now: int) -> Batch:
    if not count:
        return _NONE_HELD
    ticks = data[: 8 * count].view("<i8").astype(np.int64)
    items = data[8 * count : 16 * count].view("<u8").astype(np.uint64)
    weights = data[16 * count :].view("<i8").astype(np.int64)
    if not (
        bool((ticks[1:] >= ticks[:-1]).all())
        and int(ticks[0]) >= MIN_TICK
        and int(ticks[-1]) <= now
        and int(weights.min()) > 0
        and float(weights.sum(dtype=np.float64)) <= MAX_ARRIVALS
    ):
        raise FormatError("sketch: its late arrivals are not sorted positive counts before its clock")
    return Batch(items, ticks, weights)
