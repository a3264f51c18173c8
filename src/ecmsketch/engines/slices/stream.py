"""SliceStream: the counts of one stream. The newest events as they are, and slices that grow with age.

A stream that a sketch holds is never changed. It is forked, which shares events and slices; the fork is fed, and takes
its place. A fork that fails to be fed (without memory, or by Ctrl-C) is thrown away. So feeding is all or nothing, and
a copy of a stream costs nothing.

Forking is O(1). Adding n events costs O(n), and after every block of events O(slices); late events and events with
weights also copy all events once a call.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.ecmsketch.engines.slices.events import (
    all_ones,
    append_events,
    copy_ticks,
    copy_weights,
    digest_events,
    events_nbytes,
    first_after,
    pack_events,
    release_events,
    retain_events,
    tick_of,
)
from cython.cimports.ecmsketch.engines.slices.feeding import (
    absorb,
    absorb_late,
    begin_feed,
    clear_feed,
    count_slices,
    end_feed,
    finished_slices,
    take_slice,
)
from cython.cimports.ecmsketch.engines.slices.merging import gather_events, gather_slices, join_gathered
from cython.cimports.ecmsketch.engines.slices.profile import SLICE_WORDS
from cython.cimports.ecmsketch.engines.slices.slice_blocks import (
    new_slices,
    release_slices,
    retain_slices,
    slices_in,
    slices_nbytes,
    slices_of,
    sum_tables,
)
from cython.cimports.ecmsketch.engines.slices.tables import pack, release, retain, unpack
from cython.cimports.ecmsketch.engines.slices.types import Batch, Events, Feed, Part, Slice
from cython.cimports.ecmsketch.kernels.hashing import RowHashes, xxhash64
from cython.cimports.ecmsketch.kernels.memory import allocate, int64s, uint64s
from cython.cimports.ecmsketch.kernels.sorting import in_order
from cython.cimports.libc.stdint import int64_t, uint8_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

from ecmsketch.config import SketchConfig
from ecmsketch.config.budget import slices_carried_epsilon

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]

FACTS = cython.declare(int64_t, 10)
"""Numbers of a slice besides its table: first and last tick, arrivals, seven knots. A Slice begins with them."""
SLACK = cython.declare(int64_t, 4)
"""A block of events that is appended to has space for one in so many more."""
next_id = cython.declare(int64_t, 1)


@cython.cclass
class SliceStream:
    """Events and slices of one stream, or of several that were merged."""

    def __init__(self, config: SketchConfig) -> None:
        if self.config is not None:
            raise RuntimeError("a stream is made once")
        self.take_config(config)
        self.keep_slices(cython.NULL)

    def __dealloc__(self) -> None:
        release_slices(self.slice_memory)
        release_events(self.event_memory)

    # Forks

    @cython.cfunc
    @cython.exceptval(-1)
    def take_config(self, config: object) -> cython.int:
        """Let a config, and the levels, say how slices are made."""
        rows = config.rows
        hashes = cython.cast(RowHashes, rows)
        self.plan.recent, self.plan.block, self.plan.window = config.recent, config.block, config.window
        self.plan.counted = 1 if config.model == "count" else 0
        self.plan.epsilon_t = config.epsilon_t
        self.plan.carried = slices_carried_epsilon(config.epsilon_t, self.levels)
        self.plan.cells = config.cells
        self.plan.words = (self.plan.cells + 31) // 32
        self.plan.depth, self.plan.rows = hashes.depth, hashes.rows
        self.config, self.rows = config, rows
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def check(self) -> cython.int:
        """Raise if the stream was never made."""
        if self.config is None:
            raise RuntimeError("the stream was never made")
        return 0

    @cython.cfunc
    def same(self) -> SliceStream:
        """Another stream that shares everything."""
        self.check()
        fork: SliceStream = SliceStream.__new__(SliceStream)
        fork.config, fork.rows = self.config, self.rows
        cython.address(fork.plan)[0] = self.plan
        fork.levels, fork.fresh, fork.slices_id = self.levels, self.fresh, self.slices_id
        if self.slice_memory != cython.NULL:
            retain_slices(self.slice_memory)
            fork.slice_memory, fork.slices, fork.used = self.slice_memory, self.slices, self.used
        if self.event_memory != cython.NULL:
            retain_events(self.event_memory)
            fork.event_memory = self.event_memory
            cython.address(fork.events)[0] = self.events
        return fork

    def fork(self) -> SliceStream:
        """Another stream with the same contents, which may be fed. It shares memory."""
        return self.same()

    def with_config(self, config: SketchConfig) -> SliceStream:
        """A fork under a config that feeds or reads it differently; what slices hold must not depend on that."""
        fork = self.same()
        fork.take_config(config)
        return fork

    def shifted(self, ticks: int) -> SliceStream:
        """The same arrivals, later by so many ticks."""
        fork = self.same()
        by: int64_t = ticks
        i: int64_t
        k: int64_t
        memory: cython.p_void
        fork.events.base += by
        if fork.used:
            memory = new_slices(fork.used)
            if memory == cython.NULL:
                raise MemoryError
            slices: cython.pointer(Slice) = slices_of(memory)
            for i in range(fork.used):
                slices[i] = fork.slices[i]
                retain(slices[i].table)
                slices[i].first += by
                slices[i].last += by
                for k in range(7):
                    slices[i].knots[k] += by
            sum_tables(memory, fork.plan.words)
            fork.keep_slices(memory)
        return fork

    @cython.cfunc
    def keep_slices(self, memory: cython.p_void) -> cython.void:
        """Let the slices of a block be those of the stream."""
        global next_id
        release_slices(self.slice_memory)
        self.slice_memory, self.slices, self.used = memory, cython.NULL, 0
        if memory != cython.NULL:
            self.slices = slices_of(memory)
            self.used = slices_in(memory)
        self.slices_id = next_id
        next_id += 1

    @cython.cfunc
    def keep_events(self, memory: cython.p_void, events: cython.pointer(Events)) -> cython.void:
        """Let events in a block be those of the stream."""
        release_events(self.event_memory)
        self.event_memory = memory
        cython.address(self.events)[0] = events[0]

    # Feeding: only forks that nobody else sees

    def add(self, keys: Keys, ticks: Ints, weights: Ints | None = None) -> None:
        """Count arrivals that are sorted by tick and not before those already there."""
        batch = cython.declare(Batch)
        first: int64_t
        self.check()
        _fill_batch(cython.address(batch), keys, ticks, weights)
        if batch.count == 0:
            return
        if batch.weights != cython.NULL or self.events.weights != cython.NULL:
            self.add_moved(cython.address(batch))
        elif self.fresh + batch.count < self.plan.block:
            self.append(cython.address(batch))
            self.fresh += batch.count
        else:
            first = tick_of(cython.address(self.events), 0) if self.events.count else batch.ticks[0]
            if self.used == 0 or first >= self.slices[self.used - 1].last:
                self.add_plain(cython.address(batch))
            else:
                self.add_moved(cython.address(batch))

    def add_late(self, keys: Keys, ticks: Ints, weights: Ints | None, now: int) -> None:
        """Count arrivals that are sorted by tick and lie anywhere inside the window, which ends at `now`."""
        batch = cython.declare(Batch)
        feed = cython.declare(Feed)
        at = cython.declare(int64_t[1])
        done: cython.int = 0
        self.check()
        at[0] = 0
        _fill_batch(cython.address(batch), keys, ticks, weights)
        self.forget(now - self.plan.window)
        if batch.count == 0:
            return
        clear_feed(cython.address(feed), cython.address(self.plan))
        try:
            self.copy_columns(cython.address(feed), batch.count, batch.weights != cython.NULL)
            if not in_order(batch.ticks, batch.count) or not in_order(feed.ticks, feed.end):
                raise ValueError("ticks: expected them sorted")
            cut: cython.bint = self.fresh + batch.count >= self.plan.block
            if cut:
                self.begin_draft(cython.address(feed))
            while done == 0:
                with cython.nogil:
                    done = absorb_late(cython.address(feed), cython.address(batch), at)
                feed.work = 0
                PyErr_CheckSignals()
            if done < 0:
                raise MemoryError
            if cut:
                _count(cython.address(feed))
                self.take_draft(cython.address(feed))
            self.keep_columns(cython.address(feed))
        finally:
            end_feed(cython.address(feed))

    def forget(self, limit: int) -> None:
        """Forget what is not after a tick, as its bytes do: else the state would tell whether it was written."""
        last: int64_t = limit
        gone: int64_t = 0
        i: int64_t
        memory: cython.p_void = cython.NULL
        while gone < self.used and self.slices[gone].last <= last:
            gone += 1
        if gone:
            if gone < self.used:
                memory = new_slices(self.used - gone)
                if memory == cython.NULL:
                    raise MemoryError
                slices: cython.pointer(Slice) = slices_of(memory)
                for i in range(self.used - gone):
                    slices[i] = self.slices[gone + i]
                    retain(slices[i].table)
                sum_tables(memory, self.plan.words)
            self.keep_slices(memory)
        gone = first_after(cython.address(self.events), last)
        if gone:
            self.drop_events(gone)
            self.trim_events()

    @cython.cfunc
    @cython.exceptval(-1)
    def pack(self, batch: cython.pointer(Batch)) -> cython.int:
        """Let the events be those of a batch."""
        events = cython.declare(Events)
        memory: cython.p_void = cython.NULL
        if batch[0].count == 0:
            events.keys, events.weights, events.base, events.count = cython.NULL, cython.NULL, 0, 0
            events.offsets, events.wide = cython.NULL, cython.NULL
            self.keep_events(memory, cython.address(events))
            return 0
        memory = pack_events(batch, 0, cython.address(events))
        if memory == cython.NULL:
            raise MemoryError
        self.keep_events(memory, cython.address(events))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def append(self, batch: cython.pointer(Batch)) -> cython.int:
        """Put events without weights behind the others."""
        events = cython.declare(Events)
        cython.address(events)[0] = self.events
        total: int64_t = events.count + batch[0].count
        spare: int64_t = min(total, self.plan.recent + self.plan.block) // SLACK + 8
        memory: cython.p_void = append_events(self.event_memory, cython.address(events), batch, spare)
        if memory == cython.NULL:
            raise MemoryError
        self.keep_events(memory, cython.address(events))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def drop_events(self, count: int64_t) -> cython.int:
        """Forget the oldest events, but not their memory."""
        self.events.count -= count
        self.events.keys = self.events.keys + count
        if self.events.offsets != cython.NULL:
            self.events.offsets = self.events.offsets + count
        elif self.events.wide != cython.NULL:
            self.events.wide = self.events.wide + count
        else:
            self.events.base += count
        if self.events.weights != cython.NULL:
            self.events.weights = self.events.weights + count
            if all_ones(self.events.weights, self.events.count):
                self.events.weights = cython.NULL
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def trim_events(self) -> cython.int:
        """Move events to a block of their own if much of theirs is not used any more."""
        batch = cython.declare(Batch)
        count: int64_t = self.events.count
        if events_nbytes(self.event_memory) <= 24 * count + 1024:
            return 0
        memory: cython.p_void = allocate(8 * count)
        if memory == cython.NULL:
            raise MemoryError
        batch.keys, batch.weights, batch.count = self.events.keys, self.events.weights, count
        batch.ticks = cython.cast(cython.pointer(int64_t), memory)
        copy_ticks(cython.address(self.events), 0, count, batch.ticks)
        try:
            self.pack(cython.address(batch))
        finally:
            free(memory)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_plain(self, batch: cython.pointer(Batch)) -> cython.int:
        """Count events without weights, when none lies before the end of a slice: none stays, none is moved."""
        feed = cython.declare(Feed)
        rest = cython.declare(Batch)
        known: int64_t = self.events.count
        clear_feed(cython.address(feed), cython.address(self.plan))
        try:
            self.begin_draft(cython.address(feed))
            feed.packed, feed.known = cython.address(self.events), known
            feed.keys, feed.ticks = batch[0].keys, batch[0].ticks
            feed.end, feed.fresh = known, self.fresh
            _absorb(cython.address(feed), known + batch[0].count)
            if feed.start >= known:  # all events that are left are from the batch
                cython.address(rest)[0] = batch[0]
                rest.keys, rest.ticks = rest.keys + (feed.start - known), rest.ticks + (feed.start - known)
                rest.count -= feed.start - known
                self.pack(cython.address(rest))
            else:
                self.drop_events(feed.start)
                self.append(batch)
                self.trim_events()
            self.take_draft(cython.address(feed))
            self.fresh = feed.fresh
        finally:
            end_feed(cython.address(feed))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_moved(self, batch: cython.pointer(Batch)) -> cython.int:
        """Count events, of which some may stay events while newer ones become slices."""
        feed = cython.declare(Feed)
        known: int64_t = self.events.count
        total: int64_t = known + batch[0].count
        i: int64_t
        cut: cython.bint = self.fresh + batch[0].count >= self.plan.block
        clear_feed(cython.address(feed), cython.address(self.plan))
        try:
            self.copy_columns(cython.address(feed), batch[0].count, batch[0].weights != cython.NULL)
            memcpy(feed.keys + known, batch[0].keys, cython.cast(cython.size_t, 8 * batch[0].count))
            memcpy(feed.ticks + known, batch[0].ticks, cython.cast(cython.size_t, 8 * batch[0].count))
            if batch[0].weights != cython.NULL:
                memcpy(feed.weights + known, batch[0].weights, cython.cast(cython.size_t, 8 * batch[0].count))
            elif feed.weights != cython.NULL:
                for i in range(known, total):
                    feed.weights[i] = 1
            if not in_order(feed.ticks, total):
                raise ValueError("ticks: expected them sorted, and none before those that were counted")
            if cut:
                self.begin_draft(cython.address(feed))
                _absorb(cython.address(feed), total)
                self.take_draft(cython.address(feed))
            else:
                feed.end = total
                feed.fresh += batch[0].count
            self.keep_columns(cython.address(feed))
        finally:
            end_feed(cython.address(feed))
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def begin_draft(self, feed: cython.pointer(Feed)) -> cython.int:
        """Let a feed have a draft of the slices."""
        i: int64_t
        if not begin_feed(feed, self.used):
            raise MemoryError
        for i in range(self.used):
            take_slice(feed, self.slices + i)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def take_draft(self, feed: cython.pointer(Feed)) -> cython.int:
        """Let the slices of a counted draft be those of the stream."""
        memory: cython.p_void = cython.NULL
        if feed[0].used:
            memory = finished_slices(feed)
            if memory == cython.NULL:
                raise MemoryError
        self.keep_slices(memory)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def copy_columns(self, feed: cython.pointer(Feed), more: int64_t, weighted: cython.bint) -> cython.int:
        """Let a feed have columns of the events, with space for more of them."""
        count: int64_t = self.events.count
        total: int64_t = count + more
        weighted = weighted or self.events.weights != cython.NULL
        feed[0].columns = allocate(8 * total * (3 if weighted else 2))
        if feed[0].columns == cython.NULL:
            raise MemoryError
        feed[0].keys = cython.cast(cython.pointer(uint64_t), feed[0].columns)
        feed[0].ticks = cython.cast(cython.pointer(int64_t), feed[0].columns) + total
        if count:
            memcpy(feed[0].keys, self.events.keys, cython.cast(cython.size_t, 8 * count))
        copy_ticks(cython.address(self.events), 0, count, feed[0].ticks)
        if weighted:
            feed[0].weights = feed[0].ticks + total
            copy_weights(cython.address(self.events), 0, count, feed[0].weights)
        feed[0].end, feed[0].fresh = count, self.fresh
        feed[0].arrivals = _weigh(feed[0].weights, count)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def keep_columns(self, feed: cython.pointer(Feed)) -> cython.int:
        """Let the events of a feed that stay be those of the stream."""
        batch = cython.declare(Batch)
        start: int64_t = feed[0].start
        batch.keys, batch.ticks, batch.weights = feed[0].keys + start, feed[0].ticks + start, cython.NULL
        if feed[0].weights != cython.NULL:
            batch.weights = feed[0].weights + start
        batch.count = feed[0].end - start
        self.pack(cython.address(batch))
        self.fresh = feed[0].fresh
        return 0

    # Merging

    @staticmethod
    def merge(parts: list[SliceStream], now: int) -> SliceStream:
        """The union of several streams, as far as it is inside the window at `now`.

        It adds a level of error if slices of two streams lie over each other. Events are merged without loss.
        """
        spans = sorted(part.span() for part in parts if part.used)
        overlap = any(spans[i][1] > spans[i + 1][0] for i in range(len(spans) - 1))
        return _united(parts, max(part.levels for part in parts) + int(overlap), now)

    @staticmethod
    def concat(segments: list[SliceStream], now: int) -> SliceStream:
        """Consecutive segments of one stream, without added error."""
        return _united(segments, max(segment.levels for segment in segments), now)

    def span(self) -> tuple[int, int]:
        """The first and the last tick of all slices, of which there are some."""
        i: int64_t
        first: int64_t
        last: int64_t
        if self.used == 0:
            raise ValueError("there are no slices")
        first, last = self.slices[0].first, self.slices[0].last
        for i in range(self.used):
            first, last = min(first, self.slices[i].first), max(last, self.slices[i].last)
        return first, last

    def digest(self) -> tuple[int, ...]:
        """Numbers for what the stream holds: they order the parts of a union, however these were given."""
        found = digest_events(cython.address(self.events))
        if self.used:
            facts = self.facts()
            found += (xxhash64(cython.cast(cython.pointer(uint8_t), int64s(facts)), 80 * self.used, 0),)
        return found

    # Looking at it

    @property
    def slice_count(self) -> int:
        """Slices, without what is still kept as events."""
        return self.used

    @property
    def event_count(self) -> int:
        """Events that are kept as they are."""
        return self.events.count

    @property
    def bucket_count(self) -> int:
        """Slices, and events."""
        return self.used + self.events.count

    @property
    def carried(self) -> float:
        """How sharply the start of a range is honoured now, merging included."""
        return self.plan.carried

    @property
    def nbytes(self) -> int:
        """Memory held; what other streams hold too counts in full."""
        return slices_nbytes(self.slice_memory) + events_nbytes(self.event_memory)

    def facts(self) -> Ints:
        """First tick, last tick, arrivals and seven knots of each slice."""
        found = np.empty((self.used, FACTS), np.int64)
        target: cython.pointer(int64_t) = int64s(found)
        i: int64_t
        for i in range(self.used):
            memcpy(target + FACTS * i, self.slices + i, cython.cast(cython.size_t, 8 * FACTS))
        return found

    def table(self, slot: int) -> Ints:
        """The cells of a slice."""
        if not 0 <= slot < self.used:
            raise IndexError(f"slot: expected one of {self.used}, got {slot}")
        found = np.zeros(32 * self.plan.words, np.int64)
        cells: cython.pointer(int64_t) = int64s(found)
        unpack(self.slices[cython.cast(int64_t, slot)].table, self.plan.words, cells)
        return found[: self.plan.cells].copy()

    def events_columns(self) -> tuple[Keys, Ints, Ints | None]:
        """Copies of the keys, ticks and weights of the events; no weights if all are one."""
        count: int64_t = self.events.count
        keys, ticks = np.empty(count, np.uint64), np.empty(count, np.int64)
        weights = None
        if count:
            memcpy(uint64s(keys), self.events.keys, cython.cast(cython.size_t, 8 * count))
            copy_ticks(cython.address(self.events), 0, count, int64s(ticks))
            if self.events.weights != cython.NULL:
                weights = np.empty(count, np.int64)
                copy_weights(cython.address(self.events), 0, count, int64s(weights))
        return keys, ticks, weights

    @staticmethod
    def restored(
        config: SketchConfig, levels: int, fresh: int, events: tuple[Keys, Ints, Ints | None], facts: Ints,
        tables: list[Ints],
    ) -> SliceStream:  # fmt: skip
        """The stream of some events and slices, whose tables are given as cells."""
        batch = cython.declare(Batch)
        _fill_batch(cython.address(batch), events[0], events[1], events[2])
        used: int64_t = len(tables)
        made: int64_t = 0
        if facts.shape != (used, FACTS):
            raise ValueError(f"facts: expected {used} rows, got {facts.shape}")
        numbers = np.ascontiguousarray(facts, np.int64)
        source: cython.pointer(int64_t) = int64s(numbers)
        words: int64_t = (config.cells + 31) // 32
        padded = np.zeros(32 * words, np.int64)
        cells: cython.pointer(int64_t) = int64s(padded)
        slices: cython.pointer(Slice) = cython.cast(cython.pointer(Slice), allocate(8 * SLICE_WORDS * used))
        if slices == cython.NULL:
            raise MemoryError
        try:
            for table in tables:
                padded[: config.cells] = table
                memcpy(slices + made, source + FACTS * made, cython.cast(cython.size_t, 8 * FACTS))
                slices[made].table = pack(cells, words)
                if slices[made].table == cython.NULL:
                    raise MemoryError
                made += 1
        except BaseException:
            _drop(slices, made)
            raise
        return adopt(config, levels, fresh, slices, used, cython.address(batch))


@cython.cfunc
def adopt(
    config: object, levels: int64_t, fresh: int64_t, slices: cython.pointer(Slice), used: int64_t,
    events: cython.pointer(Batch),
) -> SliceStream:  # fmt: skip
    """A stream of slices, which are taken over in any case, and of events, which are copied."""
    i: int64_t
    memory: cython.p_void = cython.NULL
    target: cython.pointer(Slice)
    try:
        stream = SliceStream(config)
        stream.levels, stream.fresh = levels, fresh
        stream.take_config(config)
        stream.pack(events)
        if used:
            memory = new_slices(used)
            if memory == cython.NULL:
                raise MemoryError
    except BaseException:
        _drop(slices, used)
        raise
    if used:
        target = slices_of(memory)
        for i in range(used):
            target[i] = slices[i]
            target[i].low, target[i].high, target[i].begin, target[i].end = 0, 0, 0, 0
        sum_tables(memory, stream.plan.words)
        stream.keep_slices(memory)
    free(slices)
    return stream


@cython.cfunc
def _drop(slices: cython.pointer(Slice), used: int64_t) -> cython.void:
    """Give up slices and their memory."""
    i: int64_t
    for i in range(used):
        release(slices[i].table)
    free(slices)


@cython.cfunc
@cython.exceptval(-1)
def _fill_batch(batch: cython.pointer(Batch), keys: object, ticks: object, weights: object) -> cython.int:
    """Columns of events; weights that are all one are left out. They must live as long as the batch is used."""
    count: int64_t = len(keys)
    batch[0].keys, batch[0].ticks, batch[0].weights = uint64s(keys), int64s(ticks), cython.NULL
    batch[0].count = count
    if len(ticks) != count or (weights is not None and len(weights) != count):
        raise ValueError("keys, ticks and weights: expected as many of each")
    if weights is not None:
        batch[0].weights = int64s(weights)
        if all_ones(batch[0].weights, count):
            batch[0].weights = cython.NULL
    return 0


@cython.cfunc
@cython.nogil
def _weigh(weights: cython.pointer(int64_t), count: int64_t) -> int64_t:
    """How many arrivals some events stand for."""
    arrivals: int64_t = 0
    i: int64_t
    if weights == cython.NULL:
        return count
    for i in range(count):
        arrivals += weights[i]
    return arrivals


@cython.cfunc
@cython.exceptval(-1)
def _absorb(feed: cython.pointer(Feed), total: int64_t) -> cython.int:
    """Let a feed take in all events, and count them; a MemoryError, or whatever a signal raises."""
    done: cython.int = 0
    while done == 0:
        with cython.nogil:
            done = absorb(feed, total)
        feed[0].work = 0
        PyErr_CheckSignals()
    if done < 0:
        raise MemoryError
    return _count(feed)


@cython.cfunc
@cython.exceptval(-1)
def _count(feed: cython.pointer(Feed)) -> cython.int:
    """Let each slice of a feed have one table."""
    done: cython.int = 0
    while done == 0:
        with cython.nogil:
            done = count_slices(feed)
        feed[0].work = 0
        PyErr_CheckSignals()
    if done < 0:
        raise MemoryError
    return 0


@cython.cfunc
def _united(parts: list, levels: int, now: int) -> SliceStream:
    """The events and slices of all parts, those outside the window forgotten, joined as the plan allows."""
    feed = cython.declare(Feed)
    part: SliceStream
    at: int64_t = 0
    count: int64_t = len(parts)
    good: cython.int = 0
    result = SliceStream(parts[0].config)
    result.levels = levels
    result.take_config(parts[0].config)
    limit: int64_t = now - result.plan.window
    ordered = sorted(parts, key=_digest_of) if count > 1 else parts  # the order in which they were given is lost
    contents: cython.pointer(Part) = cython.cast(cython.pointer(Part), allocate(24 * count))
    if contents == cython.NULL:
        raise MemoryError
    clear_feed(cython.address(feed), cython.address(result.plan))
    try:
        for item in ordered:
            part = item
            contents[at].slices, contents[at].used = part.slices, part.used
            contents[at].events = cython.address(part.events)
            at += 1
        good = gather_slices(cython.address(feed), contents, count, limit)
        if good < 0:
            raise OverflowError("slices: the parts have more arrivals than can be counted")
        if good == 0:
            raise MemoryError
        with cython.nogil:
            good = gather_events(cython.address(feed), contents, count, limit)
            if good and (feed.end >= feed.plan.recent + feed.plan.block or (feed.used and count > 1)):
                good = join_gathered(cython.address(feed))
        if not good:
            raise MemoryError
        _count(cython.address(feed))
        result.keep_columns(cython.address(feed))
        result.take_draft(cython.address(feed))
    finally:
        free(contents)
        end_feed(cython.address(feed))
    return result


def _digest_of(part: SliceStream) -> tuple[int, ...]:
    return part.digest()
