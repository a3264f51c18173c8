"""Levels of prefixes: how often the prefixes of numbers came."""

from __future__ import annotations

from typing import Any, NamedTuple

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
from ecmsketch.slices.prefix_reading import read_prefixes

Prefixes = NDArray[np.uint64]
Floats = NDArray[np.float64]


class Certain(NamedTuple):
    """What the levels say about some prefixes without luck. `value` still counts all that collides."""

    value: Floats
    lower: Floats
    upper: Floats
    inside: Floats | None
    """At most so often they came in slices that lie inside the range, and in events; None with cells."""


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

    @property
    def _largest_item(self) -> int:  # type: ignore[override]
        return (1 << self.config.bits) - 1

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
        rows = self._readings([(level, prefixes)], since, until)[0]
        if level.exact:
            return Estimates(rows.value[0], rows.lower[0], rows.upper[0], 1 - self.config.delta_sw)
        return bounds.point(rows, self._total(since, until).upper, self.config)

    def _readings(self, parts: list[tuple[Level, Prefixes]], since: int, until: int) -> list[Reading]:
        """What the cells of some prefixes of some levels hold, each as rows x prefixes."""
        cells = [self._cells_of(level, prefixes) for level, prefixes in parts]
        found = self._read(np.concatenate([part.ravel() for part in cells]), since, until)
        readings, at = [], 0
        for part in cells:
            readings.append(Reading(*(column[at : at + part.size].reshape(part.shape) for column in found)))
            at += part.size
        return readings

    def _certain(self, parts: list[tuple[Level, Prefixes]], since: int, until: int) -> list[Certain]:
        """How often some prefixes of some levels came, with bounds that always hold (but for randomized waves)."""
        engine = self._flushed().counters
        if isinstance(engine, SlicedStream):
            return [self._certain_in_slices(engine, *part, since, until) for part in parts]
        certain = []
        for (level, _), rows in zip(parts, self._readings(parts, since, until), strict=True):
            value, upper = rows.value.min(axis=0), rows.upper.min(axis=0)
            sure = level.exact and not self.config.delta_sw
            certain.append(Certain(value, rows.lower[0] if sure else np.zeros_like(value), upper, None))
        return certain

    def _certain_in_slices(
        self, engine: SlicedStream, level: Level, prefixes: Prefixes, since: int, until: int
    ) -> Certain:
        events, inside, value, upper = read_prefixes(engine, prefixes, self._level_rows(level), since, until)
        return Certain(value, inside if level.exact else events, upper, inside)

    def _counts(self, level: Level, prefixes: Prefixes, asked: Asked) -> Estimates:
        """How often each of some prefixes is among what is asked about."""
        sure = level.exact and self.config.delta_sw == 0, self.config.delta_sw == 0
        return asked.answer(lambda since, until: self._nodes(level, prefixes, since, until), *sure)

    def _children(self, prefixes: Prefixes, level: Level) -> Prefixes:
        """All prefixes of a level that go on with one of the level above."""
        digit = self._digit(level)
        return ((prefixes[:, None] << np.uint64(digit)) | np.arange(1 << digit, dtype=np.uint64)).ravel()

    def _digit(self, level: Level) -> int:
        """How many bits longer the prefixes of a level are than those of the level above."""
        return self.config.radix.bit_length() - 1 if level is not self.config.levels[0] else level.bits
