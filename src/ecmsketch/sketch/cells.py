"""Reads cells: what some counters of a sketch hold over a range, late arrivals and the errors of merging included."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.counters import Reading
from ecmsketch.errors import QueryError
from ecmsketch.estimate import Estimate
from ecmsketch.inputs.ticks import Span
from ecmsketch.sketch import bounds
from ecmsketch.sketch.gathering import Gathering
from ecmsketch.sketch.locks import locked
from ecmsketch.sketch.ranges import Interval, ticks_asked
from ecmsketch.sketch.table_memory import TableView
from ecmsketch.slices import SlicedStream
from ecmsketch.slices.centring import expected_collisions, likely_collision
from ecmsketch.slices.stream_reading import blocks_of

_MOST_NORMS = 1024
"""Ranges whose number of arrivals is remembered."""


class CellReading(Gathering):
    """Adds the reading of cells to a sketch. A cell is named by its number: the first row's come first."""

    @locked
    def read_cells(
        self, numbers: NDArray[np.uint32], last: Span | None = None, between: Interval | None = None
    ) -> Reading:
        """What the cells with these numbers hold over a range: arrays .value, .lower and .upper in their order.

        Cells are numbered from 0 to config.cells - 1, row by row; ranges are as for `estimate`.
        """
        cells = np.asarray(numbers)
        if cells.ndim != 1 or cells.dtype.kind not in "iu" or not _within(cells, self._state.config.cells):
            raise QueryError(
                f"numbers: expected an array of whole numbers from 0 to {self._state.config.cells - 1}, the cells of "
                f"this sketch, got {numbers!r}"
            )
        return self._read(cells.astype(np.uint32), *self._range(last, between))

    def _range(self, last: Any, between: Any, now: int | None = None) -> tuple[int, int]:
        """The range (since, until] that a question means, by this sketch's clock or a given one."""
        if now is None:
            now = self._flushed().now or 0
        return ticks_asked(self._state.config, now, last, between)

    def _read(self, cells: NDArray[np.uint32], since: int, until: int) -> Reading:
        engine = self._flushed().counters
        if isinstance(engine, SlicedStream):
            return engine.read(cells, since, until)
        reading = self._read_since(cells, since)
        now = self._flushed().now
        if now is None or until >= now:
            return reading
        return bounds.difference(reading, self._read_since(cells, until))

    def _read_since(self, cells: NDArray[np.uint32], since: int) -> Reading:
        state = self._flushed()
        zeros = np.zeros(len(cells))
        reading = Reading(zeros, zeros, zeros)
        if state.origin is None or state.now is None:
            return reading
        since = min(max(since, state.now - state.config.window), state.now)
        for counters in (state.counters, state.late.settled):
            if counters is not None and not isinstance(counters, SlicedStream):
                reading = bounds.add(reading, counters.read(cells, since, state.now, state.origin))
        held = state.late.held_by_cell(since, self._rows)
        if held is not None:
            reading = bounds.add(reading, Reading(held[cells], held[cells], held[cells]))
        displaced = state.levels if since >= state.origin else 0
        return bounds.widen(reading, state.config.epsilon_sw, displaced)

    def _read_block(self, first: int, shape: tuple[int, int], since: int, until: int) -> Reading:
        """Consecutive cells over a range, from the one numbered `first`, as rows x columns."""
        cells = np.arange(first, first + shape[0] * shape[1], dtype=np.uint32)
        return Reading(*(part.reshape(shape) for part in self._read(cells, since, until)))

    def _view(self, since: int, until: int) -> TableView:
        """All cells of one table over a range."""
        return self._tables.view((since, until), lambda: self._new_view(since, until))

    def _new_view(self, since: int, until: int) -> TableView:
        config = self._state.config
        cells = self._all_since(since)
        now = self._flushed().now
        if now is not None and until < now:
            cells = bounds.difference(cells, self._all_since(until))
        (expected,) = expected_collisions(np.rint(cells.value).astype(np.int64), blocks_of(config))
        return TableView(cells, float(expected), cells.value.reshape(config.depth, config.width).sum(axis=1))

    def _all_since(self, since: int) -> Reading:
        every = np.arange(self._state.config.cells, dtype=np.uint32)
        return self._tables.cells_since(since, lambda: self._read_since(every, since))

    def _collisions(self, since: int, until: int, delta: float) -> bounds.Collisions:
        """What collisions add to an item's count in a range."""
        return self._tables.collisions_in((since, until, delta), lambda: self._new_collisions(since, until, delta))

    def _new_collisions(self, since: int, until: int, delta: float) -> bounds.Collisions:
        view, likely = self._view(since, until), inf
        if delta > 0:
            most = np.floor(view.cells.upper * (1 + 2.0**-50)).astype(np.int64)  # rounding must not make it less
            likely = float(likely_collision(most, blocks_of(self._state.config), 0, delta))
        return bounds.Collisions(view.expected, view.sums, likely, delta)

    def _norm(self, since: int, until: int) -> Estimate:
        """All arrivals in a range, from the fewest cells that have counted each of them; remembered until a change."""
        if (since, until) not in self._norms:
            if len(self._norms) >= _MOST_NORMS:
                self._norms.clear()
            engine = self._flushed().counters
            if isinstance(engine, SlicedStream):
                self._norms[since, until] = engine.total(since, until)
            else:
                table = self._read_block(0, self._norm_shape, since, until)
                self._norms[since, until] = bounds.total(table, self._state.config)
        return self._norms[since, until]

    @property
    @abstractmethod
    def _norm_shape(self) -> tuple[int, int]:
        """Rows x columns of the first cells, such that each row has counted every arrival once."""


def _within(cells: NDArray[Any], count: int) -> bool:
    return not len(cells) or (int(cells.min()) >= 0 and int(cells.max()) < count)
