"""Takes arrivals: many at once, which are counted at once, or one by one, which are gathered and counted in bulk."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from ecmsketch.counters.arrivals import Batch, prepare_batch
from ecmsketch.heavy.names import Names, note_name
from ecmsketch.inputs.integers import is_integer
from ecmsketch.inputs.items import as_sequence, columns_of, hash_item, hash_items
from ecmsketch.inputs.kinds import Kinds, kinds_of, unite_kinds
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK, NO_TICK, Tick, quick_tick
from ecmsketch.sketch.feeding import Feeding
from ecmsketch.sketch.state import SketchState


class Gathering(Feeding):
    """Adds `update` and `update_many` to a state. Whoever reads the state asks for it with `_flushed`."""

    _hash_item = staticmethod(hash_item)
    _hash_items = staticmethod(hash_items)

    def _attach(self, state: SketchState) -> None:
        super()._attach(state)
        self._pending_items = array("Q")
        self._pending_ticks = array("q")
        self._pending_weights = array("q")
        self._pending_names: Names | None = {} if state.config.heavy_hitters else None
        self._known_classes: set[type] = set()
        self._counted = state.config.model == "count"

    def update(self, item: Any, tick: Tick | None = None, weight: int = 1) -> None:
        """Count one arrival. Arrivals are gathered, and counted in bulk before the next question."""
        key = self._hash_item(item)
        moment = tick if tick.__class__ is int else quick_tick(tick, self._state.config.unit)
        count = weight if weight.__class__ is int else _quick_weight(weight)
        self._lock.acquire()  # not `with`, which takes twice as long
        try:
            if self._counted:
                moment = self._number(tick, moment, count)
            if self._clock <= moment <= MAX_TICK and 0 < count <= self._most_weight:
                self._pending_items.append(key)
                self._pending_ticks.append(moment)
                self._pending_weights.append(count)
                self._clock = moment
                if item.__class__ not in self._known_classes:
                    self._note_kind(item)
                if self._pending_names is not None:
                    note_name(self._pending_names, key, item)
                if len(self._pending_ticks) >= self._pending_limit:
                    self._flush()
                return
            if self._left_out(moment, count):
                return
        except BaseException:
            self._cut_pending()
            raise
        finally:
            self._lock.release()
        self.update_many([item], None if tick is None else [tick], [weight])  # takes more types, or says what is wrong

    def update_many(self, items: Any, ticks: Any = None, weights: Any = None) -> None:
        """Count many arrivals; the same state as calling `update` on each, in order of their ticks.

        Items, ticks and weights are numpy arrays, Arrow, polars or pandas columns, or lists. If any of them is
        wrong an error says so and nothing is counted. With model="count" leave ticks out. Rows of several columns
        (a dict of them, a data frame, an Arrow table) are items too: tuples.
        """
        items = as_sequence(items)
        hashed = self._hash_items(items)
        kinds = self._kinds_of(items)
        prepared = prepare_batch(hashed, ticks, weights, self._state.config)
        with self._lock:  # not before: going through the caller's items may run code that waits for other locks
            self._flushed()
            self._count(items, hashed, prepared)
            self._state.kinds = unite_kinds((self._state.kinds, kinds))

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

    def _cut_pending(self) -> None:
        """Forget an arrival of which only a part was gathered, because an interrupt such as Ctrl-C came between."""
        pending = self._pending_items, self._pending_ticks, self._pending_weights
        whole = min(map(len, pending))
        for part in pending:
            del part[whole:]

    def _flushed(self) -> SketchState:
        """The state, with everything counted that `update` has gathered."""
        if self._pending_ticks:
            self._flush()
        return self._state

    def _flush(self) -> None:
        gathered = self._pending_items, self._pending_ticks, self._pending_weights
        if self._pending_names:
            self._state.names = self._pending_names | self._state.names
            self._pending_names = {}
        self._pending_items, self._pending_ticks, self._pending_weights = array("Q"), array("q"), array("q")
        weights = np.frombuffer(gathered[2], np.int64)
        try:
            self._add(
                Batch(
                    np.frombuffer(gathered[0], np.uint64),
                    np.frombuffer(gathered[1], np.int64),
                    None if int(weights.max()) == 1 else weights,
                )
            )
        except Exception:  # nothing is lost: the next call tries again, with copies that no array looks into
            self._pending_items, self._pending_ticks, self._pending_weights = (part[:] for part in gathered)
            raise
        self._forget_names()

    @staticmethod
    def _kinds_of(items: Any) -> Kinds:
        """Whether items are integers, texts, or rows of both."""
        return kinds_of(items, columns_of(items))

    def _note_kind(self, item: Any) -> None:
        """Remember an item's kind; all of a class have the same one, apart from tuples."""
        self._state.kinds = unite_kinds((self._state.kinds, self._kinds_of([item])))
        if not isinstance(item, tuple):
            self._known_classes.add(item.__class__)


def _quick_weight(weight: Any) -> int:
    """A numpy integer as Python's; -1 for anything else, which `prepare_batch` has to look at."""
    return int(weight) if isinstance(weight, np.integer) and is_integer(weight) else -1
