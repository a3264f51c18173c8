"""A table of sliding-window counters with a clock: fed, read, written as bytes. What sketches are made of."""

from __future__ import annotations

import secrets
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch import answers, codec
from ecmsketch.batches import Batch, prepare_batch
from ecmsketch.budget import carried_epsilon
from ecmsketch.config import READING, SketchConfig
from ecmsketch.counters import MAX_ARRIVALS, Reading, new_counters
from ecmsketch.errors import ConfigError, InputError, LateArrivalError, QueryError
from ecmsketch.estimate import Estimate, Estimates, Series
from ecmsketch.frequent import FrequentItems
from ecmsketch.hashing import columns_of, fill_cells, hash_item, hash_items
from ecmsketch.names import Names, forget_names, note_name, note_names, note_rows
from ecmsketch.state import SketchState
from ecmsketch.ticks import MAX_TICK, MIN_TICK, Span, Tick, to_span, to_tick

Interval = tuple[Tick, Tick]

MAX_STEPS = 100_000
"""Of one history."""

_FEW_NAMES = 1024
"""Names are looked through, and those of no use forgotten, when there are more than these and twice those in use."""

_BLOCK = 2**20
"""Events counted at a time: enough that few of them end a bucket, few enough for the processor's cache."""


class Asked(NamedTuple):
    """The range (since, until] that answers a question, and by how many arrivals it may differ from what was meant."""

    since: int
    until: int
    missing: float = 0.0
    surplus: float = 0.0

    def widen(self, found: Estimates) -> Estimates:
        """Counts in the range, with the bounds of what was meant."""
        if not self.missing and not self.surplus:
            return found
        lower = np.maximum(found.lower - self.surplus, 0.0)
        return Estimates(found.value, lower, found.upper + self.missing, found.confidence)


class WindowTable(ABC):
    """Counts items over a sliding window. A range is `last=r`, the ticks (now - r, now], or `between=(t1, t2)`, the
    ticks (t1, t2]; without either it is the whole window. `last_arrivals=n` is the newest n arrivals of all items.
    """

    kind: ClassVar[int]
    """What the bytes say they are."""

    _hash_item = staticmethod(hash_item)
    _hash_items = staticmethod(hash_items)

    def __init__(self, config: SketchConfig, site: str | None = None) -> None:
        if site is not None and not isinstance(site, str):
            raise ConfigError(f"site: expected a name, got {site!r}")
        key = 0 if config.counter != "rw" else secrets.randbits(64) if site is None else hash_item(site)
        self._attach(SketchState(config, key, now=0 if config.model == "count" else None))

    def _attach(self, state: SketchState) -> None:
        config = state.config
        self._state = state
        self._rows = config.row_hashes()
        self._block = max(min(_BLOCK, 2**24 // len(self._rows.low)), 4 * config.cells)
        self._norms: dict[tuple[int, int], Estimate] = {}
        self._pending_items = array("Q")
        self._pending_ticks = array("q")
        self._pending_names: Names | None = {} if config.heavy_hitters else None
        self._names_limit = _FEW_NAMES
        self._pending_limit = min(max(4 * config.cells, 2048), 65_536)
        # `update` compares ticks with this; beyond any tick, it sends all of them through `update_many`.
        self._clock = MAX_TICK + 1
        self._reset_clock()

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
    def now(self) -> int | None:
        """The clock: the newest tick seen or advanced to; None before the first."""
        return self._flushed().now

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever counted."""
        return self._flushed().is_empty

    @property
    def nbytes(self) -> int:
        """Memory held by the sketch's state."""
        parts = (self._state.counters, self._state.frequent, self._state.late)
        names = sum(sys.getsizeof(name) + 100 for name in self._state.names.values())  # 100: its hash, in a dict
        return sum(part.nbytes for part in parts if part is not None) + names + 16 * len(self._pending_ticks)

    @property
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
        """What one item's count holds now, merging included: the config's epsilon after `merge_depth` levels."""
        epsilon_sw = carried_epsilon(self.config.epsilon_sw, self.merge_levels)
        return epsilon_sw + self.config.epsilon_cm + epsilon_sw * self.config.epsilon_cm

    def update(self, item: Any, tick: Tick | None = None, weight: int = 1) -> None:
        """Count one arrival. Arrivals are gathered, and counted in bulk before the next question."""
        if tick.__class__ is int and weight == 1 and self._clock <= tick <= MAX_TICK:
            key = self._hash_item(item)
            self._pending_items.append(key)
            self._pending_ticks.append(tick)
            self._clock = tick
            if self._pending_names is not None:
                note_name(self._pending_names, key, item)
            if len(self._pending_ticks) >= self._pending_limit:
                self._flush()
        else:
            self.update_many([item], None if tick is None else [tick], [weight])

    def update_many(self, items: Any, ticks: Any = None, weights: Any = None) -> None:
        """Count many arrivals; the same state as calling `update` on each, in order of their ticks.

        Items, ticks and weights are numpy arrays, Arrow or pandas columns, or lists. If any of them is
        wrong an error says so and nothing is counted. With model="count" leave ticks out. Rows of several columns
        (a dict of them, a data frame, an Arrow table) are items too: tuples.
        """
        state = self._flushed()
        if self.config.heavy_hitters and columns_of(items) is None and not hasattr(items, "__getitem__"):
            items = list(items) if isinstance(items, Iterable) else items
        hashed = self._hash_items(items)
        batch = prepare_batch(hashed, ticks, weights, state.config, state.now)
        self._check_room(batch.arrivals())
        on_time, behind = self._split_late(batch)
        if len(behind.ticks):
            self._take_late(behind)
        self._add(on_time)
        if self.config.heavy_hitters:
            if len(hashed) <= 2 * len(state.names):  # few: noted all, which is less than looking through all names
                note_rows(state.names, items, hashed, np.arange(len(hashed)))
            else:
                note_names(state.names, state.named(), items, hashed)
            self._forget_names()

    def advance(self, tick: Tick) -> None:
        """Move the clock without an arrival, so that what is older than the window expires."""
        if self.config.model == "count":
            raise InputError("advance: with model='count' only arrivals move the clock")
        now, tick = self.now, to_tick(tick, self.config.unit)
        if now is not None and tick < now:
            raise InputError(f"advance: the clock is at {now} already and cannot go back to {tick}")
        self._state.now = tick
        self._after_change()

    @abstractmethod
    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range, of all items together."""

    @abstractmethod
    def estimate(
        self, item: Any, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """How often an item came in a range."""

    def history(self, item: Any, step: Span, last: Span | None = None) -> Series:
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
        points = [self.estimate(item, between=(int(end) - length, int(end))) for end in ends]
        value, lower, upper = (np.array([getattr(point, name) for point in points]) for name in Estimate._fields[:3])
        return Series(ends, length, Estimates(value, lower, upper, self.config.confidence))

    def serialize(self) -> bytes:
        """The sketch as bytes, by docs/format.md. Equal sketches give equal bytes."""
        return codec.encode(self._flushed(), self.kind)

    @classmethod
    def deserialize(cls, data: bytes | bytearray | memoryview) -> Self:
        """The sketch that `serialize` wrote; a FormatError if the bytes are anything else."""
        return cls._of(codec.decode(data, cls.kind))

    def copy(self, **changes: Any) -> Self:
        """An independent copy; `estimator`, `late` and `lateness` may be changed in it."""
        fixed = sorted(set(changes) - set(READING))
        if fixed:
            raise ConfigError(f"copy: {', '.join(fixed)} cannot change in a filled sketch, only {', '.join(READING)}")
        return self._of(self._flushed().copy(self.config.replace(**changes)))

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return type(self).deserialize, (self.serialize(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WindowTable):
            return NotImplemented
        return type(self) is type(other) and self.config == other.config and self.serialize() == other.serialize()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        config = self.config
        merged = f", merge_levels={self.merge_levels}" if self.merge_levels else ""
        return (
            f"{type(self).__name__}(epsilon={config.epsilon:g}, delta={config.delta:g}, window={config.window}, "
            f"counter={config.counter!r}, model={config.model!r}, now={self.now}, nbytes={self.nbytes}{merged})"
        )

    def _flushed(self) -> SketchState:
        """The state, with everything counted that `update` has gathered."""
        if self._pending_ticks:
            self._flush()
        return self._state

    def _flush(self) -> None:
        gathered = self._pending_items, self._pending_ticks
        if self._pending_names:
            self._state.names = self._pending_names | self._state.names
            self._pending_names = {}
        self._pending_items, self._pending_ticks = array("Q"), array("q")
        try:
            self._add(Batch(np.frombuffer(gathered[0], np.uint64), np.frombuffer(gathered[1], np.int64), None))
        except Exception:
            self._pending_items, self._pending_ticks = gathered  # nothing is lost: the next call tries again
            raise
        self._forget_names()

    def _forget_names(self) -> None:
        """Now and then, those of items that are candidates no more."""
        state = self._state
        if len(state.names) > self._names_limit:
            state.names = forget_names(state.names, state.named())
            self._names_limit = max(_FEW_NAMES, 2 * len(state.names))

    def _add(self, batch: Batch) -> None:
        """Count arrivals in order, none behind the clock; the state is whole after every block."""
        state = self._state
        cells = np.empty((len(self._rows.low), min(self._block, len(batch.ticks))), np.uint32)
        for begin in range(0, len(batch.ticks), self._block):
            block = batch.select(slice(begin, begin + self._block))
            if state.counters is None:
                state.counters = new_counters(state.config, state.key)
            block_cells = cells[:, : len(block.ticks)]
            fill_cells(block.items, self._rows, block_cells)
            oldest = int(block.ticks[0]) if state.config.model == "time" else (state.now or 0) + 1
            state.counters.add(block_cells, block.ticks, block.weights, oldest, int(block.ticks[-1]))
            if state.config.heavy_hitters:
                state.frequent = state.frequent or FrequentItems(state.config)
                state.frequent.add(block)
            if state.origin is None:
                state.origin = oldest
            state.now = int(block.ticks[-1])
        if len(batch.ticks):
            self._after_change()

    def _check_room(self, arrivals: int) -> None:
        if self._state.arrivals + arrivals > MAX_ARRIVALS:
            raise InputError(
                f"weights: {arrivals:,} more arrivals would pass 2**53 in one counter; nothing was counted"
            )

    def _split_late(self, batch: Batch) -> tuple[Batch, Batch]:
        """What is on time, and what lies behind the clock."""
        now = self._state.now
        behind = 0 if now is None else int(np.searchsorted(batch.ticks, now, side="left"))
        if behind and self.config.late == "raise":
            raise LateArrivalError(
                f"{behind} of {len(batch.ticks)} ticks lie behind the sketch's clock {now}, the oldest at "
                f"{batch.ticks[0]}; nothing was counted. Give ticks in order, or set late='side' or late='drop'"
            )
        return batch.select(slice(behind, None)), batch.select(slice(0, behind))

    def _take_late(self, batch: Batch) -> None:
        state = self._state
        assert state.now is not None
        if self.config.late == "drop":
            state.late.dropped += len(batch.ticks)
            return
        oldest = state.late.accept(batch, state.now, self.config, self._rows)
        if oldest is not None:
            state.origin = oldest if state.origin is None else min(state.origin, oldest)
        self._after_change()

    def _after_change(self) -> None:
        state = self._state
        if len(state.late.held.ticks) and state.now is not None:
            state.late.settle(state.now, self.config, self._rows)
        self._norms.clear()
        self._reset_clock()

    def _reset_clock(self) -> None:
        if self.config.model == "time":
            self._clock = MIN_TICK if self._state.now is None else self._state.now

    def _range(self, last: Any, between: Any, now: int | None = None) -> tuple[int, int]:
        """The range (since, until] that a query means."""
        if now is None:
            now = self.now or 0
        unit, window = self.config.unit, self.config.window
        if between is not None:
            if last is not None:
                raise QueryError("range: give last= or between=, not both")
            try:
                since, until = (to_tick(end, unit) for end in between)
            except (TypeError, ValueError) as error:
                raise QueryError(f"between: expected two ticks (from, to), got {between!r}") from error
            if until < since:
                raise QueryError(f"between: expected (from, to) with from <= to, got ({since}, {until})")
            if since < now - window:
                raise QueryError(f"between: {since} lies before the window, which begins at {now - window} (now {now})")
            return min(since, now), min(until, now)
        try:
            length = window if last is None else to_span(last, unit)
        except InputError as error:
            raise QueryError(f"last: expected 0 to {window} ticks; {error}") from error
        if not 0 <= length <= window:
            raise QueryError(f"last: expected 0 to {window} (the window), got {length}")
        return now - length, now

    def _asked(self, last: Any, between: Any, last_arrivals: int | None) -> Asked:
        """The range that a query means, if need be found by how many arrivals it holds."""
        if last_arrivals is None:
            return Asked(*self._range(last, between))
        if last is not None or between is not None:
            raise QueryError("range: give one of last=, between= and last_arrivals=")
        since, until = self._range(None, None)
        most = self.total()
        wrong = isinstance(last_arrivals, bool) or not isinstance(last_arrivals, Integral)
        if wrong or not 0 <= (count := int(last_arrivals)) <= most.upper:
            raise QueryError(
                f"last_arrivals: expected 0 to {most.upper:.0f} (what the window holds), got {last_arrivals!r}"
            )
        if self.config.model == "count":
            return Asked(until - count, until)
        low, high = 0, until - since
        while low < high:
            middle = (low + high) // 2
            if self.total(last=middle).value >= count:
                high = middle
            else:
                low = middle + 1
        held = self.total(last=low)
        return Asked(until - low, until, max(count - held.lower, 0.0), max(held.upper - count, 0.0))

    def _heavy_share(
        self, phi: float | None, count: int | None, last_arrivals: int | None, everything: Estimate
    ) -> tuple[float, float]:
        """The least count that a heavy hitter has, and the share of the arrivals that this is."""
        if (phi is None) == (count is None):
            raise QueryError("heavy_hitters: give a share phi, or count=, and not both")
        if count is not None:
            if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
                raise QueryError(f"heavy_hitters: expected a count of 1 or more, got {count!r}")
            return float(count), count / max(everything.upper, 1.0)
        assert phi is not None
        if isinstance(phi, bool) or not isinstance(phi, Real) or not 0 < phi <= 1:
            raise QueryError(f"heavy_hitters: expected a share phi above 0 and at most 1, got {phi!r}")
        return float(phi) * (everything.lower if last_arrivals is None else last_arrivals), float(phi)

    def _read(self, cells: NDArray[np.uint32], since: int, until: int) -> Reading:
        reading = self._read_since(cells, since)
        now = self._flushed().now
        if now is None or until >= now:
            return reading
        return answers.difference(reading, self._read_since(cells, until))

    def _read_since(self, cells: NDArray[np.uint32], since: int) -> Reading:
        state = self._flushed()
        zeros = np.zeros(len(cells))
        reading = Reading(zeros, zeros, zeros)
        if state.origin is None or state.now is None:
            return reading
        since = min(max(since, state.now - state.config.window), state.now)
        for counters in (state.counters, state.late.settled):
            if counters is not None:
                reading = answers.add(reading, counters.read(cells, since, state.now, state.origin))
        held = state.late.held_by_cell(since, self._rows)
        if held is not None:
            reading = answers.add(reading, Reading(held[cells], held[cells], held[cells]))
        displaced = state.levels if since >= state.origin else 0
        return answers.widen(reading, self.config.epsilon_sw, displaced)
