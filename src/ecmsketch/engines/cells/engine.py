"""CellsEngine: a Count-Min table whose counters are sliding windows, the paper's (engines/contract.py).

Arrivals on time are in one array of counters, late ones are held and later settled in another (late.py). Questions add
all of them. Everything is changed in place: a change prepares all parts, then writes all of them in compiled code that
no signal can interrupt.
"""

# mypy: ignore-errors

from __future__ import annotations

from math import ceil, floor, inf
from typing import Any, Self

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.cells.late import LateArrivals, LateChange
from numpy.typing import NDArray

from ecmsketch.config import PrefixConfig, SketchConfig
from ecmsketch.config.budget import carried_epsilon, point_error
from ecmsketch.engines.cells import bounds
from ecmsketch.engines.cells.arrivals import hashed
from ecmsketch.engines.cells.registry import counter_class
from ecmsketch.engines.cells.remembered import Remembered
from ecmsketch.engines.collisions import blocks_of, collision_quantile, expected_collisions
from ecmsketch.engines.contract import MAX_LEVELS, Floats, Keys, PrefixCounts, Reading
from ecmsketch.errors import FormatError, MergeError
from ecmsketch.estimate import Estimate, Estimates, exactly, together
from ecmsketch.inputs.batches import Batch
from ecmsketch.kernels.hashing import cells_of

_WORD = 2**64 - 1
_SUM_ERROR = 1 + 2.0**-50
"""Rounding must not make a bound less."""


@cython.cclass
class CellsEngine:
    """Counts of one stream in cells that are window counters."""

    late_apart = True
    """Names of late arrivals are summarised apart: `late` of a change has those that are settled."""
    by_upper_only = False
    """In a range that ends now, estimates that lack no more than `lacking` never miss a heavy hitter either."""

    def __init__(self, config: SketchConfig, key: int = 0) -> None:
        self.config, self.key = config, key
        self.now = 0 if config.model == "count" else None
        self.levels = self.late_counted = self.late_dropped = 0
        self.late = LateArrivals(~key & _WORD)
        self.remembered = Remembered()

    # ------------------------------------------------------------------ what this engine promises

    @property
    def certain(self) -> bool:
        """Whether bounds of cells always hold."""
        certain: bool = counter_class(self.config).certain
        return certain

    @property
    def proven_joins(self) -> bool:
        """Whether there is a proof of the error of joins."""
        proven: bool = counter_class(self.config).joins_proven
        return proven

    @property
    def lacking(self) -> float:
        """What the counts that are compared with a threshold may lack, as a share, in a range that ends now."""
        return carried_epsilon(self.config.epsilon_sw, self.levels)

    @property
    def epsilon(self) -> float:
        """What one item's count holds now, merging included."""
        return point_error(self.lacking, self.config.epsilon_cm)

    @property
    def held(self) -> Batch:
        """Late arrivals that wait until their order is final."""
        return self.late.held

    @property
    def frontier(self) -> int:
        """The newest tick of late arrivals that are settled."""
        return self.late.frontier

    # ------------------------------------------------------------------ feeding

    def prepare(self, batch: Batch) -> EngineChange:
        """Count arrivals sorted by tick (contract)."""
        now, config = self.now, self.config
        change = EngineChange()
        start_change(self, change)
        behind = 0 if now is None else int(np.searchsorted(batch.ticks, now, side="left"))
        late = batch.select(slice(0, behind)) if behind else None
        if behind:
            batch = batch.select(slice(behind, None))
        if behind and config.late == "drop":
            change.late_dropped += behind
            late = None
        if len(batch.ticks):
            change.now = int(batch.ticks[-1])
        if late is not None or len(batch.ticks):
            change_late(self, change, late)
        if len(batch.ticks):
            change_counters(self, change, batch)
        return change

    def prepare_advance(self, tick: int) -> EngineChange:
        """Move the clock without an arrival (contract)."""
        change = EngineChange()
        start_change(self, change)
        change.now = tick
        change_late(self, change, None)
        return change

    # ------------------------------------------------------------------ questions

    def total(self, since: int, until: int) -> Estimate:
        """All arrivals in a range, from the fewest cells that tell the items of each row apart."""
        if self.config.model == "count":
            return exactly(float(max(until, 0) - max(since, 0)))  # the window may reach before the first arrival
        return self._fact(("total", since, until), lambda: self._new_total(since, until))

    def total_of(self, table: Reading) -> Estimate:
        """All arrivals that are counted in a table, as rows x cells."""
        return bounds.total(table, self.config)

    def unproven_join(self, ours: Reading, others: Reading) -> Estimate:
        """The inner product of two tables, where cells' bounds may fail."""
        return bounds.inner_product(ours, others, self.config)

    def point(self, keys: Keys, block: int, since: int, until: int, delta: float | None) -> Estimates:
        """How often some items, or prefixes of a level, came in a range.

        Without `delta` lower bounds are those of Theorem 1, and those of a level without collisions always hold.
        """
        if delta is None:
            rows = self._rows_in(keys, block, since, until)
            if self._blocks.exact[block]:
                return Estimates(rows.value[0], rows.lower[0], rows.upper[0], 1 - self.config.delta_sw)
            return bounds.point(rows, self.total(since, until).upper, self.config)
        if not self.certain:
            rows = self._rows_in(keys, block, since, until)
            return bounds.point(rows, self._fact(("norm", since, until), lambda: self._norm(since, until)), self.config)
        collisions = self._fact((since, until, delta), lambda: self._collisions(since, until, delta))
        one = len(keys) == 1  # then this is quicker than the whole table, which may be forgotten
        rows = self._rows_in(keys, block, since, until) if one else self._rows_of_table(keys, since, until)
        return bounds.centred_point(rows, self.config.width, collisions)

    def one_point(self, key: int, since: int, until: int, delta: float) -> Estimate:
        """How often an item came in a range."""
        return self.point(np.array([key], np.uint64), 0, since, until, delta)[0]

    def compared(self, keys: Keys, since: int, until: int, delta: float) -> Estimates:
        """The counts that are compared with a threshold: the least reading, which misses less, where it is certain."""
        if not self.certain:
            return self.point(keys, 0, since, until, delta)
        value, lower, upper = (part.min(axis=0) for part in self._rows_of_table(keys, since, until))
        return Estimates(value, np.zeros_like(lower), upper, 1.0)

    def history(self, key: int, since: int, length: int, steps: int, delta: float) -> Estimates:
        """How often an item came in each of some steps of equal length."""
        starts = range(since, since + steps * length, length)
        return together([self.one_point(key, start, start + length, delta) for start in starts])

    def cells(self, numbers: NDArray[np.uint32], since: int, until: int) -> Reading:
        """What some cells hold over a range."""
        reading = self._read_since(numbers, since)
        if self.now is None or until >= self.now:
            return reading
        return bounds.difference(reading, self._read_since(numbers, until))

    def prefixes(self, block: int, prefixes: Keys, since: int, until: int) -> PrefixCounts:
        """How often some prefixes of a level came, with bounds that hold if those of cells do."""
        rows = self._rows_in(prefixes, block, since, until)
        value, upper = rows.value.min(axis=0), rows.upper.min(axis=0)
        sure = self._blocks.exact[block] and self.certain
        return PrefixCounts(value, rows.lower[0] if sure else np.zeros_like(value), upper, None)

    def exact_counts(self, since: int, until: int) -> tuple[Keys, Floats] | None:
        """Nothing: cells keep no events."""
        return None

    def most_since(self, since: int) -> tuple[int, int]:
        """Bounds of the number of arrivals after a tick, from one row."""
        if self.now is None or self.origin is None:
            return 0, 0
        since = min(max(since, self.now - self.config.window), self.now)
        row = np.arange(self._blocks.width[0], dtype=np.uint32)
        readings = [part.read(row, since, self.now, self.origin) for part in self._parts()]
        held = self.late.held_since(since)
        least = sum([float(reading.lower.sum()) for reading in readings])
        most = sum([float(reading.upper.sum()) for reading in readings])
        return floor(least) + held, ceil(most) + held

    # ------------------------------------------------------------------ the whole

    @classmethod
    def merge(cls, parts: list[Self], now: int) -> Self:
        """The union of several streams (contract)."""
        full = [part.settled()[0] for part in parts if part.origin is not None]
        if len(full) < 2:
            result = (full or parts)[0].copy()
        else:
            config, arrays, origins = full[0].config, [], []
            for part in full:
                for counters in part._parts():
                    arrays.append(counters)
                    origins.append(part.origin)
            merged = counter_class(config).merge(arrays, origins, now)
            result = cls(config, full[0].key)
            result._adopt(merged, None)
            result.origin = min(origins)
            result.levels = max([part.levels for part in full]) + (0 if counter_class(config).lossless else 1)
        if result.levels > MAX_LEVELS:
            raise MergeError(
                f"this would be level {result.levels} of merging, and {MAX_LEVELS} are allowed: each adds error. "
                "Merge all sites in one call, and use concat() for consecutive segments of one stream"
            )
        result.now = now
        result.late_counted = sum([part.late_counted for part in parts])
        result.late_dropped = sum([part.late_dropped for part in parts])
        return result

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """Consecutive segments of one stream (contract). What the last one holds of late arrivals stays held."""
        last = segments[-1]
        older = [part.settled()[0] for part in segments[:-1] if part.origin is not None]
        result = last.copy()
        if older:
            full = [*older, last] if last.origin is not None else older
            frontier = max([part.late.frontier for part in full])
            counters = concat_arrays([part.counters for part in older], result.counters, result.config, result.key, now)
            late_key = result.late.key
            settled = [part.late.settled for part in older]
            late = concat_arrays(settled, result.late.settled, result.config, late_key, now)
            result._adopt(counters, LateArrivals(late_key, result.late.held, late, frontier))
            result.origin = older[0].origin
            result.levels = max([part.levels for part in full])
        result.now = now
        result.late_counted = sum([part.late_counted for part in segments])
        result.late_dropped = sum([part.late_dropped for part in segments])
        return result

    def settled(self) -> tuple[Self, Batch | None]:
        """An engine without held late arrivals, and these; itself if there are none."""
        if not len(self.late.held.ticks):
            return self, None
        engine = self.copy()
        batch = settle_all(engine)
        return engine, batch

    def shifted(self, ticks: int) -> Self:
        """The same arrivals, each later by so many ticks."""
        other = self.copy()
        if other.counters is not None:
            other.counters.shift(ticks)
        other._adopt(other.counters, self.late.copy(None, ticks))
        other.now = (self.now or 0) + ticks
        other.origin = None if self.origin is None else self.origin + ticks
        return other

    def copy(self, config: SketchConfig | None = None) -> Self:
        """An independent engine with the same state, under a config that feeds or reads it differently if given."""
        other = type(self)(config or self.config, self.key)
        other.now, other.origin, other.levels = self.now, self.origin, self.levels
        other.late_counted, other.late_dropped = self.late_counted, self.late_dropped
        other._adopt(None if self.counters is None else self.counters.copy(config), self.late.copy(config))
        return other

    def sections(self) -> tuple[bytes | None, bytes | None]:
        """The bytes of counters, and of those with settled late arrivals: None if there are none."""
        now, settled = self.now or 0, self.late.settled
        return (
            None if self.counters is None else self.counters.encode(now),
            None if settled is None else settled.encode(now),
        )

    @classmethod
    def restored(
        cls, config: SketchConfig, key: int, now: int | None, origin: int | None, levels: int, frontier: int,
        late_counted: int, late_dropped: int, held: Batch, counters: Any, settled: Any, most: int,
    ) -> Self:  # fmt: skip
        """The engine that some sections stand for, or a FormatError."""
        engine = cls(config, key)
        arrays = [
            None if section is None
            else counter_class(config).decode(np.frombuffer(section, np.uint8), config, now or 0, most)
            for section in (counters, settled)
        ]  # fmt: skip
        engine._adopt(arrays[0], LateArrivals(~key & _WORD, held, arrays[1], frontier))
        engine.now, engine.origin, engine.levels = now, origin, levels
        engine.late_counted, engine.late_dropped = late_counted, late_dropped
        engine._check_settled()
        return engine

    @property
    def state_nbytes(self) -> int:
        """Memory held by the state."""
        return (0 if self.counters is None else self.counters.nbytes) + self.late.nbytes

    @property
    def nbytes(self) -> int:
        """Memory held by the state, and by what is remembered for questions."""
        return self.state_nbytes + self.remembered.nbytes

    @property
    def bucket_count(self) -> int:
        """Buckets, or sampled arrivals."""
        return sum([part.bucket_count for part in self._parts()])

    def forget(self) -> None:
        """Drop what is remembered for questions."""
        self.remembered = Remembered()

    # ------------------------------------------------------------------ inside

    @property
    def _blocks(self) -> Any:
        """The tables that the cells consist of."""
        if self.blocks is None:
            self.blocks = blocks_of(self.config)
        return self.blocks

    def _adopt(self, counters: Any, late: LateArrivals | None) -> None:
        """Take over counters and late arrivals that nobody else has."""
        self.counters = counters
        if late is not None:
            self.late = late
        self.version += 1
        self.remembered = Remembered()

    def _check_settled(self) -> None:
        """Refuse settled late arrivals after their frontier."""
        late = self.late
        if late.settled is not None and self.now is not None and self.origin is not None:
            since = max(late.frontier, self.now - self.config.window)
            every = np.arange(self.config.cells, dtype=np.uint32)
            if since < self.now and late.settled.read(every, since, self.now, self.origin).upper.any():
                raise FormatError("sketch: it has settled late arrivals after their frontier")

    def _parts(self) -> list[Any]:
        """All the counters."""
        return [part for part in (self.counters, self.late.settled) if part is not None]

    def _read_since(self, cells: NDArray[np.uint32], since: int) -> Reading:
        """What cells hold of a range that ends now, the errors of merging included."""
        if self.origin is None or self.now is None:
            return Reading(np.zeros(len(cells)), np.zeros(len(cells)), np.zeros(len(cells)))
        since = min(max(since, self.now - self.config.window), self.now)
        readings = [part.read(cells, since, self.now, self.origin) for part in self._parts()]
        held = self.late.held_by_cell(since, self.config)
        if held is not None:
            # `take`, since numpy crashes without memory if 32-bit numbers stand between brackets
            readings.append(Reading(held.take(cells), held.take(cells), held.take(cells)))
        reading = readings[0] if readings else Reading(np.zeros(len(cells)), np.zeros(len(cells)), np.zeros(len(cells)))
        for more in readings[1:]:
            reading = bounds.add(reading, more)
        displaced = self.levels if since >= self.origin else 0
        return bounds.widen(reading, self.config.epsilon_sw, displaced)

    def _table_since(self, since: int) -> Reading:
        """All cells over a range that ends now."""
        every = np.arange(self.config.cells, dtype=np.uint32)
        return self.remembered.table(since, lambda: self._read_since(every, since), self.state_nbytes)

    def _table(self, since: int, until: int) -> Reading:
        """All cells over a range."""
        if self.now is None or until >= self.now:
            return self._table_since(since)
        return self.remembered.table(
            (since, until), lambda: bounds.difference(self._table_since(since), self._table_since(until)),
            self.state_nbytes,
        )  # fmt: skip

    def _fact(self, key: Any, find: Any) -> Any:
        """What is said of a range in a few numbers."""
        return self.remembered.fact(key, find, self.state_nbytes)

    def _new_total(self, since: int, until: int) -> Estimate:
        rows, width = int(self._blocks.rows[0]), int(self._blocks.width[0])
        return bounds.total(self._first_cells(rows, width, since, until), self.config)

    def _norm(self, since: int, until: int) -> float:
        """At least all arrivals in a range, from one row."""
        return bounds.total(self._first_cells(1, self.config.width, since, until), self.config).upper

    def _first_cells(self, rows: int, width: int, since: int, until: int) -> Reading:
        """The first cells over a range, as rows x width."""
        found = self.cells(np.arange(rows * width, dtype=np.uint32), since, until)
        return Reading(*[part.reshape(rows, width) for part in found])

    def _collisions(self, since: int, until: int, delta: float) -> bounds.Collisions:
        """What collisions add to an item's count in a range."""
        table = self._table(since, until)
        expected, sums = self._fact(("expected", since, until), lambda: self._expected(table))
        likely = inf
        if delta > 0:
            most = np.floor(table.upper * _SUM_ERROR).astype(np.int64)
            likely = float(collision_quantile(most, self._blocks, 0, delta))
        return bounds.Collisions(expected, sums, likely, delta)

    def _expected(self, table: Reading) -> tuple[float, Floats]:
        """What an item's least collision is expected to be, and the sum of each row's cells."""
        (expected,) = expected_collisions(np.rint(table.value).astype(np.int64), self._blocks)
        return float(expected), table.value.reshape(self.config.depth, self.config.width).sum(axis=1)

    def _numbers(self, keys: Keys, block: int) -> NDArray[np.uint32]:
        """The cells of some items, or prefixes of a level, as rows x items."""
        config = self.config
        if not isinstance(config, PrefixConfig):
            return cells_of(keys, config.rows)
        level = config.levels[block]
        return cells_of(keys << np.uint64(level.drop), config.rows.some(level.first_row, level.first_row + level.rows))

    def _rows_in(self, keys: Keys, block: int, since: int, until: int) -> Reading:
        """What the cells of some items hold over a range, as rows x items."""
        numbers = self._numbers(keys, block)
        return Reading(*[part.reshape(numbers.shape) for part in self.cells(numbers.ravel(), since, until)])

    def _rows_of_table(self, keys: Keys, since: int, until: int) -> Reading:
        """The same of items, from all cells."""
        numbers, table = self._numbers(keys, 0), self._table(since, until)
        return Reading(*[part.take(numbers) for part in table])


@cython.cclass
class EngineChange:
    """A change of an engine that has everything it needs."""

    def commit(self) -> CellsEngine:
        """Make the change (contract)."""
        engine = self.engine
        if self.version != engine.version or not (self.counted is None or self.counted.fits()):
            raise RuntimeError("the engine was changed since this change was prepared")
        if self.late_change is not None and not self.late_change.fits():
            raise RuntimeError("the engine was changed since this change was prepared")
        engine.version += 1
        if self.counted is not None:
            self.counted.make()
            engine.counters = self.counters
        if self.late_change is not None:
            self.late_change.make()
        engine.now, engine.origin = self.now, self.origin
        engine.late_counted, engine.late_dropped = self.late_counted, self.late_dropped
        engine.remembered = self.remembered
        return engine


@cython.cfunc
def start_change(engine: CellsEngine, change: EngineChange) -> object:
    """Let a change begin as one that changes nothing."""
    change.engine, change.version = engine, engine.version
    change.now, change.origin = engine.now, engine.origin
    change.late_counted, change.late_dropped = engine.late_counted, engine.late_dropped
    change.remembered = Remembered()
    return None


@cython.cfunc
def change_late(engine: CellsEngine, change: EngineChange, batch: object) -> object:
    """Prepare to hold arrivals behind the clock, and to settle what is final at the change's clock."""
    if batch is None and not len(engine.late.held.ticks):
        return None
    change.late_change = engine.late.prepare(batch, engine.now, change.now, engine.config)
    change.late = change.late_change.batch
    change.late_counted += change.late_change.accepted
    change.late_dropped += change.late_change.dropped
    oldest = change.late_change.oldest
    if oldest is not None:
        change.origin = oldest if change.origin is None else min(change.origin, oldest)
    return None


@cython.cfunc
def change_counters(engine: CellsEngine, change: EngineChange, batch: object) -> object:
    """Prepare to count arrivals on time."""
    config = engine.config
    oldest = int(batch.ticks[0]) if config.model == "time" else (engine.now or 0) + 1
    change.counters = engine.counters
    if change.counters is None:
        change.counters = counter_class(config).new(config, engine.key)
    arrivals = hashed(batch.items, config.rows, batch.ticks, batch.weights)
    change.counted = change.counters.reserve(arrivals, oldest, change.now)
    if change.origin is None:
        change.origin = oldest
    return None


@cython.cfunc
def settle_all(engine: CellsEngine) -> object:
    """Count all late arrivals that an engine holds; returns them."""
    change: LateChange = engine.late.prepare_all(engine.config)
    change.make()
    return change.batch


def concat_arrays(older: list[Any], last: Any, config: SketchConfig, key: int, now: int) -> Any:
    """Counters of consecutive segments as one array; None stands for counters without arrivals."""
    older = [part for part in older if part is not None]
    if not older:
        return last
    live = counter_class(config).new(config, key) if last is None else last
    return counter_class(config).concat([*older, live], now)
