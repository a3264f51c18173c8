"""What a worker does: events of many sites, in any order, into sketches that are each fed in order of time.

Events are gathered, sorted by site and time, and the older half of a site's is fed; the newer half waits for the
next, so that a stream that is nearly in order stays in order. What begins before the end of all of a site's sketches
goes into a further sketch of that site. Memory is bounded: when sketches take too much, they are handed on early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.prefix import PrefixSketch
from ecmsketch.sketch import EcmSketch
from ecmsketch.sorting import is_sorted, sort_by_tick
from ecmsketch.ticks import MAX_TICK, MIN_TICK

GATHERED = 2**20
"""Events gathered at most before they are fed."""
HELD_BYTES = 2**28
"""Of sketches that one worker holds at most."""

Ints = NDArray[np.int64]
Sketch = EcmSketch | PrefixSketch


class Recipe(NamedTuple):
    """What sketches to make. With `bits`, PrefixSketches."""

    config: SketchConfig
    bits: int | None = None
    radix: int = 16
    until: int | None = None
    """Events after this tick are rejected."""

    def new(self, site: str) -> Sketch:
        """An empty sketch; `site` tells apart the random draws of randomized waves."""
        if self.bits is None:
            return EcmSketch(self.config, site)
        return PrefixSketch(self.config, self.bits, self.radix, site)


class Events(NamedTuple):
    """Some events, as Arrow columns; no `sites` means that all are of one site, no `weights` that all are one."""

    items: Any
    """A column, or several whose rows are items."""
    ticks: Any
    sites: Any = None
    weights: Any = None
    malformed: int = 0
    """Rows that could not even be read."""


class Partial(NamedTuple):
    """A piece of one site's stream. Without events there is no sketch."""

    site: Any
    sketch: bytes | None
    events: int
    first_tick: int | None
    last_tick: int | None
    reasons: dict[str, int]


class _Lane:
    """One sketch in the making."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.events = 0
        self.first_tick = self.last_tick = 0

    def feed(self, items: Any, ticks: Ints, weights: Ints | None) -> None:
        self.sketch.update_many(items, ticks, weights)
        if not self.events:
            self.first_tick = int(ticks[0])
        self.last_tick = int(ticks[-1])
        self.events += len(ticks)


class _Site:
    """One site's sketches, and what waits to be fed."""

    def __init__(self) -> None:
        self.lanes: list[_Lane] = []
        self.made = 0
        self.waiting: list[tuple[Any, Ints, Ints | None]] = []
        self.reasons: dict[str, int] = {}


class PartialSketches:
    """Takes events, gives partial sketches. `task` makes the names of sketches differ between workers."""

    def __init__(self, recipe: Recipe, task: int = 0) -> None:
        self._recipe, self._task = recipe, task
        self._sites: dict[Any, _Site] = {}
        self._gathered = 0

    def add(self, events: Events) -> Iterator[Partial]:
        """Take some events; what is handed on early is given back."""
        self._reject(None, "malformed row", events.malformed)
        if not len(events.ticks):
            return
        clean = not any(True for _ in self._problems("", events))
        for site, rows in _by_site(events):
            self._take(site, rows if clean and site is not None else self._without_rejected(site, rows))
        if self._gathered >= GATHERED:
            self._feed(final=False)
            if sum(lane.sketch.nbytes for state in self._sites.values() for lane in state.lanes) > HELD_BYTES:
                yield from self._hand_on()

    def finish(self) -> Iterator[Partial]:
        """The rest."""
        self._feed(final=True)
        yield from self._hand_on()

    def _take(self, site: Any, rows: Events) -> None:
        if not len(rows.ticks):
            return
        weights = None if rows.weights is None else _numbers(rows.weights)
        self._state(site).waiting.append((_plain(rows.items), _numbers(rows.ticks), weights))
        self._gathered += len(rows.ticks)

    def _without_rejected(self, site: Any, rows: Events) -> Events:
        """Only the rows that can be counted; the others are counted as rejected."""
        keep: Any = None
        for reason, bad in self._problems(site, rows):
            if keep is not None:
                bad = pc.and_(bad, keep)
            count = pc.sum(bad).as_py() or 0
            if count:
                self._reject(site, reason, count)
                keep = pc.invert(bad) if keep is None else pc.and_(keep, pc.invert(bad))
        return rows if keep is None else _filter(rows, keep)

    def _problems(self, site: Any, rows: Events) -> Iterator[tuple[str, Any]]:
        """Reasons to reject rows, each with which rows; only those that occur are computed."""
        if site is None:
            yield "null site", pa.array(np.ones(len(rows.ticks), bool))
            return
        for column in _columns(rows.items):
            if column.null_count:
                yield "null item", column.is_null()
        if self._recipe.bits is not None:
            items = pc.fill_null(rows.items, 0)
            most = (1 << min(self._recipe.bits, 63)) - 1
            if len(items) and (pc.min(items).as_py() < 0 or pc.max(items).as_py() > most):
                yield "item outside the domain", pc.or_(pc.less(items, 0), pc.greater(items, most))
        for name, column in (("tick", rows.ticks), ("weight", rows.weights)):
            if column is not None and column.null_count:
                yield f"null {name}", column.is_null()
        low, high = _extremes(rows.ticks)
        if low < MIN_TICK or high > MAX_TICK:
            outside = pc.or_(pc.less(rows.ticks, MIN_TICK), pc.greater(rows.ticks, MAX_TICK))
            yield "tick out of range", pc.fill_null(outside, False)
        if self._recipe.until is not None and high > self._recipe.until:
            yield "tick in the future", pc.fill_null(pc.greater(rows.ticks, self._recipe.until), False)
        if rows.weights is not None and _extremes(rows.weights)[0] < 0:
            yield "negative weight", pc.fill_null(pc.less(rows.weights, 0), False)

    def _reject(self, site: Any, reason: str, count: int) -> None:
        if count:
            reasons = self._state(site).reasons
            reasons[reason] = reasons.get(reason, 0) + count

    def _state(self, site: Any) -> _Site:
        if site not in self._sites:
            self._sites[site] = _Site()
        return self._sites[site]

    def _feed(self, final: bool) -> None:
        self._gathered = 0
        for site, state in self._sites.items():
            if not state.waiting:
                continue
            items, ticks, weights = _in_order(state.waiting)
            count = len(ticks) if final else len(ticks) // 2
            state.waiting = [] if final else [_slice((items, ticks, weights), count, None)]
            if count:
                self._lane(site, state, int(ticks[0])).feed(*_slice((items, ticks, weights), 0, count))

    def _lane(self, site: Any, state: _Site, begin: int) -> _Lane:
        """The sketch that ends latest, but not after `begin`; else a new one."""
        open_lanes = [lane for lane in state.lanes if lane.last_tick <= begin]
        if not open_lanes:
            state.lanes.append(_Lane(self._recipe.new(f"{site}/{self._task}/{state.made}")))
            state.made += 1
            return state.lanes[-1]
        return max(open_lanes, key=lambda lane: lane.last_tick)

    def _hand_on(self) -> Iterator[Partial]:
        for site, state in self._sites.items():
            for lane in state.lanes:
                data = lane.sketch.serialize()
                yield Partial(site, data, lane.events, lane.first_tick, lane.last_tick, {})
            if state.reasons:
                nothing = None if site is None else self._recipe.new(f"{site}/{self._task}").serialize()
                yield Partial(site, nothing, 0, None, None, state.reasons)
            state.lanes, state.reasons = [], {}


def sketch_batches(
    batches: Iterator[Any], read: Callable[[Any], Events], recipe: Recipe, task: int
) -> Iterator[Partial]:
    """Partial sketches of a stream of batches; `read` makes events of a batch."""
    partials = PartialSketches(recipe, task)
    for batch in batches:
        yield from partials.add(read(batch))
    yield from partials.finish()


def _by_site(events: Events) -> Iterator[tuple[Any, Events]]:
    """The events of each site, in their order."""
    if events.sites is None:
        yield "all", events
        return
    encoded = _one_chunk(events.sites)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if len(names) == 1:
        yield names[0], events
        return
    order = np.arange(len(codes))
    if not is_sorted(codes):
        sort_by_tick(codes, order)
        events = _take_rows(events, order)
    bounds = np.searchsorted(codes, np.arange(len(names) + 1))
    for i, name in enumerate(names):
        begin, end = int(bounds[i]), int(bounds[i + 1])
        if begin < end:
            yield name, _slice_events(events, begin, end)


def _each(events: Events, change: Callable[[Any], Any]) -> Events:
    items = events.items
    changed = {name: change(column) for name, column in items.items()} if isinstance(items, dict) else change(items)
    weights = None if events.weights is None else change(events.weights)
    return Events(changed, change(events.ticks), None, weights)


def _filter(events: Events, keep: Any) -> Events:
    return _each(events, lambda column: column.filter(keep))


def _take_rows(events: Events, order: Ints) -> Events:
    def take(column: Any) -> Any:
        if pa.types.is_integer(column.type) and not column.null_count:
            return pa.array(_numbers(column)[order])
        return column.take(pa.array(order))

    return _each(events, take)


def _slice_events(events: Events, begin: int, end: int) -> Events:
    return _each(events, lambda column: column.slice(begin, end - begin))


def _in_order(waiting: list[tuple[Any, Ints, Ints | None]]) -> tuple[Any, Ints, Ints | None]:
    """Everything that waits, sorted by tick."""
    items = _join([part[0] for part in waiting])
    ticks = np.concatenate([part[1] for part in waiting])
    weights = None
    if waiting[0][2] is not None:
        weights = np.concatenate([part[2] for part in waiting if part[2] is not None])
    if is_sorted(ticks):
        return items, ticks, weights
    order = np.arange(len(ticks))
    sort_by_tick(ticks, order)
    return _pick(items, order), ticks, None if weights is None else weights[order]


def _plain(items: Any) -> Any:
    """Integers as numpy, other columns as they are."""
    if isinstance(items, dict):
        return {name: _plain(column) for name, column in items.items()}
    return _numbers(items) if pa.types.is_integer(items.type) else items


def _join(parts: list[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {name: _join([part[name] for part in parts]) for name in parts[0]}
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return pa.concat_arrays([_one_chunk(part) for part in parts]) if len(parts) > 1 else _one_chunk(parts[0])


def _pick(items: Any, order: Ints) -> Any:
    if isinstance(items, dict):
        return {name: _pick(column, order) for name, column in items.items()}
    return items[order] if isinstance(items, np.ndarray) else items.take(pa.array(order))


def _slice(rows: tuple[Any, Ints, Ints | None], begin: int, end: int | None) -> tuple[Any, Ints, Ints | None]:
    items, ticks, weights = rows
    part = {name: column[begin:end] for name, column in items.items()} if isinstance(items, dict) else items[begin:end]
    return part, ticks[begin:end], None if weights is None else weights[begin:end]


def _one_chunk(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _columns(items: Any) -> list[Any]:
    return list(items.values()) if isinstance(items, dict) else [items]


def _numbers(column: Any) -> Ints:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)


def _extremes(column: Any) -> tuple[int, int]:
    found = pc.min_max(column).as_py()
    return (0, 0) if found["min"] is None else (found["min"], found["max"])
