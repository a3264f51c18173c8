"""EcmSketch: a Count-Min table whose counters are sliding windows (paper section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters import Reading
from ecmsketch.errors import ConfigError, QueryError
from ecmsketch.estimate import Estimate, Estimates, exactly, together
from ecmsketch.inputs.items import as_sequence, hash_item, hash_items
from ecmsketch.inputs.kinds import check_asked, describe, kind_of, share_kinds
from ecmsketch.inputs.row_hashes import cells_of
from ecmsketch.inputs.ticks import Span
from ecmsketch.sketch import bounds, codec, joins
from ecmsketch.sketch.confidence import delta_of
from ecmsketch.sketch.heavy_questions import HeavyQuestions
from ecmsketch.sketch.locks import all_locked, locked
from ecmsketch.sketch.ranges import Interval
from ecmsketch.slices import SlicedStream
from ecmsketch.slices.stream_reading import Counts

Item = str | bytes | int | tuple[str | bytes | int, ...]


class EcmSketch(HeavyQuestions):
    """Counts items over a sliding window, in little memory; any range up to the window can be asked.

    >>> sketch = EcmSketch(SketchConfig(epsilon=0.01, delta=0.01, window=3600))
    >>> sketch.update_many(["/index.html", "/logo.png", "/index.html"], [10, 11, 12])
    >>> print(sketch.estimate("/index.html", last=60))
    2 in [2, 2] with probability 1

    A range is `last=r`, the ticks (now - r, now], or `between=(t1, t2)`, the ticks (t1, t2]; without either
    it is the whole window. The clock `now` is the newest tick seen, or what `advance` moved it to.
    """

    kind = codec.KIND_SKETCH

    def __init__(self, config: SketchConfig, site: str | None = None) -> None:
        """`site` matters with counter="rw" only: sites of different names draw different samples, the same name
        draws the same again. Without one, a name is drawn at random.
        """
        if not isinstance(config, SketchConfig):
            raise ConfigError(f"config: expected a SketchConfig, got {type(config).__name__}")
        super().__init__(config, site)

    def estimate(
        self,
        item: Item,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
        *,
        confidence: float | None = None,
    ) -> Estimate:
        """How often an item came in a range of ticks, or among the last so many arrivals of all items.

        `upper` always holds. `lower` holds with probability `confidence`, by default that of the config; with
        confidence=1 only what is certain is said (docs/guarantees.md).
        """
        keys = np.array([self._key_of(item)], np.uint64)
        delta = delta_of(self._state.config, confidence)
        with self._lock:
            if last_arrivals is not None:
                return self._estimate(keys, last, between, last_arrivals, delta)[0]
            since, until = self._range(last, between)
            engine = self._state.counters
            if isinstance(engine, SlicedStream):
                return engine.one_point(keys, self._rows, since, until, delta)
            return self._point(keys, since, until, delta)[0]

    def estimate_many(
        self,
        items: Any,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
        *,
        confidence: float | None = None,
    ) -> Estimates:
        """How often each of many items came; ranges and confidence as for `estimate`, for each of them."""
        items = as_sequence(items)
        keys = hash_items(items)
        check_asked(self._state.kinds, self._kinds_of(items))
        delta = delta_of(self._state.config, confidence)
        with self._lock:
            return self._estimate(keys, last, between, last_arrivals, delta)

    def cells(self, item: Item, last: Span | None = None, between: Interval | None = None) -> Reading:
        """What the cells of an item hold over a range, one cell in each row: arrays .value, .lower and .upper.

        A cell counts every item that is hashed to it, so each is at least about the item's own count.
        """
        numbers = cells_of(np.array([self._key_of(item)], np.uint64), self._rows)
        return self.read_cells(numbers.ravel(), last, between)

    @locked
    def table(self, last: Span | None = None, between: Interval | None = None) -> Reading:
        """What all cells hold over a range: arrays .value, .lower and .upper of depth x width."""
        return self._table(*self._range(last, between))

    @locked
    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range, of all items together."""
        return self._everything(*self._range(last, between))

    def _everything(self, since: int, until: int) -> Estimate:
        if self.config.model == "count":
            arrivals = float(max(until, 0) - max(since, 0))  # the window may reach before the first arrival
            return exactly(arrivals)
        if self.config.counter == "slices":
            return self._norm(since, until)
        return bounds.total(self._table(since, until), self.config)

    @locked
    def self_join(
        self,
        last: Span | None = None,
        between: Interval | None = None,
        unproven: bool = False,
        *,
        confidence: float | None = None,
    ) -> Estimate:
        """The sum over all items of their squared frequency in a range (second frequency moment).

        Both bounds hold with probability `confidence`; with confidence=1 they always hold, and are wider. With
        counter="rw" there is no proof of its error; `unproven=True` asks for it all the same.
        """
        self._check_proven("self_join", unproven)
        delta = delta_of(self.config, confidence)
        since, until = self._range(last, between)
        counts = self._exact_counts(since, until)
        if counts is not None:
            return exactly(float(counts[1] @ counts[1]))
        table = self._table(since, until)
        if self.config.counter == "rw":
            join = bounds.inner_product(table, table, self.config)
            return join._replace(lower=max(join.lower, min(bounds.total(table, self.config).lower, join.value)))
        return joins.self_join(table, self._everything(since, until), delta)

    def inner_product(
        self,
        other: EcmSketch,
        last: Span | None = None,
        between: Interval | None = None,
        unproven: bool = False,
        *,
        confidence: float | None = None,
    ) -> Estimate:
        """The sum over all items of their frequency here times their frequency in `other` (size of a join).

        With model="time" both are asked over the same ticks, up to the later of the two clocks. Bounds are as for
        `self_join`. With counter="rw" there is no proof of its error; `unproven=True` asks for it all the same.
        """
        self._check_proven("inner_product", unproven)
        if not isinstance(other, EcmSketch):
            raise QueryError(f"inner_product: expected an EcmSketch, got {type(other).__name__}")
        different = self.config.differences(other.config)
        if different:
            raise QueryError(
                f"inner_product: the sketches differ in {', '.join(different)}; build them from one config"
            )
        if not share_kinds(self.kinds, other.kinds):
            raise QueryError(
                f"inner_product: one sketch counts {describe(self.kinds)} items and the other "
                f"{describe(other.kinds)} items, so they share none; convert the items of one stream"
            )
        delta = delta_of(self.config, confidence)
        with all_locked([self, other]):
            return self._inner_product(other, last, between, delta)

    def _inner_product(self, other: EcmSketch, last: Span | None, between: Interval | None, delta: float) -> Estimate:
        if self.config.model == "time":
            clocks = [clock for clock in (self.now, other.now) if clock is not None]
            mine = theirs = self._range(last, between, max(clocks, default=0))
        else:
            mine, theirs = self._range(last, between), other._range(last, between)
        counts, other_counts = self._exact_counts(*mine), other._exact_counts(*theirs)
        if counts is not None and other_counts is not None:
            _, here, there = np.intersect1d(counts[0], other_counts[0], assume_unique=True, return_indices=True)
            return exactly(float(counts[1][here] @ other_counts[1][there]))
        ours, others = self._table(*mine), other._table(*theirs)
        if self.config.counter == "rw":
            return bounds.inner_product(ours, others, self.config)
        return joins.inner_product(ours, others, delta)

    def _exact_counts(self, since: int, until: int) -> Counts | None:
        """Items and how often they came, if all that lies in a range is kept as events."""
        engine = self._flushed().counters
        return engine.exact_counts(since, until) if isinstance(engine, SlicedStream) else None

    def _key_of(self, item: Item) -> int:
        """An item's hash, if items of its kind are counted here."""
        key = hash_item(item)
        check_asked(self._state.kinds, frozenset({kind_of(item)}), repr(item))
        return key

    def _check_proven(self, query: str, unproven: bool) -> None:
        if self.config.counter == "rw" and not unproven:
            raise QueryError(
                f"{query}: randomized waves err in both directions at random, and the paper bounds only their point "
                "queries; use counter='eh' or 'dw', or ask with unproven=True"
            )

    def _estimate(
        self, keys: NDArray[np.uint64], last: Any, between: Any, last_arrivals: int | None, delta: float
    ) -> Estimates:
        return self._points(keys, self._asked(last, between, last_arrivals), delta)

    def _step_points(self, item: Any, since: int, length: int, steps: int, confidence: float | None) -> Estimates:
        delta, key = delta_of(self.config, confidence), self._key_of(item)
        engine = self._flushed().counters
        if isinstance(engine, SlicedStream):
            return engine.step_points(key, self._rows, since, length, steps, delta)
        keys, starts = np.array([key], np.uint64), range(since, since + steps * length, length)
        return together([self._point(keys, start, start + length, delta)[0] for start in starts])

    def _point(self, keys: NDArray[np.uint64], since: int, until: int, delta: float) -> Estimates:
        engine = self._flushed().counters
        if isinstance(engine, SlicedStream):
            return engine.point(keys, self._rows, 0, since, until, delta)
        if self.config.counter == "rw":
            rows = self._cells_of(keys, lambda cells: self._read(cells, since, until))
            return bounds.point(rows, self._norm(since, until).upper, self.config)
        collisions = self._collisions(since, until, delta)
        if len(keys) == 1:  # quicker than the whole table, which may be forgotten
            rows = self._cells_of(keys, lambda cells: self._read(cells, since, until))
        else:
            rows = self._cells_of(keys, self._view(since, until).read)
        return bounds.centred_point(rows, self.config.width, collisions)

    def _least_reading(self, keys: NDArray[np.uint64], since: int, until: int) -> Estimates:
        rows = self._cells_of(keys, self._view(since, until).read)
        value, lower, upper = (part.min(axis=0) for part in rows)
        return Estimates(value, np.zeros_like(lower), upper, 1.0)

    def _cells_of(self, keys: NDArray[np.uint64], read: Callable[[NDArray[np.uint32]], Reading]) -> Reading:
        """What the cells of some items hold, as rows x items."""
        cells = cells_of(keys, self._rows)
        return Reading(*(part.reshape(cells.shape) for part in read(cells.ravel())))

    @property
    def _norm_shape(self) -> tuple[int, int]:
        return 1, self.config.width

    def _table(self, since: int, until: int) -> Reading:
        """Every cell over a range, as depth x width."""
        return self._read_block(0, (self.config.depth, self.config.width), since, until)
