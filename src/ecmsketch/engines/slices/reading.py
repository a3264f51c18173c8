"""SliceReading: answers questions about one stream of slices.

An item is read from the tables of a range (range_tables.py) and from the newest events (event_counts.py); what that
needs is prepared once for each range and remembered (range_reading.py). Upper bounds always hold, and so do lower
bounds of totals and cells; lower bounds of items fail with the probability that is asked.
"""

# mypy: ignore-errors

from __future__ import annotations

from math import ceil, floor
from typing import Any

import cython
import numpy as np
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.ecmsketch.engines.slices.event_counts import count_by_index, count_steps
from cython.cimports.ecmsketch.engines.slices.events import (
    arrivals_between,
    count_key_among,
    part_of,
    tick_of,
    weight_of,
)
from cython.cimports.ecmsketch.engines.slices.range_reading import MANY_EVENTS, RangeReading
from cython.cimports.ecmsketch.engines.slices.range_tables import (
    Counts,
    Parts,
    Tables,
    cut_count,
    read_cells,
    read_one,
    read_points,
    read_prefixes,
)
from cython.cimports.ecmsketch.engines.slices.ranges import sum_pairwise
from cython.cimports.ecmsketch.engines.slices.remembered import PlainTables, Prepared
from cython.cimports.ecmsketch.engines.slices.step_reading import Steps, read_steps, weigh_steps
from cython.cimports.ecmsketch.engines.slices.stream import SliceStream
from cython.cimports.ecmsketch.engines.slices.tables import count_events
from cython.cimports.ecmsketch.kernels.hashing import Row, RowHashes, fill_cells
from cython.cimports.ecmsketch.kernels.memory import doubles, int64s, uint32s, uint64s
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t

from ecmsketch.engines.contract import Floats, Ints, Keys, Reading
from ecmsketch.estimate import Estimate, Estimates

STEPS = cython.declare(int64_t, 16)
"""Steps that are weighed between two looks at signals."""

Parted = tuple[Floats, Floats, Floats, Floats]

_new_tuple = tuple.__new__


@cython.cclass
class SliceReading(RangeReading):
    """Answers questions about a stream, which never changes. A range is (since, until]."""

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
                cython.address(self.stream.events), item[0], asked.since, asked.length, count, counted, each,
                asked.later,
            )  # fmt: skip
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
