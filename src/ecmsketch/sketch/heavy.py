"""Questions about frequent items by name (heavy_hitters=True): which came most often, and which changed most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.engines.contract import MAX_ARRIVALS, Keys
from ecmsketch.engines.names.frequent import Candidates
from ecmsketch.errors import QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyChange, HeavyChanges, HeavyHitter
from ecmsketch.inputs.columns import is_integer, is_number
from ecmsketch.inputs.ticks import Span, to_span
from ecmsketch.sketch import bounds
from ecmsketch.sketch.bounds import delta_of_listed
from ecmsketch.sketch.ingest import State
from ecmsketch.sketch.ranges import Asked

Places = NDArray[np.int64]

_SIGNS: dict[str, Any] = {"change": np.abs, "rise": np.positive, "fall": np.negative}


class Heaviness(NamedTuple):
    """The least count that a heavy hitter has, and the share of the arrivals that this is."""

    least: float
    share: float


def heaviness(phi: float | None, count: int | None, last_arrivals: int | None, everything: Estimate) -> Heaviness:
    """What a question means by heavy, if `everything` is the number of arrivals in its range."""
    if (phi is None) == (count is None):
        raise QueryError("heavy_hitters: give a share phi, or count=, and not both")
    if count is not None:
        if not is_integer(count) or count < 1:
            raise QueryError(f"heavy_hitters: expected a count of 1 or more, got {count!r}")
        least = float(min(int(count), MAX_ARRIVALS**2))  # more than any sketch counts, and still a float
        arrivals = everything.upper if last_arrivals is None else float(last_arrivals)
        return Heaviness(least, least / max(arrivals, 1.0))
    assert phi is not None
    if not is_number(phi) or not 0 < phi <= 1:
        raise QueryError(f"heavy_hitters: expected a share phi above 0 and at most 1, got {phi!r}")
    return Heaviness(float(phi) * (everything.lower if last_arrivals is None else last_arrivals), float(phi))


class Named(NamedTuple):
    """The candidates of a question: hashes of items that are named in its range."""

    keys: Keys
    certain: Estimates
    """How often they came, by the counts that are kept with names: bounds that always hold."""
    missed: int
    """How often any other item came at most."""


class NamedItems:
    """Answers about the items that a state names."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._engine = state.engine
        self._config = state.engine.config
        self._upper_certain = self._config.delta_sw == 0

    @staticmethod
    def check_number(question: str, k: int) -> None:
        """Refuse what is no number of items."""
        if not is_integer(k) or k < 1:
            raise QueryError(f"{question}: expected a number of items, 1 or more, got {k!r}")

    @staticmethod
    def check_sign(by: str) -> None:
        """Refuse what is no way to compare changes."""
        if by not in _SIGNS:
            raise QueryError(f"heavy_changes: expected by='change', 'rise' or 'fall', got {by!r}")

    def heavy_hitters(
        self, phi: float | None, count: int | None, last_arrivals: int | None, everything: Estimate, asked: Asked,
        by_upper: bool, delta: float, threshold: Callable[[float], float],
    ) -> list[HeavyHitter]:  # fmt: skip
        """Items whose counts, or their upper bounds, reach the threshold; most frequent first."""
        wanted = heaviness(phi, count, last_arrivals, everything)
        least = threshold(wanted.least)
        named = self._candidates(asked)
        if everything.upper > 0 and least <= named.missed:
            raise QueryError(
                f"heavy_hitters: {wanted.share:g} of the arrivals is too low for this sketch: items with up to "
                f"{named.missed + 1} arrivals may be missing. Ask for a larger share, or build with a smaller epsilon"
            )
        found = self._compared(named, asked, delta)
        counts = found.upper if by_upper else found.value
        return self._listed(named, asked, np.flatnonzero((counts >= least) & (found.upper > 0)), delta)

    def top(self, k: int, asked: Asked, delta: float) -> list[HeavyHitter]:
        """The `k` items with the largest counts."""
        named = self._candidates(asked)
        found = bounds.agree(named.certain, self._points(named.keys, asked, delta))
        return self._listed(named, asked, _largest(found.value, named.keys, k, found.value > 0), delta)

    def changes(self, k: int, newer_range: tuple[int, int], before: Span | None, by: str, delta: float) -> HeavyChanges:
        """The `k` items whose counts changed most from one range to the next."""
        ranges = self._two_ranges(newer_range, before)
        named = [self._candidates(asked) for asked in ranges]
        keys = np.union1d(named[0].keys, named[1].keys)
        certain = [self._by_name(keys, asked.since, asked.until) for asked in ranges]
        newer, older = (self._agreed(keys, *both, delta / 2) for both in zip(certain, ranges, strict=True))
        size = _SIGNS[by](newer.value - older.value)
        chosen = _largest(size, keys, k, size > 0)
        each = delta_of_listed(delta, len(chosen), len(keys)) / 2  # a change has two bounds that may fail
        newer, older = (
            self._agreed(keys[chosen], bound.select(chosen), asked, each)
            for bound, asked in zip(certain, ranges, strict=True)
        )
        change = bounds.change(newer, older, 1.0 if newer.confidence + older.confidence == 2 else 1 - delta)
        names = [self._name(key) for key in keys[chosen].tolist()]
        changes = [HeavyChange(*each) for each in zip(names, change, newer, older, strict=True)]
        return HeavyChanges(changes, float(named[0].missed), float(named[1].missed))

    def counts(self, asked: Asked, delta: float) -> tuple[Keys, Estimates, int]:
        """All candidates of a range, the counts that are compared with a threshold, and what may be missed."""
        named = self._candidates(asked)
        return named.keys, self._compared(named, asked, delta), named.missed

    def _two_ranges(self, newer_range: tuple[int, int], before: Span | None) -> tuple[Asked, Asked]:
        """The last ticks, and those before them."""
        newer, window = Asked(*newer_range), self._config.window
        length = newer.until - newer.since if before is None else to_span(before, self._config.unit)
        if length < 0 or newer.since - length < newer.until - window:
            raise QueryError(
                f"heavy_changes: expected ranges that fit into the window ({window}) together, got "
                f"{newer.until - newer.since} and {length} ticks before them"
            )
        return newer, Asked(newer.since - length, newer.since)

    def _listed(self, named: Named, asked: Asked, chosen: Places, delta: float) -> list[HeavyHitter]:
        """The chosen candidates with their names, most frequent first, with bounds that allow for the choice."""
        each = delta_of_listed(delta, len(chosen), len(named.keys))
        keys = named.keys[chosen]
        found = self._agreed(keys, named.certain.select(chosen), asked, each)
        confidence = 1.0 if found.confidence == 1 else 1 - delta
        order = np.lexsort((keys, -found.value)).tolist()
        return [HeavyHitter(self._name(int(keys[i])), found[i]._replace(confidence=confidence)) for i in order]

    def _agreed(self, keys: Keys, certain: Estimates, asked: Asked, delta: float) -> Estimates:
        """How often items came, by the sketch, within what is certain."""
        return bounds.agree(certain, self._points(keys, asked, delta))

    def _compared(self, named: Named, asked: Asked, delta: float) -> Estimates:
        """The counts that are compared with a threshold: with cells, the least reading, which misses less."""
        read = asked.answer(
            lambda since, until: self._engine.compared(named.keys, since, until, delta), False, self._upper_certain
        )
        return bounds.agree(named.certain, read)

    def _points(self, keys: Keys, asked: Asked, delta: float) -> Estimates:
        """How often some items are among what is asked about."""
        return asked.answer(
            lambda since, until: self._engine.point(keys, 0, since, until, delta), False, self._upper_certain
        )

    def _candidates(self, asked: Asked) -> Named:
        """The items that may be heavy in a range."""
        if not self._config.heavy_hitters:
            raise QueryError(
                "heavy_hitters: this sketch keeps no names; build it with heavy_hitters=True in its config"
            )
        keys, missed = self._names_in(asked.since, asked.until)
        always = self._upper_certain  # else the number of arrivals in a range may be wrong
        return Named(keys, asked.answer(lambda *ends: self._by_name(keys, *ends), always, always), missed)

    def _names_in(self, since: int, until: int) -> tuple[Keys, int]:
        """Hashes of the items named in a range, and how often any other came in it at most."""
        held = self._engine.held
        inside = (held.ticks > since) & (held.ticks <= until)
        named = self._summaries(since, until)
        keys = np.unique(np.concatenate([held.items[inside], *(part.keys for part in named)]))
        return keys, sum(part.missed for part in named)

    def _by_name(self, keys: Keys, since: int, until: int) -> Estimates:
        """How often some items came, by the counts of names: bounds that always hold. `keys` has all items named."""
        held = self._engine.held
        inside = (held.ticks > since) & (held.ticks <= until)
        lower, upper = np.zeros(len(keys)), np.zeros(len(keys))
        for part in self._summaries(since, until):
            where = np.searchsorted(keys, part.keys)
            lower[where] += part.lower
            upper += part.missed
            upper[where] += part.upper - part.missed
        where = np.searchsorted(keys, held.items[inside])
        for bound in (lower, upper):
            np.add.at(bound, where, held.explicit_weights()[inside])
        return Estimates(upper, lower, upper, 1.0)

    def _summaries(self, since: int, until: int) -> list[Candidates]:
        parts = (self._state.frequent, self._state.late_frequent)
        return [part.candidates(since, until) for part in parts if part is not None]

    def _name(self, key: int) -> Any:
        return self._state.names.get(key, key)


def _largest(size: NDArray[np.float64], keys: Keys, k: int, allowed: NDArray[np.bool_]) -> Places:
    """The places of the `k` largest of those that are allowed, largest first."""
    some = np.flatnonzero(allowed)
    return some[np.lexsort((keys[some], -size[some]))][:k]
