"""What the page shows of one version of a store, for a range and some sites: computed once, shared by all pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ecmsketch.serve.page.alarms import alarms
from ecmsketch.serve.page.busiest import Listing, busiest, change_words, changes, quantiles
from ecmsketch.serve.page.choice import Range, presets
from ecmsketch.serve.page.sure import sure
from ecmsketch.serve.page.totals import tiles
from ecmsketch.serve.page.wording import length_words
from ecmsketch.serve.store_view import StoreView


@dataclass(frozen=True)
class Screen:
    """Everything on the page that does not depend on an item."""

    asked: Range
    words: str
    """The range in words."""
    text: str
    """The same, short."""
    tiles: list[dict[str, Any]]
    presets: list[dict[str, object]]
    busiest: Listing
    risen: Listing
    fallen: Listing
    compared: str
    quantiles: Listing | None
    """None unless the store counts ordered numbers."""
    alarms: list[dict[str, str]]
    sure: list[dict[str, str]]

    def text_of(self, key: str) -> str | None:
        """The full text of an item in one of the lists."""
        for listing in (self.busiest, self.risen, self.fallen):
            if key in listing.items:
                return listing.items[key]
        return None


def make_screen(view: StoreView, asked: Range) -> Screen:
    """Ask everything that the page shows."""
    sketch, config = view.sketch(asked.sites), view.config
    noticed = alarms(view.alerts(), view.unit)
    return Screen(
        asked=asked,
        words=length_words(asked.last, config.unit, config.model),
        text=length_words(asked.last, config.unit, config.model, short=True),
        tiles=tiles(view, sketch, asked, noticed),
        presets=presets(config),
        busiest=busiest(sketch, asked.last),
        risen=changes(sketch, asked.last, "rise"),
        fallen=changes(sketch, asked.last, "fall"),
        compared=change_words(config, asked.last),
        quantiles=quantiles(sketch, asked.last) if view.kind == "PrefixSketch" else None,
        alarms=noticed.rows,
        sure=sure(view, sketch, asked),
    )
