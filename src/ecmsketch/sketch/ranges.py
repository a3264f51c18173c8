"""Which ticks a question means: `last=`, `between=`, or the range that holds the newest `last_arrivals=`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError, QueryError
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.inputs.columns import is_integer
from ecmsketch.inputs.ticks import Tick, to_span, to_tick

Interval = tuple[Tick, Tick]


@dataclass(frozen=True)
class Newest:
    """The newest `count` arrivals: all after the tick `after`, and some of those on it.

    Arrivals on one tick have no order, so any choice of them may be meant. `inner` is how many came after that tick,
    `outer` how many came from it on. Both may be estimates; then so is the tick.
    """

    count: int
    after: int
    inner: Estimate
    outer: Estimate

    @property
    def share(self) -> float:
        """The part of the tick's arrivals that is meant."""
        on_it = self.outer.value - self.inner.value
        return min(max((self.count - self.inner.value) / on_it, 0.0), 1.0) if on_it > 0 else 1.0

    @property
    def inner_is_nearer(self) -> bool:
        """Whether the range after the tick holds nearly as many arrivals as are meant, rather than that from it on."""
        return self.count - self.inner.value < self.outer.value - self.count

    def missing(self, held: Estimate) -> float:
        """How many of the arrivals that are meant may be missing from a range that holds `held`."""
        return max(self.count - held.lower, 0.0)

    def values(self, inner: NDArray[np.float64], outer: NDArray[np.float64]) -> NDArray[np.float64]:
        """Counts after the tick and from it on, as counts of what is meant: the tick is shared out."""
        return inner + self.share * np.maximum(outer - inner, 0.0)

    def combine(self, inner: Estimates, outer: Estimates, lower_certain: bool, upper_certain: bool) -> Estimates:
        """How often something is among those that are meant, if `inner` and `outer` say how often it is in the ranges.

        Each range bounds the answer: it differs from what is meant by what it lacks or holds beyond. Bounds that always
        hold are intersected. Bounds that hold with some probability are taken from the nearer range alone, so that the
        probability of failing is not paid twice.
        """
        found = [self._from(inner, self.inner), self._from(outer, self.outer)]
        nearer = found[0 if self.inner_is_nearer else 1]
        lower = np.maximum(found[0].lower, found[1].lower) if lower_certain else nearer.lower
        upper = np.minimum(found[0].upper, found[1].upper) if upper_certain else nearer.upper
        upper = np.minimum(upper, self.count)
        lower = np.minimum(lower, upper)
        return Estimates(np.clip(self.values(inner.value, outer.value), lower, upper), lower, upper, nearer.confidence)

    def _from(self, found: Estimates, held: Estimate) -> Estimates:
        surplus = max(held.upper - self.count, 0.0)
        confidence = max(found.confidence + held.confidence - 1, 0.0)
        return Estimates(
            found.value, np.maximum(found.lower - surplus, 0.0), found.upper + self.missing(held), confidence
        )


class Asked(NamedTuple):
    """What a question is about: the range (since, until], or the newest arrivals in it."""

    since: int
    until: int
    newest: Newest | None = None

    @property
    def missing(self) -> float:
        """How many of the arrivals that are meant may lie outside the range."""
        return 0.0 if self.newest is None else self.newest.missing(self.newest.outer)

    def answer(self, find: Callable[[int, int], Estimates], lower_certain: bool, upper_certain: bool) -> Estimates:
        """Counts of what is meant. `find` counts in a range; its lower and upper bounds always hold, or probably do."""
        found = find(self.since, self.until)
        if self.newest is None:
            return found
        inner = found if self.newest.after == self.since else find(self.newest.after, self.until)
        return self.newest.combine(inner, found, lower_certain, upper_certain)


def ticks_asked(config: SketchConfig, now: int, last: Any, between: Any) -> tuple[int, int]:
    """The range (since, until] that a question means, if the clock is at `now`."""
    if between is not None:
        if last is not None:
            raise QueryError("range: give last= or between=, not both")
        return _interval(config, now, between)
    window = config.window
    try:
        length = window if last is None else to_span(last, config.unit)
    except InputError as error:
        raise QueryError(f"last: expected 0 to {window} ticks; {error}") from error
    if not 0 <= length <= window:
        raise QueryError(f"last: expected 0 to {window} (the window), got {length}")
    return now - length, now


def _interval(config: SketchConfig, now: int, between: Any) -> tuple[int, int]:
    try:
        since, until = (to_tick(end, config.unit) for end in between)
    except (TypeError, ValueError) as error:
        raise QueryError(f"between: expected two ticks (from, to), got {between!r}") from error
    if until < since:
        raise QueryError(f"between: expected (from, to) with from <= to, got ({since}, {until})")
    begin = now - config.window
    if since < begin:
        raise QueryError(f"between: {since} lies before the window, which begins at {begin} (now {now})")
    return min(since, now), min(until, now)


def newest_asked(config: SketchConfig, now: int, last_arrivals: Any, total: Callable[[int], Estimate]) -> Asked:
    """The range that holds the newest `last_arrivals`. `total` counts all arrivals in the last so many ticks."""
    most = total(config.window)
    if not is_integer(last_arrivals) or not 0 <= (count := int(last_arrivals)) <= most.upper:
        raise QueryError(
            f"last_arrivals: expected 0 to {most.upper:.0f} (what the window holds), got {last_arrivals!r}"
        )
    if config.model == "count":
        since = after = now - count
    else:
        length = _shortest(count, config.window, total)
        since, after = now - length, now - max(length - 1, 0)
    return Asked(since, now, Newest(count, after, total(now - after), total(now - since)))


def _shortest(count: int, window: int, total: Callable[[int], Estimate]) -> int:
    """The shortest range, in ticks before now, that seems to hold `count` arrivals; the window if none does."""
    low, high = 0, window
    while low < high:
        middle = (low + high) // 2
        if total(middle).value >= count:
            high = middle
        else:
            low = middle + 1
    return low
