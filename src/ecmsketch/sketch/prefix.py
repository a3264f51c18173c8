"""PrefixSketch: range sums, ranks, quantiles and heavy hitters over ordered numbers (paper section 6.1).

Every level counts prefixes (prefix_config.py). Answers use all levels together: prefix_ranges.py and
prefix_quantiles.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import Level, PrefixConfig
from ecmsketch.counters import Reading
from ecmsketch.errors import ConfigError, QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyHitter
from ecmsketch.inputs.integers import is_integer, is_number
from ecmsketch.inputs.ticks import Span
from ecmsketch.sketch import codec
from ecmsketch.sketch.heaviness import heaviness
from ecmsketch.sketch.locks import locked
from ecmsketch.sketch.prefix_levels import Prefixes
from ecmsketch.sketch.prefix_quantiles import PrefixQuantiles
from ecmsketch.sketch.ranges import Asked, Interval

MAX_CANDIDATES = 2**18
"""Prefixes that a search for heavy hitters looks at in one level."""


class PrefixSketch(PrefixQuantiles):
    """Counts numbers from 0 to 2^bits - 1 over a sliding window, and answers by their order.

    >>> sketch = PrefixSketch(SketchConfig(epsilon=0.01, delta=0.01, window=3600), bits=16)
    >>> sketch.update_many([20, 35, 35, 900], [1, 2, 3, 4])
    >>> sketch.quantile(0.5).value, sketch.range_sum(30, 40).value
    (35, 2.0)
    """

    kind = codec.KIND_PREFIX

    def __init__(self, config: SketchConfig, bits: int = 32, radix: int = 16, site: str | None = None) -> None:
        """`radix` trades memory for speed and error: fewer, wider levels. `site` is that of `EcmSketch`."""
        if not isinstance(config, SketchConfig):
            raise ConfigError(f"config: expected a SketchConfig, got {type(config).__name__}")
        super().__init__(PrefixConfig.of(config, bits, radix), site)

    @locked
    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range of ticks."""
        return self._total(*self._range(last, between))

    @locked
    def estimate(
        self, item: Any, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """How often one number came."""
        number = np.array([self._hash_item(item)], np.uint64)
        return self._counts(self.config.levels[-1], number, self._asked(last, between, last_arrivals))[0]

    @locked
    def range_sum(
        self,
        low: int,
        high: int,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
    ) -> Estimate:
        """How many arrivals were numbers from `low` to `high`, both included."""
        low, high = self._hash_item(low), self._hash_item(high)
        if low > high:
            raise QueryError(f"range_sum: expected low <= high, got {low} and {high}")
        always = self.config.delta_sw == 0
        asked = self._asked(last, between, last_arrivals)
        return asked.answer(lambda since, until: self._range_sum(low, high, since, until), always, always)[0]

    def rank(
        self, item: int, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """How many arrivals were not greater than `item`."""
        return self.range_sum(0, item, last, between, last_arrivals)

    def quantile(
        self, q: float, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """The least number that came and that at least a share `q` of the arrivals do not exceed.

        The bounds are numbers too: the exact quantile lies between them. quantile(0) is the least number that came,
        quantile(1) the greatest.
        """
        return self.quantiles([q], last, between, last_arrivals)[0]

    @locked
    def quantiles(
        self,
        qs: Sequence[float],
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
    ) -> list[Estimate]:
        """Several quantiles at once."""
        if not isinstance(qs, Sequence | np.ndarray) or isinstance(qs, str) or getattr(qs, "ndim", 1) != 1:
            raise QueryError(f"quantiles: expected a list of shares, got {qs!r}; for one, use quantile()")
        for q in qs:
            if not is_number(q) or not 0 <= q <= 1:
                raise QueryError(f"quantile: expected a share from 0 to 1, got {q!r}")
        asked = self._asked(last, between, last_arrivals)
        everything = self._total(asked.since, asked.until)
        if everything.upper == 0:
            raise QueryError("quantile: nothing arrived in this range")
        return self._quantiles([float(q) for q in qs], everything, asked)

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
        """Numbers that came at least a share `phi` of the arrivals, or at least `count` times; most frequent first.

        Surely found, in a range that ends now: whatever came phi/(1 - epsilon_sw) of the arrivals; with `no_miss`, in
        any range, whatever came phi of them. The threshold is phi of the total's lower bound, and with `no_miss`
        1 - epsilon_sw of that. A number that came less than the threshold less epsilon of the arrivals is reported with
        probability delta at most (Theorem 5, corrected). With `last_arrivals`, where the oldest tick is counted in
        proportion, `no_miss` counts it in full.
        """
        asked = self._asked(last, between, last_arrivals)
        everything = self._total(asked.since, asked.until)
        wanted = heaviness(phi, count, last_arrivals, everything)
        if wanted.share <= self.epsilon and not self.config.levels[-1].exact and everything.upper > 0:
            raise QueryError(
                f"heavy_hitters: {wanted.share:g} of the arrivals cannot be told from collisions ({self.epsilon:g}); "
                "ask for a larger share, or build the sketch with a smaller epsilon"
            )
        return self._heavy(self._threshold(wanted.least, asked, no_miss), asked, self._by_upper(asked, no_miss))

    def cells(self, item: int, last: Span | None = None, between: Interval | None = None) -> Reading:
        """What the cells of a number hold over a range, one cell in each row of the last level."""
        numbers = self._cells_of(self.config.levels[-1], np.array([self._hash_item(item)], np.uint64))
        return self.read_cells(numbers.ravel(), last, between)

    @locked
    def table(self, level: int = -1, last: Span | None = None, between: Interval | None = None) -> Reading:
        """What all cells of a level hold over a range, as rows x columns. Level 0 has the shortest prefixes."""
        count = len(self.config.levels)
        if not is_integer(level) or not -count <= level < count:
            raise QueryError(f"level: expected {-count} to {count - 1}, the levels of this sketch, got {level!r}")
        chosen = self.config.levels[int(level)]
        return self._read_block(
            chosen.first_cell, (chosen.rows, chosen.cells // chosen.rows), *self._range(last, between)
        )

    def _heavy(self, threshold: float, asked: Asked, by_upper: bool) -> list[HeavyHitter]:
        """Numbers whose count reaches a threshold: a prefix of a number came at least as often as the number."""
        prefixes = np.zeros(1, np.uint64)
        for level in self.config.levels:
            prefixes = self._children(prefixes, level)
            if len(prefixes) > MAX_CANDIDATES:
                raise QueryError(
                    f"heavy_hitters: over {MAX_CANDIDATES:,} prefixes may reach {threshold:,.0f} in this interval, "
                    "whose error is too large for that; ask for a larger share, or build the sketch with a smaller "
                    "epsilon"
                )
            prefixes = prefixes[self._may_reach(threshold, level, prefixes, asked, by_upper)]
        last = self.config.levels[-1]
        found = self._counts(last, prefixes, asked)
        if self.config.counter == "slices" and not by_upper:
            heavy = found.value >= threshold
            prefixes = prefixes[heavy]
            found = Estimates(found.value[heavy], found.lower[heavy], found.upper[heavy], found.confidence)
        order = np.lexsort((prefixes, -found.value))
        return [HeavyHitter(int(prefixes[i]), found[int(i)]) for i in order]

    def _may_reach(
        self, threshold: float, level: Level, prefixes: Prefixes, asked: Asked, by_upper: bool
    ) -> NDArray[np.bool_]:
        """Which prefixes may have come so often, by upper bounds, or by the least readings of cells."""
        sure = self.config.delta_sw == 0

        def find(since: int, until: int) -> Estimates:
            found = self._certain([(level, prefixes)], since, until)[0]
            return Estimates(found.value, found.lower, found.upper, 1.0)

        counted = asked.answer(find, sure, sure)
        counts = counted.upper if by_upper or self.config.counter == "slices" else counted.value
        return (counts >= threshold) & (counted.upper > 0)
