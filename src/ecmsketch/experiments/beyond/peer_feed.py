"""The events that peers are fed: one per tick, in batches, and the exact counts to compare their answers with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.experiments.data.synthetic import zipf_items

POOL = 10_000_000
"""Events that are drawn. A longer stream has them again and again, so that its exact counts stay cheap."""
ASKED = 200
"""Items that are asked for: half of them the heaviest, the others drawn from the pool."""

Items = NDArray[np.uint64]


class Feed(NamedTuple):
    """A stream of `events` events, one per tick from 0 on, of which the last `window` count."""

    events: int
    window: int
    batch: int
    seed: int

    @property
    def now(self) -> int:
        """The last tick."""
        return self.events - 1

    @property
    def pool(self) -> Items:
        """The drawn events."""
        return zipf_items(min(self.events, POOL), self.seed)

    def batches(self) -> Iterator[tuple[Items, NDArray[np.int64]]]:
        """Items and ticks, in order."""
        pool = self.pool
        for begin in range(0, self.events, self.batch):
            end, place = min(begin + self.batch, self.events), begin % len(pool)
            items = pool[place : place + end - begin]
            if len(items) < end - begin:
                items = np.concatenate([items, pool[: end - begin - len(items)]])
            yield items, np.arange(begin, end)

    def asked(self) -> Items:
        """The items to ask for."""
        items, counts = np.unique(self.pool[:1_000_000], return_counts=True)
        heaviest = items[np.argsort(-counts, kind="stable")[: ASKED // 2]]
        return np.union1d(heaviest, np.random.default_rng(self.seed).choice(items, ASKED // 2))

    def exact(self, asked: Items, last: int) -> NDArray[np.int64]:
        """How often each item came in the last ticks; `asked` is in order."""
        return self._until(asked, self.events) - self._until(asked, self.events - last)

    def _until(self, asked: Items, events: int) -> NDArray[np.int64]:
        rounds, rest = divmod(events, len(self.pool))
        return rounds * _count(asked, self.pool) + _count(asked, self.pool[:rest])


def _count(asked: Items, items: Items) -> NDArray[np.int64]:
    places = np.searchsorted(asked, items)
    known = places < len(asked)
    same = asked[places[known]] == items[known]
    return np.bincount(places[known][same], minlength=len(asked)).astype(np.int64)


class Built(NamedTuple):
    """A peer that has counted a feed."""

    seconds: float
    memory: int | None
    """Bytes; None if they cannot be told."""
    ask: Callable[[int, int], float]
    """How often an item came in the last ticks."""
