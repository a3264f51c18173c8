"""Counts batches of arrivals into the state of a sketch: those on time, those behind the clock, and their names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters import new_counters
from ecmsketch.counters.arrivals import Batch, Prepared
from ecmsketch.errors import LateArrivalError
from ecmsketch.estimate import Estimate
from ecmsketch.heavy.candidates import FrequentItems, combine
from ecmsketch.heavy.names import forget_names, need_no_names, note_names, note_rows
from ecmsketch.inputs.row_hashes import fill_cells
from ecmsketch.inputs.ticks import MIN_TICK
from ecmsketch.sketch.locks import Lock, new_lock
from ecmsketch.sketch.room import Room
from ecmsketch.sketch.state import SketchState
from ecmsketch.sketch.table_memory import TableMemory
from ecmsketch.slices import SlicedStream

_FEW_NAMES = 1024
"""Unused names are dropped when there are more names than this, and twice as many as were in use the last time."""

_BLOCK = 2**20
"""Events counted at a time: enough that few of them end a bucket, few enough for the processor's cache."""


_MOST_PENDING = 65_536
"""Most arrivals that are gathered before they are counted, of 16 bytes each: enough that counting them in bulk pays."""


def _pending_wanted(config: SketchConfig) -> int:
    """How many arrivals to gather: so many that most of the slices or cells that they change get several of them."""
    if config.counter == "slices":
        return _MOST_PENDING
    return max(2048, 16 * config.cells)


class Feeding:
    """The state of a sketch with its lock, and how batches of arrivals are counted into it."""

    def _attach(self, state: SketchState) -> None:
        config = state.config
        self._lock: Lock = new_lock()
        self._state = state
        self._rows = config.row_hashes()
        self._block = max(min(_BLOCK, 2**24 // len(self._rows.low)), 4 * config.cells)
        self._names_limit = _FEW_NAMES
        self._pending_limit = min(_pending_wanted(config), _MOST_PENDING)
        self._room = Room(state, self._pending_limit)
        self._norms: dict[tuple[int, int], Estimate] = {}
        self._tables = TableMemory()
        self._reset_limits()

    def _count(self, items: Any, hashed: NDArray[np.uint64], prepared: Prepared) -> None:
        """Count a batch and note the names of its items, or raise an error and count nothing."""
        state = self._state
        batch = prepared.after(state.now)
        self._room.check(batch)
        on_time, behind = self._split_late(batch)
        if len(behind.ticks):
            self._take_late(behind)
        self._add(on_time)
        if state.config.heavy_hitters and not need_no_names(items):
            if len(hashed) <= 2 * len(state.names):  # noting a few items is quicker than looking through all names
                note_rows(state.names, items, hashed, np.arange(len(hashed)))
            else:
                note_names(state.names, state.named(), items, hashed)
            self._forget_names()

    def _add(self, batch: Batch) -> None:
        """Count arrivals in order, none behind the clock."""
        if not len(batch.ticks):
            return
        if self._state.config.counter == "slices":
            self._add_to_slices(batch)
        else:
            self._add_to_cells(batch)
        self._room.take(batch.arrivals())
        self._after_change()

    def _add_to_slices(self, batch: Batch) -> None:
        state = self._state
        self._slices().add(batch)
        if state.config.heavy_hitters:
            state.frequent = state.frequent or FrequentItems(state.config)
            state.frequent.add(batch)
        if state.origin is None:
            state.origin = int(batch.ticks[0]) if state.config.model == "time" else (state.now or 0) + 1
        state.now = int(batch.ticks[-1])

    def _slices(self) -> SlicedStream:
        """The slices of a sketch that counts by them."""
        if self._state.counters is None:
            self._state.counters = SlicedStream(self._state.config)
        assert isinstance(self._state.counters, SlicedStream)
        return self._state.counters

    def _add_to_cells(self, batch: Batch) -> None:
        """Count arrivals block by block; the state is whole after every block."""
        state = self._state
        cells = np.empty((len(self._rows.low), min(self._block, len(batch.ticks))), np.uint32)
        for begin in range(0, len(batch.ticks), self._block):
            block = batch.select(slice(begin, begin + self._block))
            if state.counters is None:
                state.counters = new_counters(state.config, state.key)
            assert not isinstance(state.counters, SlicedStream)
            block_cells = cells[:, : len(block.ticks)]
            fill_cells(block.items, self._rows, block_cells)
            oldest = int(block.ticks[0]) if state.config.model == "time" else (state.now or 0) + 1
            state.counters.add(block_cells, block.ticks, block.weights, oldest, int(block.ticks[-1]))
            if state.config.heavy_hitters:
                state.frequent = state.frequent or FrequentItems(state.config)
                state.frequent.add(block)
            if state.origin is None:
                state.origin = oldest
            state.now = int(block.ticks[-1])

    def _split_late(self, batch: Batch) -> tuple[Batch, Batch]:
        """Split a batch into what is on time and what lies behind the clock."""
        now = self._state.now
        behind = 0 if now is None else int(np.searchsorted(batch.ticks, now, side="left"))
        if behind and self._state.config.late == "raise":
            raise LateArrivalError(
                f"{behind} of {len(batch.ticks)} ticks lie behind the sketch's clock {now}, the oldest at "
                f"{batch.ticks[0]}; nothing was counted. Give ticks in order, or set late='side' or late='drop'"
            )
        return batch.select(slice(behind, None)), batch.select(slice(0, behind))

    def _take_late(self, batch: Batch) -> None:
        """Count arrivals behind the clock in their place, or as dropped."""
        state = self._state
        assert state.now is not None
        if state.config.late == "drop":
            state.late.dropped += len(batch.ticks)
            return
        if state.config.counter == "slices":
            oldest = self._accept_late(batch)
        else:
            oldest = state.late.accept(batch, state.now, state.config, self._rows)
        if oldest is not None:
            state.origin = oldest if state.origin is None else min(state.origin, oldest)
        self._room.take(batch.arrivals())
        self._after_change()

    def _accept_late(self, batch: Batch) -> int | None:
        """Count in slices what is not too late, the rest as dropped; returns the oldest tick counted."""
        state = self._state
        now, config = state.now or 0, state.config
        late = batch.select(batch.ticks > now - config.allowed_lateness)
        state.late.dropped += len(batch.ticks) - len(late.ticks)
        state.late.counted += len(late.ticks)
        if not len(late.ticks):
            return None
        self._slices().add_late(late, now)
        if config.heavy_hitters:
            fresh = FrequentItems(config)
            fresh.add(late)
            state.frequent = combine([part for part in (state.frequent, fresh) if part is not None], config, now)
        return int(late.ticks[0])

    def _forget_names(self) -> None:
        """Drop the names of items that are no candidates any more, if names have become many."""
        state = self._state
        if len(state.names) > self._names_limit:
            state.names = forget_names(state.names, state.named())
            self._names_limit = max(_FEW_NAMES, 2 * len(state.names))

    def _after_change(self) -> None:
        """Settle late arrivals whose order is final, and forget what was computed from the state before."""
        state = self._state
        if len(state.late.held.ticks) and state.now is not None:
            state.late.settle(state.now, state.config, self._rows)
        self._norms.clear()
        self._tables.clear()
        self._reset_limits()

    def _reset_limits(self) -> None:
        """Set what `update` compares ticks and weights with. It looks at nothing else, since it has to be quick."""
        self._clock = MIN_TICK if self._state.now is None else self._state.now
        self._most_weight = self._room.most_weight
