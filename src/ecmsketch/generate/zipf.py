"""Ranks drawn from a finite Zipf law: a few items are frequent, most are rare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import ConfigError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_GUIDE = 1 << 18


@dataclass(frozen=True)
class Zipf:
    """Ranks from 0 to size - 1, where rank r has a share proportional to 1 / (r + 1 + shift) ** exponent.

    A shift (Mandelbrot's) flattens the head: ranks below the shift are about equally frequent.
    """

    size: int
    exponent: float
    shift: float = 0.0

    def __post_init__(self) -> None:
        if self.size < 1 or not self.exponent >= 0 or not self.shift >= 0:
            raise ConfigError(f"zipf: got {self}, expected size >= 1, exponent >= 0 and shift >= 0")

    @property
    def shares(self) -> Floats:
        """The probability of each rank."""
        return np.diff(_tables(self)[0], prepend=0.0)

    def ranks(self, uniforms: Floats) -> Ints:
        """Turn uniform random numbers of [0, 1) into random ranks: where the cumulated share passes each number.

        A table divides [0, 1) into small equal steps and stores the rank of every step that lies within one rank. Only
        numbers in the other steps need a search: a few percent if the law is skewed, more if it is flat.
        """
        cumulated, guide = _tables(self)
        ranks: NDArray[Any] = guide[(uniforms * _GUIDE).astype(np.int32)]
        unknown = np.flatnonzero(ranks < 0)
        ranks[unknown] = np.searchsorted(cumulated, uniforms[unknown], side="right")
        return ranks.astype(np.int64)


@lru_cache(maxsize=8)
def _tables(law: Zipf) -> tuple[Floats, NDArray[np.int32]]:
    """Cumulated shares, and for each step of [0, 1) its only rank, or -1 if it has several."""
    cumulated = np.cumsum((np.arange(1, law.size + 1) + law.shift) ** -law.exponent)
    cumulated /= cumulated[-1]
    edges = np.searchsorted(cumulated, np.arange(_GUIDE + 1) / _GUIDE, side="right").astype(np.int32)
    edges[-1] = law.size - 1
    return cumulated, np.where(edges[1:] == edges[:-1], edges[:-1], np.int32(-1))
