"""Levels for arrivals, drawn by number: arrival n of a stream with a given key always draws the same.

An arrival draws level 0 with probability 1/2, level 1 with 1/4, and so on; the last level takes what is left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from ecmsketch.config.memory import WAVE_LEVELS
from ecmsketch.counters.contract import Ints
from ecmsketch.counters.numbering import CYCLE
from ecmsketch.kernels import kernel, trailing_zeros
from ecmsketch.kernels.splitmix import GOLDEN, mix_word

_ONE_BY_ONE = 64
"""Weights up to this draw for each arrival; larger ones draw how many of them go to each level."""


class Draws(NamedTuple):
    """`copies` arrivals of event `event` are at level `level`."""

    event: Ints
    level: NDArray[np.uint8]
    copies: Ints


@kernel
def random_word(key: Any, number: Any) -> Any:
    """The 64 random bits of arrival `number`; mixed twice, so that neighbouring keys differ as well."""
    word = key * uint64(0xD1342543DE82EF95) + uint64(number) * uint64(GOLDEN) + uint64(0x632BE59BD9B4E019)
    return mix_word(mix_word(word) + key)


@kernel
def random_level(key: Any, number: Any) -> Any:
    """The level that an arrival draws."""
    return trailing_zeros(int64(random_word(key, number & int64(CYCLE - 1)) | (uint64(1) << uint64(WAVE_LEVELS - 1))))


@kernel
def draw_levels(key: Any, first: Any, count: Any) -> Draws:
    """Levels of the arrivals numbered first + 1 .. first + count."""
    draws = Draws(np.empty(count, np.int64), np.empty(count, np.uint8), np.ones(count, np.int64))
    for i in range(count):
        draws.event[i] = i
        draws.level[i] = random_level(key, first + i + int64(1))
    return draws


@kernel
def draw_weighted_levels(key: Any, first: Any, weights: Any, keep: Any) -> Draws:
    """Levels of weighted events; of a heavy one at most `keep` arrivals per level, as no more can be kept."""
    rows = int64(0)
    for i in range(weights.shape[0]):
        rows += weights[i] if weights[i] <= int64(_ONE_BY_ONE) else int64(WAVE_LEVELS)
    draws = Draws(np.empty(rows, np.int64), np.empty(rows, np.uint8), np.empty(rows, np.int64))
    at, number = int64(0), first
    for i in range(weights.shape[0]):
        if weights[i] <= int64(_ONE_BY_ONE):
            for unit in range(weights[i]):
                draws.event[at], draws.copies[at] = i, int64(1)
                draws.level[at] = random_level(key, number + unit + int64(1))
                at += int64(1)
        else:
            left = weights[i]
            for level in range(WAVE_LEVELS):
                here = left
                if level < WAVE_LEVELS - 1:
                    here = half_of(key ^ uint64(0xA5A5A5A5A5A5A5A5), (number + level) & int64(CYCLE - 1), left)
                draws.event[at], draws.level[at], draws.copies[at] = i, level, min(here, keep)
                left -= here
                at += int64(1)
        number += weights[i]
    return draws


@kernel
def half_of(key: Any, number: Any, count: Any) -> Any:
    """How many of `count` coins show heads: exact up to 4,096 of them, beyond by the normal distribution."""
    if count <= int64(4096):
        heads, left, step = int64(0), count, int64(0)
        while left > int64(0):
            word = random_word(key + uint64(step) * uint64(GOLDEN), number)
            if left < int64(64):
                word &= (uint64(1) << uint64(left)) - uint64(1)
            while word != uint64(0):
                word &= word - uint64(1)
                heads += int64(1)
            left -= int64(64)
            step += int64(1)
        return heads
    one = (np.float64(random_word(key, number) >> uint64(11)) + 0.5) * 2.0**-53
    two = np.float64(random_word(~key, number) >> uint64(11)) * 2.0**-53
    normal = np.sqrt(-2.0 * np.log(one)) * np.cos(2.0 * np.pi * two)
    heads = int64(np.floor(np.float64(count) / 2.0 + normal * np.sqrt(np.float64(count)) / 2.0 + 0.5))
    return min(max(heads, int64(0)), count)
