"""What a worker does: events of many sites, in any order, into sketches that are each fed in order of time.

Events are gathered, sorted by site and time, and fed; the newest eighth of a site's waits for the next, so that a
stream that is nearly in order stays in order. What begins before the end of all of a site's sketches
goes into a further sketch of that site. Memory is bounded: when sketches take too much, they are handed on early.
"""

from __future__ import annotations

from collections import Counter
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
from ecmsketch.spark.grouping import number_sites, scatter, tally
from ecmsketch.ticks import MAX_TICK, MIN_TICK

GATHERED = 2**21
"""Events gathered before they are fed."""
WAITING = 8
"""One in so many of a site's events, the newest, waits for the next feeding."""
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


class Rows(NamedTuple):
    """Events that can be counted: integers as numpy arrays, texts as Arrow columns; several item columns as a dict."""

    items: Any
    ticks: Ints
    weights: Ints | None

    def each(self, change: Callable[[Any], Any]) -> Rows:
        """Every column changed in the same way."""
        items = self.items
        changed = {name: change(column) for name, column in items.items()} if isinstance(items, dict) else change(items)
        return Rows(changed, change(self.ticks), None if self.weights is None else change(self.weights))

    def part(self, begin: int, end: int) -> Rows:
        """Some consecutive rows."""
        return self.each(lambda column: column[begin:end])


class _Lane:
    """One sketch in the making."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.events = 0
        self.first_tick = self.last_tick = 0

    def feed(self, rows: Rows) -> None:
        self.sketch.update_many(*rows)
        if not self.events:
            self.first_tick = int(rows.ticks[0])
        self.last_tick = int(rows.ticks[-1])
        self.events += len(rows.ticks)


class _Site:
    """One site's sketches, and its newest events, which wait for others that may come before them."""

    def __init__(self) -> None:
        self.lanes: list[_Lane] = []
        self.made = 0
        self.waiting: Rows | None = None
        self.reasons: dict[str, int] = {}


class PartialSketches:
    """Takes events, gives partial sketches. `task` makes the names of sketches differ between workers."""

    def __init__(self, recipe: Recipe, task: int = 0) -> None:
        self._recipe, self._task = recipe, task
        self._sites: dict[Any, _Site] = {}
        self._gathered: list[tuple[Any, Rows]] = []
        self._count = 0
        self._sorter = _Sorter()

    def add(self, events: Events) -> Iterator[Partial]:
        """Take some events; what is handed on early is given back."""
        if self.gather(events) >= GATHERED:
            self._feed(final=False)
            if sum(lane.sketch.nbytes for state in self._sites.values() for lane in state.lanes) > HELD_BYTES:
                yield from self._hand_on()

    def gather(self, events: Events) -> int:
        """Take some events, and feed none yet; how many are waiting now."""
        self._reject(None, "malformed row", events.malformed)
        clean = self._without_rejected(events)
        if len(clean.ticks):
            weights = None if clean.weights is None else _numbers(clean.weights)
            self._gathered.append((clean.sites, Rows(_plain(clean.items), _numbers(clean.ticks), weights)))
            self._count += len(clean.ticks)
        return self._count

    def packed(self) -> Iterator[tuple[Any, Rows | None, dict[str, int]]]:
        """What was gathered, by site: rows that can be counted, good until more is packed, and why others cannot."""
        for site, rows in self._sorter.by_site(self._gathered):
            yield site, rows, self._sites.pop(site, _Site()).reasons
        for site, state in self._sites.items():
            yield site, None, state.reasons
        self._sites, self._gathered, self._count = {}, [], 0

    @staticmethod
    def ordered(batches: list[Rows]) -> list[Rows]:
        """All of them as one batch in order of time, if there are any."""
        return [_in_order(batches)] if batches else []

    def finish(self) -> Iterator[Partial]:
        """The rest."""
        self._feed(final=True)
        yield from self._hand_on()

    def _without_rejected(self, events: Events) -> Events:
        """Only the rows that can be counted; the others are counted as rejected, site by site."""
        keep: Any = None
        for reason, bad in self._problems(events):
            if keep is not None:
                bad = pc.and_(bad, keep)
            if not pc.any(bad).as_py():
                continue
            sites = ["all"] if events.sites is None else events.sites.filter(bad).to_pylist()
            counts = Counter(sites) if events.sites is not None else Counter({"all": pc.sum(bad).as_py()})
            for site, count in counts.items():
                self._reject(site, reason, count)
            keep = pc.invert(bad) if keep is None else pc.and_(keep, pc.invert(bad))
        return events if keep is None else _filter(events, keep)

    def _problems(self, events: Events) -> Iterator[tuple[str, Any]]:
        """Reasons to reject rows, each with which rows; only those that occur are computed."""
        if not len(events.ticks):
            return
        if events.sites is not None and events.sites.null_count:
            yield "null site", events.sites.is_null()
        for column in _columns(events.items):
            if column.null_count:
                yield "null item", column.is_null()
        if self._recipe.bits is not None:
            low, high = _extremes(events.items)
            most = (1 << min(self._recipe.bits, 63)) - 1
            if low < 0 or high > most:
                outside = pc.or_(pc.less(events.items, 0), pc.greater(events.items, most))
                yield "item outside the domain", pc.fill_null(outside, False)
        for name, column in (("tick", events.ticks), ("weight", events.weights)):
            if column is not None and column.null_count:
                yield f"null {name}", column.is_null()
        low, high = _extremes(events.ticks)
        if low < MIN_TICK or high > MAX_TICK:
            outside = pc.or_(pc.less(events.ticks, MIN_TICK), pc.greater(events.ticks, MAX_TICK))
            yield "tick out of range", pc.fill_null(outside, False)
        if self._recipe.until is not None and high > self._recipe.until:
            yield "tick in the future", pc.fill_null(pc.greater(events.ticks, self._recipe.until), False)
        if events.weights is not None and _extremes(events.weights)[0] < 0:
            yield "negative weight", pc.fill_null(pc.less(events.weights, 0), False)

    def _reject(self, site: Any, reason: str, count: int) -> None:
        if count:
            reasons = self._state(site).reasons
            reasons[reason] = reasons.get(reason, 0) + count

    def _state(self, site: Any) -> _Site:
        if site not in self._sites:
            self._sites[site] = _Site()
        return self._sites[site]

    def _feed(self, final: bool) -> None:
        """Sort what was gathered by site and time, and feed it; of each site the newest events may wait."""
        for site, rows in self._sorter.by_site(self._gathered):
            self._feed_site(site, rows, final)
        self._gathered, self._count = [], 0
        for site, state in self._sites.items():
            if final and state.waiting is not None:
                self._feed_site(site, None, final)

    def _feed_site(self, site: Any, rows: Rows | None, final: bool) -> None:
        state = self._state(site)
        rows = _in_order([part for part in (state.waiting, rows) if part is not None])
        total = len(rows.ticks)
        count = total if final else total - total // WAITING
        state.waiting = None if final else rows.part(count, total).each(_copied)
        if count:
            self._lane(site, state, int(rows.ticks[0])).feed(rows.part(0, count))

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


class _Sorter:
    """Puts the rows of each site together, in their order, in memory that is used again and again."""

    def __init__(self) -> None:
        self._scratch = (np.empty(0, np.int64), np.empty(0, np.int64))

    def by_site(self, gathered: list[tuple[Any, Rows]]) -> Iterator[tuple[Any, Rows]]:
        """Rows of each site; they are only good until the next call."""
        if not gathered:
            return
        if gathered[0][0] is None:
            yield "all", _join([rows for _, rows in gathered])
            return
        names: dict[Any, int] = {}
        codes = []
        for sites, _ in gathered:
            found, numbers = number_sites(_one_chunk(sites))
            known = np.array([names.setdefault(name, len(names)) for name in found], np.int32)
            codes.append(known[numbers])
        counts = np.zeros(len(names), np.int64)
        for numbers in codes:
            tally(numbers, counts)
        ends = np.cumsum(counts)
        rows = self._together(gathered, codes, ends - counts)
        for name, end, count in zip(names, ends.tolist(), counts.tolist(), strict=True):
            yield name, rows.part(end - count, end)

    def _together(self, gathered: list[tuple[Any, Rows]], codes: list[NDArray[np.int32]], begins: Ints) -> Rows:
        total = sum(map(len, codes))
        if len(self._scratch[0]) < total:
            self._scratch = (np.empty(total, np.int64), np.empty(total, np.int64))
        simple = isinstance(gathered[0][1].items, np.ndarray) and gathered[0][1].weights is None
        at = begins.copy()
        done = 0
        for (_, rows), numbers in zip(gathered, codes, strict=True):
            first = rows.items if simple else np.arange(done, done + len(numbers))
            scatter((first, rows.ticks), numbers, at, self._scratch)
            done += len(numbers)
        first, ticks = (column[:total] for column in self._scratch)
        if simple:
            return Rows(first, ticks, None)
        return _pick(_join([rows for _, rows in gathered]), first)


def _pick(rows: Rows, order: Ints) -> Rows:
    """Rows in another order."""
    arrow = pa.array(order)
    return rows.each(lambda column: column[order] if isinstance(column, np.ndarray) else column.take(arrow))


def _in_order(waiting: list[Rows]) -> Rows:
    """Everything that waits, sorted by tick."""
    rows = _join(waiting)
    if is_sorted(rows.ticks):
        return rows
    ticks, order = rows.ticks.copy(), np.arange(len(rows.ticks))
    sort_by_tick(ticks, order)
    return _pick(rows, order)


def _join(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first.items, dict):
        items: Any = {name: _concatenate([part.items[name] for part in parts]) for name in first.items}
    else:
        items = _concatenate([part.items for part in parts])
    weights = None if first.weights is None else np.concatenate([part.weights for part in parts])
    return Rows(items, np.concatenate([part.ticks for part in parts]), weights)


def _concatenate(columns: list[Any]) -> Any:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return _one_chunk(pa.chunked_array(columns))


def _filter(events: Events, keep: Any) -> Events:
    def kept(column: Any) -> Any:
        if isinstance(column, dict):
            return {name: part.filter(keep) for name, part in column.items()}
        return None if column is None else column.filter(keep)

    return Events(kept(events.items), kept(events.ticks), kept(events.sites), kept(events.weights))


def _plain(items: Any) -> Any:
    """Integers as numpy, other columns as they are."""
    if isinstance(items, dict):
        return {name: _plain(column) for name, column in items.items()}
    return _numbers(items) if pa.types.is_integer(items.type) else _one_chunk(items)


def _copied(column: Any) -> Any:
    return column.copy() if isinstance(column, np.ndarray) else column


def _one_chunk(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) and whole.num_chunks == 1 else whole


def _columns(items: Any) -> list[Any]:
    return list(items.values()) if isinstance(items, dict) else [items]


def _numbers(column: Any) -> Ints:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)


def _extremes(column: Any) -> tuple[int, int]:
    found = pc.min_max(column).as_py()
    return (0, 0) if found["min"] is None else (found["min"], found["max"])
