"""Events: recorded arrivals at many sites, cut into steps of time, and their exact frequencies in a sliding window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.monitor.functions import Vector
from ecmsketch.sketch import Item

Ints = NDArray[np.int64]


class Observed(NamedTuple):
    """What one site observes of one stream in one step."""

    site: str
    stream: str
    items: NDArray[Any]
    ticks: Ints
    weights: Ints


class Events:
    """Arrivals as columns: site and item of each, its tick, and if need be its weight and its stream; in any order."""

    def __init__(self, site: Any, item: Any, tick: Any, weight: Any = None, stream: Any = None) -> None:
        tick = np.asarray(tick, np.int64)
        order = np.argsort(tick, kind="stable")
        self.ticks: Ints = tick[order]
        self.items: NDArray[Any] = np.asarray(item)[order]
        self.weights: Ints = np.ones(len(order), np.int64) if weight is None else np.asarray(weight, np.int64)[order]
        self.site_names, self._sites = np.unique(np.asarray(site).astype(str)[order], return_inverse=True)
        streams = np.full(len(order), "") if stream is None else np.asarray(stream).astype(str)[order]
        self.stream_names, self._streams = np.unique(streams, return_inverse=True)
        if not len(order):
            raise InputError("events: expected at least one")

    def __len__(self) -> int:
        return len(self.ticks)

    def steps(self, every: int, until: int) -> Iterator[tuple[int, slice]]:
        """Ticks at which all sites are checked, and the events since the last one."""
        begin, tick = 0, int(self.ticks[0]) + every - 1
        while True:
            end = int(np.searchsorted(self.ticks, tick, side="right"))
            yield tick, slice(begin, end)
            if tick >= until:
                return
            begin, tick = end, tick + every

    def batches(self, where: slice) -> Iterator[Observed]:
        """Yields the events of a step, grouped by site and stream."""
        key = self._sites[where] * len(self.stream_names) + self._streams[where]
        order = np.argsort(key, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else ():
            site, stream = divmod(int(key[group[0]]), len(self.stream_names))
            names = str(self.site_names[site]), str(self.stream_names[stream])
            columns = (column[where][group] for column in (self.items, self.ticks, self.weights))
            yield Observed(*names, *columns)


class ExactWindow:
    """Exact frequencies over a sliding window of all sites' events together, each times `share`."""

    def __init__(self, events: Events, last: int, share: float = 1.0) -> None:
        self._events, self._last, self._share = events, last, share
        names, self._positions = np.unique(events.items, return_inverse=True)
        self._names: dict[Any, int] = {name: position for position, name in enumerate(names.tolist())}
        self._counts = {str(stream): np.zeros(len(names)) for stream in events.stream_names}
        self._begin = self._end = 0

    def move(self, now: int) -> None:
        """Let the window be the last ticks before `now`, never backwards."""
        ticks = self._events.ticks
        begin, end = (int(np.searchsorted(ticks, tick, side="right")) for tick in (now - self._last, now))
        self._add(slice(self._end, end), 1)
        self._add(slice(self._begin, begin), -1)
        self._begin, self._end = begin, end

    def of(self, item: Item, stream: str = "") -> float:
        position = self._names.get(item)
        return 0.0 if position is None else float(self.all(stream)[position])

    def all(self, stream: str = "") -> Vector:
        counts = self._counts.get(stream)
        return np.zeros(len(self._names)) if counts is None else counts * self._share

    def _add(self, where: slice, sign: int) -> None:
        events = self._events
        for number, stream in enumerate(events.stream_names):
            mine = events._streams[where] == number
            positions, weights = self._positions[where][mine], events.weights[where][mine]
            np.add.at(self._counts[str(stream)], positions, sign * weights)
