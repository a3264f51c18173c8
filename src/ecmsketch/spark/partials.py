"""Partial sketches, as one worker makes them of events of many sites, in any order.

Events are gathered, put together by site, and fed to the site's pieces (site_pieces.py). Sites with few events have no
pieces: their events are kept, and sent on as they are (sent_events.py). Memory is bounded: when sketches or events
take too much, they are handed on early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ecmsketch.spark.cleaning import Events, Reasons, Rows, add_reasons
from ecmsketch.spark.gathered_rows import GatheredEvents, Grouped
from ecmsketch.spark.recipe import Recipe
from ecmsketch.spark.row_order import copied
from ecmsketch.spark.sent_events import Layout, SmallSites, fits
from ecmsketch.spark.site_pieces import SitePieces, UnsortedPieces
from ecmsketch.spark.sorted_pieces import SortedPieces

GATHERED = 2**21
"""How many events are gathered before they are fed."""
HELD_BYTES = 2**28
"""Maximum bytes of sketches that one worker holds."""
SMALL = 1024
"""A site with fewer events than this is small: in a sketch of slices they would still be events."""
_MANY_REASONS = 2**16
"""Sites whose rejected rows are counted before these counts are handed on."""
_PIECES = 20
"""Bits in which the pieces of a site are numbered between two times that everything is handed on."""


class Partial(NamedTuple):
    """A piece of one site's stream, or why some of its rows were rejected. Without arrivals there are no ticks."""

    site: Any
    part: int
    sketch: bytes | None
    events: int
    first_tick: int | None
    last_tick: int | None
    reasons: Reasons


class PartialEvents(NamedTuple):
    """Events of small sites."""

    part: int
    sites: SmallSites


Part = Partial | PartialEvents


class PartialSketches:
    """Takes events, gives partial sketches. `task` makes the names of sketches differ between workers.

    With a layout, events of small sites are given as events. Without, every site gets a sketch.
    """

    def __init__(self, recipe: Recipe, task: int = 0, layout: Layout | None = None) -> None:
        self._recipe, self._task, self._layout = recipe, task, layout
        self._kind: type[SitePieces] = UnsortedPieces if recipe.any_order else SortedPieces
        self._sites: dict[Any, SitePieces] = {}
        self._reasons: dict[Any, Reasons] = {}
        self._gathered = GatheredEvents(recipe)
        self._first = 0
        self.nbytes = 0
        """Memory held by sketches."""

    def add(self, events: Events) -> Iterator[Part]:
        """Take some events. Gives what is handed on early, to save memory."""
        if self._gathered.add(events) >= GATHERED:
            yield from self._feed(final=False)

    def finish(self) -> Iterator[Part]:
        """Feed what is left, and give all that is held."""
        yield from self._feed(final=True)
        yield from self._hand_on(final=True)

    def _feed(self, final: bool) -> Iterator[Part]:
        """Feed what was gathered, by site. Memory is looked at after every site."""
        grouped, rejected = self._gathered.group()
        for name, reasons in rejected.items():
            add_reasons(self._reasons.setdefault(name, {}), reasons)
        if grouped is not None:
            small, large = self._divide(grouped)
            for name, rows in large.by_site():
                self._feed_site(name, rows, final)
                if self.nbytes > HELD_BYTES:
                    yield from self._hand_on()
            if small is not None:
                yield from self._keep(small, final)
        if len(self._reasons) > _MANY_REASONS:
            yield from self._hand_on()

    def _feed_site(self, name: Any, rows: Rows, final: bool) -> None:
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = self._kind(self._recipe, f"{name}/{self._task}", self._first)
        before = site.nbytes
        site.feed(rows, final)
        self.nbytes += site.nbytes - before

    def _divide(self, grouped: Grouped) -> tuple[Grouped | None, Grouped]:
        """The rows of small sites, which have no sketch here, and those of the others."""
        if self._layout is None or not fits(grouped.rows, self._layout):
            return None, grouped
        small = grouped.counts < SMALL
        if self._sites:
            small &= ~pc.is_in(grouped.names, pa.array(list(self._sites), grouped.names.type)).to_numpy(
                zero_copy_only=False
            )
        return (grouped.only(small) if small.any() else None), grouped.only(~small)

    def _keep(self, small: Grouped, final: bool) -> Iterator[Part]:
        """Keep the events of small sites, which may grow, unless there are too many of them."""
        if final or len(small.rows.ticks) > GATHERED:
            sites = SmallSites(small.names, np.cumsum(small.counts), small.rows.each(copied))
            yield PartialEvents(self._part(self._first), sites)
            self._first += 1 << _PIECES
        else:
            self._gathered.put_back(small)

    def _hand_on(self, final: bool = False) -> Iterator[Part]:
        """All sketches, and why rows were rejected. Events that wait stay, unless no more come or they are too many."""
        if final or sum(site.waiting for site in self._sites.values()) > HELD_BYTES // 2:
            for site in self._sites.values():
                site.finish()
        rejected, self._reasons = self._reasons, {}
        for name, site in self._sites.items():
            pieces, reasons = site.take()
            add_reasons(rejected.setdefault(name, {}), reasons)
            for number, piece in enumerate(pieces, self._first):
                ticks = piece.first_tick, piece.last_tick
                yield Partial(name, self._part(number), piece.sketch.serialize(), piece.events, *ticks, {})
        for name, reasons in rejected.items():
            if reasons:
                yield Partial(name, self._part(self._first), None, 0, None, None, reasons)
        self._sites = {name: site for name, site in self._sites.items() if site.waiting}
        self.nbytes = sum(site.nbytes for site in self._sites.values())
        self._first += 1 << _PIECES

    def _part(self, number: int) -> int:
        """A number by which the parts of a site are put in order: by task, and then as they were made."""
        return self._task << 40 | number


def name_of(site: Any, part: int) -> str:
    """The name of a sketch that is made of a part's events."""
    return f"{site}/{part >> 40}/{part & ((1 << 40) - 1)}"


def sketch_batches(
    batches: Iterator[Any], read: Callable[[Any], Events], recipe: Recipe, task: int, layout: Layout | None = None
) -> Iterator[Part]:
    """Partial sketches of a stream of batches; `read` makes events of a batch."""
    partials = PartialSketches(recipe, task, layout)
    for batch in batches:
        yield from partials.add(read(batch))
    yield from partials.finish()
