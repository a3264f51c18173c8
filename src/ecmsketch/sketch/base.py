"""BaseSketch: what all sketches share. Construction, the clock, copies, equality, bytes and series of answers."""

from __future__ import annotations

import secrets
import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.config.budget import carried_epsilon, point_error, slices_carried_epsilon
from ecmsketch.config.sketch_config import CHANGEABLE
from ecmsketch.errors import ConfigError, InputError, QueryError
from ecmsketch.estimate import Estimate, Estimates, Series, together
from ecmsketch.inputs.items import hash_item
from ecmsketch.inputs.kinds import Kinds
from ecmsketch.inputs.ticks import Span, Tick, to_span, to_tick
from ecmsketch.sketch import codec
from ecmsketch.sketch.cells import CellReading
from ecmsketch.sketch.locks import all_locked, locked
from ecmsketch.sketch.ranges import Asked, Interval, newest_asked
from ecmsketch.sketch.state import SketchState

MAX_STEPS = 100_000
"""Maximum number of entries in one history."""


class BaseSketch(CellReading, ABC):
    """Counts items over a sliding window. A range is `last=r`, the ticks (now - r, now], or `between=(t1, t2)`, the
    ticks (t1, t2]; without either it is the whole window. `last_arrivals=n` is the newest n arrivals of all items;
    where more of them share the oldest tick than are wanted, that tick is counted in proportion.

    Threads may share one: each call happens as a whole, before or after any other (docs/decisions/014-threads.md).
    """

    kind: ClassVar[int]
    """The number by which a sketch's bytes say which class it is."""

    def __init__(self, config: SketchConfig, site: str | None = None) -> None:
        if site is not None and not isinstance(site, str):
            raise ConfigError(f"site: expected a name, got {site!r}")
        key = 0 if config.counter != "rw" else secrets.randbits(64) if site is None else hash_item(site)
        self._attach(SketchState(config, key, now=0 if config.model == "count" else None))

    @classmethod
    def _of(cls, state: SketchState) -> Self:
        sketch = cls.__new__(cls)
        sketch._attach(state)
        return sketch

    @property
    def config(self) -> SketchConfig:
        """What the sketch was built to promise."""
        return self._state.config

    @property
    @locked
    def now(self) -> int | None:
        """The clock: the newest tick seen or advanced to; None before the first."""
        return self._flushed().now

    @property
    @locked
    def is_empty(self) -> bool:
        """Whether nothing was ever counted."""
        return self._flushed().is_empty

    @property
    @locked
    def first_tick(self) -> int | None:
        """The oldest tick ever counted, also if it has left the window; None if nothing was counted."""
        return self._flushed().origin

    @property
    def kinds(self) -> Kinds:
        """The kinds of items counted so far: "i" for integers, "t" for texts, a letter a column for rows of several."""
        return self._state.kinds

    @property
    @locked
    def nbytes(self) -> int:
        """Memory held by the sketch's state."""
        parts = (self._state.counters, self._state.frequent, self._state.late)
        names = sum(sys.getsizeof(name) + 100 for name in self._state.names.values())  # 100: its hash, in a dict
        return sum(part.nbytes for part in parts if part is not None) + names + self._pending_nbytes

    @property
    @locked
    def bucket_count(self) -> int:
        """Buckets stored over all counters."""
        parts = (self._flushed().counters, self._state.late.settled)
        return sum(counters.bucket_count for counters in parts if counters is not None)

    @property
    def late_counted(self) -> int:
        """Events behind the clock, whatever their weight, that were counted in their place (late="side")."""
        return self._state.late.counted

    @property
    def late_dropped(self) -> int:
        """Events behind the clock, whatever their weight, that were not counted."""
        return self._state.late.dropped

    @property
    def merge_levels(self) -> int:
        """Levels of merging behind this sketch."""
        return self._state.levels

    @property
    def epsilon(self) -> float:
        """What one item's count holds now, merging included: the config's epsilon after `merge_depth` levels.

        With a resolution it is the larger of resolution and epsilon for cells, and their sum for slices.
        """
        if self.config.counter == "slices":
            return slices_carried_epsilon(self.config.epsilon_t, self.merge_levels) + self.config.epsilon_cm
        return point_error(carried_epsilon(self.config.epsilon_sw, self.merge_levels), self.config.epsilon_cm)

    def advance(self, tick: Tick) -> None:
        """Move the clock without an arrival, so that what is older than the window expires."""
        if self.config.model == "count":
            raise InputError("advance: with model='count' only arrivals move the clock")
        moment = to_tick(tick, self.config.unit)
        with self._lock:
            now = self.now
            if now is not None and moment < now:
                raise InputError(f"advance: the clock is at {now} already and cannot go back to {moment}")
            self._state.now = moment
            self._after_change()

    @abstractmethod
    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range, of all items together."""

    @abstractmethod
    def estimate(
        self, item: Any, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """How often an item came in a range."""

    @locked
    def history(self, item: Any, step: Span, last: Span | None = None, *, confidence: float | None = None) -> Series:
        """How often an item came in every `step` of a range, oldest first: for plotting.

        Each entry is an interval, so its error is relative to all that came after it began (docs/guarantees.md).
        """
        since, until = self._range(last, None)
        length = to_span(step, self.config.unit)
        if since == until:
            raise QueryError("history: expected a range of at least one tick, got an empty one")
        if not 1 <= length <= until - since or (until - since) // length > MAX_STEPS:
            raise QueryError(
                f"history: expected a step from 1 to {until - since} (the range), and at most {MAX_STEPS:,} steps, "
                f"got {length}"
            )
        ends = np.arange(until, since + length - 1, -length, dtype=np.int64)[::-1]
        return Series(ends, length, self._step_points(item, int(ends[0]) - length, length, len(ends), confidence))

    def _step_points(self, item: Any, since: int, length: int, steps: int, confidence: float | None) -> Estimates:
        """How often an item came in each of some steps of equal length."""
        if confidence is not None:
            raise QueryError(f"confidence: {type(self).__name__} answers with that of its config only")
        starts = range(since, since + steps * length, length)
        return together([self.estimate(item, between=(start, start + length)) for start in starts])

    @locked
    def serialize(self) -> bytes:
        """The sketch as bytes, by docs/format.md. Equal sketches give equal bytes."""
        return codec.encode(self._flushed(), self.kind)

    @classmethod
    def deserialize(cls, data: bytes | bytearray | memoryview, max_nbytes: int | None = codec.MAX_NBYTES) -> Self:
        """The sketch that `serialize` wrote; a FormatError if the bytes are anything else.

        A few bytes can ask for gigabytes of counters. So bytes whose counters would take more than `max_nbytes`, and
        more than 128 for each byte, are refused. Give more, or None, for large sketches from a source you trust.
        """
        return cls._of(codec.decode(data, cls.kind, max_nbytes))

    def copy(self, **changes: Any) -> Self:
        """An independent copy; `estimator`, `late` and `lateness` may be changed in it."""
        fixed = sorted(set(changes) - set(CHANGEABLE))
        if fixed:
            raise ConfigError(
                f"copy: {', '.join(fixed)} cannot change in a filled sketch, only {', '.join(CHANGEABLE)}"
            )
        config = self.config.replace(**changes)
        with self._lock:
            state = self._flushed().copy(config)
        return self._of(state)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, tuple[bytes, None]]:
        return type(self).deserialize, (self.serialize(), None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseSketch):
            return NotImplemented
        if type(self) is not type(other) or self.config != other.config:
            return False
        with all_locked([self, other]):
            return self.serialize() == other.serialize()

    __hash__ = None  # type: ignore[assignment]

    @locked
    def __repr__(self) -> str:
        config = self.config
        merged = f", merge_levels={self.merge_levels}" if self.merge_levels else ""
        return (
            f"{type(self).__name__}(epsilon={config.epsilon:g}, delta={config.delta:g}, window={config.window}, "
            f"counter={config.counter!r}, model={config.model!r}, now={self.now}, nbytes={self.nbytes}{merged})"
        )

    def _asked(self, last: Any, between: Any, last_arrivals: int | None) -> Asked:
        """The range that a question means, if need be found by how many arrivals it holds."""
        if last_arrivals is None:
            return Asked(*self._range(last, between))
        if last is not None or between is not None:
            raise QueryError("range: give one of last=, between= and last_arrivals=")
        return newest_asked(self.config, self.now or 0, last_arrivals, self.total)

    def _threshold(self, least: float, asked: Asked, no_miss: bool) -> float:
        """The count from which on something is reported as heavy; with `no_miss`, less what counters may lack."""
        cells = self.config.counter != "slices"  # the upper bounds of slices lack nothing
        lacking = carried_epsilon(self.config.epsilon_sw, self.merge_levels) if no_miss and cells else 0.0
        return least * (1 - lacking) - asked.missing

    def _by_upper(self, asked: Asked, no_miss: bool) -> bool:
        """Whether upper bounds are compared with the threshold: only they never miss, unless a range ends now."""
        if self.config.counter == "slices":
            return no_miss
        return no_miss and (asked.newest is not None or asked.until < (self.now or 0))
