"""Partial sketches, as one worker makes them of events of many sites, in any order.

Events are gathered, put together by site, and fed to the site's pieces (site_pieces.py). Memory is bounded: when
sketches take too much, they are handed on early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ecmsketch.spark.cleaning import Events, Reasons, add_reasons
from ecmsketch.spark.gathered_rows import GatheredEvents
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.site_pieces import SitePieces, UnsortedPieces
from ecmsketch.spark.sorted_pieces import SortedPieces

GATHERED = 2**21
"""How many events are gathered before they are fed."""
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


class PartialSketches:
    """Takes events, gives partial sketches. `task` makes the names of sketches differ between workers."""

    def __init__(self, recipe: Recipe, task: int = 0) -> None:
        self._recipe, self._task = recipe, task
        self._kind: type[SitePieces] = UnsortedPieces if recipe.any_order else SortedPieces
        self._sites: dict[Any, SitePieces] = {}
        self._gathered = GatheredEvents(recipe)

    @property
    def nbytes(self) -> int:
        """Memory held by sketches."""
        return sum(piece.sketch.nbytes for site in self._sites.values() for piece in site.pieces)

    def add(self, events: Events) -> Iterator[Partial]:
        """Take some events. Gives the sketches that are handed on early, to save memory."""
        if self._gathered.add(events) >= GATHERED:
            self._feed(final=False)
            if self.nbytes > HELD_BYTES:
                yield from self._hand_on()

    def finish(self) -> Iterator[Partial]:
        """Feed what is left, and give all sketches that are."""
        self._feed(final=True)
        for site in self._sites.values():
            site.finish()
        yield from self._hand_on()

    def _feed(self, final: bool) -> None:
        """Feed what was gathered, by site."""
        for name, rows, reasons in self._gathered.take():
            if name not in self._sites:
                self._sites[name] = self._kind(self._recipe, f"{name}/{self._task}")
            add_reasons(self._sites[name].reasons, reasons)
            if rows is not None:
                self._sites[name].feed(rows, final)

    def _hand_on(self) -> Iterator[Partial]:
        for name, site in self._sites.items():
            pieces, reasons = site.take()
            for piece in pieces:
                yield Partial(name, piece.sketch.serialize(), piece.events, piece.first_tick, piece.last_tick, {})
            if reasons:
                nothing = None if name is None else self._recipe.new(f"{name}/{self._task}").serialize()
                yield Partial(name, nothing, 0, None, None, reasons)


def sketch_batches(
    batches: Iterator[Any], read: Callable[[Any], Events], recipe: Recipe, task: int
) -> Iterator[Partial]:
    """Partial sketches of a stream of batches; `read` makes events of a batch."""
    partials = PartialSketches(recipe, task)
    for batch in batches:
        yield from partials.add(read(batch))
    yield from partials.finish()
