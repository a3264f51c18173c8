"""SliceReading: answers questions about one stream of slices, and remembers what it computed on the way.

A range is located: some slices lie inside it, some it cuts (ranges.py). Ranges to which all slices are the same share a
view: tables, and what collisions add in them (weighing.py). An item is then read from these tables (range_tables.py) and
from the newest events. What is remembered takes at most as many bytes as the stream, or LEAST_LIMIT (remembered.py).

Questions change only what is remembered, and that with the interpreter's lock. Long work is done without the lock, on
memory that the question holds on to.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import cython
import numpy as np
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.ecmsketch.engines.slices.event_counts import (
    count_by_index,
    count_keys,
    count_steps,
    index_nbytes,
    new_index,
)
from cython.cimports.ecmsketch.engines.slices.events import (
    arrivals_between,
    count_key_among,
    events_between,
    part_of,
    tick_of,
    weight_of,
)
from cython.cimports.ecmsketch.engines.slices.range_tables import (
    MOST_ROWS,
    Counts,
    Parts,
    Tables,
    cut_count,
    read_cells,
    read_one,
    read_points,
    read_prefixes,
)
from cython.cimports.ecmsketch.engines.slices.ranges import Range, locate, new_range, sum_pairwise
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
from cython.cimports.ecmsketch.engines.slices.step_reading import Steps, read_steps, weigh_steps
from cython.cimports.ecmsketch.engines.slices.stream import SliceStream
from cython.cimports.ecmsketch.engines.slices.tables import count_events
from cython.cimports.ecmsketch.engines.slices.weighing import Weighing, weigh_tables
from cython.cimports.ecmsketch.kernels.hashing import Row, RowHashes, fill_cells
from cython.cimports.ecmsketch.kernels.memory import allocate, doubles, int32s, int64s, uint32s, uint64s
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free

from ecmsketch.engines.collisions import blocks_of
from ecmsketch.engines.contract import Floats, Ints, Keys, Reading
from ecmsketch.estimate import Estimate, Estimates
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
STEPS = cython.declare(int64_t, 16)
"""Steps that are weighed between two looks at signals."""
MOST_BYTES = cython.declare(int64_t, 2**62)
LAST_TICK = cython.declare(int64_t, MAX_TICK)

Parted = tuple[Floats, Floats, Floats, Floats]

_new_tuple = tuple.__new__


@cython.cclass
class SliceReading:
    """Answers questions about a stream, which never changes. A range is (since, until]."""

    def __init__(self, stream: SliceStream) -> None:
        self.stream = stream

    # Questions

    def total(self, since: int, until: int) -> Estimate:
        """All arrivals in a range; the bounds always hold."""
        facts = self.locate_range(since, until)
        arrivals: int64_t = facts.inside + arrivals_between(
            cython.address(self.stream.events), facts.since, facts.until, self.stream.plan.counted != 0
        )
        lower: cython.double = cython.cast(cython.double, arrivals)
        upper: cython.double = lower
        size: cython.double
        k: int64_t
        if facts.cuts == 0:
            return Estimate(lower, lower, lower, 1.0)
        parts = np.empty(facts.cuts)
        added = doubles(parts)
        for k in range(facts.cuts):
            size = cython.cast(cython.double, self.stream.slices[facts.slots[k]].arrivals)
            added[k] = cut_count(size, 0.0, facts.shares[k], facts.slack[k])
            upper += facts.most[k]
        value: cython.double = lower + sum_pairwise(added, facts.cuts, 1)
        return Estimate(min(value, upper), lower, upper, 1.0)

    def most_since(self, since: int, now: int) -> tuple[int, int]:
        """Bounds of the number of arrivals after `since`, at the time `now`."""
        total = self.total(since, now)
        return floor(total.lower), ceil(total.upper)

    def point(
        self, keys: Keys, rows: RowHashes, block: int, since: int, until: int, delta: float | None = None
    ) -> Estimates:
        """How often some items came, by one block of tables and its rows. Upper bounds always hold.

        Keys are items without the low bits that these rows drop. A lower bound fails with probability `delta`, or that
        of the config. Where no tables are asked every answer is exact.
        """
        tables = cython.declare(Tables)
        done: cython.bint
        self.check_rows(block, rows)
        first: cython.pointer(Row) = rows.rows
        depth: int64_t = rows.depth
        asked = np.ascontiguousarray(keys, np.uint64)
        count: int64_t = len(asked)
        found = self.prepare(since, until, block, self.delta if delta is None else delta)
        exact = self.events_of(asked, first, found.facts)
        tables = found.view.tables
        if tables.many == 0:
            return Estimates(exact, exact, exact, 1.0)
        value, lower, upper = np.empty(count), np.empty(count), np.empty(count)
        items = self.items_of(asked, first)
        plain = self.plain_tables(found.view, found.facts, count * depth)
        tables.slices, tables.plain, tables.sizes = self.stream.slices, plain.tables, plain.sizes
        known, each = uint64s(items), doubles(exact)
        values, lowers, uppers = doubles(value), doubles(lower), doubles(upper)
        with cython.nogil:
            done = read_points(
                cython.address(tables), cython.address(found.parts), known, count, first, depth, each, values, lowers,
                uppers,
            )  # fmt: skip
        if not done:
            raise MemoryError
        return Estimates(value, lower, upper, found.confidence)

    def one_point(self, key: int, since: int, until: int, delta: float) -> Estimate:
        """What `point` says about one item of the first block, as fast as can be."""
        cells = cython.declare(uint32_t[64])
        item = cython.declare(uint64_t[1])
        tables = cython.declare(Tables)
        counts = cython.declare(Counts)
        begin: int64_t = since
        end: int64_t = until
        risk: cython.double = delta
        came: cython.double
        found: Prepared = None if self.known is None else self.known.last
        item[0] = key
        if found is None or found.since != begin or found.until != end or found.delta != risk:
            if self.stream.plan.counted and self.stream.events.weights != cython.NULL:
                return self.split_point(item[0], begin, end, risk)  # an event may lie in the range in part
            found = self.prepare(begin, end, 0, risk)
            if found.facts.remembered:
                self.known.last = found
        tables = found.view.tables
        plain: PlainTables = found.view.kept
        if plain.count < tables.many:
            plain = self.plain_tables(found.view, found.facts, self.rows[0])
        tables.slices, tables.plain, tables.sizes = self.stream.slices, plain.tables, plain.sizes
        fill_cells(item, 1, self.stream.plan.rows, self.rows[0], cells)
        if found.facts.index != cython.NULL:
            count_by_index(found.facts.index, item, 1, 0, cython.address(came))
        else:
            came = count_key_among(cython.address(self.stream.events), item[0], found.begin, found.end)
            if found.end - found.begin >= MANY_EVENTS:
                self.note_look(found.facts, (found.end - found.begin) // 32)
        counts = read_one(cython.address(tables), cython.address(found.parts), cells, self.rows[0], came)
        return _new_tuple(Estimate, (counts.value, counts.lower, counts.upper, found.confidence))

    def history(self, key: int, since: int, length: int, steps: int, delta: float) -> Estimates:
        """How often an item came in each of some steps of equal length after `since`."""
        asked = cython.declare(Steps)
        cells = cython.declare(uint32_t[64])
        item = cython.declare(uint64_t[1])
        count: int64_t = steps
        counted: cython.bint = self.stream.plan.counted != 0
        done: cython.bint
        exact, after = np.empty(count), np.empty(count)
        value, lower, upper = np.empty(count), np.empty(count), np.empty(count)
        item[0] = key
        self.get_ready()
        singles = self.singles_of(0, None, None)
        asked.slices, asked.used, asked.plan = self.stream.slices, self.stream.used, cython.address(self.stream.plan)
        asked.half, asked.since, asked.length, asked.count = self.half, since, length, count
        asked.rows, asked.width, asked.noise = self.rows[0], self.width[0], doubles(singles)
        asked.later = doubles(after)
        each, values, lowers, uppers = doubles(exact), doubles(value), doubles(lower), doubles(upper)
        with cython.nogil:
            count_steps(
                cython.address(self.stream.events), item[0], asked.since, asked.length, count, counted, each, asked.later
            )
            fill_cells(item, 1, self.stream.plan.rows, asked.rows, cells)
        weights = self.weigh_steps(cython.address(asked), delta)
        asked.collisions = doubles(weights)
        asked.likely = asked.collisions + count
        with cython.nogil:
            done = read_steps(cython.address(asked), cells, each, values, lowers, uppers)
        if not done:
            raise MemoryError
        return Estimates(value, lower, upper, 1 - delta if self.stream.used else 1.0)

    def cells(self, numbers: Any, since: int, until: int) -> Reading:
        """What some cells hold over a range; the bounds always hold."""
        parts = cython.declare(Parts)
        tables = cython.declare(Tables)
        done: cython.bint
        asked = np.ascontiguousarray(numbers, np.uint32)
        count: int64_t = len(asked)
        if count and asked.max() >= self.stream.plan.cells:
            raise IndexError(f"numbers: expected cells below {self.stream.plan.cells}, got {asked.max()}")
        exact = self.events_in_cells(since, until)[asked].astype(np.float64)
        facts = self.locate_range(since, until)
        tables = facts.view.tables
        if tables.many == 0:
            return Reading(exact, exact, exact)
        value, lower, upper = np.empty(count), np.empty(count), np.empty(count)
        plain = self.plain_tables(facts.view, facts, count)
        tables.slices, tables.plain, tables.sizes = self.stream.slices, plain.tables, plain.sizes
        parts.shares, parts.slack, parts.most = facts.shares, facts.slack, facts.most
        wanted, each = uint32s(asked), doubles(exact)
        values, lowers, uppers = doubles(value), doubles(lower), doubles(upper)
        with cython.nogil:
            done = read_cells(
                cython.address(tables), cython.address(parts), wanted, count, each, values, lowers, uppers
            )
        if not done:
            raise MemoryError
        return Reading(value, lower, upper)

    def prefixes(self, block: int, prefixes: Keys, since: int, until: int) -> Parted:
        """How often some prefixes of a level came: in events (exact), in these and slices inside, with the shares of
        cut slices, and with all that these may add. Collisions are in all but the first.
        """
        parts = cython.declare(Parts)
        tables = cython.declare(Tables)
        done: cython.bint
        level: int64_t = block
        first: cython.pointer(Row) = self.stream.plan.rows + self.first_row(level)
        depth: int64_t = self.rows[level]
        asked = np.ascontiguousarray(prefixes, np.uint64)
        count: int64_t = len(asked)
        facts = self.locate_range(since, until)
        exact = self.events_of(asked, first, facts)
        tables = facts.view.tables
        if tables.many == 0:
            return exact, exact, exact, exact
        inside, value, upper = np.empty(count), np.empty(count), np.empty(count)
        items = self.items_of(asked, first)
        plain = self.plain_tables(facts.view, facts, count * depth)
        tables.slices, tables.plain, tables.sizes = self.stream.slices, plain.tables, plain.sizes
        parts.shares, parts.slack, parts.most = facts.shares, facts.slack, facts.most
        known, each = uint64s(items), doubles(exact)
        insides, values, uppers = doubles(inside), doubles(value), doubles(upper)
        with cython.nogil:
            done = read_prefixes(
                cython.address(tables), cython.address(parts), known, count, first, depth, each, insides, values, uppers
            )
        if not done:
            raise MemoryError
        return exact, inside, value, upper

    def exact_counts(self, since: int, until: int) -> tuple[Keys, Floats] | None:
        """Items, each once, and how often they came in a range, if no slice lies in it even in part."""
        if self.locate_range(since, until).view.tables.many:
            return None
        keys, counts = self.recent(since, until)
        items, where = np.unique(keys, return_inverse=True)
        return items, np.bincount(where, counts, minlength=len(items)).astype(np.float64)

    def recent(self, since: int, until: int) -> tuple[Keys, Ints]:
        """The events in a range, and how many arrivals of each lie in it."""
        low: int64_t = since
        high: int64_t = until
        some: int64_t = 0
        part: int64_t
        i: int64_t
        events = cython.address(self.stream.events)
        keys, counts = np.empty(events[0].count, np.uint64), np.empty(events[0].count, np.int64)
        found, parts = uint64s(keys), int64s(counts)
        for i in range(events[0].count):
            part = part_of(tick_of(events, i), weight_of(events, i), low, high, self.stream.plan.counted != 0)
            if part > 0:
                found[some], parts[some] = events[0].keys[i], part
                some += 1
        return keys[:some], counts[:some]

    # What is remembered

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

    def follow(self, stream: SliceStream) -> SliceReading:
        """A reading of a newer stream. If the slices are the same, it takes over what is still right."""
        reading: SliceReading = SliceReading(stream)
        if stream.config is self.stream.config and self.blocks is not None:
            reading.blocks, reading.first, reading.rows, reading.width = self.blocks, self.first, self.rows, self.width
            reading.exact, reading.block_count = self.exact, self.block_count
            reading.half, reading.delta = self.half, self.delta
            if stream.slices_id == self.stream.slices_id and self.known is not None:
                self.known.forget_ranges()
                reading.known, reading.wide, self.known = self.known, self.wide, None
                reading.known.limit = reading.limit
        return reading

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
        sure: cython.bint = view.tables.whole == 0 or self.exact[block] != 0  # nothing collides in what is surely inside
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

    @cython.cfunc
    def weigh_steps(self, asked: cython.pointer(Steps), delta: cython.double) -> object:
        """What collisions add in some steps, and then what they rarely exceed in each."""
        key = (asked[0].since, asked[0].length, asked[0].count, delta)
        weights: object = self.known.steps.get(key)
        begin: int64_t = 0
        end: int64_t
        done: cython.bint
        wide: cython.bint = self.wide
        if weights is not None:
            return weights
        weights = np.empty(2 * asked[0].count)
        asked[0].collisions = doubles(weights)
        asked[0].likely = asked[0].collisions + asked[0].count
        while begin < asked[0].count:
            end = min(begin + STEPS, asked[0].count)
            with cython.nogil:
                done = weigh_steps(asked, begin, end, delta, wide)
            if not done:
                raise MemoryError
            PyErr_CheckSignals()
            begin = end
        self.known.add_steps(key, weights)
        return weights

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

    @cython.cfunc
    def events_in_cells(self, since: int64_t, until: int64_t) -> object:
        """How many arrivals of events in a range each cell has."""
        table = np.zeros(self.stream.plan.cells, np.int64)
        keys, counts = self.recent(since, until)
        count: int64_t = len(keys)
        items, weights, cells = uint64s(keys), int64s(counts), int64s(table)
        with cython.nogil:
            count_events(items, weights, count, self.stream.plan.rows, self.stream.plan.depth, cells)
        return table

    @cython.cfunc
    def split_point(self, key: uint64_t, since: int64_t, until: int64_t, delta: cython.double) -> object:
        """What `point` says about one item."""
        self.get_ready()
        rows = self.stream.rows.some(0, self.rows[0])
        return self.point(np.array([key], np.uint64), rows, 0, since, until, delta)[0]
