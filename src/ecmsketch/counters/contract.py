"""The contract of window counters. A sketch holds one array of them, a counter per cell.

A new kind of counter is one new file that fulfils `Counters`; one that keeps its arrivals in buckets inherits
most of it from `BucketCounters` (buckets/bucket_counters.py).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig

Ints = NDArray[np.int64]

MAX_ARRIVALS = 2**53
"""Most arrivals of all items inside one window: floats count exactly up to here. Expired ones do not matter
(numbering.py).
"""


class Reading(NamedTuple):
    """The contents of some cells over a range: an estimate, and bounds of the truth.

    Bounds of buckets always hold. Those of a randomized wave fail with probability delta_sw.
    """

    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class Counters(Protocol):
    """An array of sliding-window counters. Ticks never go backwards; `origin` is the stream's first tick."""

    lossless: ClassVar[bool]
    """Whether merging adds no error."""

    @classmethod
    def new(cls, config: SketchConfig, key: int) -> Self:
        """Empty counters. `key` tells the random draws of one stream from those of others."""

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """Count arrivals: event i goes to cells[:, i]. Each cell's ticks are in order, within oldest .. now.

        The state afterwards depends on the arrivals only, not on how they were cut into calls.
        """

    def read(self, cells: NDArray[np.uint32], since: int, now: int, origin: int) -> Reading:
        """Arrivals in (since, now] of some cells; `since` is not before now - window."""

    @classmethod
    def merge(cls, parts: list[Self], origins: list[int], now: int) -> Self:
        """The union of several streams, as far as it is inside the window at `now`."""

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """Consecutive segments of one stream as one array, without added error."""

    def encode(self, now: int) -> bytes:
        """The state at `now` as bytes; equal states give equal bytes."""

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int, most: int) -> Self:
        """The counters that `encode` wrote, or a FormatError; never trusts a length it has not checked.

        Takes at most `most` bytes of memory. The caller has checked that the config's `first_nbytes` are no more.
        """

    def shift(self, ticks: int) -> None:
        """Move every arrival later by that many ticks."""

    def copy(self, config: SketchConfig | None = None) -> Self:
        """An independent array with the same state, under a config that reads it differently if given."""

    @property
    def nbytes(self) -> int:
        """Memory held."""

    @property
    def bucket_count(self) -> int:
        """Buckets (or sampled arrivals) stored in all cells."""
