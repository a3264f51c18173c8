"""Alert: what a coordinator noticed, about the watched value or, with AnyItem and AnyShare, about one item."""

from __future__ import annotations

from typing import Any, NamedTuple

MOST_SITES = 64
"""Sites that an alert lists: those that contribute most."""


class Contribution(NamedTuple):
    """How much one site adds to the value of an alert."""

    site: str
    value: float


class Alert(NamedTuple):
    """The combined value has changed its region, or is outside the calm one when watching begins.

    `previous` is None if watching begins in the calm region: nothing is wrong then. A monitor that starts above its
    threshold has crossed it, as far as anybody can tell, so `previous` is the calm region.

    Alerts about one item (AnyItem, AnyShare) also have

    item          the item; a long or odd one as text that is cut, with its hash
    value         how often it came at all sites together, by their sketches
    lower, upper  the item's true count is between them, as `EcmSketch.heavy_hitters` says it for each site
    share         its share of all arrivals (AnyShare only)
    sites         which sites contribute how much to the value, the largest first, at most 64 of them
    """

    tick: int
    region: int
    previous: int | None
    value: float
    epoch: int
    item: Any = None
    lower: float | None = None
    upper: float | None = None
    share: float | None = None
    sites: tuple[Contribution, ...] = ()
