"""Numbers that look random but follow from other numbers, so that every slice of a log finds the same ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The last step of SplitMix64: one to one, and every bit of the input changes every bit of the output."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= _M1
    mixed ^= mixed >> np.uint64(27)
    mixed *= _M2
    mixed ^= mixed >> np.uint64(31)
    return mixed


def to_unit(mixed: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The high 53 bits as a number of [0, 1)."""
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
