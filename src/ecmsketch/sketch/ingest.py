"""Ingest: the feeding side of a sketch. Arrivals wait in a buffer, and are counted in bulk before the next question.

An operation happens as a whole or not at all. What may fail comes first: hashing, checking, and preparing what the
engine and the summaries of names will be. Then the change is made, in compiled code that allocates nothing and calls no
Python code, so no signal can come between its parts.

The buffer holds arrivals in order of time. What is written behind its first `count` places does not count: so an
arrival is taken as a whole in the moment in which `count` changes.
"""

# mypy: ignore-errors

from __future__ import annotations

from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import cython
import numpy as np
from cython.cimports.cpython.datetime import (
    PyDateTime_DATE_GET_HOUR,
    PyDateTime_DATE_GET_MICROSECOND,
    PyDateTime_DATE_GET_MINUTE,
    PyDateTime_DATE_GET_SECOND,
    PyDateTime_GET_DAY,
    PyDateTime_GET_MONTH,
    PyDateTime_GET_YEAR,
    datetime_tzinfo,
    import_datetime,
)
from cython.cimports.cpython.long import PyLong_AsLongLongAndOverflow
from cython.cimports.cpython.unicode import PyUnicode_AsUTF8AndSize
from cython.cimports.ecmsketch.kernels.hashing import xxhash64
from cython.cimports.ecmsketch.kernels.memory import int64s, plain_column, uint64s
from cython.cimports.ecmsketch.kernels.sorting import in_order
from cython.cimports.ecmsketch.sketch.locks import SketchLock
from cython.cimports.libc.stdint import int64_t, uint8_t, uint64_t
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

from ecmsketch.engines.contract import MAX_ARRIVALS
from ecmsketch.engines.names.frequent import FrequentItems, combine
from ecmsketch.engines.names.names import (
    Names,
    Sources,
    forget_names,
    need_no_names,
    note_name,
    note_names,
    note_rows,
)
from ecmsketch.errors import InputError, LateArrivalError
from ecmsketch.inputs.batches import Batch, prepare_batch
from ecmsketch.inputs.columns import NUMPY_INTEGERS
from ecmsketch.inputs.items import as_sequence, columns_of, hash_item, hash_items
from ecmsketch.inputs.kinds import NOTHING, Kinds, check_asked, kinds_of, unite_kinds
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK, Tick, quick_converters, quick_tick
from ecmsketch.sketch.ranges import ticks_asked

import_datetime()

_FEW = cython.declare(int64_t, 64)
"""Arrivals for which the first buffer has space. It doubles whenever it is full."""
_LEAST_WAITING = cython.declare(int64_t, 4096)
"""So many arrivals may wait however small a sketch is: 64 KB. With fewer, small batches take twice the time."""
_STATE_PER_WAITING = cython.declare(int64_t, 64)
"""Beyond that an arrival may wait for so many bytes of the state: all together take a quarter of it."""
_WAITING_WEIGHT = cython.declare(int64_t, 2**48)
"""All weights that wait add up to no more."""
_MOST_WAITING_WEIGHT = cython.declare(int64_t, 2**32)
_MOST_CLASSES = 256
"""Classes of items, and of the parts of tuples, whose kinds are remembered."""
_FEW_NAMES = cython.declare(int64_t, 1024)
"""Unused names are dropped when there are more names than this, and twice as many as were in use the last time."""
_UINT64_MAX = 2**64 - 1
_NO_KEYS, _NO_TICKS = np.empty(0, np.uint64), np.empty(0, np.int64)
_MIN = cython.declare(int64_t, -(2**61))
_MAX = cython.declare(int64_t, 2**62)
_NONE = cython.declare(int64_t, -(2**61) - 1)
"""No tick: what is given has to be looked at again, since it is of another type, or wrong."""


class State(NamedTuple):
    """Everything a sketch knows: what merging combines and what the codec writes."""

    engine: Any
    """An engine (engines/contract.py)."""
    frequent: FrequentItems | None = None
    """(heavy_hitters=True) Candidates among the arrivals."""
    late_frequent: FrequentItems | None = None
    """(cells, heavy_hitters=True) Candidates among settled late arrivals."""
    names: Names = MappingProxyType({})  # type: ignore[assignment]
    """Names of the candidates, and of arrivals that may become candidates."""
    kinds: Kinds = NOTHING
    """Whether integers, texts or rows of both were counted; none for a PrefixSketch, whose items are numbers."""

    def named(self) -> NDArray[np.uint64]:
        """The hashes whose names are kept, ascending."""
        now = self.engine.now or 0
        parts = [part.keys(now) for part in (self.frequent, self.late_frequent) if part is not None]
        return np.unique(np.concatenate([self.engine.held.items, *parts]))


class AnyItems:
    """The items of an EcmSketch: integers, texts, bytes, and rows of these."""

    largest = _UINT64_MAX
    """Whole numbers from 0 to this one are their own keys."""
    texts = True

    def hash_one(self, item: Any) -> int:
        """The key of an item."""
        return hash_item(item)

    def hash_many(self, items: Any) -> NDArray[np.uint64]:
        """The keys of items."""
        return hash_items(items)

    def kinds_of(self, items: Any) -> Kinds:
        """Whether items are integers, texts, or rows of both."""
        return kinds_of(items, columns_of(items))


@cython.cclass
class Ingest:
    """An arrival buffer, the engine behind it, names, kinds of items, and a lock. Sketches add questions."""

    config = cython.declare(object, visibility="readonly")
    _lock = cython.declare(SketchLock, visibility="readonly")
    _items = cython.declare(object, visibility="readonly")
    _engine = cython.declare(object, visibility="readonly")
    _frequent: object
    _late_frequent: object
    _names: dict
    _kinds: object
    _named: cython.bint
    _counted: cython.bint
    _drops: cython.bint
    _unit: object
    _per_second: int64_t
    _per_tick: int64_t
    _converters: dict
    _known_classes: set
    _last_class: object
    _asked_class: object
    _asked_kinds: object
    _window: int64_t
    _waiting_names: dict
    _sources: object
    _names_limit: int64_t
    # the buffer
    _key_array: object
    _tick_array: object
    _weight_array: object
    _keys: cython.pointer(uint64_t)
    _ticks: cython.pointer(int64_t)
    _weights: cython.pointer(int64_t)
    _count: int64_t
    _capacity: int64_t
    _limit: int64_t
    # what `update` compares with; it looks at nothing else, since it has to be quick
    _clock: int64_t
    _most_weight: int64_t
    _largest: uint64_t
    _texts: cython.bint
    _plain_kinds: cython.bint
    _plain_signed: uint64_t
    # how many more arrivals surely fit into a window
    _fits: int64_t

    @cython.ccall
    def _attach(self, state: object, items: object):
        """Begin with a state."""
        config = state.engine.config
        self.config = config
        self._lock = SketchLock()
        self._items = items
        self._largest, self._texts = items.largest, items.texts
        self._named = config.heavy_hitters
        self._counted = config.model == "count"
        self._drops = config.late == "drop"
        self._unit = config.unit
        self._per_second = _PER_SECOND.get(config.unit, 0)
        self._per_tick = _PER_TICK.get(config.unit, 0)
        self._converters = quick_converters(config.unit)
        self._known_classes = set()
        self._last_class = self._asked_class = self._asked_kinds = None
        self._window = config.window
        self._waiting_names = {}
        self._sources = Sources()
        self._names_limit = _FEW_NAMES
        self._limit = _LEAST_WAITING
        self._plain_signed = self._largest
        if self._named or not self._texts:  # negative numbers need a name, or are wrong
            self._plain_signed = min(self._largest, cython.cast(uint64_t, 2**63 - 1))
        self._use_buffers(_NO_KEYS, _NO_TICKS, None)
        self._count = 0
        self._keep(state)
        self._fits = self._most_weight = 0
        if state.engine.origin is None:  # else it is measured when it is needed
            self._allow_weights()

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _keep(self, state: object) -> cython.int:
        """Let a state be this sketch's."""
        now = state.engine.now
        clock: int64_t = _MIN if now is None else now
        self._engine, self._frequent, self._late_frequent, names, self._kinds = state
        self._names = dict(names)  # names are noted in place
        self._clock = clock
        self._plain_kinds = False
        return 0

    # ------------------------------------------------------------------ arrivals one by one

    def update(self, item: Any, tick: Tick | None = None, weight: Any = 1) -> None:
        """Count one arrival of an item at a tick.

        Arrivals wait, and are counted in bulk before the next question. With model="count" leave the tick out. An
        arrival behind the clock is an error, or counted in its place, or dropped, as the config says (`late`).
        """
        key: uint64_t = 0
        moment: int64_t = _NONE
        count: int64_t = 1
        at: int64_t
        if not self._quick_key(item, cython.address(key)):
            key = self._items.hash_one(item)
        if not quick_integer(tick, cython.address(moment)):
            moment = self._tick_of(tick)
        if not quick_integer(weight, cython.address(count)):
            count = -1  # also for what does not fit into 64 bits
            if weight.__class__ in NUMPY_INTEGERS:
                quick_integer(int(weight), cython.address(count))
        if (
            self._lock.depth == 0 and self._lock.waiting == 0 and self._count < self._capacity
            and item.__class__ is self._last_class and not self._named and not self._counted
            and self._clock <= moment <= _MAX and count == 1 and self._most_weight > 0
        ):  # fmt: skip
            at = self._count  # nothing here lets another thread run
            self._keys[at] = key
            self._ticks[at] = moment
            if self._weights != cython.NULL:
                self._weights[at] = 1
            self._clock = moment
            self._count = at + 1
            return
        self._lock.acquire()
        try:
            if self._take_one(item, tick, key, moment, count):
                return
        finally:
            self._lock.release()
        self.update_many([item], None if tick is None else [tick], [weight])  # takes more types, or says what is wrong

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _take_one(self, item: object, tick: object, key: uint64_t, moment: int64_t, count: int64_t) -> cython.int:
        """Let an arrival wait, or leave it out if it is not to be counted; 0 if neither can be."""
        at: int64_t
        number: int64_t
        if self._count >= self._capacity:
            self._make_space(1)
        if self._counted:
            number = self._clock + max(min(count, _MAX), 0)
            moment = number if tick is None or moment == number else _NONE
        if not self._clock <= moment <= _MAX or not 0 < count <= self._most_weight:
            return self._leaves_out(moment, count)
        kinds = self._kinds if item.__class__ is self._last_class else self._kinds_with(item)
        if self._named and key not in self._waiting_names:
            note_name(self._waiting_names, key, item)
        if count != 1 and self._weights == cython.NULL:
            self._add_weights()
        at = self._count
        self._keys[at] = key
        self._ticks[at] = moment
        if self._weights != cython.NULL:
            self._weights[at] = count
        self._kinds = kinds
        if not isinstance(item, tuple):
            self._last_class = item.__class__
        self._clock = moment
        self._count = at + 1
        return 1

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _leaves_out(self, tick: int64_t, weight: int64_t) -> cython.int:
        """Whether an arrival is not counted: one of weight zero, or a late one where those are dropped."""
        if not _MIN <= tick <= _MAX or not 0 <= weight <= self._most_weight:
            return 0
        if weight == 0:
            return 1
        if tick >= self._clock or not self._drops:
            return 0
        self._engine.late_dropped += 1
        return 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def _quick_key(self, item: object, key: cython.pointer(uint64_t)) -> cython.bint:
        """The key of an integer or a text, if it is found without asking Python."""
        number: int64_t = -1
        size: cython.Py_ssize_t = 0
        if quick_integer(item, cython.address(number)):
            key[0] = cython.cast(uint64_t, number)
            return number >= 0 and cython.cast(uint64_t, number) <= self._largest
        if self._texts and type(item) is str:
            try:
                data = PyUnicode_AsUTF8AndSize(item, cython.address(size))
            except (UnicodeEncodeError, MemoryError):
                return False
            key[0] = xxhash64(cython.cast(cython.pointer(uint8_t), data), size, 42)
            return True
        return False

    @cython.cfunc
    @cython.exceptval(-2305843009213693954, check=False)
    def _tick_of(self, tick: object) -> int64_t:
        """The tick of a moment that is no plain integer."""
        moment: int64_t = _NONE
        if type(tick) is datetime and self._per_second | self._per_tick:
            moment = self._tick_of_datetime(tick)
        if moment == _NONE and tick is not None:
            convert = self._converters.get(tick.__class__)
            found = quick_tick(tick, self._unit) if convert is None else convert(tick)
            if MIN_TICK <= found <= MAX_TICK:
                moment = found
        return moment

    @cython.cfunc
    @cython.exceptval(check=False)
    def _tick_of_datetime(self, moment: object) -> int64_t:
        """The tick of a datetime without a zone or in UTC; none for other zones."""
        zone = datetime_tzinfo(moment)
        if zone is not None and zone is not UTC:
            return _NONE
        seconds: int64_t = 86_400 * days_from_civil(
            PyDateTime_GET_YEAR(moment), PyDateTime_GET_MONTH(moment), PyDateTime_GET_DAY(moment)
        )
        seconds += 3600 * PyDateTime_DATE_GET_HOUR(moment) + 60 * PyDateTime_DATE_GET_MINUTE(moment)
        seconds += PyDateTime_DATE_GET_SECOND(moment)
        if self._per_tick:
            rest: int64_t = seconds % self._per_tick
            return (seconds - (rest + self._per_tick if rest < 0 else rest)) // self._per_tick
        if not -(2**32) < seconds < 2**32:
            return _NONE  # may be beyond 64 bits
        micro: int64_t = PyDateTime_DATE_GET_MICROSECOND(moment)
        if self._per_second >= 1_000_000:
            return seconds * self._per_second + micro * (self._per_second // 1_000_000)
        return seconds * self._per_second + micro // (1_000_000 // self._per_second)

    def _kinds_with(self, item: Any) -> Kinds:
        """The kinds counted so far and that of an item, which depends on its class, or those of its parts."""
        classes = tuple(map(type, item)) if isinstance(item, tuple) else item.__class__
        if classes in self._known_classes:
            return self._kinds
        kinds: Kinds = unite_kinds((self._kinds, self._items.kinds_of([item])))
        if len(self._known_classes) < _MOST_CLASSES and kinds == self._kinds:
            self._known_classes.add(classes)
        return kinds

    # ------------------------------------------------------------------ batches

    def update_many(self, items: Any, ticks: Any = None, weights: Any = None) -> None:
        """Count many arrivals; the same state as calling `update` on each, in order of their ticks.

        Items, ticks and weights are numpy arrays, Arrow, polars or pandas columns, or lists. If any of them is
        wrong an error says so and nothing is counted. With model="count" leave ticks out. Rows of several columns
        (a dict of them, a data frame, an Arrow table) are items too: tuples.
        """
        if weights is None and not self._counted and self._take_plain(items, ticks):
            return
        items = as_sequence(items)
        hashed = self._items.hash_many(items)
        kinds = self._items.kinds_of(items)
        prepared = prepare_batch(hashed, ticks, weights, self.config)
        self._lock.acquire()  # not before: going through the caller's items may run code that waits for other locks
        try:
            self._take_batch(items, hashed, kinds, prepared)
        finally:
            self._lock.release()

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _take_plain(self, items: object, ticks: object) -> cython.int:
        """Let a small batch of whole numbers wait, if it is on time and surely fits."""
        keys: cython.pointer(uint64_t) = cython.NULL
        moments: cython.pointer(int64_t) = cython.NULL
        signed: cython.bint = False
        tick_signed: cython.bint = False
        events: int64_t
        i: int64_t
        largest: uint64_t
        over: int64_t = 0
        if items.__class__ is not np.ndarray or ticks.__class__ is not np.ndarray:
            return 0
        events = plain_column(items, cython.cast(cython.pp_void, cython.address(keys)), cython.address(signed))
        if not 0 < events < self._limit:
            return 0
        if (
            plain_column(ticks, cython.cast(cython.pp_void, cython.address(moments)), cython.address(tick_signed))
            != events
        ):
            return 0
        if not tick_signed or moments[events - 1] > _MAX or not in_order(moments, events):
            return 0
        largest = self._plain_signed if signed else self._largest
        if largest < cython.cast(uint64_t, 0xFFFFFFFFFFFFFFFF):
            for i in range(events):
                over += 1 if keys[i] > largest else 0
            if over:
                return 0
        self._lock.acquire()
        try:
            if self._count + events > self._capacity:
                self._make_space(events)
            if self._count + events > self._capacity or moments[0] < self._clock or self._most_weight == 0:
                return 0
            kinds = self._kinds
            if not self._plain_kinds:
                kinds = unite_kinds((kinds, self._items.kinds_of(np.zeros(1, np.int64))))
            memcpy(self._keys + self._count, keys, cython.cast(cython.size_t, 8 * events))
            memcpy(self._ticks + self._count, moments, cython.cast(cython.size_t, 8 * events))
            if self._weights != cython.NULL:
                for i in range(events):
                    self._weights[self._count + i] = 1
            self._kinds = kinds
            self._plain_kinds = True
            self._clock = moments[events - 1]
            self._count += events
        finally:
            self._lock.release()
        return 1

    def _take_batch(self, items: Any, hashed: NDArray[np.uint64], kinds: Kinds, prepared: Any) -> None:
        """Let a small batch wait, or count it at once; or raise an error and count nothing."""
        batch = prepared.after(self._clock)
        kinds = self._kinds if kinds <= self._kinds else unite_kinds((self._kinds, kinds))
        if len(batch.ticks) < self._limit and self._gather(items, hashed, batch, kinds):
            return
        self._flush()
        batch = prepared.after(self._clock)
        self._check_capacity(batch)
        if len(batch.ticks) and self.config.late == "raise" and self._engine.now is not None:
            self._refuse_late(batch)
        needed = self._named and not need_no_names(items)
        self._change(batch, kinds, items if needed else None, hashed)
        self._forget_names()

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _gather(self, items: object, hashed: object, batch: object, kinds: object) -> cython.int:
        """Let a small batch wait, if it is on time and surely fits. Otherwise nothing is changed."""
        events: int64_t = len(batch.ticks)
        i: int64_t
        heaviest: int64_t = 1
        if events == 0:
            return 0
        if self._count + events > self._capacity:
            self._make_space(events)
        if self._count + events > self._capacity:
            return 0
        keys, moments = uint64s(batch.items), int64s(batch.ticks)
        weights: cython.pointer(int64_t) = cython.NULL
        if batch.weights is not None:
            weights = int64s(batch.weights)
            for i in range(events):
                heaviest = max(heaviest, weights[i])
        if moments[0] < self._clock or heaviest > self._most_weight:
            return 0
        if weights != cython.NULL and self._weights == cython.NULL:
            self._add_weights()
        if self._named and (batch.items is not hashed or not self._sources.keep(items, self._count)):
            return 0
        memcpy(self._keys + self._count, keys, cython.cast(cython.size_t, 8 * events))
        memcpy(self._ticks + self._count, moments, cython.cast(cython.size_t, 8 * events))
        if self._weights != cython.NULL:
            for i in range(events):
                self._weights[self._count + i] = 1 if weights == cython.NULL else weights[i]
        self._kinds = kinds
        self._clock = moments[events - 1]
        self._count += events
        return 1

    def _refuse_late(self, batch: Batch) -> None:
        """Raise an error if a batch has arrivals behind the clock."""
        now = self._engine.now
        behind = int(np.searchsorted(batch.ticks, now, side="left"))
        if behind:
            raise LateArrivalError(
                f"{behind} of {len(batch.ticks)} ticks lie behind the sketch's clock {now}, the oldest at "
                f"{batch.ticks[0]}; nothing was counted. Give ticks in order, or set late='side' or late='drop'"
            )

    # ------------------------------------------------------------------ counting

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _change(self, batch: object, kinds: object, items: object, hashed: object) -> cython.int:
        """Count a batch that was checked, and the names of `items` if there are any: prepare everything, then change
        everything.
        """
        if not len(batch.ticks):
            self._kinds = kinds
            return 0
        change = self._engine.prepare(batch)
        frequent, late_frequent = self._frequent, self._late_frequent
        if self._named:
            frequent, late_frequent = self._prepared_names(change.late, batch)
            self._note_names(frequent, late_frequent, batch, items, hashed)
        last: int64_t = batch.ticks.item(-1)
        clock: int64_t = max(self._clock, last)
        arrivals: int64_t = batch.arrivals()
        self._commit(change, frequent, late_frequent, clock, arrivals)
        self._kinds = kinds
        return 0

    def _prepared_names(self, late: Batch | None, batch: Batch) -> tuple[Any, Any]:
        """The candidates for heavy hitters once late arrivals and those of a batch that are on time have come."""
        frequent, late_frequent, config, now = self._frequent, self._late_frequent, self.config, self._engine.now
        if late is not None and len(late.ticks):
            if self._engine.late_apart:
                late_frequent = (late_frequent or FrequentItems.new(config)).added(late.items, late.ticks, late.weights)
            else:
                fresh = FrequentItems.new(config).added(late.items, late.ticks, late.weights)
                frequent = combine([part for part in (frequent, fresh) if part is not None], config, now)
        behind = 0 if now is None else int(np.searchsorted(batch.ticks, now, side="left"))
        on_time = batch.select(slice(behind, None)) if behind else batch
        if len(on_time.ticks):
            frequent = (frequent or FrequentItems.new(config)).added(on_time.items, on_time.ticks, on_time.weights)
        return frequent, late_frequent

    def _note_names(self, frequent: Any, late_frequent: Any, batch: Batch, items: Any, hashed: Any) -> None:
        """Note the names of what will be candidates. A name too many does no harm: it is forgotten later."""
        if items is None:
            return
        if len(hashed) <= 2 * len(self._names):  # noting a few items is quicker than looking through all names
            note_rows(self._names, items, hashed, np.arange(len(hashed)))
            return
        now = max(self._engine.now or batch.ticks.item(-1), batch.ticks.item(-1))
        parts = [part.keys(now) for part in (frequent, late_frequent) if part is not None]
        behind = batch.items[batch.ticks < (self._engine.now or MIN_TICK)]
        note_names(self._names, np.unique(np.concatenate([self._engine.held.items, behind, *parts])), items, hashed)

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _commit(
        self, change: object, frequent: object, late_frequent: object, clock: int64_t, arrivals: int64_t
    ) -> cython.int:
        """Make a change that is prepared. Once `commit` has returned nothing can fail."""
        self._engine = change.commit()
        self._frequent = frequent
        self._late_frequent = late_frequent
        self._clock = clock
        self._fits -= arrivals
        if self._fits < _WAITING_WEIGHT:
            self._most_weight = 0  # until somebody measures
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _flush(self, keep: cython.bint = False) -> cython.int:
        """Count what waits. The memory of the buffer is given back unless it is to be kept."""
        waiting: int64_t = self._count
        if waiting == 0:
            return 0
        weights = None
        if self._weights != cython.NULL:
            weights = self._weight_array[:waiting]
        batch = Batch(self._key_array[:waiting], self._tick_array[:waiting], weights)
        change = self._engine.prepare(batch)
        frequent, late_frequent = self._frequent, self._late_frequent
        no_names: dict = {}
        no_sources = None
        no_keys, no_ticks = _NO_KEYS, _NO_TICKS
        if self._named:
            no_sources = Sources()
            frequent, late_frequent = self._prepared_names(change.late, batch)
            for key, name in self._waiting_names.items():
                self._names.setdefault(key, name)
            if len(self._sources):
                self._note_names(frequent, late_frequent, batch, self._sources, batch.items)
        arrivals: int64_t = batch.arrivals()
        self._commit(change, frequent, late_frequent, self._clock, arrivals)
        self._count = 0
        if self._named:
            self._waiting_names, self._sources = no_names, no_sources
        self._weights, self._weight_array = cython.NULL, None
        if not keep:
            self._key_array, self._tick_array, self._capacity = no_keys, no_ticks, 0
        if self._named:
            self._forget_names()
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _forget_names(self) -> cython.int:
        """Drop the names of items that are no candidates any more, if names have become many.

        Arrivals are counted by then, so a caller must not count them again: without memory names stay for now.
        """
        if len(self._names) <= self._names_limit:
            return 0
        try:
            self._names = forget_names(self._names, self._state_now().named())
            self._names_limit = max(_FEW_NAMES, 2 * len(self._names))
        except MemoryError:
            return 0
        return 0

    def _advance(self, tick: int) -> None:
        """Move the clock to a tick that is not before it."""
        clock: int64_t = tick
        self._flush()
        change = self._engine.prepare_advance(tick)
        late_frequent = self._late_frequent
        if self._named and change.late is not None and len(change.late.ticks):
            late = change.late
            late_frequent = (late_frequent or FrequentItems.new(self.config)).added(
                late.items, late.ticks, late.weights
            )
        self._commit(change, self._frequent, late_frequent, clock, 0)

    # ------------------------------------------------------------------ the buffer

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _use_buffers(self, keys: object, ticks: object, weights: object) -> cython.int:
        """Let arrivals wait in these arrays from now on."""
        key_pointer, tick_pointer = uint64s(keys), int64s(ticks)
        weight_pointer: cython.pointer(int64_t) = cython.NULL
        if weights is not None:
            weight_pointer = int64s(weights)
        capacity: int64_t = len(ticks)
        self._key_array, self._tick_array, self._weight_array = keys, ticks, weights
        self._keys, self._ticks, self._weights, self._capacity = key_pointer, tick_pointer, weight_pointer, capacity
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _make_space(self, events: int64_t) -> cython.int:
        """Make the buffer larger, so that more events fit; if there are too many, count those that wait first."""
        size: int64_t
        if self._count + events > self._limit:
            self._flush(True)
            self._limit = max(_LEAST_WAITING, self._engine.state_nbytes // _STATE_PER_WAITING)
            self._allow_weights()
        needed: int64_t = self._count + events
        if needed <= self._capacity <= 2 * self._limit or needed > self._limit:
            return 0
        size = min(max(2 * self._capacity, needed, _FEW), self._limit)
        keys, ticks, weights = np.empty(size, np.uint64), np.empty(size, np.int64), None
        if self._weights != cython.NULL:
            weights = np.ones(size, np.int64)
        for target, source in ((keys, self._key_array), (ticks, self._tick_array), (weights, self._weight_array)):
            if target is not None:
                target[: self._count] = source[: self._count]
        return self._use_buffers(keys, ticks, weights)

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _add_weights(self) -> cython.int:
        """Have weights in the buffer. They are there only if one of them is not 1."""
        return self._use_buffers(self._key_array, self._tick_array, np.ones(self._capacity, np.int64))

    # ------------------------------------------------------------------ how many arrivals fit into a window

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _allow_weights(self) -> cython.int:
        """Find the largest weight that surely fits however many arrivals wait; 0 if none does."""
        if self._fits < _WAITING_WEIGHT:
            self._fits = self._measured(self._engine.now or 0)
        most: int64_t = min(_MOST_WAITING_WEIGHT, _WAITING_WEIGHT // self._limit)
        self._most_weight = most if self._fits >= _WAITING_WEIGHT else 0
        return 0

    def _measured(self, now: int) -> int:
        """How many more arrivals surely fit into the window that ends at `now`."""
        config = self.config
        if self._engine.origin is None or (config.model == "count" and config.window <= MAX_ARRIVALS):
            return MAX_ARRIVALS  # a count-based window never holds more arrivals than its length
        return MAX_ARRIVALS - self._engine.most_since(now - config.window)[1]

    def _check_capacity(self, batch: Batch) -> None:
        """Refuse a batch that would make more than 2**53 arrivals in one window."""
        arrivals = batch.arrivals()
        fits: object = self._fits
        if arrivals > fits or self._most_weight == 0:
            self._allow_weights()
            moments = [moment for moment in (self._engine.now, *batch.ticks[:1].tolist()) if moment is not None]
            fits = self._measured(max(moments, default=0))
        if arrivals > fits:
            raise InputError(
                f"weights: got {arrivals:,} arrivals, but one window may have 2**53 and has room for "
                f"{max(fits, 0):,}; nothing was counted. Count in a larger unit, or give the batch in parts"
            )

    # ------------------------------------------------------------------ for questions

    def _flushed(self) -> Any:
        """The engine, with everything counted that waits. Whoever asks holds the lock."""
        if self._count:
            self._flush()
        return self._engine

    def _state_now(self) -> State:
        """The state without what waits."""
        return State(self._engine, self._frequent, self._late_frequent, self._names, self._kinds)

    def _state(self) -> State:
        """The state, with everything counted that waits. Whoever asks holds the lock."""
        self._flush()
        return self._state_now()

    def _key_of(self, item: Any) -> int:
        """An item's key, if items of its kind are counted here."""
        key: uint64_t = 0
        if not self._quick_key(item, cython.address(key)):
            key = self._items.hash_one(item)
        if item.__class__ is not self._asked_class or self._kinds is not self._asked_kinds:
            kinds = self._kinds
            check_asked(kinds, self._items.kinds_of([item]), repr(item))
            if not isinstance(item, tuple):
                self._asked_class, self._asked_kinds = item.__class__, kinds
        return key

    def _range(self, last: Any, between: Any) -> tuple[int, int]:
        """The range (since, until] that a question means, by this sketch's clock. Whoever asks holds the lock."""
        length: int64_t = -1
        now = self._flushed().now or 0
        if between is None and (last is None or quick_integer(last, cython.address(length))):
            if last is None:
                length = self._window
            if 0 <= length <= self._window:
                return now - length, now
        return ticks_asked(self.config, now, last, between)

    def _estimate_one(self, item: Any, last: Any, between: Any, delta: float) -> Any:
        """How often an item came in a range: the quickest way to an answer."""
        key = self._key_of(item)
        self._lock.acquire()
        try:
            since, until = self._range(last, between)
            return self._engine.one_point(key, since, until, delta)
        finally:
            self._lock.release()

    @property
    def kinds(self) -> Kinds:
        """The kinds of items counted so far: "i" for integers, "t" for texts, a letter a column for rows of several."""
        return self._kinds

    @property
    def _waiting_nbytes(self) -> int:
        """Memory held by arrivals that wait."""
        parts = (self._key_array, self._tick_array, self._weight_array)
        return sum(part.nbytes for part in parts if part is not None)


_PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}
_PER_TICK = {"m": 60, "h": 3600, "D": 86_400}


@cython.cfunc
@cython.exceptval(check=False)
def quick_integer(value: object, number: cython.pointer(int64_t)) -> cython.bint:
    """An integer of Python in 64 bits; False for anything else, which leaves the number as it is."""
    overflow: cython.int = 0
    if type(value) is not int:
        return False
    found: int64_t = PyLong_AsLongLongAndOverflow(value, cython.address(overflow))
    if overflow:
        return False
    number[0] = found
    return True


@cython.cfunc
@cython.nogil
def days_from_civil(year: int64_t, month: int64_t, day: int64_t) -> int64_t:
    """Days since 1970 of a date of the Gregorian calendar, for years from 1 on."""
    if month <= 2:
        year -= 1
    era: int64_t = year // 400
    of_era: int64_t = year - 400 * era
    of_year: int64_t = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return 146_097 * era + 365 * of_era + of_era // 4 - of_era // 100 + of_year - 719_468
