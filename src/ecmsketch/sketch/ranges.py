"""Which ticks a question means: `last=`, `between=`, or the range that holds the newest `last_arrivals=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError, QueryError
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.ticks import Tick, to_span, to_tick
from ecmsketch.sketch import bounds

Interval = tuple[Tick, Tick]


class Asked(NamedTuple):
    """What a question is about: the range (since, until], or the newest arrivals in it."""

    since: int
    until: int
    newest: bounds.Newest | None = None

    @property
    def missing(self) -> float:
        """How many of the arrivals that are meant may lie outside the range."""
        return 0.0 if self.newest is None else self.newest.missing(self.newest.outer)

    def answer(self, find: Callable[[int, int], Estimates], lower_sure: bool, upper_sure: bool) -> Estimates:
        """Counts of what is meant. `find` counts in a range; its lower and upper bounds always hold, or probably do."""
        found = find(self.since, self.until)
        if self.newest is None:
            return found
        inner = found if self.newest.after == self.since else find(self.newest.after, self.until)
        return self.newest.combine(inner, found, lower_sure, upper_sure)


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
    return Asked(since, now, bounds.Newest(count, after, total(now - after), total(now - since)))


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
