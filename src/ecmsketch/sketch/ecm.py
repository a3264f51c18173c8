"""EcmSketch: how often items came over a sliding window, in little memory (paper section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.engines.contract import Reading
from ecmsketch.errors import ConfigError, QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyChanges, HeavyHitter, exactly
from ecmsketch.inputs.items import as_sequence
from ecmsketch.inputs.kinds import check_asked, describe, share_kinds
from ecmsketch.inputs.ticks import Span
from ecmsketch.kernels.hashing import cells_of
from ecmsketch.sketch import bounds, codec
from ecmsketch.sketch.base import BaseSketch
from ecmsketch.sketch.heavy import NamedItems
from ecmsketch.sketch.ingest import AnyItems
from ecmsketch.sketch.locks import all_locked, locked
from ecmsketch.sketch.ranges import Interval, ticks_asked

Item = str | bytes | int | tuple[str | bytes | int, ...]
_ANY_ITEMS = AnyItems()


class EcmSketch(BaseSketch):
    """Counts items over a sliding window, in little memory; any range up to the window can be asked.

    >>> sketch = EcmSketch(SketchConfig(epsilon=0.01, delta=0.01, window=3600))
    >>> sketch.update_many(["/index.html", "/logo.png", "/index.html"], [10, 11, 12])
    >>> print(sketch.estimate("/index.html", last=60))
    2 in [2, 2] with probability 1

    A range is `last=r`, the ticks (now - r, now], or `between=(t1, t2)`, the ticks (t1, t2]; without either
    it is the whole window. The clock `now` is the newest tick seen, or what `advance` moved it to.
    """

    type_id = codec.KIND_SKETCH

    def __init__(self, config: SketchConfig, site: str | None = None) -> None:
        """`site` matters with counter="rw" only: sites of different names draw different samples, the same name
        draws the same again. Without one, a name is drawn at random.
        """
        if not isinstance(config, SketchConfig):
            raise ConfigError(f"config: expected a SketchConfig, got {type(config).__name__}")
        super().__init__(config, site)

    @classmethod
    def _items_of(cls, config: SketchConfig) -> AnyItems:
        return _ANY_ITEMS

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
        config = self.config
        delta = 1 - config.confidence if confidence is None else bounds.delta_of(config, confidence)
        if last_arrivals is None:
            found: Estimate = self._estimate_one(item, last, between, delta)
            return found
        keys = np.array([self._key_of(item)], np.uint64)
        with self._lock:
            return self._points(keys, last, between, last_arrivals, delta)[0]

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
        keys = self._items.hash_many(items)
        check_asked(self.kinds, self._items.kinds_of(items))
        delta = bounds.delta_of(self.config, confidence)
        with self._lock:
            return self._points(keys, last, between, last_arrivals, delta)

    def cells(self, item: Item, last: Span | None = None, between: Interval | None = None) -> Reading:
        """What the cells of an item hold over a range, one cell in each row: arrays .value, .lower and .upper.

        A cell counts every item that is hashed to it, so each is at least about the item's own count.
        """
        numbers = cells_of(np.array([self._key_of(item)], np.uint64), self.config.rows)
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
        """All arrivals in a range."""
        if self.config.model == "count":
            return exactly(float(max(until, 0) - max(since, 0)))  # the window may reach before the first arrival
        total: Estimate = self._flushed().total(since, until)
        return total

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
        delta = bounds.delta_of(self.config, confidence)
        since, until = self._range(last, between)
        counts = self._flushed().exact_counts(since, until)
        if counts is not None:
            return exactly(float(counts[1] @ counts[1]))
        table = self._table(since, until)
        if not self._engine.proven_joins:
            join: Estimate = self._engine.unproven_join(table, table)
            least: float = self._engine.total_of(table).lower
            return join._replace(lower=max(join.lower, min(least, join.value)))
        return bounds.self_join(table, self._everything(since, until), delta)

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
        delta = bounds.delta_of(self.config, confidence)
        with all_locked([self, other]):
            return self._inner_product(other, last, between, delta)

    def _inner_product(self, other: EcmSketch, last: Span | None, between: Interval | None, delta: float) -> Estimate:
        if self.config.model == "time":
            clocks = [clock for clock in (self.now, other.now) if clock is not None]
            mine = theirs = ticks_asked(self.config, max(clocks, default=0), last, between)
        else:
            mine, theirs = self._range(last, between), other._range(last, between)
        counts, other_counts = self._flushed().exact_counts(*mine), other._flushed().exact_counts(*theirs)
        if counts is not None and other_counts is not None:
            _, here, there = np.intersect1d(counts[0], other_counts[0], assume_unique=True, return_indices=True)
            return exactly(float(counts[1][here] @ other_counts[1][there]))
        ours, others = self._table(*mine), other._table(*theirs)
        if not self._engine.proven_joins:
            join: Estimate = self._engine.unproven_join(ours, others)
            return join
        return bounds.inner_product(ours, others, delta)

    @locked
    def heavy_hitters(
        self,
        phi: float | None = None,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
        *,
        count: int | None = None,
        no_miss: bool = False,
        confidence: float | None = None,
    ) -> list[HeavyHitter]:
        """Items that came at least a share `phi` of the arrivals, or at least `count` times; most frequent first.

        Needs heavy_hitters=True in the config. Surely found, in a range that ends now: whatever came phi + epsilon of
        the arrivals (with cells, phi/(1 - epsilon_sw)); with `no_miss`, in any range, whatever came phi of them. An
        item that came less than the threshold less epsilon of the arrivals is reported with probability delta at most
        (docs/guarantees.md). A threshold so low that an item above it could be missed is refused. With `last_arrivals`,
        `no_miss` counts the oldest tick in full. Lower bounds hold for a share `confidence` of the list, on average.

        >>> from ecmsketch import EcmSketch, SketchConfig
        >>> config = SketchConfig(epsilon=0.01, delta=0.01, window=3600, heavy_hitters=True)
        >>> sketch = EcmSketch(config)
        >>> sketch.update_many(["/index.html", "/logo.png", "/index.html"], [10, 11, 12])
        >>> [hitter.item for hitter in sketch.heavy_hitters(0.5, last=60)]
        ['/index.html']
        """
        delta = bounds.delta_of(self.config, confidence)
        asked = self._asked(last, between, last_arrivals)
        everything = self._everything(asked.since, asked.until)
        by_upper = self._by_upper(asked, no_miss)
        return self._named_items().heavy_hitters(
            phi, count, last_arrivals, everything, asked, by_upper, delta,
            lambda least: self._threshold(least, asked, no_miss),
        )  # fmt: skip

    @locked
    def top(
        self,
        k: int,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
        *,
        confidence: float | None = None,
    ) -> list[HeavyHitter]:
        """The `k` items that seem to have come most often, most frequent first; fewer if fewer are named.

        Needs heavy_hitters=True in the config. Items that came less than epsilon of the arrivals may be missing.
        Lower bounds hold for a share `confidence` of the items listed, on average.
        """
        NamedItems.check_number("top", k)
        delta = bounds.delta_of(self.config, confidence)
        asked = self._asked(last, between, last_arrivals)
        return self._named_items().top(int(k), asked, delta)

    @locked
    def heavy_changes(
        self, k: int, last: Span, before: Span | None = None, *, by: str = "change", confidence: float | None = None
    ) -> HeavyChanges:
        """The `k` items whose counts changed most: the last `last` ticks against the `before` ticks before them.

        Without `before` both ranges are equally long; otherwise counts are compared as they are. by="rise" lists what
        rose most, by="fall" what fell most. Needs heavy_hitters=True in the config. The exact change lies within the
        bounds for a share `confidence` of the items listed, on average. The result also says by how much an item that
        no summary names may have changed.
        """
        NamedItems.check_number("heavy_changes", k)
        NamedItems.check_sign(by)
        delta = bounds.delta_of(self.config, confidence)
        newer = self._range(last, None)
        return self._named_items().changes(int(k), newer, before, by, delta)

    @locked
    def named_counts(self, last: Span | None = None) -> tuple[NDArray[np.uint64], Estimates, int]:
        """Hashes of all items that are named in a range, ascending, how often each came, and any other one at most.

        These are what `heavy_hitters` chooses from, with the counts that it compares. An item that is not named came
        epsilon of the arrivals at most. Needs heavy_hitters=True in the config.
        """
        return self._named_items().counts(self._asked(last, None, None), self.config.delta)

    @locked
    def name_of(self, key: int) -> Any:
        """The item with a hash that `named_counts` returned."""
        return self._state_now().names.get(key, key)

    def _named_items(self) -> NamedItems:
        return NamedItems(self._state())

    def _check_proven(self, query: str, unproven: bool) -> None:
        if not self._engine.proven_joins and not unproven:
            raise QueryError(
                f"{query}: randomized waves err in both directions at random, and the paper bounds only their point "
                "queries; use counter='eh' or 'dw', or ask with unproven=True"
            )

    def _points(
        self, keys: NDArray[np.uint64], last: Any, between: Any, last_arrivals: int | None, delta: float
    ) -> Estimates:
        asked = self._asked(last, between, last_arrivals)
        engine = self._flushed()
        return asked.answer(
            lambda since, until: engine.point(keys, 0, since, until, delta), False, self.config.delta_sw == 0
        )

    def _step_points(self, item: Any, since: int, length: int, steps: int, confidence: float | None) -> Estimates:
        delta, key = bounds.delta_of(self.config, confidence), self._key_of(item)
        found: Estimates = self._flushed().history(key, since, length, steps, delta)
        return found

    def _table(self, since: int, until: int) -> Reading:
        """Every cell over a range, as depth x width."""
        return self._block_of_cells(0, self.config.depth, self.config.width, since, until)
