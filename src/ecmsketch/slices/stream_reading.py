"""Reads slices and events over a range: counts of items and of cells, and all arrivals."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import PrefixConfig, SketchConfig
from ecmsketch.config.budget import slices_carried_epsilon
from ecmsketch.counters.contract import Ints, Reading
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.inputs.row_hashes import RowHashes, cells_of
from ecmsketch.inputs.ticks import MAX_TICK
from ecmsketch.slices.centring import Blocks
from ecmsketch.slices.range_view import Located, RangeView, build_view, locate, read_points, view_cells
from ecmsketch.slices.recent_events import RecentEvents
from ecmsketch.slices.table_pool import ARRIVALS, SLICES, TablePool

_MOST_VIEWS = 8
"""Ranges whose tables are remembered until the slices change."""
_MOST_LOCATED = 1024
"""Ranges for which it is remembered what each slice is to them."""
_FEW_ITEMS = 4
"""So few items are looked for among the events one by one."""


class StreamReading:
    """Adds questions to events and slices. What it computes on the way is remembered until they change."""

    config: SketchConfig
    levels: int
    events: RecentEvents
    pool: TablePool

    def _changed(self, slices: bool = True) -> None:
        """Forget what was computed from the state before."""
        self._sorted: dict[tuple[int, int], tuple[NDArray[np.uint64], Ints]] = {}
        self._located: dict[tuple[int, int], Located] = {}
        if slices:
            self._views: dict[bytes, RangeView] = {}
            self._noise: dict[int, Any] = {}

    @property
    def carried(self) -> float:
        """How sharply the start of a range is honoured now, merging included."""
        return slices_carried_epsilon(self.config.epsilon_t, self.levels)

    @property
    def _counted(self) -> bool:
        """Whether ticks number arrivals."""
        return self.config.model == "count"

    def total(self, since: int, until: int) -> Estimate:
        """All arrivals in (since, until]; the bounds always hold."""
        found = self._locate(since, until)
        lower = float(found.inside + self.events.arrivals(since, until, self._counted))
        if not len(found.slots):
            return Estimate(lower, lower, lower, 1.0)
        sizes = self.pool.facts[found.slots, ARRIVALS].astype(np.float64)
        value = lower + float(np.clip(found.shares * sizes, sizes - found.slack, found.slack).sum())
        upper = lower + float(found.most.sum())
        return Estimate(min(value, upper), lower, upper, 1.0)

    def point(self, keys: NDArray[np.uint64], rows: RowHashes, block: int, since: int, until: int) -> Estimates:
        """How often some items came in (since, until], by one block of tables. Upper bounds always hold.

        Keys are items without the low bits that these rows drop. Where no tables are asked every answer is exact.
        """
        drop = rows.drop.item(0)
        exact = self._exact(keys, drop, since, until)
        found = self._locate(since, until)
        if not found.inside and not len(found.slots):
            return Estimates(exact, exact, exact, 1.0)
        cells = cells_of(keys << np.uint64(drop) if drop else keys, rows)
        view = None
        if len(keys) <= _FEW_ITEMS and found.role.tobytes() not in self._views:
            view = view_cells(self.pool, found, self._blocks, cells, self._noise)
        if view is None:
            view = self._view(found)
        else:
            cells = np.arange(cells.size, dtype=np.uint32).reshape(cells.shape)
        collides = len(rows.low) > 1 or not self._blocks.exact[block]
        value, lower, upper = read_points(
            view.tables, view.whole, cells, view.noise[:, block], found.shares, found.slack, found.most, exact,
            found.inside, np.e / rows.width.item(0) if collides else 0.0,
        )  # fmt: skip
        return Estimates(value, lower, upper, self.config.confidence if collides else 1.0)

    def read(self, cells: NDArray[np.uint32], since: int, until: int) -> Reading:
        """What some cells hold over (since, until]; the bounds always hold."""
        found = self._locate(since, until)
        events = self._events_by_cell(since, until)[cells]
        if not found.inside and not len(found.slots):
            return Reading(events, events, events)
        view = self._view(found)
        lower = events + view.tables[: view.whole, cells].sum(axis=0)
        parts = view.tables[view.whole :, cells].astype(np.float64)
        slack, most = found.slack[:, None], np.minimum(parts, found.most[:, None])
        value = lower + np.minimum(np.clip(found.shares[:, None] * parts, parts - slack, slack), most).sum(axis=0)
        return Reading(value, lower, lower + most.sum(axis=0))

    @cached_property
    def _blocks(self) -> Blocks:
        return blocks_of(self.config)

    def _locate(self, since: int, until: int) -> Located:
        if (since, until) not in self._located:
            if len(self._located) >= _MOST_LOCATED:
                self._located.clear()
            events = self.events.arrivals(since, MAX_TICK, self._counted)
            self._located[since, until] = Located(
                *locate(
                    self.pool.facts, self.pool.used.item(SLICES), since, until, events, self.carried,
                    self.config.estimator == "half", self._counted,
                )
            )  # fmt: skip
        return self._located[since, until]

    def _view(self, found: Located) -> RangeView:
        key = found.role.tobytes()
        if key not in self._views:
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            self._views[key] = build_view(self.pool, found, self._blocks, self.config.cells, self._noise)
        return self._views[key]

    def _exact(self, keys: NDArray[np.uint64], drop: int, since: int, until: int) -> NDArray[np.float64]:
        """How often items came among the events."""
        if not len(self.events):
            return np.zeros(len(keys))
        if not drop and len(keys) <= _FEW_ITEMS and (since, until) not in self._sorted:
            found = [self.events.count_item(key, since, until, self._counted) for key in keys]
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
        cells = cells_of(self.events.items, self.config.row_hashes())
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
