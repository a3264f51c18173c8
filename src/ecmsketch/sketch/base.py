"""BaseSketch: what all sketches share. The clock, copies, equality, bytes, cells and series of answers."""

from __future__ import annotations

import secrets
import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.sketch_config import CHANGEABLE
from ecmsketch.engines import new_engine
from ecmsketch.engines.contract import Reading
from ecmsketch.engines.names.frequent import FrequentItems
from ecmsketch.engines.names.names import decode_names, encode_names, forget_names
from ecmsketch.errors import ConfigError, FormatError, InputError, QueryError
from ecmsketch.estimate import Estimate, Estimates, Series, together
from ecmsketch.inputs.batches import Batch
from ecmsketch.inputs.items import hash_item
from ecmsketch.inputs.ticks import Span, Tick, to_span, to_tick
from ecmsketch.sketch import codec
from ecmsketch.sketch.ingest import Ingest, State
from ecmsketch.sketch.locks import all_locked, locked
from ecmsketch.sketch.ranges import Asked, Interval, newest_asked

_OBJECTS = 2_000
"""Bytes of the Python objects that a sketch consists of (tests/test_memory.py)."""
MAX_STEPS = 100_000
"""Maximum number of entries in one history."""


class BaseSketch(Ingest, ABC):
    """Counts items over a sliding window. A range is `last=r`, the ticks (now - r, now], or `between=(t1, t2)`, the
    ticks (t1, t2]; without either it is the whole window. `last_arrivals=n` is the newest n arrivals of all items;
    where more of them share the oldest tick than are wanted, that tick is counted in proportion.

    Threads may share one: each call happens as a whole, before or after any other (docs/decisions/014-threads.md).
    """

    type_id: ClassVar[int]
    """The number by which a sketch's bytes say which class it is."""

    def __init__(self, config: SketchConfig, site: str | None = None) -> None:
        if site is not None and not isinstance(site, str):
            raise ConfigError(f"site: expected a name, got {site!r}")
        key = 0 if config.delta_sw == 0 else secrets.randbits(64) if site is None else hash_item(site)
        self._attach(State(new_engine(config, key)), self._items_of(config))

    @classmethod
    @abstractmethod
    def _items_of(cls, config: SketchConfig) -> Any:
        """What turns items into keys (ingest.AnyItems)."""

    @classmethod
    def _of(cls, state: State) -> Self:
        """The sketch that a state is of."""
        sketch = cls.__new__(cls)
        sketch._attach(state, cls._items_of(state.engine.config))
        return sketch

    @property
    @locked
    def now(self) -> int | None:
        """The clock: the newest tick seen or advanced to; None before the first."""
        now: int | None = self._flushed().now
        return now

    @property
    @locked
    def is_empty(self) -> bool:
        """Whether nothing was ever counted."""
        return self._flushed().origin is None

    @property
    @locked
    def first_tick(self) -> int | None:
        """The oldest tick ever counted, also if it has left the window; None if nothing was counted."""
        origin: int | None = self._flushed().origin
        return origin

    @property
    @locked
    def nbytes(self) -> int:
        """Memory held: the state, arrivals that wait to be counted, and what is remembered for questions."""
        state = self._state_now()
        parts = (state.engine, state.frequent, state.late_frequent)
        names = sum(sys.getsizeof(name) + 100 for name in state.names.values())  # 100: its hash, in a dict
        return _OBJECTS + sum(part.nbytes for part in parts if part is not None) + names + self._waiting_nbytes

    @property
    @locked
    def bucket_count(self) -> int:
        """Buckets stored over all counters; with slices, slices and events."""
        count: int = self._flushed().bucket_count
        return count

    @property
    @locked
    def late_counted(self) -> int:
        """Events behind the clock, whatever their weight, that were counted in their place (late="side")."""
        counted: int = self._engine.late_counted
        return counted

    @property
    @locked
    def late_dropped(self) -> int:
        """Events behind the clock, whatever their weight, that were not counted."""
        dropped: int = self._engine.late_dropped
        return dropped

    @property
    @locked
    def merge_levels(self) -> int:
        """Levels of merging behind this sketch."""
        levels: int = self._engine.levels
        return levels

    @property
    def epsilon(self) -> float:
        """What one item's count holds now, merging included: the config's epsilon after `merge_depth` levels.

        With a resolution it is the larger of resolution and epsilon for cells, and their sum for slices.
        """
        epsilon: float = self._engine.epsilon
        return epsilon

    def advance(self, tick: Tick) -> None:
        """Move the clock without an arrival, so that what is older than the window expires."""
        if self.config.model == "count":
            raise InputError("advance: with model='count' only arrivals move the clock")
        moment = to_tick(tick, self.config.unit)
        with self._lock:
            now = self.now
            if now is not None and moment < now:
                raise InputError(f"advance: the clock is at {now} already and cannot go back to {moment}")
            self._advance(moment)

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
    def read_cells(
        self, numbers: NDArray[np.uint32], last: Span | None = None, between: Interval | None = None
    ) -> Reading:
        """What the cells with these numbers hold over a range: arrays .value, .lower and .upper in their order.

        Cells are numbered from 0 to config.cells - 1, row by row; ranges are as for `estimate`.
        """
        cells = np.asarray(numbers)
        most = self.config.cells - 1
        known = cells.ndim == 1 and cells.dtype.kind in "iu"
        if not known or (len(cells) and not 0 <= int(cells.min()) <= int(cells.max()) <= most):
            raise QueryError(
                f"numbers: expected an array of whole numbers from 0 to {most}, the cells of this sketch, "
                f"got {numbers!r}"
            )
        return self._cells(cells.astype(np.uint32), *self._range(last, between))

    def _cells(self, numbers: NDArray[np.uint32], since: int, until: int) -> Reading:
        """What some cells hold over a range."""
        reading: Reading = self._flushed().cells(numbers, since, until)
        return reading

    def _block_of_cells(self, first: int, rows: int, columns: int, since: int, until: int) -> Reading:
        """Consecutive cells over a range, from the one numbered `first`, as rows x columns."""
        cells = np.arange(first, first + rows * columns, dtype=np.uint32)
        return Reading(*(part.reshape(rows, columns) for part in self._cells(cells, since, until)))

    @locked
    def serialize(self) -> bytes:
        """The sketch as bytes, by docs/format.md. Equal sketches give equal bytes."""
        return encode_state(self._state(), self.type_id)

    @classmethod
    def deserialize(cls, data: bytes | bytearray | memoryview, max_nbytes: int | None = codec.MAX_NBYTES) -> Self:
        """The sketch that `serialize` wrote; a FormatError if the bytes are anything else.

        A few bytes can ask for gigabytes of counters. So bytes whose counters would take more than `max_nbytes`, and
        more than 128 for each byte, are refused. Give more, or None, for large sketches from a source you trust.
        """
        return cls._of(decode_state(data, cls.type_id, max_nbytes))

    def copy(self, **changes: Any) -> Self:
        """An independent copy; `estimator`, `late` and `lateness` may be changed in it."""
        fixed = sorted(set(changes) - set(CHANGEABLE))
        if fixed:
            raise ConfigError(
                f"copy: {', '.join(fixed)} cannot change in a filled sketch, only {', '.join(CHANGEABLE)}"
            )
        config = self.config.replace(**changes)
        with self._lock:
            state = self._state()
            state = state._replace(engine=state.engine.copy(config))
        return self._of(state)  # not before: whoever holds a lock must not make one (locks.py)

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
        lacking = self._engine.lacking if no_miss else 0.0
        return least * (1 - lacking) - asked.missing

    def _by_upper(self, asked: Asked, no_miss: bool) -> bool:
        """Whether upper bounds are compared with the threshold: only they never miss, unless a range ends now."""
        if self._engine.by_upper_only:
            return no_miss
        return no_miss and (asked.newest is not None or asked.until < (self.now or 0))


def encode_state(state: State, type_id: int) -> bytes:
    """A state as bytes. Equal states give equal bytes."""
    engine = state.engine
    counters, settled = engine.sections()
    held = engine.held
    frequent = None
    if engine.config.heavy_hitters:
        now = engine.now or 0
        parts = (state.frequent, state.late_frequent)
        on_time, late = (None if part is None else part.encode(now) for part in parts)
        frequent = codec.Frequent(on_time, late, encode_names(forget_names(state.names, state.named()).values()))
    return codec.encode_sketch(
        codec.Parts(
            engine.config, engine.key, engine.now, engine.origin, engine.levels, engine.frontier, engine.late_counted,
            engine.late_dropped, codec.Held(held.ticks, held.items, held.explicit_weights()), state.kinds, counters,
            settled, frequent,
        ),
        type_id,
    )  # fmt: skip


def decode_state(data: Any, type_id: int, max_nbytes: int | None = codec.MAX_NBYTES) -> State:
    """The state that some bytes are of, or a FormatError that says what is wrong with them."""
    parts = codec.decode_sketch(data, type_id, max_nbytes)
    config, held = parts.config, Batch(parts.held.keys, parts.held.ticks, parts.held.weights)
    engine = new_engine(config).restored(
        config, parts.key, parts.now, parts.origin, parts.levels, parts.frontier, parts.late_counted,
        parts.late_dropped, held, parts.counters, parts.settled, parts.most,
    )  # fmt: skip
    if parts.frequent is None:
        return State(engine, kinds=parts.kinds)
    now = parts.now or 0
    on_time, late = (
        None if section is None else FrequentItems.decode(np.frombuffer(section, np.uint8), config, now)
        for section in (parts.frequent.on_time, parts.frequent.late)
    )
    state = State(engine, on_time, late, decode_names(parts.frequent.names), parts.kinds)
    if not np.isin(np.array(list(state.names), np.uint64), state.named()).all():
        raise FormatError("names: expected those of frequent items only")
    return state
