"""PrefixSketch: range sums, ranks, quantiles and heavy hitters over ordered numbers (paper section 6.1).

Every level counts prefixes (prefix_config.py). Upper bounds of prefixes always hold, and so does the total; so a
range is bounded from above by its prefixes' upper bounds, and from below by the total less those of all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch import answers, codec
from ecmsketch.budget import carried_epsilon
from ecmsketch.columns import as_column
from ecmsketch.config import SketchConfig
from ecmsketch.counters import Reading
from ecmsketch.errors import ConfigError, InputError, QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyHitter
from ecmsketch.hashing import RowHashes, cells_of, hash_items
from ecmsketch.prefix_config import Level, PrefixConfig
from ecmsketch.table import Asked, Interval, WindowTable
from ecmsketch.ticks import Span

Prefixes = NDArray[np.uint64]

MAX_CANDIDATES = 2**18
"""Prefixes that a search for heavy hitters looks at in one level."""


class PrefixSketch(WindowTable):
    """Counts numbers from 0 to 2^bits - 1 over a sliding window, and answers by their order.

    >>> sketch = PrefixSketch(SketchConfig(epsilon=0.01, delta=0.01, window=3600), bits=16)
    >>> sketch.update_many([20, 35, 35, 900], [1, 2, 3, 4])
    >>> sketch.quantile(0.5).value, sketch.range_sum(30, 40).value
    (35, 2.0)
    """

    kind = codec.KIND_PREFIX

    def __init__(self, config: SketchConfig, bits: int = 32, radix: int = 16, site: str | None = None) -> None:
        """`radix` trades memory for speed and error: fewer, wider levels. `site` as for `EcmSketch`."""
        if not isinstance(config, SketchConfig):
            raise ConfigError(f"config: expected a SketchConfig, got {type(config).__name__}")
        super().__init__(PrefixConfig.of(config, bits, radix), site)

    @property
    def config(self) -> PrefixConfig:
        """What the sketch was built to promise, and its domain."""
        config = self._state.config
        assert isinstance(config, PrefixConfig)
        return config

    def _hash_item(self, item: Any) -> int:
        if not isinstance(item, Integral) or not 0 <= int(item) < 1 << self.config.bits:
            raise InputError(f"item: expected a number from 0 to 2**{self.config.bits} - 1, got {item!r}")
        return int(item)

    def _hash_items(self, items: Any) -> Prefixes:
        wanted = f"items: expected numbers from 0 to 2**{self.config.bits} - 1"
        if isinstance(items, list | tuple | range):
            return np.array([self._hash_item(item) for item in items], np.uint64)
        numbers = hash_items(items)
        column = as_column(items, "items")
        if len(column) and column.dtype.kind not in "iub":
            raise InputError(f"{wanted}, got {column.dtype}; encode others in order first, see ecmsketch.domains")
        if len(column) and (int(column.min()) < 0 or int(column.max()) >> self.config.bits):
            raise InputError(f"{wanted}, got {column.min()} to {column.max()}")
        return numbers

    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range of ticks."""
        return self._total(*self._range(last, between))

    def estimate(
        self, item: Any, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """How often one number came."""
        number = np.array([self._hash_item(item)], np.uint64)
        asked = self._asked(last, between, last_arrivals)
        return asked.widen(self._nodes(self.config.levels[-1], number, asked.since, asked.until))[0]

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
        asked = self._asked(last, between, last_arrivals)
        since, until = asked.since, asked.until
        everything = self._total(since, until)
        inside, inside_upper = self._sum(low, high + 1, since, until)
        before, before_upper = self._sum(0, low, since, until)
        after, after_upper = self._sum(high + 1, 1 << self.config.bits, since, until)
        upper = min(inside_upper, everything.upper)
        lower = min(max(everything.lower - before_upper - after_upper, 0.0), upper)
        value = (inside + everything.value - before - after) / 2  # collisions add to one, and take from the other
        value = float(np.clip(value, lower, upper))
        return Estimate(value, max(lower - asked.surplus, 0.0), upper + asked.missing, everything.confidence)

    def rank(
        self, item: int, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """How many arrivals were not greater than `item`."""
        return self.range_sum(0, item, last, between, last_arrivals)

    def quantile(
        self, q: float, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """The least number that at least a share `q` of the arrivals do not exceed.

        The bounds are numbers too: the exact quantile lies between them.
        """
        return self.quantiles([q], last, between, last_arrivals)[0]

    def quantiles(
        self,
        qs: Sequence[float],
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
    ) -> list[Estimate]:
        """Several quantiles at once."""
        if not isinstance(qs, Sequence | np.ndarray) or isinstance(qs, str):
            raise QueryError(f"quantiles: expected a list of shares, got {qs!r}; for one, use quantile()")
        for q in qs:
            if not isinstance(q, Real) or not 0 <= q <= 1:
                raise QueryError(f"quantile: expected a share from 0 to 1, got {q!r}")
        asked = self._asked(last, between, last_arrivals)
        everything = self._total(asked.since, asked.until)
        if everything.upper == 0:
            raise QueryError("quantile: nothing arrived in this range")
        least = everything.lower if last_arrivals is None else float(last_arrivals)
        return [self._quantile(q, everything, least, asked) for q in qs]

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
        probability delta at most (Theorem 5, corrected).
        """
        asked = self._asked(last, between, last_arrivals)
        since, until = asked.since, asked.until
        everything = self._total(since, until)
        least, share = self._heavy_share(phi, count, last_arrivals, everything)
        if share <= self.epsilon and not self.config.levels[-1].exact and everything.upper > 0:
            raise QueryError(
                f"heavy_hitters: {share:g} of the arrivals cannot be told from collisions ({self.epsilon:g}); "
                "ask for more, or build the sketch with a smaller epsilon"
            )
        if no_miss:
            least *= 1 - carried_epsilon(self.config.epsilon_sw, self.merge_levels)
        threshold = least - asked.missing
        prefixes = np.zeros(1, np.uint64)
        answers_found = None
        for level in self.config.levels:
            prefixes = self._children(prefixes, level)
            if len(prefixes) > MAX_CANDIDATES:
                raise QueryError(
                    f"heavy_hitters: over {MAX_CANDIDATES:,} prefixes may reach {threshold:,.0f} in this interval, "
                    "whose error is too large for that; ask for more, or build the sketch with a smaller epsilon"
                )
            found = self._nodes(level, prefixes, since, until)
            counts = found.upper if no_miss and until < (self.now or 0) else found.value
            heavy = (counts >= threshold) & (found.upper > 0)
            prefixes = prefixes[heavy]
            answers_found = Estimates(found.value[heavy], found.lower[heavy], found.upper[heavy], found.confidence)
        assert answers_found is not None
        answers_found = asked.widen(answers_found)
        order = np.lexsort((prefixes, -answers_found.value))
        return [HeavyHitter(int(prefixes[i]), answers_found[int(i)]) for i in order]

    def _total(self, since: int, until: int) -> Estimate:
        """All arrivals, from the first level: the fewest cells."""
        if self.config.model == "count":
            arrivals = float(max(until, 0) - max(since, 0))
            return Estimate(arrivals, arrivals, arrivals, 1.0)
        if (since, until) not in self._norms:
            if len(self._norms) >= 1024:
                self._norms.clear()
            level = self.config.levels[0]
            cells = level.first_cell + np.arange(level.cells, dtype=np.uint32)
            shape = (level.rows, level.cells // level.rows)
            table = Reading(*(part.reshape(shape) for part in self._read(cells, since, until)))
            self._norms[since, until] = answers.total(table, self.config)
        return self._norms[since, until]

    def _nodes(self, level: Level, prefixes: Prefixes, since: int, until: int) -> Estimates:
        """How often each of some prefixes came."""
        rows = RowHashes(*(column[level.first_row : level.first_row + level.rows] for column in self._rows))
        cells = cells_of(prefixes << np.uint64(level.drop), rows)
        reading = self._read(cells.ravel(), since, until)
        found = Reading(*(part.reshape(cells.shape) for part in reading))
        if level.exact:
            return Estimates(found.value[0], found.lower[0], found.upper[0], 1 - self.config.delta_sw)
        return answers.point(found, self._total(since, until).upper, self.config)

    def _children(self, prefixes: Prefixes, level: Level) -> Prefixes:
        """All prefixes of a level that go on with one of the level above."""
        digit = self.config.radix.bit_length() - 1 if level is not self.config.levels[0] else level.bits
        return ((prefixes[:, None] << np.uint64(digit)) | np.arange(1 << digit, dtype=np.uint64)).ravel()

    def _sum(self, begin: int, end: int, since: int, until: int) -> tuple[float, float]:
        """Estimate and upper bound of the numbers begin .. end - 1, from the fewest prefixes that make them up."""
        value = upper = 0.0
        for level, prefixes in self._cover(begin, end):
            found = self._nodes(level, prefixes, since, until)
            value, upper = value + float(found.value.sum()), upper + float(found.upper.sum())
        return value, upper

    def _cover(self, begin: int, end: int) -> list[tuple[Level, Prefixes]]:
        """The prefixes of each level that lie in begin .. end - 1, but not within one of a level above."""
        cover = []
        inner: tuple[int, int] | None = None
        for level in self.config.levels:
            low, high = -(-begin >> level.drop), end >> level.drop
            if low >= high:
                continue
            parts = [(low, high)]
            if inner is not None:
                parts = [(low, inner[0] >> level.drop), (inner[1] >> level.drop, high)]
            prefixes = [np.arange(a, b, dtype=np.uint64) for a, b in parts if a < b]
            if prefixes:
                cover.append((level, np.concatenate(prefixes)))
            inner = low << level.drop, high << level.drop
        return cover

    def _quantile(self, q: float, everything: Estimate, least: float, asked: Asked) -> Estimate:
        """`least` is how many arrivals there are at least; up to asked.missing of them are not in the range read."""
        since, until, missing, _ = asked
        middle = self._descend(q * everything.value, since, until, "value", from_right=False)
        lower, upper = 0, (1 << self.config.bits) - 1
        if max(q * least, 1.0) > missing:
            lower = self._descend(max(q * least, 1.0) - missing, since, until, "upper", from_right=False)
        if (1 - q) * least >= missing:
            upper = self._descend((1 - q) * least - missing, since, until, "upper", from_right=True)
        lower, upper = min(lower, upper), max(lower, upper)
        return Estimate(
            min(max(middle, lower), upper), lower, upper, everything.confidence
        )  # whole numbers, not floats

    def _descend(self, target: float, since: int, until: int, part: str, from_right: bool) -> int:
        """The number at which counts, added up from one side, reach the target (from the right: exceed it)."""
        prefix = np.zeros(1, np.uint64)
        passed = 0.0
        for level in self.config.levels:
            children = self._children(prefix, level)
            counts = getattr(self._nodes(level, children, since, until), part)
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
