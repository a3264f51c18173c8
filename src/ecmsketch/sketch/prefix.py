"""PrefixSketch: range sums, ranks, quantiles and heavy hitters over ordered numbers (paper section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.engines.contract import Reading
from ecmsketch.errors import ConfigError, InputError, QueryError
from ecmsketch.estimate import Estimate, HeavyHitter
from ecmsketch.inputs.columns import adopt, as_column, is_integer, is_number, listed
from ecmsketch.inputs.items import hash_items
from ecmsketch.inputs.kinds import INTEGER, NOTHING, Kinds
from ecmsketch.inputs.ticks import Span
from ecmsketch.kernels.hashing import cells_of
from ecmsketch.sketch import codec
from ecmsketch.sketch.base import BaseSketch
from ecmsketch.sketch.heavy import heaviness
from ecmsketch.sketch.locks import locked
from ecmsketch.sketch.prefix_answers import PrefixAnswers
from ecmsketch.sketch.ranges import Interval


class Numbers:
    """The items of a PrefixSketch: numbers from 0 to 2^bits - 1, which are their own keys."""

    texts = False

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.largest = (1 << bits) - 1

    def hash_one(self, item: Any) -> int:
        """The number itself, if it is one of the domain."""
        if not (is_integer(item) or isinstance(item, bool)) or not 0 <= int(item) <= self.largest:
            raise InputError(f"item: expected a number from 0 to 2**{self.bits} - 1, got {item!r}")
        return int(item)

    def hash_many(self, items: Any) -> NDArray[np.uint64]:
        """The numbers themselves, if all are of the domain."""
        wanted = f"items: expected numbers from 0 to 2**{self.bits} - 1"
        items = listed(adopt(items))
        if isinstance(items, list | tuple | range):
            return np.array([self.hash_one(item) for item in items], np.uint64)
        numbers = hash_items(items)
        column = as_column(items, "items")
        if len(column) and column.dtype.kind not in "iub":
            raise InputError(f"{wanted}, got {column.dtype}; encode others in order first, see ecmsketch.domains")
        if len(column) and (int(column.min()) < 0 or int(column.max()) >> self.bits):
            raise InputError(f"{wanted}, got {column.min()} to {column.max()}")
        return numbers

    def kinds_of(self, items: Any) -> Kinds:
        """None: numbers all of them."""
        return NOTHING


class PrefixSketch(BaseSketch):
    """Counts numbers from 0 to 2^bits - 1 over a sliding window, and answers by their order.

    >>> sketch = PrefixSketch(SketchConfig(epsilon=0.01, delta=0.01, window=3600), bits=16)
    >>> sketch.update_many([20, 35, 35, 900], [1, 2, 3, 4])
    >>> sketch.quantile(0.5).value, sketch.range_sum(30, 40).value
    (35, 2.0)
    """

    type_id = codec.KIND_PREFIX
    config: PrefixConfig

    def __init__(self, config: SketchConfig, bits: int = 32, radix: int = 16, site: str | None = None) -> None:
        """`radix` trades memory for speed and error: fewer, wider levels. `site` is that of `EcmSketch`."""
        if not isinstance(config, SketchConfig):
            raise ConfigError(f"config: expected a SketchConfig, got {type(config).__name__}")
        super().__init__(PrefixConfig.of(config, bits, radix), site)

    @classmethod
    def _items_of(cls, config: SketchConfig) -> Numbers:
        assert isinstance(config, PrefixConfig)
        return Numbers(config.bits)

    @property
    def kinds(self) -> Kinds:
        """Always integers."""
        return frozenset({INTEGER})

    @locked
    def total(self, last: Span | None = None, between: Interval | None = None) -> Estimate:
        """How many arrivals came in a range of ticks."""
        return self._answers().total(*self._range(last, between))

    @locked
    def estimate(
        self, item: Any, last: Span | None = None, between: Interval | None = None, last_arrivals: int | None = None
    ) -> Estimate:
        """How often one number came."""
        number = np.array([self._items.hash_one(item)], np.uint64)
        asked = self._asked(last, between, last_arrivals)
        return self._answers().counts(len(self.config.levels) - 1, number, asked)[0]

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
        low, high = self._items.hash_one(low), self._items.hash_one(high)
        if low > high:
            raise QueryError(f"range_sum: expected low <= high, got {low} and {high}")
        always = self.config.delta_sw == 0
        asked, answers = self._asked(last, between, last_arrivals), self._answers()
        return asked.answer(lambda since, until: answers.range_sum(low, high, since, until), always, always)[0]

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
        asked, answers = self._asked(last, between, last_arrivals), self._answers()
        everything = answers.total(asked.since, asked.until)
        if everything.upper == 0:
            raise QueryError("quantile: nothing arrived in this range")
        return answers.quantiles([float(q) for q in qs], everything, asked)

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
        asked, answers = self._asked(last, between, last_arrivals), self._answers()
        everything = answers.total(asked.since, asked.until)
        wanted = heaviness(phi, count, last_arrivals, everything)
        if wanted.share <= self.epsilon and not self.config.levels[-1].exact and everything.upper > 0:
            raise QueryError(
                f"heavy_hitters: {wanted.share:g} of the arrivals cannot be told from collisions ({self.epsilon:g}); "
                "ask for a larger share, or build the sketch with a smaller epsilon"
            )
        return answers.heavy(self._threshold(wanted.least, asked, no_miss), asked, self._by_upper(asked, no_miss))

    def cells(self, item: int, last: Span | None = None, between: Interval | None = None) -> Reading:
        """What the cells of a number hold over a range, one cell in each row of the last level."""
        number = np.array([self._items.hash_one(item)], np.uint64)
        numbers = cells_of(number, self.config.rows_of(len(self.config.levels) - 1))
        return self.read_cells(numbers.ravel(), last, between)

    @locked
    def table(self, level: int = -1, last: Span | None = None, between: Interval | None = None) -> Reading:
        """What all cells of a level hold over a range, as rows x columns. Level 0 has the shortest prefixes."""
        count = len(self.config.levels)
        if not is_integer(level) or not -count <= level < count:
            raise QueryError(f"level: expected {-count} to {count - 1}, the levels of this sketch, got {level!r}")
        chosen = self.config.levels[int(level)]
        columns = chosen.cells // chosen.rows
        return self._block_of_cells(chosen.first_cell, chosen.rows, columns, *self._range(last, between))

    def _answers(self) -> PrefixAnswers:
        return PrefixAnswers(self.config, self._flushed())
