"""Reads slices and events over a range: counts of items and of cells, and all arrivals."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import PrefixConfig, SketchConfig
from ecmsketch.config.budget import slices_carried_epsilon
from ecmsketch.counters.contract import Ints, Reading
from ecmsketch.estimate import Estimate, Estimates
from ecmsketch.inputs.row_hashes import RowHashes, cells_of
from ecmsketch.inputs.ticks import MAX_TICK
from ecmsketch.slices.centring import Blocks, likely_collision
from ecmsketch.slices.range_view import (
    Located,
    RangeView,
    build_view,
    cell_type,
    locate,
    read_point,
    read_points,
    table_parts,
)
from ecmsketch.slices.recent_events import RecentEvents
from ecmsketch.slices.step_reading import Steps, Weighed, read_steps, weigh_steps
from ecmsketch.slices.table_pool import ARRIVALS, SLICES, TablePool

Counts = tuple[NDArray[np.uint64], NDArray[np.float64]]
"""Items, and how often each came."""
Key = TypeVar("Key")
Known = TypeVar("Known")

_MOST_VIEWS = 16
"""Ranges whose tables are remembered until the slices change."""
_MOST_LOCATED = 1024
"""Ranges for which it is remembered what each slice is to them."""
_FEW_ITEMS = 4
"""So few items are looked for among the events one by one."""


_MOST_STEPS = 1024
"""Steps that are read at a time."""


class Prepared(NamedTuple):
    """A range, prepared for questions about items: what does not depend on the item."""

    tables: NDArray[Any]
    whole: int
    parts: NDArray[np.float64]
    likely: float
    confidence: float
    begin: int
    end: int
    """The events begin .. end - 1 are those in the range."""


class StreamReading:
    """Adds questions to events and slices. What it computes on the way is remembered until they change."""

    config: SketchConfig
    levels: int
    events: RecentEvents
    pool: TablePool
    _counted_slices = 0

    def _changed(self, slices: bool = True) -> None:
        """Forget what was computed from the state before."""
        self._order: NDArray[np.int64] | None = None
        self._sorted: dict[tuple[int, int], tuple[NDArray[np.uint64], Ints]] = {}
        self._located: dict[tuple[int, int], Located] = {}
        self._prepared: dict[tuple[int, int, int, float], Prepared] = {}
        if slices or self._counted_slices != self._slices:  # the oldest may have expired
            self._counted_slices = self._slices
            self._views: dict[bytes, RangeView] = {}
            self._likely: dict[tuple[bytes, int, float], float] = {}
            self._weighed: dict[tuple[int, int, int, float], Weighed] = {}
            self._noise: NDArray[np.float64] | None = None

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

    def point(
        self, keys: NDArray[np.uint64], rows: RowHashes, block: int, since: int, until: int, delta: float | None = None
    ) -> Estimates:
        """How often some items came in (since, until], by one block of tables. Upper bounds always hold.

        Keys are items without the low bits that these rows drop. A lower bound fails with probability `delta`, or that
        of the config. Where no tables are asked every answer is exact.
        """
        drop = rows.drop.item(0)
        exact = self._exact(keys, drop, since, until)
        found = self._prepare(since, until, block, delta)
        if not len(found.tables):
            return Estimates(exact, exact, exact, 1.0)
        cells = cells_of(keys << np.uint64(drop) if drop else keys, rows)
        value, lower, upper = read_points(found.tables, found.whole, found.parts, cells, exact, found.likely)
        return Estimates(value, lower, upper, found.confidence)

    def one_point(self, keys: NDArray[np.uint64], rows: RowHashes, since: int, until: int, delta: float) -> Estimate:
        """What `point` says about one item, in one call of a kernel."""
        if self._counted and len(self.events.weights):
            return self.point(keys, rows, 0, since, until, delta)[0]  # an event may lie in the range in part
        found = self._prepared.get((since, until, 0, delta)) or self._prepare(since, until, 0, delta)
        value, lower, upper = read_point(
            keys, rows, self.events.items, self.events.weights, found.begin, found.end, found.tables, found.whole,
            found.parts, found.likely,
        )  # fmt: skip
        return Estimate(value, lower, upper, found.confidence)

    def step_points(self, key: int, rows: RowHashes, since: int, length: int, steps: int, delta: float) -> Estimates:
        """How often an item came in each of some steps of equal length, the last of which ends now."""
        cells = cells_of(np.array([key], np.uint64), rows).ravel()
        exact, events = self.events.by_step(key, since, length, steps, self._counted)
        later = np.cumsum(events[::-1])[::-1].astype(np.int64)
        parts = []
        for begin in range(0, steps, _MOST_STEPS):
            end = min(begin + _MOST_STEPS, steps)
            starts = since + length * np.arange(begin, end, dtype=np.int64)
            some = Steps(
                starts, starts + length, later[begin:end], self.carried, self.config.estimator == "half", self._counted
            )
            ages, likely = self._weigh(some, delta)
            parts.append(
                read_steps(self.pool, self._slices, some, cells, exact[begin:end], self._noises(), ages, likely)
            )
        value, lower, upper = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Estimates(value, lower, upper, 1 - delta if self._slices else 1.0)

    def _weigh(self, steps: Steps, delta: float) -> Weighed:
        """What collisions add in some steps; remembered for the steps asked last."""
        key = (int(steps.since[0]), int(steps.until[0]), len(steps.since), delta)
        if key not in self._weighed:
            table: NDArray[Any] = np.zeros(self.config.cells, cell_type(self.pool))
            found = weigh_steps(self.pool, self._slices, steps, self._blocks, delta, self._noises(), table)
            _remember(self._weighed, key, Weighed(*found), _MOST_VIEWS)
        ages, likely = self._weighed[key]
        return Weighed(ages, likely if delta > 0 else np.full(len(likely), np.inf))

    def exact_counts(self, since: int, until: int) -> Counts | None:
        """Items, each once, and how often they came in (since, until], if no slice lies in it even in part."""
        found = self._locate(since, until)
        if found.inside or len(found.slots):
            return None
        inside = self.events.inside(since, until, self._counted)
        some = inside > 0
        items, where = np.unique(self.events.items[some], return_inverse=True)
        return items, np.bincount(where, inside[some], minlength=len(items)).astype(np.float64)

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

    @property
    def _slices(self) -> int:
        return self.pool.used.item(SLICES)

    def _locate(self, since: int, until: int) -> Located:
        if (since, until) not in self._located:
            events = self.events.arrivals(since, MAX_TICK, self._counted)
            located = Located(
                *locate(
                    self.pool.facts, self._slices, since, until, events, self.carried,
                    self.config.estimator == "half", self._counted,
                )
            )  # fmt: skip
            _remember(self._located, (since, until), located, _MOST_LOCATED)
        return self._located[since, until]

    def _view(self, found: Located) -> RangeView:
        key = found.role.tobytes()
        if key not in self._views:
            view = build_view(self.pool, found, self._blocks, self.config.cells, self._noises())
            _remember(self._views, key, view, _MOST_VIEWS)
        return self._views[key]

    def _noises(self) -> NDArray[np.float64]:
        """What collisions add in single slices and blocks, as far as that is known; nan where it is not."""
        if self._noise is None:
            self._noise = np.full((self._slices, len(self._blocks.first)), np.nan)
        return self._noise

    def _prepare(self, since: int, until: int, block: int, delta: float | None) -> Prepared:
        """What questions about items in a range have in common; remembered for the ranges asked last."""
        delta = 1 - self.config.confidence if delta is None else delta
        key = (since, until, block, delta)
        if key not in self._prepared:
            located = self._locate(since, until)
            view = self._view(located)
            exact = not view.whole or bool(self._blocks.exact[block])  # nothing collides in what is surely inside
            likely = 0.0 if exact else self._likely_collision(located, view, block, delta)
            prepared = Prepared(
                view.tables, view.whole, table_parts(view, located, block), likely, 1.0 if exact else 1 - delta,
                *self.events.between(since, until),
            )  # fmt: skip
            _remember(self._prepared, key, prepared, _MOST_VIEWS)
        return self._prepared[key]

    def _likely_collision(self, located: Located, view: RangeView, block: int, delta: float) -> float:
        """What an item's least collision in the slices inside a range exceeds with probability `delta` at most."""
        if delta <= 0:
            return float(np.inf)
        key = (located.role.tobytes(), block, delta)
        if key not in self._likely:
            likely = float(likely_collision(view.summed, self._blocks, block, delta))
            _remember(self._likely, key, likely, _MOST_LOCATED)
        return self._likely[key]

    def _exact(self, keys: NDArray[np.uint64], drop: int, since: int, until: int) -> NDArray[np.float64]:
        """How often items came among the events."""
        if not len(self.events):
            return np.zeros(len(keys))
        if not drop and len(keys) <= _FEW_ITEMS and (since, until) not in self._sorted:
            found = [self.events.count_item(key, since, until, self._counted) for key in keys]
            return np.array(found, np.float64)
        if (since, until) not in self._sorted:
            if self._order is None:
                self._order = np.argsort(self.events.items, kind="stable")
            running = np.cumsum(self.events.inside(since, until, self._counted)[self._order])
            by_item = self.events.items[self._order], np.concatenate([[0], running])
            _remember(self._sorted, (since, until), by_item, _MOST_VIEWS)
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


def _remember(known: dict[Key, Known], key: Key, found: Known, most: int) -> None:
    """Remember what was found, and forget what was found first if that is too much."""
    if len(known) >= most:
        del known[next(iter(known))]
    known[key] = found


def blocks_of(config: SketchConfig) -> Blocks:
    """The tables that the cells of a config consist of."""
    if isinstance(config, PrefixConfig):
        levels = config.levels
        parts = [(level.first_cell, level.rows, level.cells // level.rows, int(level.exact)) for level in levels]
    else:
        parts = [(0, config.depth, config.width, 0)]
    return Blocks(*(np.array(column, np.int64) for column in zip(*parts, strict=True)))
