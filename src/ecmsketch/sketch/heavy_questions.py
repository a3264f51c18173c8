"""Questions about frequent items by name (heavy_hitters=True): which came most often, and which changed most."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import QueryError
from ecmsketch.estimate import Estimate, Estimates, HeavyChange, HeavyChanges, HeavyHitter
from ecmsketch.heavy.candidates import Candidates
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.ticks import Span, to_span
from ecmsketch.sketch import bounds
from ecmsketch.sketch.base import BaseSketch
from ecmsketch.sketch.confidence import delta_of, delta_of_listed
from ecmsketch.sketch.heaviness import heaviness
from ecmsketch.sketch.locks import locked
from ecmsketch.sketch.ranges import Asked, Interval

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]


class Named(NamedTuple):
    """The candidates of a question: hashes of items that are named in its range."""

    keys: Keys
    certain: Estimates
    """How often they came, by the counts that are kept with names: bounds that always hold."""
    missed: int
    """How often any other item came at most."""


class HeavyQuestions(BaseSketch):
    """Adds the names of frequent items to a sketch."""

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
        confidence: float | None = None,
    ) -> list[HeavyHitter]:
        """Items that came at least a share `phi` of the arrivals, or at least `count` times; most frequent first.

        Needs heavy_hitters=True in the config. Surely found, in a range that ends now: whatever came phi + epsilon of
        the arrivals (with cells, phi/(1 - epsilon_sw)); with `no_miss`, in any range, whatever came phi of them. An
        item that came less than the threshold less epsilon of the arrivals is reported with probability delta at most
        (docs/guarantees.md). A threshold so low that an item above it could be missed is refused. With `last_arrivals`,
        `no_miss` counts the oldest tick in full. Lower bounds hold for a share `confidence` of the list, on average.

        >>> from ecmsketch import EcmSketch, SketchConfig
        >>> config = SketchConfig(epsilon=0.01, delta=0.01, window=3600, heavy_hitters=True)
        >>> sketch = EcmSketch(config)
        >>> sketch.update_many(["/index.html", "/logo.png", "/index.html"], [10, 11, 12])
        >>> [hitter.item for hitter in sketch.heavy_hitters(0.5, last=60)]
        ['/index.html']
        """
        delta = delta_of(self.config, confidence)
        asked = self._asked(last, between, last_arrivals)
        everything = self._everything(asked.since, asked.until)
        wanted = heaviness(phi, count, last_arrivals, everything)
        least = self._threshold(wanted.least, asked, no_miss)
        named = self._candidates(asked)
        if everything.upper > 0 and least <= named.missed:
            raise QueryError(
                f"heavy_hitters: {wanted.share:g} of the arrivals is too low for this sketch: items with up to "
                f"{named.missed + 1} arrivals may be missing. Ask for a larger share, or build with a smaller epsilon"
            )
        found = self._compared(named, asked, delta)
        counts = found.upper if self._by_upper(asked, no_miss) else found.value
        return self._listed(named, asked, np.flatnonzero((counts >= least) & (found.upper > 0)), delta)

    @locked
    def top(
        self,
        k: int,
        last: Span | None = None,
        between: Interval | None = None,
        last_arrivals: int | None = None,
        *,
        confidence: float | None = None,
    ) -> list[HeavyHitter]:
        """The `k` items that seem to have come most often, most frequent first; fewer if fewer are named.

        Needs heavy_hitters=True in the config. Items that came less than epsilon of the arrivals may be missing.
        Lower bounds hold for a share `confidence` of the items listed, on average.
        """
        _check_number("top", k)
        delta = delta_of(self.config, confidence)
        asked = self._asked(last, between, last_arrivals)
        named = self._candidates(asked)
        found = bounds.agree(named.certain, self._points(named.keys, asked, delta))
        return self._listed(named, asked, _largest(found.value, named.keys, int(k), found.value > 0), delta)

    @locked
    def heavy_changes(
        self, k: int, last: Span, before: Span | None = None, *, by: str = "change", confidence: float | None = None
    ) -> HeavyChanges:
        """The `k` items whose counts changed most: the last `last` ticks against the `before` ticks before them.

        Without `before` both ranges are equally long; otherwise counts are compared as they are. by="rise" lists what
        rose most, by="fall" what fell most. Needs heavy_hitters=True in the config. The exact change lies within the
        bounds for a share `confidence` of the items listed, on average. The result also says by how much an item that
        no summary names may have changed.
        """
        _check_number("heavy_changes", k)
        if by not in _SIGNS:
            raise QueryError(f"heavy_changes: expected by='change', 'rise' or 'fall', got {by!r}")
        delta = delta_of(self.config, confidence)
        ranges = self._two_ranges(last, before)
        named = [self._candidates(asked) for asked in ranges]
        keys = np.union1d(named[0].keys, named[1].keys)
        certain = [self._by_name(keys, asked.since, asked.until) for asked in ranges]
        newer, older = (self._agreed(keys, *both, delta / 2) for both in zip(certain, ranges, strict=True))
        size = _SIGNS[by](newer.value - older.value)
        chosen = _largest(size, keys, int(k), size > 0)
        each = delta_of_listed(delta, len(chosen), len(keys)) / 2  # a change has two bounds that may fail
        newer, older = (
            self._agreed(keys[chosen], bound.select(chosen), asked, each)
            for bound, asked in zip(certain, ranges, strict=True)
        )
        change = bounds.change(newer, older, 1.0 if newer.confidence + older.confidence == 2 else 1 - delta)
        names = [self._name(key) for key in keys[chosen].tolist()]
        changes = [HeavyChange(*each) for each in zip(names, change, newer, older, strict=True)]
        return HeavyChanges(changes, float(named[0].missed), float(named[1].missed))

    @locked
    def named_counts(self, last: Span | None = None) -> tuple[Keys, Estimates, int]:
        """Hashes of all items that are named in a range, ascending, how often each came, and any other one at most.

        These are what `heavy_hitters` chooses from, with the counts that it compares. An item that is not named came
        epsilon of the arrivals at most. Needs heavy_hitters=True in the config.
        """
        asked = self._asked(last, None, None)
        named = self._candidates(asked)
        return named.keys, self._compared(named, asked, self.config.delta), named.missed

    @locked
    def name_of(self, key: int) -> Any:
        """The item with a hash that `named_counts` returned."""
        return self._name(key)

    def _two_ranges(self, last: Span, before: Span | None) -> tuple[Asked, Asked]:
        """The last ticks, and those before them."""
        newer = Asked(*self._range(last, None))
        length = newer.until - newer.since if before is None else to_span(before, self.config.unit)
        begin = newer.until - self.config.window
        if length < 0 or newer.since - length < begin:
            raise QueryError(
                f"heavy_changes: expected ranges that fit into the window ({self.config.window}) together, got "
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
        if self.config.counter in ("slices", "rw"):
            return self._agreed(named.keys, named.certain, asked, delta)
        read = asked.answer(lambda since, until: self._least_reading(named.keys, since, until), *self._sure)
        return bounds.agree(named.certain, read)

    def _points(self, keys: Keys, asked: Asked, delta: float) -> Estimates:
        """How often some items are among what is asked about."""
        return asked.answer(lambda since, until: self._point(keys, since, until, delta), *self._sure)

    @property
    def _sure(self) -> tuple[bool, bool]:
        """Whether an item's lower bound always holds, and whether its upper one does."""
        return False, self.config.delta_sw == 0

    def _candidates(self, asked: Asked) -> Named:
        """The items that may be heavy in a range."""
        if not self.config.heavy_hitters:
            raise QueryError(
                "heavy_hitters: this sketch keeps no names; build it with heavy_hitters=True in its config"
            )
        keys, missed = self._names_in(asked.since, asked.until)
        always = self.config.delta_sw == 0  # else the number of arrivals in a range may be wrong
        return Named(keys, asked.answer(lambda *ends: self._by_name(keys, *ends), always, always), missed)

    def _names_in(self, since: int, until: int) -> tuple[Keys, int]:
        """Hashes of the items named in a range, and how often any other came in it at most."""
        held = self._state.late.held
        inside = (held.ticks > since) & (held.ticks <= until)
        named = self._summaries(since, until)
        keys = np.unique(np.concatenate([held.items[inside], *(part.keys for part in named)]))
        return keys, sum(part.missed for part in named)

    def _by_name(self, keys: Keys, since: int, until: int) -> Estimates:
        """How often some items came, by the counts of names: bounds that always hold. `keys` has all items named."""
        held = self._state.late.held
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
        state = self._flushed()
        parts = (state.frequent, state.late.frequent)
        return [part.candidates(since, until) for part in parts if part is not None]

    def _name(self, key: int) -> Any:
        return self._state.names.get(key, key)

    @abstractmethod
    def _everything(self, since: int, until: int) -> Estimate:
        """All arrivals in a range."""

    @abstractmethod
    def _point(self, keys: Keys, since: int, until: int, delta: float) -> Estimates:
        """How often some items came in a range; each lower bound fails with probability `delta` at most."""

    @abstractmethod
    def _least_reading(self, keys: Keys, since: int, until: int) -> Estimates:
        """The least of an item's cells: at least (1 - epsilon_sw) of its count, in a range that ends now."""


_SIGNS: dict[str, Any] = {"change": np.abs, "rise": np.positive, "fall": np.negative}


def _largest(size: NDArray[np.float64], keys: Keys, k: int, allowed: NDArray[np.bool_]) -> Places:
    """The places of the `k` largest of those that are allowed, largest first."""
    some = np.flatnonzero(allowed)
    return some[np.lexsort((keys[some], -size[some]))][:k]


def _check_number(question: str, k: int) -> None:
    if not is_integer(k) or k < 1:
        raise QueryError(f"{question}: expected a number of items, 1 or more, got {k!r}")
