"""A stream to measure: events in batches ordered by time, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WINDOW = 1_000_000
"""Seconds, 11.5 days: the paper's window, used for every stream."""
BATCH_EVENTS = 250_000


class StreamBatch(NamedTuple):
    """Events in order of time: hashed items, ticks in seconds, and site numbers."""

    items: NDArray[np.uint64]
    ticks: NDArray[np.int64]
    sites: NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """Events that can be read many times, one batch at a time. Memory does not depend on the number of events."""

    name: str
    real: bool
    what: str
    """A description in words, without paths."""
    events: int
    first: int
    now: int
    """The tick of the last event: every range ends here."""
    sites: int
    """The number of sites; 1 if events do not name their site."""
    batches: Callable[[], Iterator[StreamBatch]]
    skip_to: Callable[[int], Iterator[StreamBatch]] | None = None
    """The batches from a tick on, if the stream can leave out earlier ones without making or reading them."""

    def batches_from(self, tick: int) -> Iterator[StreamBatch]:
        """The batches that hold the events from a tick on; earlier ones are left out if that saves time."""
        return self.batches() if self.skip_to is None else self.skip_to(tick)

    @property
    def label(self) -> str:
        """Real or GENERATED; every table and figure shows it."""
        return "real" if self.real else "GENERATED"

    @property
    def ranges(self) -> list[int]:
        """10, 100, ... seconds up to the window, as in the paper, without ranges that would cover no more events."""
        powers = [10**i for i in range(1, 7)]
        return [last for last in powers if last // 10 < max(self.now - self.first, 2)]


def in_batches(items: Any, ticks: Any, sites: Any) -> Callable[[], Iterator[StreamBatch]]:
    """Arrays that are already in memory, as batches."""

    def batches() -> Iterator[StreamBatch]:
        for begin in range(0, len(ticks), BATCH_EVENTS):
            part = slice(begin, begin + BATCH_EVENTS)
            yield StreamBatch(items[part], ticks[part], sites[part])

    return batches


def stream_of_arrays(name: str, real: bool, what: str, items: Any, ticks: Any, sites: Any = None) -> Stream:
    """A stream of arrays that are ordered by time; items are already hashed."""
    places = np.zeros(len(ticks), np.int64) if sites is None else sites
    count = 1 if sites is None else len(np.unique(sites))
    return Stream(name, real, what, len(ticks), int(ticks[0]), int(ticks[-1]), count, in_batches(items, ticks, places))


def newest_events(stream: Stream, most: int) -> StreamBatch:
    """The last `most` events of a stream."""
    kept: list[StreamBatch] = []
    for batch in stream.batches():
        kept.append(batch)
        while sum(len(part.ticks) for part in kept[1:]) >= most:
            kept.pop(0)
    return StreamBatch(*(np.concatenate(column)[-most:] for column in zip(*kept, strict=True)))
