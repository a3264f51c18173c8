"""RangeReading: what every question about a range of slices needs, found once and remembered.

A range is located: some slices lie inside it, some it cuts (ranges.py). Ranges to which all slices are the same share a
view: tables, and what collisions add in them (weighing.py). What is remembered takes at most as many bytes as the
stream, or LEAST_LIMIT (remembered.py).

It changes only what is remembered, and that with the interpreter's lock. Long work is done without the lock, on memory
that the question holds on to.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.engines.slices.event_counts import (
    count_by_index,
    count_keys,
    index_nbytes,
    new_index,
)
from cython.cimports.ecmsketch.engines.slices.events import arrivals_between, events_between
from cython.cimports.ecmsketch.engines.slices.range_tables import MOST_ROWS, Tables
from cython.cimports.ecmsketch.engines.slices.ranges import Range, locate, new_range
from cython.cimports.ecmsketch.engines.slices.remembered import (
    PlainTables,
    Prepared,
    RangeFacts,
    RangeView,
    Remembered,
    new_facts,
    new_plain,
    new_prepared,
    new_view,
)
from cython.cimports.ecmsketch.engines.slices.stream import SliceStream
from cython.cimports.ecmsketch.engines.slices.weighing import Weighing, weigh_tables
from cython.cimports.ecmsketch.kernels.hashing import Row, RowHashes
from cython.cimports.ecmsketch.kernels.memory import doubles, int32s, int64s, uint64s
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import free

from ecmsketch.engines.collisions import blocks_of
from ecmsketch.inputs.ticks import MAX_TICK

LEAST_LIMIT = cython.declare(int64_t, 16384)
"""So many bytes may be remembered of any stream."""
PACKED = cython.declare(int64_t, 100)
"""Reading a packed cell takes as long as making so many cells plain."""
MANY_EVENTS = cython.declare(int64_t, 512)
"""With fewer events an index is not worth it."""
FEW_KEYS = cython.declare(int64_t, 4)
"""So few keys are looked for among all events, which are looked at quickly (event_counts.py)."""
SORTED = cython.declare(int64_t, 4)
"""Making an index of events takes as long as looking so many times for all of them in a hash table."""
MOST_BYTES = cython.declare(int64_t, 2**62)
LAST_TICK = cython.declare(int64_t, MAX_TICK)


@cython.cclass
class RangeReading:
    """Ranges of a stream, which never changes, and what is remembered of them. A range is (since, until]."""

    def __init__(self, stream: SliceStream) -> None:
        self.stream = stream

    @property
    def nbytes(self) -> int:
        """Bytes that are remembered."""
        return 0 if self.known is None else self.known.held

    @property
    def limit(self) -> int:
        """How many bytes may be remembered."""
        return max(LEAST_LIMIT, self.stream.nbytes)

    def forget(self) -> None:
        """Drop all that is remembered."""
        self.known = None

    @cython.cfunc
    @cython.exceptval(-1)
    def get_ready(self) -> cython.int:
        """Find out about the config and all slices together, if nothing was asked before."""
        arrivals: cython.double = 0.0
        i: int64_t
        if self.blocks is None:
            config = self.stream.config
            columns = [np.ascontiguousarray(column, np.int64) for column in blocks_of(config)]
            if columns[1].max() > MOST_ROWS:
                raise ValueError(f"depth: expected {MOST_ROWS} rows at most, got {columns[1].max()}")
            self.first, self.rows = int64s(columns[0]), int64s(columns[1])
            self.width, self.exact = int64s(columns[2]), int64s(columns[3])
            self.block_count = len(columns[0])
            self.half, self.delta = config.estimator == "half", 1 - config.confidence
            self.blocks = columns
        if self.known is None:
            for i in range(self.stream.used):
                arrivals += cython.cast(cython.double, self.stream.slices[i].arrivals)
            self.wide = arrivals >= 2147483648.0
            self.known = Remembered(self.limit)
        return 0

    # Ranges

    @cython.cfunc
    def locate_range(self, since: int64_t, until: int64_t) -> RangeFacts:
        """What the slices are to a range."""
        found = cython.declare(Range)
        self.get_ready()
        facts: RangeFacts = self.known.ranges.get((since, until))
        if facts is not None:
            return facts
        stream = self.stream
        roles = np.empty(stream.used, np.int32)
        if not new_range(stream.used, cython.address(found)):
            raise MemoryError
        try:
            found.roles = int32s(roles)
            found.since, found.until, found.low, found.high, found.newer = since, until, 0, stream.used, 0
            locate(
                stream.slices, cython.address(stream.plan), self.half,
                arrivals_between(cython.address(stream.events), since, LAST_TICK, stream.plan.counted != 0),
                cython.address(found),
            )  # fmt: skip
            facts = new_facts(cython.address(found), self.view_of(roles.tobytes(), cython.address(found)))
        finally:
            free(found.slots)
        self.known.add_range(facts)
        return facts

    @cython.cfunc
    def view_of(self, roles: bytes, found: cython.pointer(Range)) -> RangeView:
        """The view of a range that was located."""
        view: RangeView = self.known.views.get(roles)
        if view is None:
            view = new_view(roles, found, self.stream.plan.words, self.wide)
            self.known.add_view(view)
        return view

    @cython.cfunc
    def prepare(self, since: int64_t, until: int64_t, block: int64_t, delta: cython.double) -> Prepared:
        """A range with all that questions about items of a block have in common."""
        facts = self.locate_range(since, until)
        key = (block, delta)
        found: Prepared = facts.prepared.get(key)
        if found is not None:
            return found
        view: RangeView = facts.view
        # Whether nothing collides in what is surely inside.
        sure: cython.bint = view.tables.whole == 0 or self.exact[block] != 0
        likely: cython.double = 0.0 if sure else INFINITY
        if self.exact[block] or view.tables.many == 0:
            found = new_prepared(facts, cython.NULL, likely, delta)
        else:
            noise = self.weigh_view(view, facts, block, 0.0 if sure else delta, cython.address(likely))
            found = new_prepared(facts, doubles(noise), 0.0 if sure else likely, delta)
        events_between(
            cython.address(self.stream.events), since, until, cython.address(found.begin), cython.address(found.end)
        )
        found.confidence = 1.0 if sure else 1.0 - delta
        self.known.add_prepared(key, found)
        return found

    @cython.cfunc
    def weigh_view(
        self, view: RangeView, facts: RangeFacts, block: int64_t, delta: cython.double,
        likely: cython.pointer(cython.double),
    ) -> object:  # fmt: skip
        """What collisions add in the tables of a view, and in `likely` what they rarely exceed."""
        weighing = cython.declare(Weighing)
        key = (block, delta)
        noise = view.noise.get(block)
        if noise is not None and (delta <= 0.0 or key in view.likely):
            likely[0] = INFINITY if delta <= 0.0 else view.likely[key]
            return noise
        singles = self.singles_of(block, view, facts)
        weighed = np.full(view.tables.many, np.nan) if noise is None else noise
        weighing.first, weighing.rows, weighing.width = self.first[block], self.rows[block], self.width[block]
        weighing.singles, weighing.noise, weighing.delta = doubles(singles), doubles(weighed), delta
        self.look_at(view, facts, cython.address(weighing), self.known.spare(view, facts))
        likely[0] = weighing.likely
        if noise is None:
            self.known.add_noise(view, facts, block, weighed)
        if delta > 0.0:
            self.known.add_likely(view, facts, key, likely[0])
        return weighed

    @cython.cfunc
    def singles_of(self, block: int64_t, view: RangeView, facts: RangeFacts) -> object:
        """What collisions add in single slices, as far as it is known: nan where it is not."""
        singles = self.known.singles.get(block)
        if singles is None:
            singles = np.full(self.stream.used, np.nan)
            self.known.add_singles(view, facts, block, singles)
        return singles

    # Tables

    @cython.cfunc
    def plain_tables(self, view: RangeView, facts: RangeFacts, reads: int64_t) -> PlainTables:
        """The tables of a view, plain as far as it is worth it to read so many cells of each slice.

        What is read packed again and again becomes plain too, as far as that may be remembered.
        """
        weighing = cython.declare(Weighing)
        cells: int64_t = 32 * view.tables.words
        kept: PlainTables = view.kept
        often: cython.bint
        if kept.count == view.tables.many:
            return kept
        weighing.rows, weighing.delta, weighing.noise = 0, 0.0, cython.NULL
        if reads * PACKED >= cells:
            if view.tried != self.known.limit:
                kept = self.look_at(view, facts, cython.address(weighing), self.known.spare(view, facts))
            if kept.count < view.tables.many:
                kept = self.look_at(view, facts, cython.address(weighing), MOST_BYTES)
            return kept
        view.reads += reads
        often = view.reads * PACKED >= cells
        if often:
            view.reads = 0
            if view.tried != self.known.limit:
                return self.look_at(view, facts, cython.address(weighing), self.known.spare(view, facts))
        return kept

    @cython.cfunc
    def look_at(
        self, view: RangeView, facts: RangeFacts, weighing: cython.pointer(Weighing), budget: int64_t
    ) -> PlainTables:
        """Look at the cells of all tables; returns the plain tables that came of it, more than are kept.

        Sums of many slices are made plain first, and single slices last. They are remembered if they may be.
        """
        tables = cython.declare(Tables)
        kept: PlainTables = view.kept
        done: cython.bint
        begin: int64_t = 0
        t: int64_t
        order = []
        for t in range(view.tables.many):
            order.append((begin - view.tables.ends[t], t))
            begin = view.tables.ends[t]
        order.sort()
        numbers = np.array([t for _, t in order], np.int64)
        places = int64s(numbers)
        made = new_plain(view.tables.many, kept)
        tables = view.tables
        tables.slices, tables.plain, tables.sizes = self.stream.slices, kept.tables, kept.sizes
        weighing[0].plain, weighing[0].sizes, weighing[0].budget = made.tables, made.sizes, budget
        weighing[0].spent = weighing[0].added = 0
        with cython.nogil:
            done = weigh_tables(cython.address(tables), places, weighing)
        if not done:
            raise MemoryError
        made.count += weighing[0].added
        made.nbytes += weighing[0].spent
        view.reads = 0
        if budget == MOST_BYTES:
            return made
        view.tried = self.known.limit
        if weighing[0].added == 0:
            return kept
        self.known.add_tables(view, facts, made)
        return made

    # Items and events

    @cython.cfunc
    @cython.exceptval(-1)
    def first_row(self, block: int64_t) -> int64_t:
        """The first row of a block."""
        row: int64_t = 0
        k: int64_t
        self.get_ready()
        if block < 0 or block >= self.block_count:
            raise IndexError(f"block: expected one of {self.block_count}, got {block}")
        for k in range(block):
            row += self.rows[k]
        return row

    @cython.cfunc
    @cython.exceptval(-1)
    def check_rows(self, block: int64_t, rows: RowHashes) -> cython.int:
        """Raise if rows are not those of a block."""
        first: cython.pointer(Row) = self.stream.plan.rows + self.first_row(block)
        right: cython.bint = rows is not None and rows.depth == self.rows[block]
        row: int64_t
        for row in range(self.rows[block] if right else 0):
            right = right and rows.rows[row].first == first[row].first and rows.rows[row].width == first[row].width
        if not right:
            raise ValueError(f"rows: expected those of block {block}")
        return 0

    @cython.cfunc
    def items_of(self, keys: object, first: cython.pointer(Row)) -> object:
        """Items that begin with some prefixes, or are these."""
        return keys << np.uint64(first[0].drop) if first[0].drop else keys

    @cython.cfunc
    def events_of(self, keys: object, first: cython.pointer(Row), facts: RangeFacts) -> object:
        """How often some items, or prefixes, came among the events of a range."""
        found = np.empty(len(keys))
        count: int64_t = len(keys)
        drop: int64_t = first[0].drop
        events: int64_t = self.stream.events.count
        asked, counts = uint64s(keys), doubles(found)
        counted: cython.bint = self.stream.plan.counted != 0
        done: cython.bint = True
        if facts.index == cython.NULL and events >= MANY_EVENTS:
            self.note_look(facts, events if count > FEW_KEYS else count * events // 32)
        with cython.nogil:
            if facts.index != cython.NULL and 4 * count <= events:
                count_by_index(facts.index, asked, count, drop, counts)
            else:
                done = count_keys(
                    cython.address(self.stream.events), facts.since, facts.until, counted, asked, count, drop, counts
                )
        if not done:
            raise MemoryError
        return found

    @cython.cfunc
    @cython.exceptval(-1)
    def note_look(self, facts: RangeFacts, events: int64_t) -> cython.int:
        """Note that it takes as long to look into the events of a range as to look up so many of them in a hash table.

        When that has taken longer than an index takes, there is one, if it may be remembered.
        """
        facts.looked += events
        if facts.looked < SORTED * self.stream.events.count or not facts.remembered:
            return 0
        index: cython.p_void
        counted: cython.bint = self.stream.plan.counted != 0
        with cython.nogil:
            index = new_index(cython.address(self.stream.events), facts.since, facts.until, counted)
        if index == cython.NULL or facts.index != cython.NULL or 2 * index_nbytes(index) > self.known.limit:
            facts.looked = -MOST_BYTES
            free(index)
            return 0
        return self.known.add_index(facts, index)
