"""Ticks as unsigned offsets from a base: 32 bits wherever the window allows.

An offset of 0 means "long expired". The base moves on, rarely, when an offset would not fit any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig


def offset_type(config: SketchConfig) -> type:
    """The type in which offsets are kept."""
    return np.uint32 if config.tick_bytes == 4 else np.int64


def first_base(oldest: int, now: int, window: int) -> int:
    """The base of an array whose first arrivals lie in oldest .. now."""
    return max(oldest - 1, now - window - 1)


def next_base(base: int, now: int, config: SketchConfig) -> int:
    """The base that lets `now` be an offset: the same one, if it fits."""
    if config.tick_bytes == 4 and now - base > np.iinfo(np.uint32).max:
        return now - config.window - 1
    return base


def moved(offsets: NDArray[Any], shift: int) -> NDArray[Any]:
    """Offsets from a base that is `shift` later."""
    return np.maximum(offsets.astype(np.int64) - shift, 0).astype(offsets.dtype)
