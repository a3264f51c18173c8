"""PrefixSketch: range sums, ranks, quantiles and heavy hitters over ordered numbers (paper section 6.1).

Every level counts prefixes (prefix_config.py). Upper bounds of prefixes always hold, and so does the total; so a
range is bounded from above by its prefixes' upper bounds, and from below by the total less those of all the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import ceil
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
from ecmsketch.sketch.prefix_levels import Prefixes, PrefixLevels
from ecmsketch.sketch.ranges import Asked, Interval

MAX_CANDIDATES = 2**18
"""Prefixes that a search for heavy hitters looks at in one level."""


class PrefixSketch(PrefixLevels):
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
        return [self._quantile(float(q), everything, asked) for q in qs]

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
        prefixes, found = np.zeros(1, np.uint64), Estimates(np.zeros(1), np.zeros(1), np.zeros(1), 1.0)
        for level in self.config.levels:
            prefixes = self._children(prefixes, level)
            if len(prefixes) > MAX_CANDIDATES:
                raise QueryError(
                    f"heavy_hitters: over {MAX_CANDIDATES:,} prefixes may reach {threshold:,.0f} in this interval, "
                    "whose error is too large for that; ask for a larger share, or build the sketch with a smaller "
                    "epsilon"
                )
            counted = self._counts(level, prefixes, asked)
            shorter = level is not self.config.levels[-1]
            counts = counted.upper if by_upper or (shorter and self.config.counter == "slices") else counted.value
            heavy = (counts >= threshold) & (counted.upper > 0)
            prefixes = prefixes[heavy]
            found = Estimates(counted.value[heavy], counted.lower[heavy], counted.upper[heavy], counted.confidence)
        order = np.lexsort((prefixes, -found.value))
        return [HeavyHitter(int(prefixes[i]), found[int(i)]) for i in order]

    def _quantile(self, q: float, everything: Estimate, asked: Asked) -> Estimate:
        """One quantile, bounded by every range that is read. Arrivals that are meant may be missing from a range."""
        newest = asked.newest
        if newest is None:
            arrivals, value, confidence = _whole(everything.lower), everything.value, everything.confidence
            ranges = [(asked.since, 0.0)]
        else:
            arrivals, value = newest.count, float(newest.count)
            ranges = [
                (newest.after, newest.missing(newest.inner)),
                (asked.since, newest.missing(newest.outer)),
            ]
            confidence = max(2 * everything.confidence - 1, 0.0)
            if self.config.delta_sw:  # bounds that need luck: those of one range
                ranges = ranges[:1] if newest.inner_is_nearer else ranges[1:]
        middle = self._descend(q * value, lambda level, prefixes: self._counts(level, prefixes, asked).value, False)
        lower, upper = 0, (1 << self.config.bits) - 1
        first, last = _ranks(q, max(arrivals, 1))
        after = max(arrivals, 1) - last
        for since, missing in ranges:
            most = partial(self._most, since=since, until=asked.until)
            if first > missing:
                lower = max(lower, self._descend(first - missing, most, from_right=False))
            if after >= missing:
                upper = min(upper, self._descend(after - missing, most, from_right=True))
        lower, upper = min(lower, upper), max(lower, upper)
        return Estimate(min(max(middle, lower), upper), lower, upper, confidence)  # whole numbers, not floats

    def _most(self, level: Level, prefixes: Prefixes, since: int, until: int) -> NDArray[np.float64]:
        return self._nodes(level, prefixes, since, until).upper

    def _descend(self, target: float, count: Callable[[Level, Prefixes], NDArray[np.float64]], from_right: bool) -> int:
        """The number at which counts, added up from one side, reach the target (from the right: exceed it)."""
        prefix = np.zeros(1, np.uint64)
        passed = 0.0
        for level in self.config.levels:
            children = self._children(prefix, level)
            counts = count(level, children)
            if from_right:
                children, counts = children[::-1], counts[::-1]
            reached = passed + np.cumsum(counts)
            beyond = np.flatnonzero(reached > target if from_right else (reached >= target) & (reached > 0))
            at = int(beyond[0]) if len(beyond) else self._last_filled(counts)
            passed = float(reached[at] - counts[at])
            prefix = children[at : at + 1]
        return int(prefix[0])

    @staticmethod
    def _last_filled(counts: NDArray[np.float64]) -> int:
        """Where to go on if rounding left the target out of reach."""
        filled = np.flatnonzero(counts > 0)
        return int(filled[-1]) if len(filled) else len(counts) - 1


def _whole(lower: float) -> int:
    """The least whole number that is not below a lower bound, which may be rounded."""
    return ceil(lower * (1 - 2.0**-50))


def _ranks(q: float, arrivals: int) -> tuple[int, int]:
    """The lowest and the highest place, from 1 on, that a quantile may have among so many arrivals.

    0.55 is not a binary fraction, so the decimal number and the binary one may mean different places.
    """
    places = [max(ceil(share * arrivals), 1) for share in (Fraction(q), Fraction(repr(q)))]
    return min(places), max(places)
