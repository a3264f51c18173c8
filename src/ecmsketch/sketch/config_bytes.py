"""Bytes <-> config: the part of a sketch's bytes that says how it was built (docs/format.md)."""

from __future__ import annotations

import struct

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.config.sketch_config import CHOICES
from ecmsketch.errors import FormatError

CONFIG = struct.Struct("<ddqQqqdHBBBBBBBBBB")
_CHOICE_FIELDS = ("counter", "model", "optimize_for", "merge_formula", "estimator", "late", "unit")


def encode_config(config: SketchConfig) -> bytes:
    """A config as bytes; `heavy_hitters` is not among them."""
    choices = (CHOICES[name].index(getattr(config, name)) for name in _CHOICE_FIELDS)
    lateness = -1 if config.lateness is None else config.lateness
    return CONFIG.pack(
        config.epsilon, config.delta, config.window, config.seed, lateness, config.max_arrivals or 0,
        config.wave_constant or 0.0, config.merge_depth, config.wave_instances, *_domain(config), *choices,
    )  # fmt: skip


def decode_config(data: bytes, prefix: bool, heavy_hitters: bool) -> SketchConfig:
    """The config that some bytes begin with; `prefix` says whether it is that of a PrefixSketch."""
    epsilon, delta, window, seed, lateness, max_arrivals, constant, merge_depth, instances, bits, digit, *choices = (
        CONFIG.unpack_from(data)
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
    if prefix:
        return PrefixConfig(**settings, bits=bits, radix=1 << min(digit, 16))
    if bits or digit:
        raise FormatError("config: only a PrefixSketch has bits and a radix")
    return SketchConfig(**settings)


def _domain(config: SketchConfig) -> tuple[int, int]:
    if isinstance(config, PrefixConfig):
        return config.bits, config.radix.bit_length() - 1
    return 0, 0
