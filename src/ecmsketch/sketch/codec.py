"""Bytes of a sketch: envelope, config, header and sections (docs/format.md). Bytes from outside are never trusted.

The codec works on plain values. A sketch becomes `Parts`, in which counters are sections of bytes that engines wrote
and will read; the header's numbers are read and written by header.py.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.memory import HISTOGRAM_NBYTES
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.config.sketch_config import CHOICES
from ecmsketch.engines.contract import MAX_ARRIVALS
from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.inputs.columns import is_integer
from ecmsketch.inputs.kinds import NOTHING, Kinds, decode_kinds, encode_kinds
from ecmsketch.kernels.hashing import hash_bytes
from ecmsketch.kernels.packing import get_scalar, put_scalar
from ecmsketch.sketch.header import Header, decode_header, encode_header

MAGIC = b"ECMS"
VERSION = 1
KIND_SKETCH, KIND_PREFIX = 0, 1
"""Type ids: the class of a sketch in its bytes."""
_KIND_NAMES = {KIND_SKETCH: "an EcmSketch", KIND_PREFIX: "a PrefixSketch"}
_ENVELOPE = struct.Struct("<4sBBB")
"""Magic, version, kind, and the bytes of the config."""
_CHECKSUM = struct.Struct("<Q")
CHECKSUM_SEED = 0
_FREQUENT = struct.Struct("<BQQQ")
"""(heavy_hitters=True) After everything else: which parts there are, and the bytes of each."""
_HELD_SIZE = 24
"""Bytes of one late arrival that is held: tick, item and weight."""
HAS_CLOCK, HAS_ORIGIN, HAS_COUNTERS, HAS_SETTLED, HAS_NAMES, HAS_LATE, HAS_LEVELS = (1 << bit for bit in range(7))
_FLAGS = 128
_NO_TICK = -(2**61)
"""The frontier while nothing is settled: the first tick that there is."""

MAX_NBYTES = 2**26
"""Memory that the counters of a sketch from unknown bytes may take, unless there are many bytes."""
UNLIMITED = 2**62
_PER_BYTE = HISTOGRAM_NBYTES
"""Memory that each byte may take, beyond that: exponential histograms, one byte each when empty, always may."""

CONFIG = struct.Struct("<ddHB")
"""What every config begins with: epsilon, delta, the choices and which of the other fields there are."""
CHOICE_BITS = {
    "counter": 3, "model": 1, "optimize_for": 1, "merge_formula": 1, "estimator": 1, "late": 2, "unit": 3, "split": 1,
}  # fmt: skip
"""Bits of each choice, the first one lowest."""
HASHING = 1
"""The number of the rule by which items get their cells (docs/format.md). It is written above the choices. Rule 0 did
not mix items, and was never released.
"""
_SEED, _MERGE_DEPTH, _LATENESS, _RESOLUTION, _MAX_ARRIVALS, _WAVE_CONSTANT, _WAVE_INSTANCES = (1 << b for b in range(7))
_FLOAT = struct.Struct("<d")
_REMEMBERED = 256
"""Configs remembered by their bytes: sketches of many sites have few."""
_LEAST_SIZE = _ENVELOPE.size + CONFIG.size + 3 + _CHECKSUM.size
"""Bytes of the shortest sketch: window, flags and the size of the item kinds take at least one each."""


class Held(NamedTuple):
    """Late arrivals that are held exactly, in order of their ticks."""

    ticks: NDArray[np.int64]
    keys: NDArray[np.uint64]
    weights: NDArray[np.int64]


NONE_HELD = Held(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64))


class Frequent(NamedTuple):
    """(heavy_hitters=True) Sections of the candidates on time and among settled late arrivals, and of their names."""

    on_time: bytes | None = None
    late: bytes | None = None
    names: bytes = b""


class Parts(NamedTuple):
    """A sketch as plain values, with its counters as sections."""

    config: SketchConfig
    key: int = 0
    """Seeds the random draws of this stream (counter="rw")."""
    now: int | None = None
    origin: int | None = None
    levels: int = 0
    frontier: int = _NO_TICK
    """The newest settled tick; the first tick that there is while nothing is settled."""
    late_counted: int = 0
    late_dropped: int = 0
    held: Held = NONE_HELD
    kinds: Kinds = NOTHING
    counters: bytes | None = None
    settled: bytes | None = None
    frequent: Frequent | None = None
    most: int = UNLIMITED
    """Memory that the counters may take when they are read."""


class Summary(NamedTuple):
    """What is known of a sketch without reading its counters."""

    type_id: int
    config: SketchConfig
    now: int | None
    first_tick: int | None
    kinds: Kinds


def encode_sketch(parts: Parts, type_id: int) -> bytes:
    """A sketch as bytes. Equal sketches give equal bytes."""
    config, kinds, held = parts.config, encode_kinds(parts.kinds), parts.held
    prefix = encode_config(config)
    columns = (held.ticks, held.keys, held.weights) if len(held.ticks) else ()
    body = b"".join(
        [
            _ENVELOPE.pack(MAGIC, VERSION, type_id, len(prefix)),
            prefix,
            encode_header(_header_of(parts, len(kinds)), config.counter == "rw"),
            kinds,
            parts.counters or b"",
            parts.settled or b"",
            *(np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes() for column in columns),
            _encode_frequent(parts.frequent or Frequent()) if config.heavy_hitters else b"",
        ]
    )
    return body + _CHECKSUM.pack(hash_bytes(body, CHECKSUM_SEED))


def decode_sketch(data: Any, type_id: int, max_nbytes: int | None = MAX_NBYTES) -> Parts:
    """The sketch in some bytes, or a FormatError that says what is wrong with them.

    Its sections are not looked into: engines and candidates do that. A config whose counters would take more than
    `max_nbytes` at their first arrival is refused (None: never).
    """
    whole = _open_envelope(data, type_id)
    end = len(whole) - _CHECKSUM.size
    most = _allowed(end, max_nbytes)
    config, header, at = _read_header(whole, end)
    if config.first_nbytes > most:
        raise FormatError(
            f"config: epsilon={config.epsilon:g} with counter={config.counter!r} takes {config.first_nbytes:,} bytes "
            f"at the first arrival, and {most:,} are allowed; give a larger max_nbytes if you trust these bytes"
        )
    counters_at = at + header.kinds_size
    settled_at = counters_at + header.counters_size
    held_at = settled_at + header.settled_size
    frequent_at = held_at + _HELD_SIZE * header.held
    if frequent_at > end or (frequent_at < end and not config.heavy_hitters):
        raise FormatError(f"sketch: its parts add up to {frequent_at} bytes, but there are {end}")
    flags = header.flags
    frontier = _NO_TICK if header.frontier is None else header.frontier
    return Parts(
        config,
        header.key,
        header.now if flags & HAS_CLOCK else None,
        header.origin if flags & HAS_ORIGIN else None,
        header.levels,
        frontier,
        header.counted,
        header.dropped,
        _decode_held(whole[held_at:frequent_at], header.held, header.now, frontier) if header.held else NONE_HELD,
        decode_kinds(whole[at:counters_at]),
        whole[counters_at:settled_at] if flags & HAS_COUNTERS else None,
        whole[settled_at:held_at] if flags & HAS_SETTLED else None,
        _decode_frequent(whole[frequent_at:end], flags) if config.heavy_hitters else None,
        most,
    )


def summarize(data: Any) -> Summary:
    """What a sketch's header says, once its checksum is right; a FormatError otherwise. Counters are not looked at."""
    type_id = KIND_PREFIX if kind_in(data) == KIND_PREFIX else KIND_SKETCH
    whole = _open_envelope(data, type_id)
    config, header, at = _read_header(whole, len(whole) - _CHECKSUM.size)
    now = header.now if header.flags & HAS_CLOCK else None
    origin = header.origin if header.flags & HAS_ORIGIN else None
    return Summary(type_id, config, now, origin, decode_kinds(whole[at : at + header.kinds_size]))


def kind_in(data: Any) -> int | None:
    """What some bytes say they are, unchecked; None if they are too short to say."""
    return memoryview(data)[5] if isinstance(data, bytes | bytearray | memoryview) and len(data) > 5 else None


def envelope_of(config: SketchConfig, type_id: int) -> bytes:
    """What all sketches of a config begin with: everything before the header."""
    prefix = encode_config(config)
    return _ENVELOPE.pack(MAGIC, VERSION, type_id, len(prefix)) + prefix


def _open_envelope(data: Any, expected: int) -> bytes:
    """The bytes, once length, magic, version, kind and checksum are right."""
    try:
        whole = data if data.__class__ is bytes else bytes(memoryview(data))
    except TypeError as error:
        raise FormatError(f"sketch: expected bytes, got {type(data).__name__}") from error
    if len(whole) < _LEAST_SIZE:
        raise FormatError(f"sketch: expected at least {_LEAST_SIZE} bytes, got {len(whole)}; the data is truncated")
    magic, version, type_id, _ = _ENVELOPE.unpack_from(whole)
    if magic != MAGIC:
        raise FormatError(f"sketch: expected the bytes to begin with {MAGIC!r}, got {magic!r}; this is not a sketch")
    if version != VERSION:
        raise FormatError(f"sketch: format version {version} is unknown, this library reads version {VERSION}")
    if type_id != expected:
        got = _KIND_NAMES.get(type_id, f"unknown kind {type_id}")
        raise FormatError(f"sketch: expected {_KIND_NAMES[expected]}, got {got}")
    end = len(whole) - _CHECKSUM.size
    if (hash_bytes(memoryview(whole)[:end], CHECKSUM_SEED),) != _CHECKSUM.unpack_from(whole, end):
        raise FormatError("sketch: the checksum does not match; the data is corrupt or truncated")
    return whole


def _allowed(size: int, max_nbytes: int | None) -> int:
    """How much memory so many bytes may take."""
    if max_nbytes is None:
        return UNLIMITED
    if not is_integer(max_nbytes) or max_nbytes < 0:
        raise FormatError(f"max_nbytes: expected a number of bytes, or None for no limit, got {max_nbytes!r}")
    return max(int(max_nbytes), _PER_BYTE * size)


def _read_header(whole: bytes, end: int) -> tuple[SketchConfig, Header, int]:
    """The config and the numbers that a sketch's bytes begin with, and the position after them."""
    *_, type_id, size = _ENVELOPE.unpack_from(whole)
    at = _ENVELOPE.size + size
    if at >= end:
        raise FormatError(f"sketch: expected {at + 1 - end} more bytes; the data is truncated")
    flags = whole[at]
    if flags >= _FLAGS:
        raise FormatError(f"sketch: expected flags below {_FLAGS}, got {flags}")
    try:
        config = decode_config(whole[_ENVELOPE.size : at], type_id == KIND_PREFIX, bool(flags & HAS_NAMES))
    except ConfigError as error:
        raise FormatError(f"config: {error}") from error
    header, after = decode_header(whole, at, end, config.counter == "rw")
    if (config.model == "count" or config.counter == "slices") and (header.held or flags & HAS_SETTLED):
        raise FormatError("sketch: it has more late arrivals than can be")
    if header.kinds_size and type_id == KIND_PREFIX:
        raise FormatError("item kinds: expected none in a PrefixSketch, which counts numbers only")
    return config, header, after


def _header_of(parts: Parts, kinds_size: int) -> Header:
    held = len(parts.held.ticks)
    frontier = None if parts.frontier == _NO_TICK else parts.frontier
    flags = (
        (parts.now is not None) * HAS_CLOCK
        | (parts.origin is not None) * HAS_ORIGIN
        | (parts.counters is not None) * HAS_COUNTERS
        | (parts.settled is not None) * HAS_SETTLED
        | parts.config.heavy_hitters * HAS_NAMES
        | (frontier is not None or parts.late_counted > 0 or parts.late_dropped > 0 or held > 0) * HAS_LATE
        | (parts.levels > 0) * HAS_LEVELS
    )
    return Header(
        flags, parts.key, parts.now or 0, parts.origin or 0, parts.levels, frontier, parts.late_counted,
        parts.late_dropped, held, kinds_size, len(parts.counters or b""), len(parts.settled or b""),
    )  # fmt: skip


def _decode_held(data: bytes, count: int, now: int, frontier: int) -> Held:
    """Held late arrivals: sorted positive counts after the newest settled tick, and not after the clock."""
    ticks, keys, weights = (
        np.frombuffer(data, dtype, count, 8 * count * place).astype(dtype[1:])
        for place, dtype in enumerate(("<i8", "<u8", "<i8"))
    )
    if not (
        bool((ticks[1:] >= ticks[:-1]).all())
        and int(ticks[0]) >= _NO_TICK
        and int(ticks[-1]) <= now
        and int(weights.min()) > 0
        and float(weights.sum(dtype=np.float64)) <= MAX_ARRIVALS
    ):
        raise FormatError("sketch: its late arrivals are not sorted positive counts before its clock")
    if int(ticks[0]) <= frontier:
        raise FormatError("sketch: it holds late arrivals that should be settled")
    return Held(ticks, keys, weights)


def _encode_frequent(frequent: Frequent) -> bytes:
    sections = [frequent.on_time or b"", frequent.late or b"", frequent.names]
    flags = (frequent.on_time is not None) | 2 * (frequent.late is not None)
    return _FREQUENT.pack(flags, *map(len, sections)) + b"".join(sections)


def _decode_frequent(data: bytes, flags: int) -> Frequent:
    if len(data) < _FREQUENT.size:
        raise FormatError("frequent items: they are missing; the data is truncated")
    there, *sizes = _FREQUENT.unpack_from(data)
    if there > 3 or _FREQUENT.size + sum(sizes) != len(data):
        raise FormatError(f"frequent items: expected {_FREQUENT.size + sum(sizes)} bytes of them, got {len(data)}")
    if there != (flags & HAS_COUNTERS > 0) | 2 * (flags & HAS_SETTLED > 0):
        raise FormatError("frequent items: expected them for all counters that are there, and no others")
    late_at = _FREQUENT.size + sizes[0]
    names_at = late_at + sizes[1]
    on_time, late = data[_FREQUENT.size : late_at], data[late_at:names_at]
    if (on_time and not there & 1) or (late and not there & 2):
        raise FormatError("frequent items: there are bytes of a part that is not there")
    return Frequent(on_time if there & 1 else None, late if there & 2 else None, data[names_at:])


@lru_cache(_REMEMBERED)
def encode_config(config: SketchConfig) -> bytes:
    """A config as bytes; `heavy_hitters` is not among them."""
    choices = shift = 0
    for name, bits in CHOICE_BITS.items():
        choices |= CHOICES[name].index(getattr(config, name)) << shift
        shift += bits
    choices |= HASHING << shift
    fields: tuple[tuple[int, bool, bytes], ...] = (
        (_SEED, config.seed != 0, put_scalar(config.seed)),
        (_MERGE_DEPTH, config.merge_depth != 0, put_scalar(config.merge_depth)),
        (_LATENESS, config.lateness is not None, put_scalar(config.lateness or 0)),
        (_RESOLUTION, config.resolution is not None, _FLOAT.pack(config.resolution or 0.0)),
        (_MAX_ARRIVALS, config.max_arrivals is not None, put_scalar(config.max_arrivals or 0)),
        (_WAVE_CONSTANT, config.wave_constant is not None, _FLOAT.pack(config.wave_constant or 0.0)),
        (_WAVE_INSTANCES, config.wave_instances != 1, put_scalar(config.wave_instances)),
    )
    present = sum(flag for flag, there, _ in fields if there)
    written = [
        CONFIG.pack(config.epsilon, config.delta, choices, present),
        put_scalar(config.window),
        *(data for _, there, data in fields if there),
    ]
    if isinstance(config, PrefixConfig):
        written.append(bytes((config.bits, config.radix.bit_length() - 1)))
    return b"".join(written)


@lru_cache(_REMEMBERED)
def decode_config(data: bytes, prefix: bool, heavy_hitters: bool) -> SketchConfig:
    """The config in some bytes; `prefix` says whether it is that of a PrefixSketch."""
    reader = _FieldReader(data)
    epsilon, delta, choices, present = CONFIG.unpack(reader.take(CONFIG.size))
    if present >= 2 * _WAVE_INSTANCES:
        raise FormatError(f"config: expected flags below {2 * _WAVE_INSTANCES}, got {present}")
    settings: dict[str, Any] = dict(
        epsilon=epsilon,
        delta=delta,
        **_named(choices),
        window=reader.number(),
        seed=reader.present(present & _SEED, 0),
        merge_depth=reader.present(present & _MERGE_DEPTH, 0),
        lateness=reader.number() if present & _LATENESS else None,
        resolution=reader.float() if present & _RESOLUTION else None,
        max_arrivals=reader.number() if present & _MAX_ARRIVALS else None,
        wave_constant=reader.float() if present & _WAVE_CONSTANT else None,
        wave_instances=reader.present(present & _WAVE_INSTANCES, 1),
        heavy_hitters=heavy_hitters,
    )
    domain: dict[str, Any] = {"bits": reader.byte(), "radix": 1 << min(reader.byte(), 16)} if prefix else {}
    if reader.at != len(data):
        raise FormatError(f"config: expected {reader.at} bytes, got {len(data)}")
    return PrefixConfig(**settings, **domain) if prefix else SketchConfig(**settings)


def _named(choices: int) -> dict[str, Any]:
    """The names of choices, by their numbers."""
    named = {}
    for name, bits in CHOICE_BITS.items():
        index = choices & ((1 << bits) - 1)
        if index >= len(CHOICES[name]):
            raise FormatError(f"config: {name} number {index} is unknown, expected 0 to {len(CHOICES[name]) - 1}")
        named[name] = CHOICES[name][index]
        choices >>= bits
    if choices != HASHING:
        raise FormatError(
            f"config: items got their cells by hashing rule {choices}, and only rule {HASHING} is known here; "
            "build the sketch again from its events"
        )
    return named


class _FieldReader:
    """Takes the bytes of a config apart, in order; what is missing or not as it should be is a FormatError."""

    __slots__ = ("_data", "at")

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def number(self) -> int:
        """A varint."""
        number, after = get_scalar(self._data, self.at)
        if after < 0:
            raise FormatError("config: a number ends early or has redundant bytes; the data is truncated or damaged")
        self.at = after
        return number

    def present(self, flag: int, absent: int) -> int:
        """A varint that is there only if it differs from `absent`."""
        if not flag:
            return absent
        number = self.number()
        if number == absent:
            raise FormatError(f"config: it has a number {absent}, which is never written")
        return number

    def float(self) -> float:
        """A float of eight bytes."""
        number: float = _FLOAT.unpack(self.take(8))[0]
        return number

    def byte(self) -> int:
        """A number of one byte."""
        return self.take(1)[0]

    def take(self, size: int) -> bytes:
        """The next bytes."""
        taken = self._data[self.at : self.at + size]
        if len(taken) != size:
            raise FormatError(f"config: expected {size} more bytes, got {len(taken)}; the data is truncated")
        self.at += size
        return taken
