"""Bytes <-> state. docs/format.md describes the format byte by byte. Bytes from outside are never trusted."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh64_intdigest

from ecmsketch.config import SketchConfig
from ecmsketch.config.memory import HISTOGRAM_NBYTES
from ecmsketch.counters import MAX_ARRIVALS, Counters, counter_class
from ecmsketch.counters.arrivals import Batch
from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.heavy.candidates import FrequentItems
from ecmsketch.heavy.names import decode_names, encode_names, forget_names
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.kinds import decode_kinds, encode_kinds
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.sketch.config_bytes import CONFIG, decode_config, encode_config
from ecmsketch.sketch.late import LateArrivals
from ecmsketch.sketch.state import MAX_LEVELS, SketchState

MAGIC = b"ECMS"
VERSION = 1
KIND_SKETCH = 0
KIND_PREFIX = 1
_KIND_NAMES = {KIND_SKETCH: "an EcmSketch", KIND_PREFIX: "a PrefixSketch"}

_ENVELOPE = struct.Struct("<4sBBH")
_STATE = struct.Struct("<BHQqqqQQIQQ")
_CHECKSUM = struct.Struct("<Q")
_FREQUENT = struct.Struct("<BQQQ")
"""(heavy_hitters=True) After everything else: which parts there are, and the bytes of each."""
_CHECKSUM_SEED = 0
_HEADER_SIZE = _ENVELOPE.size + CONFIG.size + _STATE.size
_HAS_CLOCK, _HAS_ORIGIN, _HAS_COUNTERS, _HAS_SETTLED, _HAS_NAMES = 1, 2, 4, 8, 16
_MAX_LATE = 2**62
_HELD_SIZE = 24
"""Bytes of one late arrival that is held: tick, item and weight."""

MAX_NBYTES = 2**26
"""Memory that the counters of a sketch from unknown bytes may take, unless there are many bytes."""
_PER_BYTE = HISTOGRAM_NBYTES
"""Memory that each byte may take, beyond that: exponential histograms, one byte each when empty, always may."""


def encode(state: SketchState, kind: int) -> bytes:
    """A sketch as bytes. Equal sketches give equal bytes."""
    now = state.now or 0
    counters = b"" if state.counters is None else state.counters.encode(now)
    settled = b"" if state.late.settled is None else state.late.settled.encode(now)
    flags = (
        (_HAS_CLOCK if state.now is not None else 0)
        | (_HAS_ORIGIN if state.origin is not None else 0)
        | (_HAS_COUNTERS if state.counters is not None else 0)
        | (_HAS_SETTLED if state.late.settled is not None else 0)
        | (_HAS_NAMES if state.config.heavy_hitters else 0)
    )
    held = state.late.held
    header = _STATE.pack(
        flags, state.levels, state.key, now, state.origin or 0, state.late.frontier, state.late.counted,
        state.late.dropped, len(held.ticks), len(counters), len(settled),
    )  # fmt: skip
    columns = (held.ticks, held.items, held.explicit_weights())
    kinds = encode_kinds(state.kinds)
    body = b"".join(
        [
            _ENVELOPE.pack(MAGIC, VERSION, kind, len(kinds)),
            encode_config(state.config),
            header,
            kinds,
            counters,
            settled,
            *(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns),
            _encode_frequent(state) if state.config.heavy_hitters else b"",
        ]
    )
    return body + _CHECKSUM.pack(xxh64_intdigest(body, _CHECKSUM_SEED))


class _Header(NamedTuple):
    """The numbers of a state, in the order of their bytes."""

    flags: int
    levels: int
    key: int
    now: int
    origin: int
    frontier: int
    counted: int
    dropped: int
    held_count: int
    counters_size: int
    settled_size: int

    def has(self, flag: int) -> bool:
        """Whether a flag is set."""
        return bool(self.flags & flag)


def decode(data: Any, kind: int, max_nbytes: int | None = MAX_NBYTES) -> SketchState:
    """The sketch in some bytes, or a FormatError that says what is wrong with them.

    A config whose counters would take more than `max_nbytes` at their first arrival is refused (None: never).
    """
    body = _open_envelope(data, kind)
    most = _allowed(body, max_nbytes)
    header = _Header(*_STATE.unpack_from(body, _ENVELOPE.size + CONFIG.size))
    config = _open_config(body, kind, header.has(_HAS_NAMES), most)
    kinds_size = _ENVELOPE.unpack_from(body)[3]
    begin = _HEADER_SIZE + kinds_size
    frequent_begin = begin + header.counters_size + header.settled_size + _HELD_SIZE * header.held_count
    if frequent_begin > len(body) or (frequent_begin < len(body) and not header.has(_HAS_NAMES)):
        raise FormatError(f"sketch: its parts add up to {frequent_begin} bytes, but there are {len(body)}")
    _check_header(header)
    if kinds_size and kind == KIND_PREFIX:
        raise FormatError("item kinds: expected none in a PrefixSketch, which counts numbers only")
    _check_parts(header, config)
    state = _decode_arrivals(np.frombuffer(body, np.uint8, frequent_begin - begin, begin), header, config, most)
    state.kinds = decode_kinds(body[_HEADER_SIZE:begin])
    _check_late(state)
    if config.heavy_hitters:
        _decode_frequent(body[frequent_begin:], state)
    return state


def _open_config(body: bytes, kind: int, heavy_hitters: bool, most: int) -> SketchConfig:
    """The config, if its counters take no more memory than is allowed."""
    try:
        config = decode_config(body[_ENVELOPE.size :], kind == KIND_PREFIX, heavy_hitters)
    except ConfigError as error:
        raise FormatError(f"config: {error}") from error
    if config.first_nbytes > most:
        raise FormatError(
            f"config: epsilon={config.epsilon:g} with counter={config.counter!r} takes {config.first_nbytes:,} bytes "
            f"at the first arrival, and {most:,} are allowed; give a larger max_nbytes if you trust these bytes"
        )
    return config


def _decode_arrivals(sections: NDArray[np.uint8], header: _Header, config: SketchConfig, most: int) -> SketchState:
    """A state with its counters and late arrivals, from the bytes of these."""
    now = header.now
    splits = [header.counters_size, header.counters_size + header.settled_size]
    counters, settled, held = np.split(sections, splits)
    return SketchState(
        config,
        header.key,
        now if header.has(_HAS_CLOCK) else None,
        header.origin if header.has(_HAS_ORIGIN) else None,
        header.levels,
        _decode_counters(counters, header.has(_HAS_COUNTERS), config, now, most),
        LateArrivals(
            0,
            _decode_held(held, header.held_count, now),
            _decode_counters(settled, header.has(_HAS_SETTLED), config, now, most),
            None,
            header.frontier,
            header.counted,
            header.dropped,
        ),
    )


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
    if len(whole) < _HEADER_SIZE + _CHECKSUM.size:
        raise FormatError(
            f"sketch: expected at least {_HEADER_SIZE + _CHECKSUM.size} bytes, got {len(whole)}; the data is truncated"
        )
    magic, version, kind, _ = _ENVELOPE.unpack_from(whole)
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


def _check_header(header: _Header) -> None:
    """Refuse numbers that no state has."""
    flags, levels, now, origin = header.flags, header.levels, header.now, header.origin
    if flags >= 32 or levels > MAX_LEVELS:
        raise FormatError(f"sketch: expected flags below 32 and levels to {MAX_LEVELS}, got {flags} and {levels}")
    if (now and not header.has(_HAS_CLOCK)) or (origin and not header.has(_HAS_ORIGIN)):
        raise FormatError(f"sketch: it has no clock or no arrivals, but the ticks {now} and {origin} of them")
    if not all(MIN_TICK <= tick <= MAX_TICK for tick in (origin, now, header.frontier)):
        raise FormatError(f"sketch: expected ticks from -2**61 to 2**62, got {origin}, {now}, {header.frontier}")
    if header.has(_HAS_ORIGIN) and (not header.has(_HAS_CLOCK) or origin > now):
        raise FormatError(f"sketch: its first arrival ({origin}) lies after its clock ({now})")


def _check_parts(header: _Header, config: SketchConfig) -> None:
    """Refuse parts that no state with this config has."""
    key, held = header.key, header.held_count
    if key and config.counter != "rw":
        raise FormatError(f"sketch: expected no key of random draws with counter={config.counter!r}, got {key}")
    has_late = held or header.has(_HAS_SETTLED)
    if max(header.counted, header.dropped) > _MAX_LATE or (config.model == "count" and has_late):
        raise FormatError("sketch: it has more late arrivals than can be")
    if header.has(_HAS_ORIGIN) != bool(header.has(_HAS_COUNTERS) or has_late):
        raise FormatError("sketch: it has a first arrival but no arrivals, or arrivals but no first")


def _allowed(data: bytes, max_nbytes: int | None) -> int:
    """How much memory some bytes may take."""
    if max_nbytes is None:
        return 2**63
    if not is_integer(max_nbytes) or max_nbytes < 0:
        raise FormatError(f"max_nbytes: expected a number of bytes, or None for no limit, got {max_nbytes!r}")
    return max(int(max_nbytes), _PER_BYTE * len(data))


def _decode_counters(
    data: NDArray[np.uint8], present: bool, config: SketchConfig, now: int, most: int
) -> Counters | None:
    if present:
        return counter_class(config).decode(data, config, now, most)
    if len(data):
        raise FormatError("sketch: it has bytes for counters that it says are absent")
    return None


def _decode_held(data: NDArray[np.uint8], count: int, now: int) -> Batch:
    ticks = data[: 8 * count].view("<i8").astype(np.int64)
    items = data[8 * count : 16 * count].view("<u8").astype(np.uint64)
    weights = data[16 * count :].view("<i8").astype(np.int64)
    if count and not (
        bool((ticks[1:] >= ticks[:-1]).all())
        and int(ticks[0]) >= MIN_TICK
        and int(ticks[-1]) <= now
        and int(weights.min()) > 0
        and float(weights.sum(dtype=np.float64)) <= MAX_ARRIVALS
    ):
        raise FormatError("sketch: its late arrivals are not sorted positive counts before its clock")
    return Batch(items, ticks, weights)
