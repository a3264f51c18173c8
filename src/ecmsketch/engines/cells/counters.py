"""The contract of window counters. An engine of cells holds one array of them, a counter per cell.

A new counter is one new file: a class that fulfils `Counters` and inherits from CounterArray. One that keeps its
arrivals in buckets inherits most of it from BucketCounters (buckets.py).

Counters are changed in place, in two steps, so that a change happens as a whole or not at all. `reserve` counts what
comes to each cell, refuses what does not fit, and gets all memory; nothing of that can be seen. `apply` of the change
it returns only writes: it allocates nothing, calls no Python code, and cannot fail.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import cython
import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.engines.cells.arrivals import Arrivals
from ecmsketch.engines.contract import MAX_ARRIVALS, Reading

Ints = NDArray[np.int64]

MOST_NUMBERED = 2**59
"""A counter's arrivals are numbered 1, 2, 3 ... for ever; it refuses those that would get this number or a larger one.
At 10^10 arrivals a second that is after 1.8 years.
"""
MAX_HELD = 4 * MAX_ARRIVALS
"""Most arrivals that the buckets of one counter stand for. All but the newest arrival of the oldest bucket may
have expired, and that bucket may be twice as large as all others together.
"""


@cython.cclass
class CounterArray:
    """The base of all counters: a config, and how many changes there were."""


@cython.cclass
class CounterChange:
    """A change of counters that has everything it needs. A subclass says in `apply` what it writes."""

    @cython.cfunc
    def fits(self) -> cython.bint:
        """Whether the counters are still those that this is a change of."""
        return self.version == self.counters.version

    @cython.cfunc
    def make(self) -> cython.void:
        """Make the change, if it fits."""
        if self.version == self.counters.version:
            self.counters.version += 1
            self.apply()

    @cython.cfunc
    def apply(self) -> cython.void:
        """Write the change: without an allocation, and without calling Python code."""

    def commit(self) -> None:
        """Make the change, once."""
        if not self.fits():
            raise RuntimeError("the counters were changed since this change was prepared")
        self.make()


class Counters(Protocol):
    """An array of sliding-window counters. Ticks never go backwards; `origin` is the stream's first tick."""

    lossless: ClassVar[bool]
    """Whether merging adds no error."""
    certain: ClassVar[bool]
    """Whether bounds always hold. If not, each fails with probability config.delta_sw."""
    joins_proven: ClassVar[bool]
    """Whether there is a proof of the error of joins."""

    config: SketchConfig

    @classmethod
    def new(cls, config: SketchConfig, key: int = 0) -> Self:
        """Empty counters. `key` tells the random draws of one stream from those of others."""

    def reserve(self, arrivals: Arrivals, oldest: int, now: int) -> Any:
        """Prepare to count arrivals: each cell's ticks are in order, within oldest .. now. Returns a CounterChange.

        They may come as several blocks, which can be loaded more than once, in any order. The state afterwards depends
        on the arrivals only, not on how they were cut into calls. An InputError if a counter would number an arrival
        MOST_NUMBERED or more.
        """

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """Count arrivals whose cells are known: event i goes to cells[:, i]."""

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
