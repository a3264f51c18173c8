"""What a window counter must be able to do. A sketch holds one array of them, a counter per cell.

A new kind of counter is one new file that fulfils `Counters`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig

Ints = NDArray[np.int64]

MAX_ARRIVALS = 2**53
"""Of one counter, ever. Sums over a few hundred counters then still fit the kernels' 63 bits."""


class Reading(NamedTuple):
    """What some cells hold over a range: an estimate, and bounds that the truth never leaves."""

    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class Buckets(NamedTuple):
    """Arrivals as merging sees them: cell c has buckets offset[c] .. offset[c+1]-1, oldest first.

    A bucket says that `size` arrivals lie in [start, end], the newest of them at `end`.
    """

    offset: Ints
    start: Ints
    end: Ints
    size: Ints


class Counters(Protocol):
    """An array of sliding-window counters. Ticks never go backwards; `origin` is the stream's first tick."""

    @classmethod
    def new(cls, config: SketchConfig) -> Self:
        """Empty counters."""

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """Count arrivals: event i goes to cells[:, i]. Each cell's ticks are in order, within oldest .. now.

        The state afterwards depends on the arrivals only, not on how they were cut into calls.
        """

    def read(self, cells: NDArray[np.uint32], since: int, now: int, origin: int) -> Reading:
        """Arrivals in (since, now] of some cells; `since` is not before now - window."""

    def buckets(self, now: int, origin: int) -> Buckets:
        """Everything inside the window at `now`, for merging."""

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """Consecutive segments of one stream as one array, without added error."""

    def encode(self, now: int) -> bytes:
        """The state at `now` as bytes; equal states give equal bytes."""

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int) -> Self:
        """What `encode` wrote, or a FormatError; never trusts a length it has not checked."""

    def shift(self, ticks: int) -> None:
        """Move every arrival later by that many ticks."""

    def copy(self, config: SketchConfig | None = None) -> Self:
        """An independent array with the same state, under a config that reads it differently if given."""

    @property
    def most_arrivals(self) -> int:
        """Arrivals that the fullest counter has ever seen; callers keep it to MAX_ARRIVALS."""

    @property
    def nbytes(self) -> int:
        """Memory held."""

    @property
    def bucket_count(self) -> int:
        """Buckets (or entries) stored in all cells."""
