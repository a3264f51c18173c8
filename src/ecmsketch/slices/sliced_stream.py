"""SlicedStream: the state of the second engine. The newest events as they are, and slices that grow with age."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.counters.arrivals import Batch
from ecmsketch.counters.contract import Ints
from ecmsketch.inputs.row_hashes import RowHashes
from ecmsketch.slices import slice_bytes
from ecmsketch.slices.absorbing import absorb, absorb_late
from ecmsketch.slices.making import Plan
from ecmsketch.slices.recent_events import RecentEvents, no_events
from ecmsketch.slices.settling import scratch
from ecmsketch.slices.stacking import united
from ecmsketch.slices.stream_reading import StreamReading, blocks_of
from ecmsketch.slices.table_pool import (
    ARRIVALS,
    FIRST,
    FREE_ROWS,
    LAST,
    SLICES,
    TABLE,
    TablePool,
    drop_oldest,
    new_pool,
    trimmed,
)

_NO_WEIGHTS = np.empty(0, np.int64)
_MANY = 2**17
"""Events that are worth not copying."""
_MOST_ROOM = 3 * 2**16


class _Room(threading.local):
    """Memory of one thread for events that are counted: new memory would take as long as counting them."""

    items = np.empty(0, np.uint64)
    ticks = np.empty(0, np.int64)

    def of(self, count: int) -> tuple[NDArray[np.uint64], Ints]:
        """Arrays for so many items and ticks, to be used until the next call. At most 3 MB are kept."""
        if count > _MOST_ROOM:
            return np.empty(count, np.uint64), np.empty(count, np.int64)
        if count > len(self.items):
            size = min(2 * count, _MOST_ROOM)
            self.items, self.ticks = np.empty(size, np.uint64), np.empty(size, np.int64)
        return self.items[:count], self.ticks[:count]


_room = _Room()


class SlicedStream(StreamReading):
    """Events and slices of one stream, or of several that were merged."""

    def __init__(self, config: SketchConfig) -> None:
        self.config = config
        self.levels = 0
        """Levels of merging behind the slices."""
        self.fresh = 0
        """Events since the last block of events became slices."""
        self.events = no_events()
        self.pool = new_pool(config.cells)
        self._changed()

    @classmethod
    def _of(cls, config: SketchConfig, contents: slice_bytes.Contents) -> Self:
        stream = cls(config)
        stream.fresh, stream.events, stream.pool = contents
        return stream

    @property
    def rows(self) -> RowHashes:
        """The hashes that give items their cells."""
        return self.config.row_hashes()

    @property
    def slice_count(self) -> int:
        """Slices, without what is still kept as events."""
        return int(self.pool.used[SLICES])

    def add(self, batch: Batch) -> None:
        """Count arrivals that are sorted by tick and not before those already there."""
        first = self.config.recent + 2 * self.config.block
        if batch.weights is not None or len(self.events.weights) or len(batch.ticks) < max(_MANY, 4 * first):
            self._add_copied(batch)
            return
        # After the first of these, the newest events are all from this batch, which is then read where it is.
        known = len(self.events)
        start = self._add_copied(batch.select(slice(first)))
        if start < known:
            self._add_copied(batch.select(slice(first, None)))
            return
        begin = start - known
        items, ticks, known = batch.items[begin:], batch.ticks[begin:], first - begin
        outcome = absorb(
            self.pool, items, ticks, _NO_WEIGHTS, known, self.fresh, self._plan, self.rows, scratch(self.config.cells)
        )
        self._keep(items, ticks, _NO_WEIGHTS, outcome)

    def _add_copied(self, batch: Batch) -> int:
        """Count arrivals as `add`; returns the place among events and arrivals from which on these are kept."""
        known = len(self.events)
        weighted = batch.weights is not None or len(self.events.weights) > 0
        items, ticks = _room.of(known + len(batch.ticks))
        np.concatenate([self.events.items, batch.items], out=items)
        np.concatenate([self.events.ticks, batch.ticks], out=ticks)
        weights = _NO_WEIGHTS
        if weighted:
            weights = np.concatenate([self.events.explicit_weights(), batch.explicit_weights()])
        memory = scratch(self.config.cells)
        outcome = absorb(self.pool, items, ticks, weights, known, self.fresh, self._plan, self.rows, memory)
        self._keep(items, ticks, weights, outcome)
        return int(outcome[1])

    def add_late(self, batch: Batch, now: int) -> None:
        """Count arrivals that are sorted by tick and lie anywhere inside the window, which ends at `now`."""
        self._forget(now - self.config.window)
        known, more = len(self.events), len(batch.ticks)
        weights = np.concatenate([self.events.explicit_weights(), batch.explicit_weights()])
        late = batch._replace(weights=batch.explicit_weights())
        items = np.concatenate([self.events.items, np.empty(more, np.uint64)])
        ticks = np.concatenate([self.events.ticks, np.empty(more, np.int64)])
        memory = scratch(self.config.cells)
        outcome = absorb_late(self.pool, items, ticks, weights, known, late, self.fresh, self._plan, self.rows, memory)
        self._keep(items, ticks, weights, outcome)

    def _forget(self, limit: int) -> None:
        """Forget what is not after `limit`, as its bytes do: else the state would tell whether it was written."""
        drop_oldest(self.pool, limit)
        ticks = self.events.ticks
        if len(ticks) and ticks[0] <= limit:
            inside, weights = ticks > limit, self.events.explicit_weights()
            self.events = RecentEvents.of(self.events.items[inside], ticks[inside], weights[inside])

    def _keep(self, items: NDArray[np.uint64], ticks: Ints, weights: Ints, outcome: tuple[TablePool, int, int]) -> None:
        """Let what a kernel made of slices and events be the state."""
        self.pool, start, self.fresh = outcome
        self.events = RecentEvents.of(items[start:], ticks[start:], weights[start:])
        if int(self.pool.used[FREE_ROWS]) * 8 > len(self.pool.pool):
            self.pool = trimmed(self.pool)
        self._changed(slices=start > 0)

    @property
    def _plan(self) -> Plan:
        config = self.config
        counted = int(config.model == "count")
        return Plan(config.recent, config.block, config.window, counted, config.epsilon_t, self.carried, config.cells)

    @classmethod
    def merge(cls, parts: list[Self], now: int) -> Self:
        """The union of several streams, as far as it is inside the window at `now`.

        It adds a level of error if slices of two streams lie over each other. Events are merged without loss.
        """
        spans = sorted(part._span() for part in parts if part.slice_count)
        overlap = any(begin < end for (_, end), (begin, _) in pairwise(spans))
        return cls._united(parts, max(part.levels for part in parts) + int(overlap), now)

    def _span(self) -> tuple[int, int]:
        """The first and the last tick of all slices."""
        facts = self.pool.facts[: self.slice_count]
        return int(facts[:, FIRST].min()), int(facts[:, LAST].max())

    @classmethod
    def concat(cls, segments: list[Self], now: int) -> Self:
        """Consecutive segments of one stream, without added error."""
        return cls._united(segments, max(segment.levels for segment in segments), now)

    @classmethod
    def _united(cls, parts: list[Self], levels: int, now: int) -> Self:
        result = cls(parts[0].config)
        result.levels = levels
        contents = [(part.events, part.pool) for part in parts]
        result.events, result.pool = united(contents, result._plan, result.rows, now)
        return result

    def shift(self, ticks: int) -> None:
        """Move every arrival later by that many ticks."""
        self.events = self.events.shift(ticks)
        facts = self.pool.facts.copy()
        facts[:, [column for column in range(TABLE) if column != ARRIVALS]] += ticks
        self.pool = self.pool._replace(facts=facts)
        self._changed()

    def encode(self, now: int) -> bytes:
        """The state at `now` as bytes; equal states give equal bytes."""
        contents = slice_bytes.Contents(self.fresh, self.events, self.pool)
        return slice_bytes.encode(contents, now, self.config.window, self.config.cells)

    @classmethod
    def decode(cls, data: NDArray[np.uint8], config: SketchConfig, now: int, most: int) -> Self:
        """The state that `encode` wrote, or a FormatError. It takes few more bytes of memory than there is data."""
        contents = slice_bytes.decode(data, now, config.window, config.block, config.cells, blocks_of(config))
        return cls._of(config, contents)

    def copy(self, config: SketchConfig | None = None) -> Self:
        """An independent copy, under a config that reads it differently if given."""
        copied = self._of(config or self.config, slice_bytes.Contents(self.fresh, self.events, trimmed(self.pool)))
        copied.levels = self.levels
        return copied

    @property
    def nbytes(self) -> int:
        """Memory held by the state, without tables that are remembered for questions."""
        return int(self.events.nbytes + sum(part.nbytes for part in self.pool))

    @property
    def bucket_count(self) -> int:
        """Slices, and events."""
        return self.slice_count + len(self.events)
