"""Answers of a PrefixSketch: sums over ranges of numbers, quantiles and heavy numbers, from levels of prefixes.

Every level counts the prefixes of numbers (config/prefix_config.py). Levels are made to agree: the counts of the
children of a prefix add up to that of the prefix (prefix_tree.py).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config.prefix_config import Level, PrefixConfig
from ecmsketch.engines.contract import Floats, PrefixCounts
from ecmsketch.errors import QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyHitter
from ecmsketch.sketch.prefix_tree import (
    CutPrefixes,
    Descents,
    Sides,
    bound_range,
    cut_prefixes,
    follow_bounds,
    follow_values,
    project_range,
)
from ecmsketch.sketch.ranges import Asked

Prefixes = NDArray[np.uint64]

MAX_CANDIDATES = 2**18
"""Prefixes that a search for heavy hitters looks at in one level."""


class _Bounding(NamedTuple):
    """A range of ticks, and the descents by its bounds: those from the left, then those from the right."""

    since: int
    until: int
    descents: Descents


class PrefixAnswers:
    """Answers from the prefixes that an engine counts."""

    def __init__(self, config: PrefixConfig, engine: Any) -> None:
        self._config, self._engine = config, engine
        self._levels = config.levels
        self._certain = config.delta_sw == 0
        """Whether bounds that should always hold do: not those of randomized waves."""

    def total(self, since: int, until: int) -> Estimate:
        """All arrivals in a range of ticks, from the first level: the fewest cells."""
        if self._config.model == "count":
            arrivals = float(max(until, 0) - max(since, 0))
            return Estimate(arrivals, arrivals, arrivals, 1.0)
        total: Estimate = self._engine.total(since, until)
        return total

    def counts(self, level: int, prefixes: Prefixes, asked: Asked) -> Estimates:
        """How often each of some prefixes of a level is among what is asked about."""
        certain = self._levels[level].exact and self._certain, self._certain
        return asked.answer(lambda since, until: self._engine.point(prefixes, level, since, until, None), *certain)

    # ------------------------------------------------------------------ sums over ranges of numbers

    def range_sum(self, low: int, high: int, since: int, until: int) -> Estimates:
        """One answer: how many arrivals in a range of ticks were numbers from `low` to `high`."""
        everything = self.total(since, until)
        if low == 0 and high + 1 == 1 << self._config.bits:
            return _as_estimates(everything)
        cut, by_level = cut_prefixes(self._levels, low, high + 1)
        found = self._children_of(by_level, since, until)
        sides = self._sides(cut, found, everything, since, until)
        upper = min(sides.inside_most, everything.upper - sides.outside_least)
        lower = min(sides.inside_least, upper)
        value = project_range(cut, found.value, found.lower, found.upper, everything.value)
        return _as_estimates(Estimate(min(max(value, lower), upper), lower, upper, everything.confidence))

    def _sides(self, cut: CutPrefixes, found: PrefixCounts, everything: Estimate, since: int, until: int) -> Sides:
        """Bounds of both sides. What slices inside the range hold bounds both from below, without what cut ones add."""
        sides = Sides(*bound_range(cut, found.lower, found.upper, everything.lower, everything.upper, self._certain))
        if found.inside is None:
            return sides
        held = self._engine.total(since, until).lower
        inside = Sides(*bound_range(cut, found.lower, found.inside, held, held, True))
        return sides._replace(
            inside_least=max(sides.inside_least, inside.inside_least),
            outside_least=max(sides.outside_least, inside.outside_least),
        )

    def _children_of(self, by_level: list[tuple[Level, list[int]]], since: int, until: int) -> PrefixCounts:
        """The children of some prefixes, a row for each prefix. Rows of a level with fewer children end in zeros."""
        parts = [(level, self._children(np.array(prefixes, np.uint64), level)) for level, prefixes in by_level]
        found = [self._counted(level, children, since, until) for level, children in parts]
        rows = [len(prefixes) for _, prefixes in by_level]
        fan = max(len(part) // count for (_, part), count in zip(parts, rows, strict=True))
        value = _stacked([part.value for part in found], rows, fan)
        lower = _stacked([part.lower for part in found], rows, fan)
        upper = _stacked([part.upper for part in found], rows, fan)
        inside = [part.inside for part in found if part.inside is not None]
        return PrefixCounts(value, lower, upper, _stacked(inside, rows, fan) if inside else None)

    def _counted(self, level: Level, prefixes: Prefixes, since: int, until: int) -> PrefixCounts:
        """How often some prefixes of a level came, with bounds that always hold."""
        counts: PrefixCounts = self._engine.prefixes(self._levels.index(level), prefixes, since, until)
        return counts

    def _children(self, prefixes: Prefixes, level: Level) -> Prefixes:
        """All prefixes of a level that go on with one of the level above."""
        digit = self._digit(level)
        return ((prefixes[:, None] << np.uint64(digit)) | np.arange(1 << digit, dtype=np.uint64)).ravel()

    def _digit(self, level: Level) -> int:
        """How many bits longer the prefixes of a level are than those of the level above."""
        return self._config.radix.bit_length() - 1 if level is not self._levels[0] else level.bits

    # ------------------------------------------------------------------ quantiles

    def quantiles(self, qs: list[float], everything: Estimate, asked: Asked) -> list[Estimate]:
        """Several quantiles, by descents from prefix to prefix that read each level once for all of them."""
        if not qs:
            return []
        newest = asked.newest
        if newest is None:
            arrivals, value, confidence = _whole(everything.lower), everything.value, everything.confidence
        else:
            arrivals, value = newest.count, float(newest.count)
            confidence = max(2 * everything.confidence - 1, 0.0)
        values = Descents.start(np.array(qs) * value, value)
        ranges = self._bounding(qs, max(arrivals, 1), everything, asked)
        for level in self._levels:
            self._descend(level, values, ranges, asked)
        ends = np.array([each.descents.prefix.reshape(2, -1) for each in ranges if len(each.descents.prefix)])
        lower, upper = ends[:, 0].max(axis=0).tolist(), ends[:, 1].min(axis=0).tolist()
        bounds = [(min(pair), max(pair)) for pair in zip(lower, upper, strict=True)]
        return [
            Estimate(min(max(number, low), high), low, high, confidence)  # whole numbers, not floats
            for number, (low, high) in zip(values.prefix.tolist(), bounds, strict=True)
        ]

    def _bounding(self, qs: list[float], arrivals: int, everything: Estimate, asked: Asked) -> list[_Bounding]:
        """The ranges that are read, with descents in those that bound the quantiles.

        If a range may lack some of the arrivals that are meant, all of these may lie on one side of a quantile.
        """
        ranks = np.array([_ranks(q, arrivals) for q in qs], np.float64)
        targets = np.concatenate([ranks[:, 0], arrivals - ranks[:, 1] + 1])
        from_right = np.arange(2 * len(qs)) >= len(qs)
        certain, newest = self._certain, asked.newest
        if newest is None:
            held = [(asked.since, everything, 0.0, True)]
        else:  # bounds that hold with some probability: those of one range
            nearer = newest.inner_is_nearer
            held = [(asked.since, newest.outer, newest.missing(newest.outer), certain or not nearer)]
            if newest.after != asked.since:
                held.append((newest.after, newest.inner, newest.missing(newest.inner), certain or nearer))
        return [
            _Bounding(
                since, asked.until,
                Descents.start(targets - missing, all_of.upper if certain else inf, from_right)
                if bounds else Descents.start(targets[:0], 0.0),
            )
            for since, all_of, missing, bounds in held
        ]  # fmt: skip

    def _descend(self, level: Level, values: Descents, ranges: list[_Bounding], asked: Asked) -> None:
        """Take all descents one level down."""
        digit = self._digit(level)
        found = []
        for since, until, descents in ranges:
            prefixes = np.concatenate([values.prefix, descents.prefix])
            value, lower, upper = self._families(level, prefixes, since, until)
            here = len(values.prefix)
            found.append(Estimates(value[:here], lower[:here], upper[:here], 1.0))
            most = upper[here:]
            if self._certain:
                follow_bounds(descents, digit, lower[here:], most)
            else:
                follow_bounds(descents, digit, np.zeros_like(most), most)
                descents.own[:] = descents.reached[:] = inf
        if asked.newest is not None:
            found = [asked.newest.combine(found[-1], found[0], True, self._certain)]
        follow_values(values, digit, found[0].value, found[0].lower, found[0].upper)

    def _families(self, level: Level, parents: Prefixes, since: int, until: int) -> tuple[Floats, Floats, Floats]:
        """Values and certain bounds of the children of some prefixes, a row for each prefix."""
        different, places = np.unique(parents, return_inverse=True)
        found = self._counted(level, self._children(different, level), since, until)
        rows = (part.reshape(len(different), -1)[places] for part in (found.value, found.lower, found.upper))
        value, lower, upper = rows
        return value, lower, upper

    # ------------------------------------------------------------------ heavy numbers

    def heavy(self, threshold: float, asked: Asked, by_upper: bool) -> list[HeavyHitter]:
        """Numbers whose count reaches a threshold: a prefix of a number came at least as often as the number."""
        prefixes = np.zeros(1, np.uint64)
        for level in self._levels:
            prefixes = self._children(prefixes, level)
            if len(prefixes) > MAX_CANDIDATES:
                raise QueryError(
                    f"heavy_hitters: over {MAX_CANDIDATES:,} prefixes may reach {threshold:,.0f} in this interval, "
                    "whose error is too large for that; ask for a larger share, or build the sketch with a smaller "
                    "epsilon"
                )
            prefixes = prefixes[self._may_reach(threshold, level, prefixes, asked, by_upper)]
        found = self.counts(len(self._levels) - 1, prefixes, asked)
        if self._engine.by_upper_only and not by_upper:
            heavy = np.flatnonzero(found.value >= threshold)
            prefixes, found = prefixes[heavy], found.select(heavy)
        order = np.lexsort((prefixes, -found.value))
        return [HeavyHitter(int(prefixes[i]), found[int(i)]) for i in order]

    def _may_reach(
        self, threshold: float, level: Level, prefixes: Prefixes, asked: Asked, by_upper: bool
    ) -> NDArray[np.bool_]:
        """Which prefixes may have come so often, by upper bounds, or by the least readings of cells."""

        def find(since: int, until: int) -> Estimates:
            found = self._counted(level, prefixes, since, until)
            return Estimates(found.value, found.lower, found.upper, 1.0)

        counted = asked.answer(find, self._certain, self._certain)
        counts = counted.upper if by_upper or self._engine.by_upper_only else counted.value
        return (counts >= threshold) & (counted.upper > 0)


def _stacked(parts: list[Floats], rows: list[int], fan: int) -> Floats:
    stacked = np.zeros((sum(rows), fan))
    at = 0
    for part, count in zip(parts, rows, strict=True):
        stacked[at : at + count, : len(part) // count] = part.reshape(count, -1)
        at += count
    return stacked


def _as_estimates(one: Estimate) -> Estimates:
    return Estimates(np.array([one.value]), np.array([one.lower]), np.array([one.upper]), one.confidence)


def _whole(lower: float) -> int:
    """The least whole number that is not below a lower bound, which may be rounded."""
    return ceil(lower * (1 - 2.0**-50))


def _ranks(q: float, arrivals: int) -> tuple[int, int]:
    """The lowest and the highest place, from 1 on, that a quantile may have among so many arrivals.

    0.55 is not a binary fraction, so the decimal number and the binary one may mean different places.
    """
    places = [max(ceil(share * arrivals), 1) for share in (Fraction(q), Fraction(repr(q)))]
    return min(places), max(places)
