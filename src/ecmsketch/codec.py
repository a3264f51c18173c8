"""Bytes <-> state. The format is docs/format.md, byte by byte; bytes from outside are hostile."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh64_intdigest

from ecmsketch.batches import Batch
from ecmsketch.config import CHOICES, SketchConfig
from ecmsketch.counters import MAX_ARRIVALS, Counters, kind_of
from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.frequent import FrequentItems
from ecmsketch.late import LateArrivals
from ecmsketch.names import decode_names, encode_names, forget_names
from ecmsketch.prefix_config import PrefixConfig
from ecmsketch.state import MAX_LEVELS, SketchState
from ecmsketch.ticks import MAX_TICK, MIN_TICK

MAGIC = b"ECMS"
VERSION = 2
"""Newest; a sketch is written in the oldest that can hold it: 2 with heavy_hitters=True, else 1."""
KIND_SKETCH = 0
KIND_PREFIX = 1
_KIND_NAMES = {KIND_SKETCH: "an EcmSketch", KIND_PREFIX: "a PrefixSketch"}

_ENVELOPE = struct.Struct("<4sBBH")
_CONFIG = struct.Struct("<ddqQqqdHBBBBBBBBBB")
_STATE = struct.Struct("<BHQqqqQQIQQ")
_CHECKSUM = struct.Struct("<Q")
_FREQUENT = struct.Struct("<BQQQ")
"""(version 2) After everything else: which parts there are, and the bytes of each."""
_CHECKSUM_SEED = 0
_HEADER_SIZE = _ENVELOPE.size + _CONFIG.size + _STATE.size
_CHOICE_FIELDS = ("counter", "model", "optimize_for", "merge_formula", "estimator", "late", "unit")
_HAS_CLOCK, _HAS_ORIGIN, _HAS_COUNTERS, _HAS_SETTLED = 1, 2, 4, 8
_MAX_LATE = 2**62


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
    )
    held = state.late.held
    header = _STATE.pack(
        flags, state.levels, state.key, now, state.origin or 0, state.late.frontier, state.late.counted,
        state.late.dropped, len(held.ticks), len(counters), len(settled),
    )  # fmt: skip
    columns = (held.ticks, held.items, held.explicit_weights())
    body = b"".join(
        [
            _ENVELOPE.pack(MAGIC, 2 if state.config.heavy_hitters else 1, kind, 0),
            _encode_config(state.config),
            header,
            counters,
            settled,
            *(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns),
            _encode_frequent(state) if state.config.heavy_hitters else b"",
        ]
    )
    return body + _CHECKSUM.pack(xxh64_intdigest(body, _CHECKSUM_SEED))


def decode(data: Any, kind: int) -> SketchState:
    """The sketch in some bytes, or a FormatError that says what is wrong with them."""
    body = _open_envelope(data, kind)
    heavy_hitters = body[len(MAGIC)] == 2
    try:
        config = _decode_config(body[_ENVELOPE.size :], kind, heavy_hitters)
    except ConfigError as error:
        raise FormatError(f"config: {error}") from error
    fields = _STATE.unpack_from(body, _ENVELOPE.size + _CONFIG.size)
    flags, levels, key, now, origin, frontier, counted, dropped, held_count, counters_size, settled_size = fields
    held_size = 24 * held_count
    frequent_begin = _HEADER_SIZE + counters_size + settled_size + held_size
    if frequent_begin > len(body) or (frequent_begin < len(body) and not heavy_hitters):
        raise FormatError(f"sketch: its parts add up to {frequent_begin} bytes, but there are {len(body)}")
    _check_header(flags, levels, now, origin, frontier)
    if key and config.counter != "rw":
        raise FormatError(f"sketch: expected no key of random draws with counter={config.counter!r}, got {key}")
    if max(counted, dropped) > _MAX_LATE or (config.model == "count" and (held_count or flags & _HAS_SETTLED)):
        raise FormatError("sketch: it has more late arrivals than can be")
    if bool(flags & _HAS_ORIGIN) != bool(flags & (_HAS_COUNTERS | _HAS_SETTLED) or held_count):
        raise FormatError("sketch: it has a first arrival but no arrivals, or arrivals but no first")
    sections = np.frombuffer(body, np.uint8, frequent_begin - _HEADER_SIZE, _HEADER_SIZE)
    counters, settled, held = np.split(sections, [counters_size, counters_size + settled_size])
    state = SketchState(
        config,
        key,
        now if flags & _HAS_CLOCK else None,
        origin if flags & _HAS_ORIGIN else None,
        levels,
        _decode_counters(counters, bool(flags & _HAS_COUNTERS), config, now),
        LateArrivals(
            0,
            _decode_held(held, held_count, now),
            _decode_counters(settled, bool(flags & _HAS_SETTLED), config, now),
            None,
            frontier,
            counted,
            dropped,
        ),
    )
    _check_late(state)
    if heavy_hitters:
        _decode_frequent(body[frequent_begin:], state)
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
    if len(whole) < _HEADER_SIZE + _CHECKSUM.size:
        raise FormatError(
            f"sketch: expected at least {_HEADER_SIZE + _CHECKSUM.size} bytes, got {len(whole)}; the data is truncated"
        )
    magic, version, kind, reserved = _ENVELOPE.unpack_from(whole)
    if magic != MAGIC:
        raise FormatError(f"sketch: expected the bytes to begin with {MAGIC!r}, got {magic!r}; this is not a sketch")
    if not 1 <= version <= VERSION:
        raise FormatError(
            f"sketch: format version {version} is unknown, this library reads versions 1 to {VERSION}; upgrade it"
        )
    if reserved != 0:
        raise FormatError(f"sketch: expected 0 in its reserved bytes, got {reserved}")
    if kind != expected_kind:
        raise FormatError(
            f"sketch: expected {_KIND_NAMES[expected_kind]}, got {_KIND_NAMES.get(kind, f'unknown kind {kind}')}"
        )
    body = whole[: -_CHECKSUM.size]
    (expected,) = _CHECKSUM.unpack_from(whole, len(body))
    if xxh64_intdigest(body, _CHECKSUM_SEED) != expected:
        raise FormatError("sketch: the checksum does not match; the data is corrupt or truncated")
    return body


def _encode_config(config: SketchConfig) -> bytes:
    choices = (CHOICES[name].index(getattr(config, name)) for name in _CHOICE_FIELDS)
    lateness = -1 if config.lateness is None else config.lateness
    return _CONFIG.pack(
        config.epsilon, config.delta, config.window, config.seed, lateness, config.max_arrivals or 0,
        config.wave_constant or 0.0, config.merge_depth, config.wave_instances, *_domain(config), *choices,
    )  # fmt: skip


def _decode_config(data: bytes, kind: int, heavy_hitters: bool) -> SketchConfig:
    epsilon, delta, window, seed, lateness, max_arrivals, constant, merge_depth, instances, bits, digit, *choices = (
        _CONFIG.unpack_from(data)
    )
    named = {}
    for name, index in zip(_CHOICE_FIELDS, choices, strict=True):
        if index >= len(CHOICES[name]):
            raise FormatError(f"config: {name} number {index} is unknown, expected 0 to {len(CHOICES[name]) - 1}")
        named[name] = CHOICES[name][index]
    settings = dict(
        epsilon=epsilon,
        delta=delta,
        window=window,
        seed=seed,
        lateness=None if lateness == -1 else lateness,
        max_arrivals=max_arrivals or None,
        wave_constant=constant or None,
        wave_instances=instances,
        merge_depth=merge_depth,
        heavy_hitters=heavy_hitters,
        **named,
    )
    if kind == KIND_PREFIX:
        return PrefixConfig(**settings, bits=bits, radix=1 << min(digit, 16))
    if bits or digit:
        raise FormatError("config: only a PrefixSketch has bits and a radix")
    return SketchConfig(**settings)


def _domain(config: SketchConfig) -> tuple[int, int]:
    if isinstance(config, PrefixConfig):
        return config.bits, config.radix.bit_length() - 1
    return 0, 0


def _check_header(flags: int, levels: int, now: int, origin: int, frontier: int) -> None:
    if flags >= 16 or levels > MAX_LEVELS:
        raise FormatError(f"sketch: expected flags below 16 and levels to {MAX_LEVELS}, got {flags} and {levels}")
    if (now and not flags & _HAS_CLOCK) or (origin and not flags & _HAS_ORIGIN):
        raise FormatError(f"sketch: it has no clock or no arrivals, but the ticks {now} and {origin} of them")
    if not (MIN_TICK <= origin <= MAX_TICK and MIN_TICK <= now <= MAX_TICK and MIN_TICK <= frontier <= MAX_TICK):
        raise FormatError(f"sketch: expected ticks from -2**61 to 2**62, got {origin}, {now}, {frontier}")
    if flags & _HAS_ORIGIN and (not flags & _HAS_CLOCK or origin > now):
        raise FormatError(f"sketch: its first arrival ({origin}) lies after its clock ({now})")


def _decode_counters(data: NDArray[np.uint8], present: bool, config: SketchConfig, now: int) -> Counters | None:
    if present:
        return kind_of(config).decode(data, config, now)
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
        and int(weights.max()) <= MAX_ARRIVALS // count
    ):
        raise FormatError("sketch: its late arrivals are not sorted positive counts before its clock")
    return Batch(items, ticks, weights)
