"""What a coordinator knows of one item, and how it shares out limits so that no crossing can be missed.

An item is below while the most that it can be at all sites together is below the threshold, and above while the least
that it can be is not. Values are multiples of a small quantum, so that sums are exact (docs/monitoring.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, fsum, inf
from typing import Any, NamedTuple

from ecmsketch.monitor.any_item import QUANTUM, Counted, ItemFunction
from ecmsketch.monitor.item_messages import Limits

BELOW, ABOVE = 0, 1


@dataclass
class Standing:
    """The newest report of an item by one site; while it is `open`, the site waits for new limits."""

    number: int
    tick: int
    counted: Counted
    arrivals: int
    limits: Limits
    open: bool = True

    def value(self, phi: float) -> float:
        """What the site adds to the item's value."""
        return self.counted.often - phi * self.arrivals


@dataclass
class KnownItem:
    """An item that some site has spoken of. Sites without an entry have the limit that is for all items."""

    key: int
    name: Any = None
    region: int = BELOW
    standings: dict[str, Standing] = field(default_factory=dict)

    @property
    def open(self) -> dict[str, Standing]:
        """The sites that wait for new limits."""
        return {site: standing for site, standing in self.standings.items() if standing.open}


class Rules(NamedTuple):
    """What holds for all items in an epoch: the function, the number of sites, and the limit of unknown items."""

    function: ItemFunction
    sites: int
    limit: float

    def most(self, item: KnownItem) -> float:
        """The most that an item can be at all sites together, if those that wait are as they reported."""
        return self._bound(item, 1, self.limit)

    def least(self, item: KnownItem) -> float:
        """The least that it can be."""
        return self._bound(item, 0, self.function.least())

    def _bound(self, item: KnownItem, side: int, unknown: float) -> float:
        silent = self.sites - len(item.standings)
        phi = self.function.phi
        each = (known.value(phi) if known.open else known.limits[side] for known in item.standings.values())
        return fsum((*each, silent * unknown if silent else 0.0))


class Verdict(NamedTuple):
    """The region of an item, and new limits for the sites that wait."""

    region: int
    limits: dict[str, Limits]


def judge(item: KnownItem, rules: Rules) -> Verdict | None:
    """Where an item is, if that is known and leaves the sites room to be silent; None if more sites must be asked."""
    theta, waiting = rules.function.theta, item.open
    complete = len(waiting) == rules.sites
    region = item.region
    if complete:
        region = ABOVE if rules.least(item) >= theta else BELOW
    room = rules.least(item) - theta if region == ABOVE else theta - rules.most(item)
    holds = room >= 0 if region == ABOVE else room > 0
    if not complete and (not holds or room < 2 * len(waiting)):  # each would get less than 1
        return None
    share = _share_above if region == ABOVE else _share_below
    return Verdict(region, share(waiting, room, rules))


def is_certain(item: KnownItem, rules: Rules) -> bool:
    """Whether the item has surely left its region, so that all sites will be asked anyway."""
    theta = rules.function.theta
    return rules.least(item) >= theta if item.region == BELOW else rules.most(item) < theta


def _share_below(waiting: dict[str, Standing], room: float, rules: Rules) -> dict[str, Limits]:
    """Half of the room at most: the other half is for whoever asks next. A site gets what lets its count double."""
    found = {}
    for site, known in waiting.items():
        gift = min(room / 2 / len(waiting), max(known.counted.often, room / rules.sites))
        found[site] = Limits(-inf, _at_most(known.value(rules.function.phi), gift))
    return found


def _share_above(waiting: dict[str, Standing], room: float, rules: Rules) -> dict[str, Limits]:
    """Half of the room, in proportion to the counts, since large ones fall the most."""
    total = sum(known.counted.often for known in waiting.values())
    found = {}
    for site, known in waiting.items():
        part = known.counted.often / total if total else 1 / len(waiting)
        found[site] = Limits(-_at_most(-known.value(rules.function.phi), room / 2 * part), inf)
    return found


def _at_most(value: float, gift: float) -> float:
    """A limit from the value to the value and the gift: a whole number if there is one, else a multiple of quanta."""
    whole = floor(value + gift)
    return float(whole) if whole >= value else floor((value + gift) / QUANTUM) * QUANTUM


def slack(item: KnownItem, site: str, arrivals: int, rules: Rules) -> float:
    """How much room for silence a site may have: those with the most are asked first."""
    known, phi = item.standings.get(site), rules.function.phi
    if known is None:
        return 0.0 if item.region == ABOVE else rules.limit + phi * arrivals
    value = known.value(phi)
    return value - known.limits.low if item.region == ABOVE else known.limits.high - value


def bounds_of(item: KnownItem) -> tuple[float, float]:
    """The bounds of an item's count over the sites that reported it."""
    each = [known.counted for known in item.standings.values()]
    return float(sum(one.lower for one in each)), float(ceil(sum(one.upper for one in each)))
