"""Ranks drawn from a finite Zipf law: few items come often, many come seldom."""

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
    """Ranks from 0 to size - 1, rank r with a share proportional to 1 / (r + 1 + shift) ** exponent.

    A shift (Mandelbrot's) flattens the head: the ranks below it come about equally often.
    """

    size: int
    exponent: float
    shift: float = 0.0

    def __post_init__(self) -> None:
        if self.size < 1 or not self.exponent >= 0 or not self.shift >= 0:
            raise ConfigError(f"zipf: expected a size of at least 1, an exponent and shift of at least 0, got {self}")

    @property
    def shares(self) -> Floats:
        """The probability of each rank."""
        return np.diff(_tables(self)[0], prepend=0.0)

    def ranks(self, uniforms: Floats) -> Ints:
        """The rank at which the cumulated share passes each number of [0, 1): random numbers in, random ranks out.

        A table over small equal steps of [0, 1) knows the rank wherever a step lies within one. Only numbers in the
        other steps are searched for: a few in a hundred if the law is skewed, more if it is flat.
        """
        cumulated, guide = _tables(self)
        ranks: NDArray[Any] = guide[(uniforms * _GUIDE).astype(np.int32)]
        unknown = np.flatnonzero(ranks < 0)
        ranks[unknown] = np.searchsorted(cumulated, uniforms[unknown], side="right")
        return ranks.astype(np.int64)


@lru_cache(maxsize=8)
def _tables(law: Zipf) -> tuple[Floats, NDArray[np.int32]]:
    """Cumulated shares, and for each step of [0, 1) the one rank in it, or -1 if there are several."""
    cumulated = np.cumsum((np.arange(1, law.size + 1) + law.shift) ** -law.exponent)
    cumulated /= cumulated[-1]
    edges = np.searchsorted(cumulated, np.arange(_GUIDE + 1) / _GUIDE, side="right").astype(np.int32)
    edges[-1] = law.size - 1
    return cumulated, np.where(edges[1:] == edges[:-1], edges[:-1], np.int32(-1))
