"""The base of counters made of buckets: reading, merging, concatenating and bytes.

A cell's arrivals are numbered 1, 2, 3 ... (numbering.py). A bucket holds consecutive arrivals and is known by the tick
of its newest one, its end. Which buckets exist is decided by the number of arrivals alone; a kind of counter says how.
Concatenated segments lie below the live buckets as frozen ones with explicit sizes (frozen.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters.buckets.bucket_bytes import decode_buckets, encode_buckets
from ecmsketch.counters.buckets.frozen import (
    Frozen,
    History,
    chain,
    freeze,
    frozen_history,
    nothing_frozen,
    override_by_frozen,
)
from ecmsketch.counters.buckets.replaying import Buckets, in_window, replay_points
from ecmsketch.counters.buckets.straddling import UNKNOWN, Straddling, estimate
from ecmsketch.counters.contract import Ints, Reading
from ecmsketch.counters.numbering import MAX_HELD, renumber
from ecmsketch.counters.offsets import first_base, moved, next_base
from ecmsketch.errors import ConfigError, FormatError


class BucketCounters(ABC):
    """An array of counters whose state is buckets. Ticks are offsets from `base` (offsets.py)."""

    lossless: ClassVar[bool] = False

    def __init__(self, config: SketchConfig) -> None:
        self.config = config
        self.base = 0
        self.frozen = nothing_frozen()

    @classmethod
    def new(cls, config: SketchConfig, key: int = 0) -> Self:
        """See `Counters.new`; nothing is drawn at random here."""
        return cls(config)

    @property
    @abstractmethod
    def arrivals(self) -> Ints:
        """Arrivals per cell that the live part has ever seen, as numbering.py counts them."""

    @property
    @abstractmethod
    def live_count(self) -> int:
        """Live buckets stored, in all cells."""

    @abstractmethod
    def insert(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, now: int) -> None:
        """Count arrivals as `Counters.add` does; the base is right already."""

    @abstractmethod
    def straddling(self, cells: NDArray[np.uint32], since: Ints, limit: int) -> Straddling:
        """The live bucket of each cell in which a range after since[i] begins."""

    @abstractmethod
    def live_history(self) -> History:
        """Every stored live bucket; some may have expired."""

    @abstractmethod
    def restore(self, arrivals: Ints, offset: Ints, end: Ints, most: int) -> None:
        """Take over arrivals per cell, and the ends of their newest buckets, oldest first, in `most` bytes at most."""

    @abstractmethod
    def most_buckets(self, arrivals: Ints) -> Ints:
        """How many buckets that many arrivals can have."""

    @abstractmethod
    def stood_for(self, arrivals: Ints, buckets: Ints) -> Ints:
        """How many arrivals each cell's newest `buckets` stand for; the oldest bucket may count as one."""

    @abstractmethod
    def move_live(self, shift: int) -> None:
        """Take `shift` from every live offset."""

    @abstractmethod
    def copy_live(self, other: Self) -> None:
        """Give `other` a copy of the live state."""

    @property
    @abstractmethod
    def live_nbytes(self) -> int:
        """Memory of the live state."""

    def add(self, cells: NDArray[np.uint32], ticks: Ints, weights: Ints | None, oldest: int, now: int) -> None:
        """See `Counters.add`."""
        if self.is_empty:
            self.base = first_base(oldest, now, self.config.window)
        self.rebase(next_base(self.base, now, self.config))
        self.insert(cells, ticks, weights, now)
        self.renumber()

    def renumber(self) -> None:
        """Take a cycle from the numbers of arrivals that need it (numbering.py)."""
        renumber(self.arrivals)

    def read(self, cells: NDArray[np.uint32], since: int, now: int, origin: int) -> Reading:
        """See `Counters.read`."""
        start = max(since - self.base, 0)
        limit = max(now - self.config.window - self.base, 0)
        begin = self._locate(cells, np.full(len(cells), start, np.int64), limit)
        after = begin
        if origin <= since and bool(((begin.start == UNKNOWN) & (begin.size > 1)).any()):
            after = self._locate(cells, begin.end, limit)
        half = self.config.estimator == "half"
        value, lower, upper = estimate(begin, after, start, origin > since, self.config.epsilon_sw, half)
        return Reading(value, lower, upper)

    def buckets(self, now: int, origin: int) -> Buckets:
        """Everything inside the window at `now`."""
        history = self._history(0)
        limit = now - self.config.window - self.base
        offset, start, end, size = in_window(*history, limit, origin - self.base)
        return Buckets(offset, start + self.base, end + self.base, size)

    @classmethod
    def merge(cls, parts: list[Self], origins: list[int], now: int) -> Self:
        """See `Counters.merge`. Replays every bucket, about half at its start and half at its end."""
        result = cls.new(parts[0].config)
        sources = [part.buckets(now, origin) for part, origin in zip(parts, origins, strict=True)]
        cells, ticks, weights = replay_points(sources, halves=parts[0].config.split == "paper")
        if len(ticks):
            result.add(cells, ticks, weights, int(ticks.min()), int(ticks.max()))
        return result

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """See `Counters.concat`. The last segment stays live; all before it are frozen under it."""
        result = segments[-1].copy()
        oldest = max(now - result.config.window - 1, min(segment.base for segment in segments))
        result.rebase(oldest if result.is_empty else min(result.base, oldest))
        histories = [segment._history(segment.base - result.base) for segment in segments[:-1]]
        histories.append(frozen_history(result.frozen, result.config.cells))
        limit = now - result.config.window - result.base
        result.frozen = freeze(result.arrivals, chain(histories), limit, result.config.epsilon_sw)
        return result

    def encode(self, now: int) -> bytes:
        """See `Counters.encode`."""
        frozen = frozen_history(self.frozen, self.config.cells)
        clock = now - self.base
        return encode_buckets(self.arrivals, self.live_history(), frozen, clock, clock - self.config.window)

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int, most: int) -> Self:
        """See `Counters.decode`."""
        arrivals, live, frozen = decode_buckets(data, config.cells, config.window)
        try:
            result = cls.new(config)
            too_many = np.flatnonzero(np.diff(live.offset) > result.most_buckets(arrivals))
            if len(too_many):
                raise FormatError(f"counters: counter {too_many[0]} has more buckets than its arrivals allow")
            too_many = np.flatnonzero(result.stood_for(arrivals, np.diff(live.offset)) > MAX_HELD)
            if len(too_many):
                raise FormatError(f"counters: counter {too_many[0]} has more arrivals in the window than 2**53")
            result.restore(arrivals, live.offset, live.end, most)
        except ConfigError as error:
            raise FormatError(f"counters: {error}") from error
        result.base = now - config.window - 1
        result.frozen = frozen
        return result

    def shift(self, ticks: int) -> None:
        """See `Counters.shift`."""
        self.base += ticks

    def copy(self, config: SketchConfig | None = None) -> Self:
        """See `Counters.copy`."""
        other = type(self)(config or self.config)
        other.base = self.base
        other.frozen = Frozen(*(array.copy() for array in self.frozen))
        self.copy_live(other)
        return other

    @property
    def nbytes(self) -> int:
        """See `Counters.nbytes`."""
        return self.live_nbytes + sum(array.nbytes for array in self.frozen)

    @property
    def bucket_count(self) -> int:
        """See `Counters.bucket_count`."""
        return self.live_count + len(self.frozen.end)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever counted."""
        return not self.arrivals.any() and not len(self.frozen.end)

    def rebase(self, base: int) -> None:
        """Let offsets count from another base."""
        shift = base - self.base
        self.base = base
        if shift:
            self.move_live(shift)
            self.frozen = self.frozen._replace(end=moved(self.frozen.end, shift))

    def _locate(self, cells: NDArray[np.uint32], since: Ints, limit: int) -> Straddling:
        found = self.straddling(cells, since, limit)
        if len(self.frozen.end):
            override_by_frozen(found, self.frozen, self.arrivals, cells, since, limit)
        return found

    def _history(self, shift: int) -> History:
        """Every stored bucket, frozen and live."""
        live = self.live_history()
        if len(self.frozen.end):
            live = chain([frozen_history(self.frozen, self.config.cells), live])
        return live._replace(end=live.end + shift)
