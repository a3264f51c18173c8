"""EcmSketch: a Count-Min table whose counters are sliding windows (paper section 4)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch import answers, codec
from ecmsketch.config import SketchConfig
from ecmsketch.counters import Reading
from ecmsketch.errors import ConfigError, QueryError
from ecmsketch.estimate import Estimate, Estimates, Series
from ecmsketch.hashing import cells_of, hash_item, hash_items
from ecmsketch.table import Interval, WindowTable
from ecmsketch.ticks import Span, to_span

Item = str | bytes | int

MAX_STEPS = 100_000
"""Of one history."""


class EcmSketch(WindowTable):
    """Counts items over a sliding window, in little memory; any range up to the window can be asked.

    >>> sketch = EcmSketch(SketchConfig(epsilon=0.01, delta=0.01, window=3600))
    >>> sketch.update_many(["/index.html", "/logo.png", "/index.html"], [10, 11, 12])
    >>> print(sketch.estimate("/index.html", last=60))
    2 in [2, 2] with probability 0.993

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
    ) -> Estimate:
        """How often an item came in a range of ticks, or among the last so many arrivals of all items."""
        return self._estimate(np.array([hash_item(item)], np.uint64), last, between, last_arrivals)[0]

    def estimate_many(
        self,
        items: Any,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
    ) -> Estimates:
        """How often each of many items came; ranges as for `estimate`."""
        return self._estimate(hash_items(items), last, between, last_arrivals)

    def history(self, item: Item, step: Span, last: Span | None = None) -> Series:
        """How often an item came in every `step` of a range, oldest first: for plotting.

        Each entry is an interval, so its error is relative to all that came after it began (docs/guarantees.md).
        """
        since, until = self._range(last, None)
        length = to_span(step, self.config.unit)
        if length < 1 or (until - since) // length > MAX_STEPS:
            raise QueryError(f"history: expected a step of 1 or more, and at most {MAX_STEPS:,} of them, got {length}")
        ends = np.arange(until, since + length - 1, -length, dtype=np.int64)[::-1]
        cells = cells_of(np.array([hash_item(item)], np.uint64), self._rows)
        points = [self._point(cells, int(end) - length, int(end))[0] for end in ends]
        value, lower, upper = (np.array([getattr(point, name) for point in points]) for name in Estimate._fields[:3])
        return Series(ends, length, Estimates(value, lower, upper, self.config.confidence))

    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range, of all items together."""
        since, until = self._range(last, between)
        state = self._state
        if state.config.model == "count":
            arrivals = float(max(until, 0) - max(since, 0))  # the window may reach before the first arrival
            return Estimate(arrivals, arrivals, arrivals, 1.0)
        return answers.total(self._table(since, until), state.config)

    def self_join(self, last: Span | None = None, between: Interval | None = None, unproven: bool = False) -> Estimate:
        """The sum over all items of their squared frequency in a range (second frequency moment).

        With counter="rw" there is no proof of its error; `unproven=True` asks for it all the same.
        """
        self._check_proven("self_join", unproven)
        since, until = self._range(last, between)
        table = self._table(since, until)
        norm = answers.total(table, self.config)
        return answers.self_join(table, norm, self.config)

    def inner_product(
        self, other: EcmSketch, last: Span | None = None, between: Interval | None = None, unproven: bool = False
    ) -> Estimate:
        """The sum over all items of their frequency here times their frequency in `other` (size of a join).

        With model="time" both are asked over the same ticks, up to the later of the two clocks. With counter="rw"
        there is no proof of its error; `unproven=True` asks for it all the same.
        """
        self._check_proven("inner_product", unproven)
        if not isinstance(other, EcmSketch):
            raise QueryError(f"inner_product: expected an EcmSketch, got {type(other).__name__}")
        different = self.config.differences(other.config)
        if different:
            raise QueryError(
                f"inner_product: the sketches differ in {', '.join(different)}; build them from one config"
            )
        if self.config.model == "time":
            clocks = [clock for clock in (self.now, other.now) if clock is not None]
            mine = theirs = self._range(last, between, max(clocks, default=0))
        else:
            mine, theirs = self._range(last, between), other._range(last, between)
        ours, others = self._table(*mine), other._table(*theirs)
        return answers.inner_product(
            ours, others, answers.total(ours, self.config), answers.total(others, self.config), self.config
        )

    def _check_proven(self, query: str, unproven: bool) -> None:
        if self.config.counter == "rw" and not unproven:
            raise QueryError(
                f"{query}: randomized waves err in both directions at random, and the paper bounds only their point "
                "queries; use counter='eh' or 'dw', or ask with unproven=True"
            )

    def _estimate(self, items: NDArray[np.uint64], last: Any, between: Any, last_arrivals: int | None) -> Estimates:
        cells = cells_of(items, self._rows)
        if last_arrivals is None:
            return self._point(cells, *self._range(last, between))
        if last is not None or between is not None:
            raise QueryError("range: give one of last=, between= and last_arrivals=")
        since, until, missing, surplus = self._range_of_arrivals(last_arrivals)
        found = self._point(cells, since, until)
        lower, upper = np.maximum(found.lower - surplus, 0.0), found.upper + missing
        return Estimates(found.value, lower, upper, found.confidence)

    def _point(self, cells: NDArray[np.uint32], since: int, until: int) -> Estimates:
        reading = self._read(cells.ravel(), since, until)
        rows = Reading(*(part.reshape(cells.shape) for part in reading))
        return answers.point(rows, self._norm(since, until), self.config)

    def _range_of_arrivals(self, count: int) -> tuple[int, int, float, float]:
        """The range of ticks that holds about `count` arrivals; how many it may miss, and may hold beyond them."""
        since, until = self._range(None, None)
        most = self.total()
        if isinstance(count, bool) or not isinstance(count, Integral) or not 0 <= int(count) <= most.upper:
            raise QueryError(f"last_arrivals: expected 0 to {most.upper:.0f} (what the window holds), got {count!r}")
        if self.config.model == "count":
            return until - int(count), until, 0.0, 0.0
        low, high = 0, until - since
        while low < high:
            middle = (low + high) // 2
            if self.total(last=middle).value >= int(count):
                high = middle
            else:
                low = middle + 1
        held = self.total(last=low)
        return until - low, until, max(int(count) - held.lower, 0.0), max(held.upper - int(count), 0.0)

    def _norm(self, since: int, until: int) -> float:
        """At least as many as all arrivals in the range, from one row."""
        if (since, until) not in self._norms:
            if len(self._norms) >= 1024:
                self._norms.clear()
            row = self._read(np.arange(self.config.width, dtype=np.uint32), since, until)
            self._norms[since, until] = answers.total(Reading(*(part[None] for part in row)), self.config)
        return self._norms[since, until].upper

    def _table(self, since: int, until: int) -> Reading:
        """Every cell over a range, as depth x width."""
        cells = np.arange(self.config.cells, dtype=np.uint32)
        shape = (self.config.depth, self.config.width)
        return Reading(*(part.reshape(shape) for part in self._read(cells, since, until)))
