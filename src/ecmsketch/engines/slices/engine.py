"""SlicesEngine: the newest events as they are, and slices of older ones that grow with age (engines/contract.py).

A stream of slices is a value: feeding makes another one, which shares the tables that did not change. So a change is
prepared beside the state, and committing it is an assignment.
"""

# mypy: ignore-errors

from __future__ import annotations

from math import ceil, floor
from typing import Any, Self

import cython
import numpy as np

from ecmsketch.config import SketchConfig
from ecmsketch.config.budget import slices_carried_epsilon
from ecmsketch.engines.contract import MAX_LEVELS, Floats, Keys, PrefixCounts, Reading
from ecmsketch.engines.slices.bytes import decode, encode
from ecmsketch.engines.slices.reading import SliceReading
from ecmsketch.engines.slices.stream import SliceStream
from ecmsketch.errors import MergeError
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.inputs.batches import Batch
from ecmsketch.inputs.ticks import MIN_TICK

_READING_OBJECTS = 2_000
"""Bytes of the Python objects that answer questions (tests/test_memory.py)."""
_NOTHING = Batch(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


COMPILED = cython.compiled
"""Whether a change is made in compiled code, so that no signal can come between its parts."""


class SlicesEngine:
    """Counts of one stream in slices of time."""

    late_apart = False
    """Names of late arrivals are summarised with the others."""
    certain = True
    """Upper bounds always hold, and so do all bounds of totals."""
    proven_joins = True
    lacking = 0.0
    """What the counts that are compared with a threshold may lack, as a share."""
    by_upper_only = True
    """Only upper bounds never miss a heavy hitter, in any range."""
    held = _NOTHING
    """Late arrivals that wait: none, since slices count them at once."""
    frontier = MIN_TICK
    key = 0

    def __init__(self, config: SketchConfig, key: int = 0) -> None:
        self.config = config
        self.now = 0 if config.model == "count" else None
        self.origin: int | None = None
        self.late_counted = self.late_dropped = 0
        self.late: Batch | None = None
        self._stream = SliceStream(config)
        self._reading: SliceReading | None = None

    @classmethod
    def of_stream(cls, config: SketchConfig, stream: SliceStream | None, now: int | None, origin: int | None) -> Self:
        """The engine of a stream, or an empty one without."""
        engine = cls(config)
        engine._stream = engine._stream if stream is None else stream
        engine.now, engine.origin = now, origin
        return engine

    def _with(self, stream: SliceStream, now: int | None, origin: int | None) -> Self:
        """The same engine with another stream, clock and first tick."""
        other = type(self).__new__(type(self))
        other.config, other.now, other.origin, other.late = self.config, now, origin, None
        other.late_counted, other.late_dropped = self.late_counted, self.late_dropped
        other._stream = stream
        other._reading = None
        if self._reading is not None and stream.slices_id == self._stream.slices_id:
            other._reading = self._reading.follow(stream)
        return other

    @property
    def levels(self) -> int:
        """Levels of merging behind the slices."""
        return self._stream.levels

    @property
    def epsilon(self) -> float:
        """What one item's count holds now, merging included."""
        return slices_carried_epsilon(self.config.epsilon_t, self.levels) + self.config.epsilon_cm

    # ------------------------------------------------------------------ feeding

    def prepare(self, batch: Batch) -> Self:
        """The engine once some arrivals have come (contract)."""
        now, config = self.now, self.config
        stream = self._stream.fork()
        behind = 0 if now is None else int(np.searchsorted(batch.ticks, now, side="left"))
        late = None
        dropped = 0
        if behind and now is not None:
            late = batch.select(slice(0, behind))
            if config.late == "drop":
                dropped, late = behind, None
            else:
                late = late.select(late.ticks > now - config.allowed_lateness)
                dropped = behind - len(late.ticks)
                if len(late.ticks):
                    stream.add_late(late.items, late.ticks, late.weights, now)
                else:
                    late = None
            batch = batch.select(slice(behind, None))
        origin = self.origin
        if late is not None:
            oldest = late.ticks.item(0)
            origin = oldest if origin is None else min(origin, oldest)
        if len(batch.ticks):
            stream.add(batch.items, batch.ticks, batch.weights)
            if origin is None:
                origin = batch.ticks.item(0) if config.model == "time" else (now or 0) + 1
            now = batch.ticks.item(-1)
        changed = self._with(stream, now, origin)
        changed.late = late
        changed.late_dropped += dropped
        changed.late_counted += 0 if late is None else len(late.ticks)
        return changed

    def prepare_advance(self, tick: int) -> Self:
        """The engine with its clock at a tick (contract)."""
        return self._with(self._stream, tick, self.origin)

    def commit(self) -> Self:
        """The engine itself: it is whole already."""
        return self

    # ------------------------------------------------------------------ questions

    def _read(self) -> SliceReading:
        if self._reading is None:
            self._reading = SliceReading(self._stream)
        return self._reading

    def total(self, since: int, until: int) -> Estimate:
        """All arrivals in a range; the bounds always hold."""
        return self._read().total(since, until)

    def point(self, keys: Keys, block: int, since: int, until: int, delta: float | None) -> Estimates:
        """How often some items, or prefixes of a level, came in a range."""
        return self._read().point(keys, self.config.rows_of(block), block, since, until, delta)

    def one_point(self, key: int, since: int, until: int, delta: float) -> Estimate:
        """How often an item came in a range."""
        reading = self._reading
        if reading is None:
            reading = self._read()
        return reading.one_point(key, since, until, delta)

    def compared(self, keys: Keys, since: int, until: int, delta: float) -> Estimates:
        """The counts that are compared with a threshold of heavy hitters."""
        return self.point(keys, 0, since, until, delta)

    def history(self, key: int, since: int, length: int, steps: int, delta: float) -> Estimates:
        """How often an item came in each of some steps of equal length."""
        return self._read().history(key, since, length, steps, delta)

    def cells(self, numbers: Any, since: int, until: int) -> Reading:
        """What some cells hold over a range."""
        return Reading(*self._read().cells(numbers, since, until))

    def prefixes(self, block: int, prefixes: Keys, since: int, until: int) -> PrefixCounts:
        """How often some prefixes of a level came."""
        exact = self.config.levels[block].exact
        events, inside, value, upper = self._read().prefixes(block, prefixes, since, until)
        return PrefixCounts(value, inside if exact else events, upper, inside)

    def exact_counts(self, since: int, until: int) -> tuple[Keys, Floats] | None:
        """Items, each once, and how often they came, if no slice lies in the range even in part."""
        return self._read().exact_counts(since, until)

    def most_since(self, since: int) -> tuple[int, int]:
        """Bounds of the number of arrivals after a tick."""
        if self.now is None or self.origin is None:
            return 0, 0
        since = min(max(since, self.now - self.config.window), self.now)
        total = self.total(since, self.now)
        return floor(total.lower), ceil(total.upper)

    # ------------------------------------------------------------------ the whole

    @classmethod
    def merge(cls, parts: list[Self], now: int) -> Self:
        """The union of several streams (contract)."""
        stream = SliceStream.merge([part._stream for part in parts], now)
        if stream.levels > MAX_LEVELS:
            raise MergeError(
                f"this would be level {stream.levels} of merging, and {MAX_LEVELS} are allowed: each adds error. "
                "Merge all sites in one call, and use concat() for consecutive segments of one stream"
            )
        return parts[0]._with(stream, now, min(part.origin for part in parts if part.origin is not None))

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """Consecutive segments of one stream (contract)."""
        full = [part for part in segments if part.origin is not None]
        last = segments[-1]
        if not full or (len(full) == 1 and full[0] is last):
            return last._with(last._stream, now, last.origin)
        stream = SliceStream.concat([part._stream for part in full], now)
        return last._with(stream, now, full[0].origin)

    def settled(self) -> tuple[Self, None]:
        """The engine itself: no late arrivals wait."""
        return self, None

    def shifted(self, ticks: int) -> Self:
        """The same arrivals, each later by so many ticks."""
        now = None if self.now is None else self.now + ticks
        origin = None if self.origin is None else self.origin + ticks
        return self._with(self._stream.shifted(ticks), now, origin)

    def copy(self, config: SketchConfig | None = None) -> Self:
        """An independent engine with the same state, under a config that feeds or reads it differently if given."""
        other = self._with(self._stream if config is None else self._stream.with_config(config), self.now, self.origin)
        other.config = config or self.config
        return other

    def sections(self) -> tuple[bytes | None, bytes | None]:
        """The bytes of what is counted, and of what came late: None if there is nothing."""
        return (None if self.origin is None else encode(self._stream, self.now or 0)), None

    @classmethod
    def restored(
        cls, config: SketchConfig, key: int, now: int | None, origin: int | None, levels: int, frontier: int,
        late_counted: int, late_dropped: int, held: Batch, counters: Any, settled: Any, most: int,
    ) -> Self:  # fmt: skip
        """The engine that some sections stand for, or a FormatError."""
        engine = cls(config)
        if counters is not None:
            engine._stream = decode(counters, config, now or 0, levels)
        engine.now, engine.origin = now, origin
        engine.late_counted, engine.late_dropped = late_counted, late_dropped
        return engine

    @property
    def state_nbytes(self) -> int:
        """Memory held by the state."""
        return self._stream.nbytes

    @property
    def nbytes(self) -> int:
        """Memory held by the state, and by what is remembered for questions."""
        return self._stream.nbytes + (0 if self._reading is None else _READING_OBJECTS + self._reading.nbytes)

    @property
    def bucket_count(self) -> int:
        """Slices, and events."""
        return self._stream.bucket_count

    def forget(self) -> None:
        """Drop what is remembered for questions."""
        self._reading = None
