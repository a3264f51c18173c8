"""The contract of an engine: what counts the arrivals of one stream over a window, and answers.

There are two: slices (slices/engine.py) and cells (cells/engine.py). An engine is the whole counting state of a sketch:
its clock, its oldest tick, levels of merging, and late arrivals. Names of items and waiting events are the sketch's.

An operation happens as a whole or not at all: `prepare` may fail and changes nothing that can be seen; `commit` of what
it returned cannot fail, calls no Python code, and returns the engine to go on with.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.estimate import Estimate, Estimates

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]

MAX_ARRIVALS = 2**53
"""Most arrivals of all items inside one window: floats count exactly up to here. Expired ones do not matter."""
MAX_LEVELS = 64
"""Maximum levels of merging. Errors compound at each level, so bounds say nothing long before this."""


class Reading(NamedTuple):
    """The contents of some cells over a range: an estimate, and bounds of the truth.

    Bounds always hold, but for counter="rw", where each fails with probability delta_sw.
    """

    value: Floats
    lower: Floats
    upper: Floats


class PrefixCounts(NamedTuple):
    """Counts of some prefixes over a range, with bounds that always hold (but for counter="rw"). `value` still has all
    collisions. `inside` (slices only) is at most how often they came in slices inside the range and in events.
    """

    value: Floats
    lower: Floats
    upper: Floats
    inside: Floats | None


class Change(Protocol):
    """A change that has everything it needs."""

    def commit(self) -> Engine:
        """Make the change, which cannot fail; returns the engine to go on with."""


class Engine(Protocol):
    """Counts of one stream. A range is (since, until]. `block` is a level of prefixes, 0 in an EcmSketch."""

    config: SketchConfig
    now: int | None
    """The clock: the newest tick seen or advanced to."""
    origin: int | None
    """The oldest tick ever counted; None if nothing was."""
    levels: int
    """Levels of merging behind it."""
    late_counted: int
    late_dropped: int

    def prepare(self, batch: Any) -> Change:
        """Count arrivals sorted by tick. Those behind the clock are late: they are counted in their place or dropped,
        as the config says (late="raise" was checked by the sketch).
        """

    def prepare_advance(self, tick: int) -> Change:
        """Move the clock without an arrival."""

    def total(self, since: int, until: int) -> Estimate:
        """All arrivals in a range."""

    def point(self, keys: Keys, block: int, since: int, until: int, delta: float | None) -> Estimates:
        """How often some items (prefixes of a level) came. Lower bounds fail with probability `delta`."""

    def one_point(self, key: int, since: int, until: int, delta: float) -> Estimate:
        """What `point` says about one item of block 0, as fast as can be."""

    def compared(self, keys: Keys, since: int, until: int, delta: float) -> Estimates:
        """The counts that are compared with a threshold of heavy hitters: with eh and dw the least reading."""

    def history(self, key: int, since: int, length: int, steps: int, delta: float) -> Estimates:
        """How often an item came in each of some steps of equal length."""

    def cells(self, numbers: NDArray[np.uint32], since: int, until: int) -> Reading:
        """What some cells hold over a range."""

    def prefixes(self, block: int, prefixes: Keys, since: int, until: int) -> PrefixCounts:
        """How often some prefixes of a level came."""

    def exact_counts(self, since: int, until: int) -> tuple[Keys, Floats] | None:
        """Items, each once, and how often they came, if everything in the range is kept as events."""

    def most_since(self, since: int) -> tuple[int, int]:
        """Bounds of the number of arrivals after `since`, from one row: for the limit of 2^53 in a window."""

    @classmethod
    def merge(cls, parts: list[Self], now: int) -> Self:
        """The union of several streams, as far as it is inside the window at `now`; a level more if it adds error."""

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """Consecutive segments of one stream as one, without added error. The last one stays live."""

    def shifted(self, ticks: int) -> Self:
        """A copy with every arrival later by that many ticks."""

    def copy(self, config: SketchConfig | None = None) -> Self:
        """An independent copy, under a config that reads or feeds it differently if given."""

    @property
    def nbytes(self) -> int:
        """Memory held: the state, and what is remembered for questions."""

    @property
    def state_nbytes(self) -> int:
        """Memory held by the state alone."""

    @property
    def bucket_count(self) -> int:
        """Buckets, sampled arrivals, or slices and events."""

    def forget(self) -> None:
        """Drop what is remembered for questions."""
