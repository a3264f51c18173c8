"""A stream to measure: events in batches by time, with what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WINDOW = 1_000_000
"""Seconds, 11.5 days: the paper's window, for every stream."""
BATCH_EVENTS = 250_000


class Batch(NamedTuple):
    """Events in order of time: hashed items, ticks in seconds, and the numbers of their sites."""

    items: NDArray[np.uint64]
    ticks: NDArray[np.int64]
    sites: NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """Events that can be read again and again, a batch at a time: memory does not depend on how many there are."""

    name: str
    real: bool
    what: str
    """In words, without paths."""
    events: int
    first: int
    now: int
    """The tick of the last event: where every range ends."""
    sites: int
    """How many there are; 1 where events do not say."""
    batches: Callable[[], Iterator[Batch]]

    @property
    def label(self) -> str:
        """What no table or figure is shown without."""
        return "real" if self.real else "GENERATED"

    @property
    def ranges(self) -> list[int]:
        """10^1, 10^2, ... seconds up to the window, as in the paper; none that covers no more than the one before."""
        powers = [10**i for i in range(1, 7)]
        return [last for last in powers if last // 10 < max(self.now - self.first, 2)]


def in_batches(items: Any, ticks: Any, sites: Any) -> Callable[[], Iterator[Batch]]:
    """Arrays that are in memory anyway, as batches."""

    def batches() -> Iterator[Batch]:
        for begin in range(0, len(ticks), BATCH_EVENTS):
            part = slice(begin, begin + BATCH_EVENTS)
            yield Batch(items[part], ticks[part], sites[part])

    return batches


def of_arrays(name: str, real: bool, what: str, items: Any, ticks: Any, sites: Any = None) -> Stream:
    """A stream of arrays in order of time; items are hashed already."""
    places = np.zeros(len(ticks), np.int64) if sites is None else sites
    count = 1 if sites is None else len(np.unique(sites))
    return Stream(name, real, what, len(ticks), int(ticks[0]), int(ticks[-1]), count, in_batches(items, ticks, places))
