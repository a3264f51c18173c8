"""PrefixRanges: sums over ranges of numbers, from levels of prefixes that are made to agree."""

from __future__ import annotations

import numpy as np

from ecmsketch.config.prefix_config import Level
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.sketch.number_range import CutPrefixes, Sides, bound_range, cut_prefixes, project_range
from ecmsketch.sketch.prefix_levels import Certain, Floats, PrefixLevels
from ecmsketch.slices import SlicedStream


class PrefixRanges(PrefixLevels):
    """Adds sums over ranges of numbers to levels of prefixes."""

    def _range_sum(self, low: int, high: int, since: int, until: int) -> Estimates:
        """One answer: how many arrivals in a range of ticks were numbers from `low` to `high`."""
        everything = self._total(since, until)
        if low == 0 and high + 1 == 1 << self.config.bits:
            return _as_estimates(everything)
        cut, by_level = cut_prefixes(self.config.levels, low, high + 1)
        found = self._children_of(by_level, since, until)
        sides = self._sides(cut, found, everything, since, until)
        upper = min(sides.inside_most, everything.upper - sides.outside_least)
        lower = min(sides.inside_least, upper)
        value = project_range(cut, found.value, found.lower, found.upper, everything.value)
        return _as_estimates(Estimate(min(max(value, lower), upper), lower, upper, everything.confidence))

    def _sides(self, cut: CutPrefixes, found: Certain, everything: Estimate, since: int, until: int) -> Sides:
        """Bounds of both sides. What slices inside the range hold bounds both from below, without what cut ones add."""
        sure = self.config.delta_sw == 0
        sides = Sides(*bound_range(cut, found.lower, found.upper, everything.lower, everything.upper, sure))
        engine = self._flushed().counters
        if found.inside is None or not isinstance(engine, SlicedStream):
            return sides
        held = engine.total(since, until).lower
        inside = Sides(*bound_range(cut, found.lower, found.inside, held, held, True))
        return sides._replace(
            inside_least=max(sides.inside_least, inside.inside_least),
            outside_least=max(sides.outside_least, inside.outside_least),
        )

    def _children_of(self, by_level: list[tuple[Level, list[int]]], since: int, until: int) -> Certain:
        """The children of some prefixes, a row for each prefix. Rows of a level with fewer children end in zeros."""
        parts = [(level, self._children(np.array(prefixes, np.uint64), level)) for level, prefixes in by_level]
        found = self._certain(parts, since, until)
        rows = [len(prefixes) for _, prefixes in by_level]
        fan = max(len(part) // count for (_, part), count in zip(parts, rows, strict=True))
        value = _stacked([part.value for part in found], rows, fan)
        lower = _stacked([part.lower for part in found], rows, fan)
        upper = _stacked([part.upper for part in found], rows, fan)
        inside = [part.inside for part in found if part.inside is not None]
        return Certain(value, lower, upper, _stacked(inside, rows, fan) if inside else None)


def _stacked(parts: list[Floats], rows: list[int], fan: int) -> Floats:
    stacked = np.zeros((sum(rows), fan))
    at = 0
    for part, count in zip(parts, rows, strict=True):
        stacked[at : at + count, : len(part) // count] = part.reshape(count, -1)
        at += count
    return stacked


def _as_estimates(one: Estimate) -> Estimates:
    return Estimates(np.array([one.value]), np.array([one.lower]), np.array([one.upper]), one.confidence)
