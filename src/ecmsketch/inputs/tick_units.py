"""Units of ticks, how they convert into one another, and the ticks that kernels can count with."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

TICKS_PER_DAY = {
    "ns": 86_400 * 10**9, "us": 86_400 * 10**6, "ms": 86_400 * 10**3, "s": 86_400, "m": 1440, "h": 24, "D": 1,
}  # fmt: skip
UNITS = tuple(TICKS_PER_DAY)
MIN_TICK = -(2**61)
MAX_TICK = 2**62
NO_TICK = MIN_TICK - 1
"""What `quick_tick` (quick_ticks.py) returns if it cannot convert a moment."""

ATTOSECONDS = {
    "as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18,
    "m": 60 * 10**18, "h": 3600 * 10**18, "D": 86_400 * 10**18, "W": 7 * 86_400 * 10**18,
}  # fmt: skip
"""Lengths of numpy's units. Years and months have no fixed length."""
NUMPY_NAT = -(2**63)
"""The 64 bits of a datetime64 that is missing."""


@lru_cache(maxsize=256)
def ratio(source: str, count: int, unit: str) -> tuple[int, int]:
    """How many ticks `count` of a numpy unit are, as a fraction in lowest terms."""
    numerator, denominator = count * ATTOSECONDS[source], ATTOSECONDS[unit]
    common = gcd(numerator, denominator)
    return numerator // common, denominator // common
