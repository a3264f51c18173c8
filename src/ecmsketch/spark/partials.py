"""Partial sketches, as one worker makes them: events of many sites, in any order, are fed in order of time.

Events are gathered, sorted by site and time, and fed. The newest eighth of a site's events waits for the next feeding,
so that a stream that is nearly in order stays in order. Events that begin before the end of all of a site's sketches go
into a further sketch of that site. Memory is bounded: when sketches take too much, they are handed on early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ecmsketch.spark.cleaning import Events, Reasons, Rows, add_reasons, feed
from ecmsketch.spark.gathered_rows import GatheredEvents
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import copied, in_order

GATHERED = 2**21
"""How many events are gathered before they are fed."""
WAITING = 8
"""The newest events of a site, one in eight, wait for the next feeding."""
HELD_BYTES = 2**28
"""Maximum bytes of sketches that one worker holds."""


class Partial(NamedTuple):
    """A piece of one site's stream. Without a site there is no sketch, without arrivals there are no ticks."""

    site: Any
    sketch: bytes | None
    events: int
    first_tick: int | None
    last_tick: int | None
    reasons: Reasons


class _Lane:
    """One sketch that is being built."""

    def __init__(self, recipe: Recipe, name: str) -> None:
        self._recipe = recipe
        self.sketch = recipe.new(name)
        self.events = 0
        self.first_tick: int | None = None
        self.last_tick: int | None = None

    def feed(self, rows: Rows) -> Reasons:
        return feed(self._count, rows)

    def _count(self, rows: Rows) -> None:
        self.sketch.update_many(self._recipe.items(rows.items), rows.ticks, rows.weights)
        self.events += len(rows.ticks)
        ticks = rows.arrival_ticks()
        if len(ticks):
            self.first_tick = int(ticks[0]) if self.first_tick is None else self.first_tick
            self.last_tick = int(ticks[-1])

    def ends_by(self, tick: int) -> bool:
        return self.last_tick is None or self.last_tick <= tick


class _Site:
    """One site's sketches, and its newest events, which wait for others that may come before them."""

    def __init__(self) -> None:
        self.lanes: list[_Lane] = []
        self.made = 0
        self.waiting: Rows | None = None
        self.reasons: Reasons = {}


class PartialSketches:
    """Takes events, gives partial sketches. `task` makes the names of sketches differ between workers."""

    def __init__(self, recipe: Recipe, task: int = 0) -> None:
        self._recipe, self._task = recipe, task
        self._sites: dict[Any, _Site] = {}
        self._gathered = GatheredEvents(recipe)

    def add(self, events: Events) -> Iterator[Partial]:
        """Take some events. Gives the sketches that are handed on early, to save memory."""
        if self._gathered.add(events) >= GATHERED:
            self._feed(final=False)
            if sum(lane.sketch.nbytes for state in self._sites.values() for lane in state.lanes) > HELD_BYTES:
                yield from self._hand_on()

    def finish(self) -> Iterator[Partial]:
        """Feed what is left, and give all sketches that are."""
        self._feed(final=True)
        yield from self._hand_on()

    def _state(self, site: Any) -> _Site:
        if site not in self._sites:
            self._sites[site] = _Site()
        return self._sites[site]

    def _feed(self, final: bool) -> None:
        """Feed what was gathered, by site and in order of time; the newest events of each site may wait."""
        for site, rows, reasons in self._gathered.take():
            add_reasons(self._state(site).reasons, reasons)
            if rows is not None:
                self._feed_site(site, rows, final)
        for site, state in self._sites.items():
            if final and state.waiting is not None:
                self._feed_site(site, None, final)

    def _feed_site(self, site: Any, rows: Rows | None, final: bool) -> None:
        state = self._state(site)
        rows = in_order([part for part in (state.waiting, rows) if part is not None])
        total = len(rows.ticks)
        count = total if final else total - total // WAITING
        state.waiting = None if final else rows.part(count, total).each(copied)
        if count:
            lane = self._lane(site, state, int(rows.ticks[0]))
            add_reasons(state.reasons, lane.feed(rows.part(0, count)))

    def _lane(self, site: Any, state: _Site, begin: int) -> _Lane:
        """The sketch that ends latest but not after `begin`, or a new one if there is none."""
        open_lanes = [lane for lane in state.lanes if lane.ends_by(begin)]
        if not open_lanes:
            state.lanes.append(_Lane(self._recipe, f"{site}/{self._task}/{state.made}"))
            state.made += 1
            return state.lanes[-1]
        return max(open_lanes, key=lambda lane: (lane.last_tick is not None, lane.last_tick))

    def _hand_on(self) -> Iterator[Partial]:
        for site, state in self._sites.items():
            for lane in state.lanes:
                data = lane.sketch.serialize()
                yield Partial(site, data, lane.events, lane.first_tick, lane.last_tick, {})
            if state.reasons:
                nothing = None if site is None else self._recipe.new(f"{site}/{self._task}").serialize()
                yield Partial(site, nothing, 0, None, None, state.reasons)
            state.lanes, state.reasons = [], {}


def sketch_batches(
    batches: Iterator[Any], read: Callable[[Any], Events], recipe: Recipe, task: int
) -> Iterator[Partial]:
    """Partial sketches of a stream of batches; `read` makes events of a batch."""
    partials = PartialSketches(recipe, task)
    for batch in batches:
        yield from partials.add(read(batch))
    yield from partials.finish()
