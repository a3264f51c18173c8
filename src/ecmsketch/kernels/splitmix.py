"""SplitMix64: random-looking 64-bit words that follow from other words, the same on every machine.

>>> splitmix64(seed=0, count=2).tolist()
[16294208416658607535, 7960286522194355700]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from ecmsketch.kernels.decorator import kernel

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
"""The step from one state of SplitMix64 to the next: 2^64 divided by the golden ratio, made odd."""


def mix(word: Words) -> Words:
    """SplitMix64's output function, for an array of uint64 (`mix_word` is the kernel for one word).

    It is a bijection, and flipping any bit of the input flips every bit of the output half of the time.
    """
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    mixed: Words = word ^ (word >> uint64(31))
    return mixed


mix_word: Any = kernel(mix)


def splitmix64(seed: int, count: int) -> Words:
    """The first `count` outputs of SplitMix64 started with a seed."""
    states = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(seed % 2**64)
    return mix(states)


def to_fraction(words: Words) -> NDArray[np.float64]:
    """The high 53 bits of each word, as a number in [0, 1)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
