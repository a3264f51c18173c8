"""EcmSketch: a Count-Min table whose counters are sliding windows (paper section 4)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch import answers, codec
from ecmsketch.budget import carried_epsilon
from ecmsketch.config import SketchConfig
from ecmsketch.counters import Reading
from ecmsketch.errors import ConfigError, QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyHitter
from ecmsketch.hashing import cells_of, hash_item, hash_items
from ecmsketch.table import Asked, Interval, WindowTable
from ecmsketch.ticks import Span

Item = str | bytes | int | tuple[str | bytes | int, ...]


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

    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range, of all items together."""
        return self._everything(*self._range(last, between))

    def _everything(self, since: int, until: int) -> Estimate:
        if self.config.model == "count":
            arrivals = float(max(until, 0) - max(since, 0))  # the window may reach before the first arrival
            return Estimate(arrivals, arrivals, arrivals, 1.0)
        return answers.total(self._table(since, until), self.config)

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

        Needs heavy_hitters=True in the config. Surely found, in a range that ends now: whatever came
        phi/(1 - epsilon_sw) of the arrivals; with `no_miss`, in any range, whatever came phi of them. An item that came
        less than the threshold less epsilon of the arrivals is reported with probability delta at most
        (docs/guarantees.md). A threshold so low that an item above it could be missed is refused.

        >>> config = SketchConfig(epsilon=0.01, delta=0.01, window=3600, heavy_hitters=True)
        >>> sketch = EcmSketch(config)
        >>> sketch.update_many(["/index.html", "/logo.png", "/index.html"], [10, 11, 12])
        >>> [hitter.item for hitter in sketch.heavy_hitters(0.5, last=60)]
        ['/index.html']
        """
        asked = self._asked(last, between, last_arrivals)
        everything = self._everything(asked.since, asked.until)
        least, share = self._heavy_share(phi, count, last_arrivals, everything)
        if no_miss:
            least *= 1 - carried_epsilon(self.config.epsilon_sw, self.merge_levels)
        keys, found, missed = self._candidates(asked)
        least -= asked.missing
        if everything.upper > 0 and least <= missed:
            raise QueryError(
                f"heavy_hitters: {share:g} of the arrivals is too little here: what came up to {missed + 1} times may "
                "have lost its name, or cannot be told from nothing; ask for more, or build with a smaller epsilon"
            )
        counts = found.upper if no_miss and asked.until < (self.now or 0) else found.value
        return self._named(keys, found, (counts >= least) & (found.upper > 0))

    def top(
        self, k: int, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> list[HeavyHitter]:
        """The `k` items that seem to have come most often, most frequent first; fewer if fewer are named.

        Needs heavy_hitters=True in the config. Items that came less than epsilon of the arrivals may be missing.
        """
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise QueryError(f"top: expected a number of items, 1 or more, got {k!r}")
        keys, found, _ = self._candidates(self._asked(last, between, last_arrivals))
        return self._named(keys, found, found.value > 0)[: int(k)]

    def _candidates(self, asked: Asked) -> tuple[NDArray[np.uint64], Estimates, int]:
        """Hashes of items that may be heavy in a range, how often they came, and how often any other did at most."""
        if not self.config.heavy_hitters:
            raise QueryError(
                "heavy_hitters: this sketch keeps no names; build it with heavy_hitters=True in its config"
            )
        state = self._flushed()
        held = state.late.held
        inside = (held.ticks > asked.since) & (held.ticks <= asked.until)
        parts = [part for part in (state.frequent, state.late.frequent) if part is not None]
        named = [part.candidates(asked.since, asked.until) for part in parts]
        keys = np.unique(np.concatenate([held.items[inside], *(part.keys for part in named)]))
        lower, upper = np.zeros(len(keys)), np.zeros(len(keys))
        for part in named:
            where = np.searchsorted(keys, part.keys)
            lower[where] += part.lower
            upper += part.missed
            upper[where] += part.upper - part.missed
        where = np.searchsorted(keys, held.items[inside])
        for bound in (lower, upper):
            np.add.at(bound, where, held.explicit_weights()[inside])
        point = self._point(cells_of(keys, self._rows), asked.since, asked.until)
        lower = np.maximum(lower, point.lower)
        upper = np.maximum(np.minimum(upper, point.upper), lower)
        found = Estimates(np.clip(point.value, lower, upper), lower, upper, point.confidence)
        return keys, asked.widen(found), sum(part.missed for part in named)

    def _named(self, keys: NDArray[np.uint64], found: Estimates, which: NDArray[np.bool_]) -> list[HeavyHitter]:
        """Some of the candidates by name, most frequent first."""
        chosen = np.flatnonzero(which)
        order = chosen[np.lexsort((keys[chosen], -found.value[chosen]))]
        names = self._state.names
        return [HeavyHitter(names.get(key := int(keys[i]), key), found[int(i)]) for i in order]

    def _check_proven(self, query: str, unproven: bool) -> None:
        if self.config.counter == "rw" and not unproven:
            raise QueryError(
                f"{query}: randomized waves err in both directions at random, and the paper bounds only their point "
                "queries; use counter='eh' or 'dw', or ask with unproven=True"
            )

    def _estimate(self, items: NDArray[np.uint64], last: Any, between: Any, last_arrivals: int | None) -> Estimates:
        asked = self._asked(last, between, last_arrivals)
        return asked.widen(self._point(cells_of(items, self._rows), asked.since, asked.until))

    def _point(self, cells: NDArray[np.uint32], since: int, until: int) -> Estimates:
        reading = self._read(cells.ravel(), since, until)
        rows = Reading(*(part.reshape(cells.shape) for part in reading))
        return answers.point(rows, self._norm(since, until), self.config)

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
