"""What plain synchronising takes: every site sends its change every so many checks, and needs no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ecmsketch.monitor.change_messages import make_change
from ecmsketch.monitor.functions import Vector
from ecmsketch.monitor.item_messages import ItemEntry, ItemReport
from ecmsketch.monitor.item_site import ItemSite
from ecmsketch.monitor.vector_site import VectorSite


class Cost(NamedTuple):
    """Messages and bytes sent."""

    messages: int
    bytes: int

    def plus(self, size: int) -> Cost:
        """With one message more."""
        return Cost(self.messages + 1, self.bytes + size)


def periods_up_to(most: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ...: the periods that are tried."""
    found = sorted({factor * 2**power for factor in (2, 3) for power in range(most.bit_length())} | {1})
    return [period for period in found if period <= most]


@dataclass
class Synchronising:
    """Counts what synchronising takes, for several periods at once, in the encoding that sites use for changes.

    all      by period in checks, if every site sends a message each time, also if nothing has changed
    changed  the same, if nothing is sent if nothing has changed
    """

    every: int
    most: int
    all: dict[int, Cost] = field(default_factory=dict)
    changed: dict[int, Cost] = field(default_factory=dict)
    _sent: dict[tuple[int, str], Vector | dict[int, int]] = field(default_factory=dict)
    _step: int = 0

    def step(self, sites: Mapping[str, VectorSite], tick: int) -> None:
        """Count what is sent at a check."""
        for period in periods_up_to(self.most):
            if self._step % period == 0:
                for name, site in sites.items():
                    self._send(period, name, site, tick)
        self._step += 1

    def _send(self, period: int, name: str, site: VectorSite, tick: int) -> None:
        number = self._step // period + 1
        before = self._sent.get((period, name))
        if isinstance(site, ItemSite):
            news = _items(site)
            size, same = _size_of_items(site, number, news, before if isinstance(before, dict) else {}), news == before
            self._sent[period, name] = news
        elif site.vector is not None:
            vector = site.vector
            base = before if isinstance(before, np.ndarray) else np.zeros_like(vector)
            size = len(
                make_change(name, number, tick if before is None else period * self.every, vector, base).encode()
            )
            same = before is not None and np.array_equal(vector, base)
            self._sent[period, name] = vector
        else:
            return
        self.all[period] = self.all.get(period, Cost(0, 0)).plus(size)
        if not same:
            self.changed[period] = self.changed.get(period, Cost(0, 0)).plus(size)


def _items(site: ItemSite) -> dict[int, int]:
    counts = site.counts
    return dict(zip(counts.keys.tolist(), counts.often.astype(np.int64).tolist(), strict=True))


def _size_of_items(site: ItemSite, number: int, news: dict[int, int], before: dict[int, int]) -> int:
    """The bytes of a report of the items whose counts are other than before."""
    keys = sorted(key for key in news.keys() | before.keys() if news.get(key) != before.get(key))
    entries = tuple(ItemEntry(key, site.counts.of(key)) for key in keys)
    return len(ItemReport(site.name, 1, number, 1, False, site.counts.arrivals, entries).encode())
