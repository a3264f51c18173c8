"""EcmSketch: a Count-Min table whose counters are sliding windows (paper section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters import Reading
from ecmsketch.errors import ConfigError, QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyHitter
from ecmsketch.heavy.candidates import Candidates
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.items import as_sequence, hash_item, hash_items
from ecmsketch.inputs.kinds import check_asked, describe, kind_of, share_kinds
from ecmsketch.inputs.row_hashes import cells_of
from ecmsketch.inputs.ticks import Span
from ecmsketch.sketch import bounds, codec
from ecmsketch.sketch.base import BaseSketch
from ecmsketch.sketch.heaviness import heaviness
from ecmsketch.sketch.locks import all_locked, locked
from ecmsketch.sketch.ranges import Asked, Interval
from ecmsketch.slices import SlicedStream

Item = str | bytes | int | tuple[str | bytes | int, ...]


class EcmSketch(BaseSketch):
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
    ) -> Estimate:
        """How often an item came in a range of ticks, or among the last so many arrivals of all items."""
        key = self._key_of(item)
        return self._estimate(np.array([key], np.uint64), last, between, last_arrivals)[0]

    def estimate_many(
        self,
        items: Any,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
    ) -> Estimates:
        """How often each of many items came; ranges as for `estimate`."""
        items = as_sequence(items)
        keys = hash_items(items)
        check_asked(self._state.kinds, self._kinds_of(items))
        return self._estimate(keys, last, between, last_arrivals)

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
            return Estimate(arrivals, arrivals, arrivals, 1.0)
        if self.config.counter == "slices":
            return self._norm(since, until)
        return bounds.total(self._table(since, until), self.config)

    @locked
    def self_join(self, last: Span | None = None, between: Interval | None = None, unproven: bool = False) -> Estimate:
        """The sum over all items of their squared frequency in a range (second frequency moment).

        With counter="rw" there is no proof of its error; `unproven=True` asks for it all the same.
        """
        self._check_proven("self_join", unproven)
        since, until = self._range(last, between)
        table = self._table(since, until)
        norm = bounds.total(table, self.config)
        return bounds.self_join(table, norm, self.config)

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
        if not share_kinds(self.kinds, other.kinds):
            raise QueryError(
                f"inner_product: one sketch counts {describe(self.kinds)} items and the other "
                f"{describe(other.kinds)} items, so they share none; convert the items of one stream"
            )
        with all_locked([self, other]):
            return self._inner_product(other, last, between)

    def _inner_product(self, other: EcmSketch, last: Span | None, between: Interval | None) -> Estimate:
        if self.config.model == "time":
            clocks = [clock for clock in (self.now, other.now) if clock is not None]
            mine = theirs = self._range(last, between, max(clocks, default=0))
        else:
            mine, theirs = self._range(last, between), other._range(last, between)
        ours, others = self._table(*mine), other._table(*theirs)
        return bounds.inner_product(
            ours, others, bounds.total(ours, self.config), bounds.total(others, self.config), self.config
        )

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
    ) -> list[HeavyHitter]:
        """Items that came at least a share `phi` of the arrivals, or at least `count` times; most frequent first.

        Needs heavy_hitters=True in the config. Surely found, in a range that ends now: whatever came phi + epsilon of
        the arrivals (with cells, phi/(1 - epsilon_sw)); with `no_miss`, in any range, whatever came phi of them. An
        item that came less than the threshold less epsilon of the arrivals is reported with probability delta at most
        (docs/guarantees.md). A threshold so low that an item above it could be missed is refused.
        With `last_arrivals`, where the oldest tick is counted in proportion, `no_miss` counts it in full.

        >>> config = SketchConfig(epsilon=0.01, delta=0.01, window=3600, heavy_hitters=True)
        >>> sketch = EcmSketch(config)
        >>> sketch.update_many(["/index.html", "/logo.png", "/index.html"], [10, 11, 12])
        >>> [hitter.item for hitter in sketch.heavy_hitters(0.5, last=60)]
        ['/index.html']
        """
        asked = self._asked(last, between, last_arrivals)
        everything = self._everything(asked.since, asked.until)
        wanted = heaviness(phi, count, last_arrivals, everything)
        least = self._threshold(wanted.least, asked, no_miss)
        keys, found, missed = self._candidates(asked)
        if everything.upper > 0 and least <= missed:
            raise QueryError(
                f"heavy_hitters: {wanted.share:g} of the arrivals is too low for this sketch: items with up to "
                f"{missed + 1} arrivals may be missing. Ask for a larger share, or build with a smaller epsilon"
            )
        counts = found.upper if self._by_upper(asked, no_miss) else found.value
        return self._named(keys, found, (counts >= least) & (found.upper > 0))

    @locked
    def top(
        self, k: int, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> list[HeavyHitter]:
        """The `k` items that seem to have come most often, most frequent first; fewer if fewer are named.

        Needs heavy_hitters=True in the config. Items that came less than epsilon of the arrivals may be missing.
        """
        if not is_integer(k) or k < 1:
            raise QueryError(f"top: expected a number of items, 1 or more, got {k!r}")
        keys, found, _ = self._candidates(self._asked(last, between, last_arrivals))
        return self._named(keys, found, found.value > 0)[: int(k)]

    def _candidates(self, asked: Asked) -> tuple[NDArray[np.uint64], Estimates, int]:
        """Hashes of items that may be heavy in a range, how often they came, and how often any other did at most."""
        if not self.config.heavy_hitters:
            raise QueryError(
                "heavy_hitters: this sketch keeps no names; build it with heavy_hitters=True in its config"
            )
        keys, missed = self._names_in(asked.since, asked.until)
        always = self.config.delta_sw == 0  # else the number of arrivals in a range may be wrong
        certain = asked.answer(lambda since, until: self._by_name(keys, since, until), always, always)
        point = asked.answer(lambda since, until: self._point(keys, since, until), *self._sure)
        return keys, bounds.agree(certain, point), missed

    def _names_in(self, since: int, until: int) -> tuple[NDArray[np.uint64], int]:
        """Hashes of the items named in a range, and how often any other came in it at most."""
        held = self._state.late.held
        inside = (held.ticks > since) & (held.ticks <= until)
        named = self._summaries(since, until)
        keys = np.unique(np.concatenate([held.items[inside], *(part.keys for part in named)]))
        return keys, sum(part.missed for part in named)

    def _by_name(self, keys: NDArray[np.uint64], since: int, until: int) -> Estimates:
        """How often some items came, by the counts of names: bounds that always hold. `keys` has all items named."""
        held = self._state.late.held
        inside = (held.ticks > since) & (held.ticks <= until)
        lower, upper = np.zeros(len(keys)), np.zeros(len(keys))
        for part in self._summaries(since, until):
            where = np.searchsorted(keys, part.keys)
            lower[where] += part.lower
            upper += part.missed
            upper[where] += part.upper - part.missed
        where = np.searchsorted(keys, held.items[inside])
        for bound in (lower, upper):
            np.add.at(bound, where, held.explicit_weights()[inside])
        return Estimates(upper, lower, upper, 1.0)

    def _summaries(self, since: int, until: int) -> list[Candidates]:
        state = self._flushed()
        parts = (state.frequent, state.late.frequent)
        return [part.candidates(since, until) for part in parts if part is not None]

    def _named(self, keys: NDArray[np.uint64], found: Estimates, which: NDArray[np.bool_]) -> list[HeavyHitter]:
        """The chosen candidates with their names, most frequent first."""
        chosen = np.flatnonzero(which)
        order = chosen[np.lexsort((keys[chosen], -found.value[chosen]))]
        names = self._state.names
        return [HeavyHitter(names.get(key := int(keys[i]), key), found[int(i)]) for i in order]

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

    @locked
    def _estimate(self, items: NDArray[np.uint64], last: Any, between: Any, last_arrivals: int | None) -> Estimates:
        asked = self._asked(last, between, last_arrivals)
        return asked.answer(lambda since, until: self._point(items, since, until), *self._sure)

    @property
    def _sure(self) -> tuple[bool, bool]:
        """Whether an item's lower bound always holds, and whether its upper one does."""
        return False, self.config.delta_sw == 0

    def _point(self, keys: NDArray[np.uint64], since: int, until: int) -> Estimates:
        engine = self._flushed().counters
        if isinstance(engine, SlicedStream):
            return engine.point(keys, self._rows, 0, since, until)
        cells = cells_of(keys, self._rows)
        reading = self._read(cells.ravel(), since, until)
        rows = Reading(*(part.reshape(cells.shape) for part in reading))
        return bounds.point(rows, self._norm(since, until).upper, self.config)

    @property
    def _norm_shape(self) -> tuple[int, int]:
        return 1, self.config.width

    def _table(self, since: int, until: int) -> Reading:
        """Every cell over a range, as depth x width."""
        return self._read_block(0, (self.config.depth, self.config.width), since, until)
