"""PrefixQuantiles: quantiles, by descents from prefix to prefix that read each level once for all of them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from ecmsketch.config.prefix_config import Level
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.sketch.descents import Descents, follow_bounds, follow_values
from ecmsketch.sketch.prefix_levels import Floats, Prefixes
from ecmsketch.sketch.prefix_ranges import PrefixRanges
from ecmsketch.sketch.ranges import Asked


class _Bounding(NamedTuple):
    """A range of ticks, and the descents by its bounds: those from the left, then those from the right."""

    since: int
    until: int
    descents: Descents


class PrefixQuantiles(PrefixRanges):
    """Adds quantiles to levels of prefixes."""

    def _quantiles(self, qs: list[float], everything: Estimate, asked: Asked) -> list[Estimate]:
        """Several quantiles, bounded by every range that is read."""
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
        for level in self.config.levels:
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
        sure, newest = self.config.delta_sw == 0, asked.newest
        if newest is None:
            held = [(asked.since, everything, 0.0, True)]
        else:  # bounds that need luck: those of one range
            nearer = newest.inner_is_nearer
            held = [(asked.since, newest.outer, newest.missing(newest.outer), sure or not nearer)]
            if newest.after != asked.since:
                held.append((newest.after, newest.inner, newest.missing(newest.inner), sure or nearer))
        return [
            _Bounding(
                since, asked.until,
                Descents.start(targets - missing, all_of.upper if sure else inf, from_right)
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
            if self.config.delta_sw == 0:
                follow_bounds(descents, digit, lower[here:], most)
            else:
                follow_bounds(descents, digit, np.zeros_like(most), most)
                descents.own[:] = descents.reached[:] = inf
        if asked.newest is not None:
            found = [asked.newest.combine(found[-1], found[0], True, self.config.delta_sw == 0)]
        follow_values(values, digit, found[0].value, found[0].lower, found[0].upper)

    def _families(self, level: Level, parents: Prefixes, since: int, until: int) -> tuple[Floats, Floats, Floats]:
        """Values and certain bounds of the children of some prefixes, a row for each prefix."""
        different, places = np.unique(parents, return_inverse=True)
        found = self._certain([(level, self._children(different, level))], since, until)[0]
        value, lower, upper = (part.reshape(len(different), -1)[places] for part in found[:3])
        return value, lower, upper


def _whole(lower: float) -> int:
    """The least whole number that is not below a lower bound, which may be rounded."""
    return ceil(lower * (1 - 2.0**-50))


def _ranks(q: float, arrivals: int) -> tuple[int, int]:
    """The lowest and the highest place, from 1 on, that a quantile may have among so many arrivals.

    0.55 is not a binary fraction, so the decimal number and the binary one may mean different places.
    """
    places = [max(ceil(share * arrivals), 1) for share in (Fraction(q), Fraction(repr(q)))]
    return min(places), max(places)
