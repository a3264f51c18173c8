"""Levels of prefixes: how often the prefixes of numbers came, and sums over ranges of numbers from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config.prefix_config import Level, PrefixConfig
from ecmsketch.counters import Reading
from ecmsketch.errors import InputError
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.inputs.columns import adopt, as_column, listed
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.items import hash_items
from ecmsketch.inputs.kinds import INTEGER, NOTHING, Kinds
from ecmsketch.inputs.row_hashes import RowHashes, cells_of
from ecmsketch.sketch import bounds
from ecmsketch.sketch.base import BaseSketch
from ecmsketch.sketch.ranges import Asked
from ecmsketch.slices import SlicedStream

Prefixes = NDArray[np.uint64]


class PrefixLevels(BaseSketch):
    """Counts numbers from 0 to 2^bits - 1 by their prefixes, one Count-Min table for each level."""

    @property
    def config(self) -> PrefixConfig:
        """What the sketch was built to promise, and its domain."""
        config = self._state.config
        assert isinstance(config, PrefixConfig)
        return config

    @property
    def kinds(self) -> Kinds:
        """Always integers."""
        return frozenset({INTEGER})

    def _hash_item(self, item: Any) -> int:
        if not (is_integer(item) or isinstance(item, bool)) or not 0 <= int(item) < 1 << self.config.bits:
            raise InputError(f"item: expected a number from 0 to 2**{self.config.bits} - 1, got {item!r}")
        return int(item)

    @staticmethod
    def _kinds_of(items: Any) -> Kinds:
        return NOTHING  # numbers all of them

    def _hash_items(self, items: Any) -> Prefixes:
        wanted = f"items: expected numbers from 0 to 2**{self.config.bits} - 1"
        items = listed(adopt(items))
        if isinstance(items, list | tuple | range):
            return np.array([self._hash_item(item) for item in items], np.uint64)
        numbers = hash_items(items)
        column = as_column(items, "items")
        if len(column) and column.dtype.kind not in "iub":
            raise InputError(f"{wanted}, got {column.dtype}; encode others in order first, see ecmsketch.domains")
        if len(column) and (int(column.min()) < 0 or int(column.max()) >> self.config.bits):
            raise InputError(f"{wanted}, got {column.min()} to {column.max()}")
        return numbers

    def _total(self, since: int, until: int) -> Estimate:
        """All arrivals, from the first level: the fewest cells."""
        if self.config.model == "count":
            arrivals = float(max(until, 0) - max(since, 0))
            return Estimate(arrivals, arrivals, arrivals, 1.0)
        return self._norm(since, until)

    @property
    def _norm_shape(self) -> tuple[int, int]:
        level = self.config.levels[0]
        return level.rows, level.cells // level.rows

    def _cells_of(self, level: Level, prefixes: Prefixes) -> NDArray[np.uint32]:
        """The numbers of the cells of some prefixes, as rows x prefixes."""
        return cells_of(prefixes << np.uint64(level.drop), self._level_rows(level))

    def _level_rows(self, level: Level) -> RowHashes:
        return RowHashes(*(column[level.first_row : level.first_row + level.rows] for column in self._rows))

    def _nodes(self, level: Level, prefixes: Prefixes, since: int, until: int) -> Estimates:
        """How often each of some prefixes came."""
        engine = self._flushed().counters
        if isinstance(engine, SlicedStream):
            number = self.config.levels.index(level)
            return engine.point(prefixes, self._level_rows(level), number, since, until)
        cells = self._cells_of(level, prefixes)
        reading = self._read(cells.ravel(), since, until)
        rows = Reading(*(part.reshape(cells.shape) for part in reading))
        if level.exact:
            return Estimates(rows.value[0], rows.lower[0], rows.upper[0], 1 - self.config.delta_sw)
        return bounds.point(rows, self._total(since, until).upper, self.config)

    def _counts(self, level: Level, prefixes: Prefixes, asked: Asked) -> Estimates:
        """How often each of some prefixes is among what is asked about."""
        sure = level.exact and self.config.delta_sw == 0, self.config.delta_sw == 0
        return asked.answer(lambda since, until: self._nodes(level, prefixes, since, until), *sure)

    def _children(self, prefixes: Prefixes, level: Level) -> Prefixes:
        """All prefixes of a level that go on with one of the level above."""
        digit = self.config.radix.bit_length() - 1 if level is not self.config.levels[0] else level.bits
        return ((prefixes[:, None] << np.uint64(digit)) | np.arange(1 << digit, dtype=np.uint64)).ravel()

    def _range_sum(self, low: int, high: int, since: int, until: int) -> Estimates:
        """One answer: how many arrivals in a range of ticks were numbers from `low` to `high`."""
        everything = self._total(since, until)
        inside, inside_upper = self._sum(low, high + 1, since, until)
        before, before_upper = self._sum(0, low, since, until)
        after, after_upper = self._sum(high + 1, 1 << self.config.bits, since, until)
        upper = min(inside_upper, everything.upper)
        lower = min(max(everything.lower - before_upper - after_upper, 0.0), upper)
        value = (inside + everything.value - before - after) / 2  # collisions add to one, and take from the other
        value = min(max(value, lower), upper)
        return Estimates(np.array([value]), np.array([lower]), np.array([upper]), everything.confidence)

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
