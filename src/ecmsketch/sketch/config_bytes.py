"""Bytes <-> config: the part of a sketch's bytes that says how it was built (docs/format.md)."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.config.sketch_config import CHOICES
from ecmsketch.errors import FormatError
from ecmsketch.kernels.varint import put_scalar
from ecmsketch.sketch.field_reader import FieldReader

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
SEED, MERGE_DEPTH, LATENESS, RESOLUTION, MAX_ARRIVALS, WAVE_CONSTANT, WAVE_INSTANCES = (1 << bit for bit in range(7))
_FLOAT = struct.Struct("<d")
_REMEMBERED = 256
"""Configs remembered by their bytes: sketches of many sites have few."""


@lru_cache(_REMEMBERED)
def encode_config(config: SketchConfig) -> bytes:
    """A config as bytes; `heavy_hitters` is not among them."""
    choices = shift = 0
    for name, bits in CHOICE_BITS.items():
        choices |= CHOICES[name].index(getattr(config, name)) << shift
        shift += bits
    choices |= HASHING << shift
    fields: tuple[tuple[int, bool, bytes], ...] = (
        (SEED, config.seed != 0, put_scalar(config.seed)),
        (MERGE_DEPTH, config.merge_depth != 0, put_scalar(config.merge_depth)),
        (LATENESS, config.lateness is not None, put_scalar(config.lateness or 0)),
        (RESOLUTION, config.resolution is not None, _FLOAT.pack(config.resolution or 0.0)),
        (MAX_ARRIVALS, config.max_arrivals is not None, put_scalar(config.max_arrivals or 0)),
        (WAVE_CONSTANT, config.wave_constant is not None, _FLOAT.pack(config.wave_constant or 0.0)),
        (WAVE_INSTANCES, config.wave_instances != 1, put_scalar(config.wave_instances)),
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
    reader = FieldReader(data, 0, "config")
    epsilon, delta, choices, present = CONFIG.unpack(reader.take(CONFIG.size))
    if present >= 2 * WAVE_INSTANCES:
        raise FormatError(f"config: expected flags below {2 * WAVE_INSTANCES}, got {present}")
    settings: dict[str, Any] = dict(
        epsilon=epsilon,
        delta=delta,
        **_named(choices),
        window=reader.number(),
        seed=reader.present(bool(present & SEED), 0),
        merge_depth=reader.present(bool(present & MERGE_DEPTH), 0),
        lateness=reader.number() if present & LATENESS else None,
        resolution=reader.float() if present & RESOLUTION else None,
        max_arrivals=reader.number() if present & MAX_ARRIVALS else None,
        wave_constant=reader.float() if present & WAVE_CONSTANT else None,
        wave_instances=reader.present(bool(present & WAVE_INSTANCES), 1),
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
