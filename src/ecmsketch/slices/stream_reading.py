"""Reads slices and events over a range: counts of items and of cells, and all arrivals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import PrefixConfig, SketchConfig
from ecmsketch.counters.contract import Ints, Reading
from ecmsketch.estimate import Estimate
from ecmsketch.inputs.row_hashes import RowHashes, cells_of
from ecmsketch.slices.centring import Blocks
from ecmsketch.slices.range_view import CUT, Places, RangeView, build_view, find_places, read_points
from ecmsketch.slices.recent_events import RecentEvents
from ecmsketch.slices.table_pool import ARRIVALS, FIRST, LAST, TablePool

_MOST_VIEWS = 8
"""Ranges whose tables are remembered until the slices change."""
_MOST_PLACES = 1024
"""Ranges for which it is remembered what each slice is to them."""
_FEW_ITEMS = 4
"""So few items are looked for among the events one by one."""


class PointReading(NamedTuple):
    """What slices and events say of some items, over a range."""

    value: NDArray[np.float64]
    upper: NDArray[np.float64]
    exact: NDArray[np.float64]
    """What events say: it is part of the others, and has no error."""
    sure: NDArray[np.float64]
    """What tables say of slices that lie inside the range. Collisions are part of it."""
    arrivals: int
    """Arrivals of all items in those slices."""
    has_tables: bool


class _Cut(NamedTuple):
    """What the slices that a range cuts may add to a count: a share, within a slack of both ends, and a most."""

    shares: NDArray[np.float64]
    slack: NDArray[np.float64]
    most: NDArray[np.float64]


class StreamReading:
    """Adds questions to events and slices. What it computes on the way is remembered until they change."""

    config: SketchConfig
    rows: RowHashes
    levels: int
    events: RecentEvents
    pool: TablePool

    def _changed(self, slices: bool = True) -> None:
        """Forget what was computed from the state before."""
        self._sorted: dict[tuple[int, int], tuple[NDArray[np.uint64], Ints]] = {}
        if slices:
            self._places: dict[tuple[int, int], Places] = {}
            self._views: dict[bytes, RangeView] = {}

    @property
    def carried(self) -> float:
        """How sharply the start of a range is honoured now, merging included."""
        return self.config.epsilon_t * (self.levels + 1)

    @property
    def _counted(self) -> bool:
        """Whether ticks number arrivals."""
        return self.config.model == "count"

    def total(self, since: int, until: int) -> Estimate:
        """All arrivals in (since, until]; the bounds always hold."""
        places = self._find(since, until)
        lower = float(places.inside + self.events.arrivals(since, until, self._counted))
        if not places.cut:
            return Estimate(lower, lower, lower, 1.0)
        slots = np.flatnonzero(places.role == CUT)
        cut = self._cut(places, slots, since, until)
        sizes = self.pool.facts[slots, ARRIVALS].astype(np.float64)
        value = lower + float(np.clip(cut.shares * sizes, sizes - cut.slack, cut.slack).sum())
        return Estimate(value, lower, lower + float(np.minimum(sizes, cut.most).sum()), 1.0)

    def point(self, keys: NDArray[np.uint64], rows: RowHashes, block: int, since: int, until: int) -> PointReading:
        """How often some items came in (since, until], by one block of tables.

        Keys are items without the low bits that these rows drop.
        """
        drop = int(rows.drop[0])
        exact = self._exact(keys, drop, since, until)
        places = self._find(since, until)
        if not places.inside and not places.cut:
            return PointReading(exact, exact, exact, np.zeros(len(keys)), 0, False)
        view = self._view(places)
        cells = cells_of(keys << np.uint64(drop), rows)
        cut = self._cut(places, view.slots, since, until)
        sure, upper, value = read_points(view.tables, view.whole, cells, view.noise[:, block].copy(), *cut)
        return PointReading(value + exact, upper + exact, exact, sure, places.inside, True)

    def read(self, cells: NDArray[np.uint32], since: int, until: int) -> Reading:
        """What some cells hold over (since, until]; the bounds always hold."""
        places = self._find(since, until)
        found = self._events_by_cell(since, until)[cells]
        if not places.inside and not places.cut:
            return Reading(found, found, found)
        view = self._view(places)
        cut = self._cut(places, view.slots, since, until)
        lower = found + view.tables[: view.whole, cells].sum(axis=0)
        parts = view.tables[view.whole :, cells].astype(np.float64)
        low, high = parts - cut.slack[:, None], cut.slack[:, None]
        value = lower + np.clip(cut.shares[:, None] * parts, low, high).sum(axis=0)
        return Reading(value, lower, lower + np.minimum(parts, cut.most[:, None]).sum(axis=0))

    def _find(self, since: int, until: int) -> Places:
        if (since, until) not in self._places:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            self._places[since, until] = find_places(self.pool, since, until)
        return self._places[since, until]

    def _view(self, places: Places) -> RangeView:
        key = places.role.tobytes()
        if key not in self._views:
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            self._views[key] = build_view(self.pool, places, blocks_of(self.config), self.config.cells)
        return self._views[key]

    def _cut(self, places: Places, slots: NDArray[np.int64], since: int, until: int) -> _Cut:
        """What cut slices may add. The slack is such that all of them together err by at most carried (S + 1)."""
        shares = places.share[slots]
        if self.config.estimator == "half":
            shares = np.full(len(slots), 0.5)
        sizes = self.pool.facts[slots, ARRIVALS].astype(np.float64)
        later = places.later + self.events.arrivals(since, 2**62, self._counted)
        slack = sizes * max(0.5, self.carried * (later + 1) / max(places.cut, 1))
        most = sizes
        if self._counted:  # each tick is one arrival
            first, last = self.pool.facts[slots, FIRST], self.pool.facts[slots, LAST]
            most = np.minimum(sizes, np.minimum(last, until) - np.maximum(first - 1, since))
        return _Cut(shares, slack, most)

    def _exact(self, keys: NDArray[np.uint64], drop: int, since: int, until: int) -> NDArray[np.float64]:
        """How often items came among the events."""
        if not len(self.events):
            return np.zeros(len(keys))
        if not drop and len(keys) <= _FEW_ITEMS and (since, until) not in self._sorted:
            found = [self.events.count_item(int(key), since, until, self._counted) for key in keys]
            return np.array(found, np.float64)
        if (since, until) not in self._sorted:
            if len(self._sorted) >= _MOST_VIEWS:
                self._sorted.clear()
            order = np.argsort(self.events.items, kind="stable")
            running = np.cumsum(self.events.inside(since, until, self._counted)[order])
            self._sorted[since, until] = self.events.items[order], np.concatenate([[0], running])
        items, running = self._sorted[since, until]
        least = keys << np.uint64(drop)
        most = least | np.uint64((1 << drop) - 1)
        ends = running[np.searchsorted(items, most, side="right")]
        counts: NDArray[np.float64] = (ends - running[np.searchsorted(items, least)]).astype(np.float64)
        return counts

    def _events_by_cell(self, since: int, until: int) -> NDArray[np.float64]:
        counts = self.events.inside(since, until, self._counted)
        cells = cells_of(self.events.items, self.rows)
        weights = np.broadcast_to(counts, cells.shape)
        return np.bincount(cells.ravel(), weights.ravel(), minlength=self.config.cells).astype(np.float64)


def blocks_of(config: SketchConfig) -> Blocks:
    """The tables that the cells of a config consist of."""
    if isinstance(config, PrefixConfig):
        levels = config.levels
        parts = [(level.first_cell, level.rows, level.cells // level.rows, int(level.exact)) for level in levels]
    else:
        parts = [(0, config.depth, config.width, 0)]
    return Blocks(*(np.array(column, np.int64) for column in zip(*parts, strict=True)))
