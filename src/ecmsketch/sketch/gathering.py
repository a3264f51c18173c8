"""Takes arrivals one by one or in batches, gathers them, and counts them in bulk before the next question."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.counters.arrivals import Batch, prepare_batch
from ecmsketch.counters.contract import Ints
from ecmsketch.heavy.names import Names, note_name, note_names
from ecmsketch.inputs.columns import INT64, is_int64
from ecmsketch.inputs.integers import NUMPY_INTEGERS
from ecmsketch.inputs.items import as_sequence, columns_of, hash_item, hash_items
from ecmsketch.inputs.kinds import INTEGERS, Kinds, kinds_of, unite_kinds
from ecmsketch.inputs.quick_ticks import quick_converters, quick_tick
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK, NO_TICK, Tick
from ecmsketch.sketch.feeding import Feeding
from ecmsketch.sketch.name_sources import Sources
from ecmsketch.sketch.plain_batches import all_fit, plain_bits
from ecmsketch.sketch.state import SketchState

_FEW = 64
"""Events for which the first buffer has room. It doubles whenever it is full."""

_MOST_CLASSES = 256
"""Classes of items, and of the parts of tuples, whose kinds are remembered."""

_NO_BUFFERS = Batch(np.empty(0, np.uint64), np.empty(0, np.int64), None)


class Gathering(Feeding):
    """Adds `update` and `update_many` to a state. Whoever reads the state asks for it with `_flushed`.

    The first `_gathered` places of the buffers hold arrivals in order of time. Whatever was written behind them does
    not count: so an arrival is gathered as a whole, in the moment in which `_gathered` changes.
    """

    _hash_item = staticmethod(hash_item)
    _hash_items = staticmethod(hash_items)
    _largest_item = 2**64 - 1
    """Whole numbers from 0 to this one are their own keys."""

    def _attach(self, state: SketchState) -> None:
        super()._attach(state)
        self._pending_names: Names | None = {} if state.config.heavy_hitters else None
        self._pending_sources = Sources()
        self._known_classes: set[Any] = set()
        self._last_class: type | None = None
        self._counted = state.config.model == "count"
        self._unit = state.config.unit
        self._converters = quick_converters(self._unit)
        self._plain_bits = plain_bits(state.config)
        self._plain_kinds = self._kinds_of(np.zeros(1, np.int64))
        self._gathered = 0
        self._use_buffers(_NO_BUFFERS)

    def update(self, item: Any, tick: Tick | None = None, weight: int = 1) -> None:
        """Count one arrival. Arrivals are gathered, and counted in bulk before the next question."""
        kind = item.__class__
        key = item if kind is int and 0 <= item <= self._largest_item else self._hash_item(item)
        if tick.__class__ is int:
            moment: int = tick
        else:
            convert = self._converters.get(tick.__class__)
            moment = quick_tick(tick, self._unit) if convert is None else convert(tick)
        count = weight if weight.__class__ is int else _quick_weight(weight)
        lock = self._lock
        lock.acquire()  # not `with`, which takes twice as long
        try:
            if self._gathered >= self._capacity:
                self._make_space(1)
            if self._counted:
                moment = self._number(tick, moment, count)
            if self._clock <= moment <= MAX_TICK and 0 < count <= self._most_weight:
                at = self._gathered
                self._pending_items[at] = key
                self._pending_ticks[at] = moment
                if count != 1:
                    (self._pending_weights or self._weights().data)[at] = count
                self._clock = moment
                self._gathered = at + 1
                if kind is not self._last_class:
                    self._note_kind(item)
                if self._pending_names is not None and key not in self._pending_names:
                    note_name(self._pending_names, key, item)
                return
            if self._left_out(moment, count):
                return
        except BaseException:
            self._keep_whole()
            raise
        finally:
            lock.release()
        self.update_many([item], None if tick is None else [tick], [weight])  # takes more types, or says what is wrong

    def update_many(self, items: Any, ticks: Any = None, weights: Any = None) -> None:
        """Count many arrivals; the same state as calling `update` on each, in order of their ticks.

        Items, ticks and weights are numpy arrays, Arrow, polars or pandas columns, or lists. If any of them is
        wrong an error says so and nothing is counted. With model="count" leave ticks out. Rows of several columns
        (a dict of them, a data frame, an Arrow table) are items too: tuples.
        """
        plain = weights is None and items.__class__ is np.ndarray and ticks.__class__ is np.ndarray
        if plain and self._gather_plain(items, ticks):
            return
        items = as_sequence(items)
        hashed = self._hash_items(items)
        kinds = self._kinds_of(items)
        prepared = prepare_batch(hashed, ticks, weights, self._state.config)
        with self._lock:  # not before: going through the caller's items may run code that waits for other locks
            if len(prepared.batch.ticks) >= self._pending_limit or not self._gather(
                items, hashed, prepared.after(self._clock)
            ):
                self._flushed()
                self._count(items, hashed, prepared)
            if not kinds <= self._state.kinds:
                self._state.kinds = unite_kinds((self._state.kinds, kinds))

    def _gather_plain(self, items: NDArray[Any], ticks: NDArray[Any]) -> bool:
        """Gather a small batch of whole numbers, if it is on time and surely fits: what `_gather` does, but quicker."""
        bits, shape = self._plain_bits.get(items.dtype), ticks.shape
        if bits is None or ticks.dtype is not INT64 or shape != items.shape or len(shape) != 1:
            return False
        events = shape[0]
        if not 0 < events < self._pending_limit:
            return False
        with self._lock:
            if self._gathered + events > self._capacity:
                self._make_space(events)
            keys, moments, _ = self._buffers
            at, end = self._gathered, self._gathered + events
            keys[at:end] = items
            moments[at:end] = ticks
            if not self._most_weight or not all_fit(keys, moments, at, end, self._clock, bits):
                return False
            try:
                self._clock = moments.item(end - 1)
                self._gathered = end
            except BaseException:
                self._keep_whole()
                raise
            if not self._state.kinds >= self._plain_kinds:
                self._state.kinds = unite_kinds((self._state.kinds, self._plain_kinds))
        return True

    def _gather(self, items: Any, hashed: NDArray[np.uint64], batch: Batch) -> bool:
        """Gather a small batch, if it is on time and surely fits. Otherwise it is left as it is."""
        events = len(batch.ticks)
        if not events:
            return False
        if self._gathered + events > self._capacity:
            self._make_space(events)
        heaviest = 1 if batch.weights is None else int(batch.weights.max())
        if batch.ticks.item(0) < self._clock or heaviest > self._most_weight:
            return False
        at, end = self._gathered, self._gathered + events
        if self._pending_names is not None and not self._pending_sources.keep(items, hashed, batch, at):
            return False
        try:
            self._buffers.items[at:end] = batch.items
            self._buffers.ticks[at:end] = batch.ticks
            if batch.weights is not None:
                self._weights()[at:end] = batch.weights
            self._clock = batch.ticks.item(-1)
            self._gathered = end
        except BaseException:
            self._keep_whole()
            raise
        return True

    def _number(self, tick: Tick | None, claimed: int, weight: int) -> int:
        """The number of the next arrival (model="count"), if the caller gave that number or none."""
        number = self._clock + weight
        return number if tick is None or claimed == number else NO_TICK

    def _left_out(self, tick: int, weight: int) -> bool:
        """Whether an arrival is not counted: one of weight zero, or a late one where those are dropped."""
        if not MIN_TICK <= tick <= MAX_TICK or not 0 <= weight <= self._most_weight:
            return False
        if weight and (tick >= self._clock or self._state.config.late != "drop"):
            return False
        self._state.late.dropped += 1 if weight else 0
        return True

    @property
    def _pending_nbytes(self) -> int:
        """Memory held by arrivals that are gathered."""
        return sum(buffer.nbytes for buffer in self._buffers if buffer is not None)

    def _use_buffers(self, buffers: Batch) -> None:
        """Gather into these arrays from now on. `update` writes through views, which is quicker."""
        self._capacity = 0  # until all are in place, whatever comes between
        self._buffers = buffers
        self._pending_items, self._pending_ticks = buffers.items.data, buffers.ticks.data
        self._pending_weights = None if buffers.weights is None else buffers.weights.data
        self._capacity = len(buffers.ticks)

    def _make_space(self, events: int) -> None:
        """Make the buffers larger, so that more events fit; if there are too many, count those gathered first."""
        if self._gathered + events > self._pending_limit:
            full = self._buffers._replace(weights=None)
            self._flush()
            self._use_buffers(full)  # more will come, and new memory takes time; `_add` keeps no view of the old
        needed = self._gathered + events
        if needed > self._capacity:
            size = min(max(2 * self._capacity, needed, _FEW), self._pending_limit)
            self._use_buffers(_enlarged(self._buffers, self._gathered, size))

    def _weights(self) -> Ints:
        """Where weights go. It is there only if one of them is not 1, and holds 1 wherever nothing was written."""
        weights = self._buffers.weights
        if weights is None:
            weights = np.ones(self._capacity, np.int64)
            self._use_buffers(self._buffers._replace(weights=weights))
        return weights

    def _keep_whole(self) -> None:
        """Forget an arrival that was written but not gathered yet, because an interrupt such as Ctrl-C came between."""
        if self._gathered:
            self._clock = self._buffers.ticks.item(self._gathered - 1)
        else:
            self._reset_limits()
        if self._buffers.weights is not None:
            self._buffers.weights[self._gathered :] = 1

    def _flushed(self) -> SketchState:
        """The state, with everything counted that was gathered."""
        if self._gathered:
            self._flush()
        return self._state

    def _flush(self) -> None:
        gathered, buffers, sources = self._gathered, self._buffers, self._pending_sources
        if self._pending_names:
            self._state.names = self._pending_names | self._state.names
            self._pending_names = {}
        self._gathered = 0
        self._use_buffers(_NO_BUFFERS)
        batch = buffers.select(slice(gathered))
        try:
            self._add(batch)
        except Exception:  # nothing is lost: the next call tries again
            self._use_buffers(buffers)
            self._gathered = gathered
            raise
        if len(sources):
            self._pending_sources = Sources()
            note_names(self._state.names, self._state.named(), sources, batch.items)
        self._forget_names()

    @staticmethod
    def _kinds_of(items: Any) -> Kinds:
        """Whether items are integers, texts, or rows of both."""
        if is_int64(items) and len(items):
            return INTEGERS
        return kinds_of(items, columns_of(items))

    def _note_kind(self, item: Any) -> None:
        """Remember an item's kind, which depends on its class, or those of its parts."""
        parts = isinstance(item, tuple)
        classes = tuple(map(type, item)) if parts else item.__class__
        if classes not in self._known_classes:
            self._state.kinds = unite_kinds((self._state.kinds, self._kinds_of([item])))
            if len(self._known_classes) < _MOST_CLASSES:
                self._known_classes.add(classes)
        if not parts:
            self._last_class = item.__class__


def _enlarged(buffers: Batch, used: int, size: int) -> Batch:
    """Larger buffers with the same beginning. Weights go on with ones."""
    items, ticks = np.empty(size, np.uint64), np.empty(size, np.int64)
    items[:used], ticks[:used] = buffers.items[:used], buffers.ticks[:used]
    if buffers.weights is None:
        return Batch(items, ticks, None)
    weights = np.ones(size, np.int64)
    weights[:used] = buffers.weights[:used]
    return Batch(items, ticks, weights)


def _quick_weight(weight: Any) -> int:
    """A numpy integer as Python's; -1 for anything else, which `prepare_batch` has to look at."""
    return int(weight) if weight.__class__ in NUMPY_INTEGERS else -1
