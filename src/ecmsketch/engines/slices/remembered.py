"""What a reading of slices remembers: ranges, the views that they share, and what collisions add.

Everything is counted in bytes, and there is a limit. Beyond it the oldest is dropped: first the plain tables of views,
since their slices can be read packed, then ranges, then the rest. What a question works with is kept as long as
anything else may be dropped; if it alone is too much, all is forgotten, and the question goes on with what it holds.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.event_counts import index_nbytes
from cython.cimports.ecmsketch.engines.slices.range_tables import group_slices
from cython.cimports.ecmsketch.engines.slices.ranges import Range
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy

OBJECTS = cython.declare(int64_t, 500)
"""About how many bytes Python takes for a range or a view, and for what is prepared of a range."""
ENTRY = cython.declare(int64_t, 250)
"""About how many bytes an array or a number takes besides its content, with its key."""


@cython.cclass
class PlainTables:
    """Tables of a view in plain numbers: some, or all of them."""

    def __dealloc__(self) -> None:
        t: int64_t
        for t in range(self.many):
            if self.mine[t]:
                free(self.tables[t])
        free(self.tables)


@cython.cclass
class RangeView:
    """The tables of ranges to which all slices are the same, and what collisions add in them."""

    def __dealloc__(self) -> None:
        free(self.memory)


@cython.cclass
class RangeFacts:
    """What the slices are to one range, and what those that it cuts may add."""

    def __dealloc__(self) -> None:
        free(self.memory)
        free(self.index)


@cython.cclass
class Prepared:
    """A range, prepared for questions about items: what does not depend on the item."""

    def __dealloc__(self) -> None:
        free(self.memory)


@cython.cfunc
def new_plain(many: int64_t, base: PlainTables) -> PlainTables:
    """Plain tables of a view of so many: none yet, or those of others."""
    found: PlainTables = PlainTables.__new__(PlainTables)
    t: int64_t
    found.tables = cython.cast(cython.pointer(cython.p_void), allocate(10 * many))
    if found.tables == cython.NULL:
        raise MemoryError
    found.sizes = cython.cast(cython.pointer(uint8_t), found.tables + many)
    found.mine = found.sizes + many
    for t in range(many):
        found.tables[t] = cython.NULL if base is None else base.tables[t]
        found.sizes[t] = 0 if base is None else base.sizes[t]
        found.mine[t] = 1 if found.tables[t] == cython.NULL else 0
    found.many, found.base = many, base
    if base is not None:
        found.count, found.nbytes = base.count, base.nbytes
    return found


@cython.cfunc
def new_view(roles: bytes, found: cython.pointer(Range), words: int64_t, wide: cython.bint) -> RangeView:
    """The view of a range that was located."""
    view: RangeView = RangeView.__new__(RangeView)
    slices: int64_t = found[0].whole + found[0].cuts
    view.memory = allocate(12 * slices)
    if view.memory == cython.NULL:
        raise MemoryError
    view.tables.ends = cython.cast(cython.pointer(int64_t), view.memory)
    view.tables.slots = cython.cast(cython.pointer(int32_t), view.tables.ends + slices)
    view.tables.words, view.tables.wide = words, wide
    group_slices(found, cython.address(view.tables))
    view.roles, view.noise, view.likely = roles, {}, {}
    view.kept = new_plain(view.tables.many, None)
    view.tried = -1
    return view


@cython.cfunc
def new_facts(found: cython.pointer(Range), view: RangeView) -> RangeFacts:
    """What is worth remembering of a range that was located."""
    facts: RangeFacts = RangeFacts.__new__(RangeFacts)
    count: int64_t = found[0].cuts
    size: cython.size_t = cython.cast(cython.size_t, 8 * count)
    facts.memory = allocate(32 * count)
    if facts.memory == cython.NULL:
        raise MemoryError
    facts.since, facts.until, facts.inside, facts.cuts = found[0].since, found[0].until, found[0].inside, count
    facts.slots = cython.cast(cython.pointer(int64_t), facts.memory)
    facts.shares = cython.cast(cython.pointer(cython.double), facts.slots + count)
    facts.slack = facts.shares + count
    facts.most = facts.slack + count
    memcpy(facts.slots, found[0].slots, size)
    memcpy(facts.shares, found[0].shares, size)
    memcpy(facts.slack, found[0].slack, size)
    memcpy(facts.most, found[0].most, size)
    facts.view, facts.prepared = view, {}
    return facts


@cython.cfunc
def new_prepared(
    facts: RangeFacts, noise: cython.pointer(cython.double), likely: cython.double, delta: cython.double
) -> Prepared:
    """A range with what collisions add in its tables; begin, end and confidence are set by the caller."""
    found: Prepared = Prepared.__new__(Prepared)
    many: int64_t = facts.view.tables.many
    whole: int64_t = facts.view.tables.whole
    t: int64_t
    found.memory = allocate(32 * many)
    if found.memory == cython.NULL:
        raise MemoryError
    found.parts.noise = cython.cast(cython.pointer(cython.double), found.memory)
    found.parts.shares = found.parts.noise + many
    found.parts.slack = found.parts.shares + many
    found.parts.most = found.parts.slack + many
    found.parts.likely = likely
    for t in range(many):
        found.parts.noise[t] = 0.0 if noise == cython.NULL else noise[t]
        if t < whole:
            found.parts.shares[t], found.parts.slack[t], found.parts.most[t] = 1.0, INFINITY, INFINITY
        else:
            found.parts.shares[t], found.parts.slack[t] = facts.shares[t - whole], facts.slack[t - whole]
            found.parts.most[t] = facts.most[t - whole]
    found.since, found.until, found.delta = facts.since, facts.until, delta
    found.view, found.facts = facts.view, facts
    return found


@cython.cfunc
def prepared_nbytes(facts: RangeFacts) -> int64_t:
    """Bytes of a prepared range."""
    return OBJECTS + 32 * facts.view.tables.many


@cython.cfunc
def facts_nbytes(facts: RangeFacts) -> int64_t:
    """Bytes of a range, and of what is prepared of it."""
    prepared: int64_t = len(facts.prepared)
    return OBJECTS + 32 * facts.cuts + prepared * prepared_nbytes(facts) + index_nbytes(facts.index)


@cython.cfunc
def view_nbytes(view: RangeView) -> int64_t:
    """Bytes of a view."""
    slices: int64_t = view.tables.ends[view.tables.many - 1] if view.tables.many else 0
    noise: int64_t = len(view.noise)
    likely: int64_t = len(view.likely)
    roles: int64_t = len(view.roles)
    entries: int64_t = noise * (ENTRY + 8 * view.tables.many) + likely * ENTRY
    return OBJECTS + roles + 12 * slices + 10 * view.tables.many + entries + view.kept.nbytes


@cython.cclass
class Remembered:
    """Adds what was found, and drops what is too much. `view` and `facts` are those a question works with."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.forget()

    @cython.cfunc
    @cython.exceptval(-1)
    def forget(self) -> cython.int:
        """Drop everything."""
        view: RangeView
        facts: RangeFacts
        if self.views is not None:
            for view in self.views.values():
                view.remembered = False
            for facts in self.ranges.values():
                facts.remembered = False
        self.views, self.ranges, self.singles, self.steps, self.last = {}, {}, {}, {}, None
        self.held = self.held_ranges = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def forget_ranges(self) -> cython.int:
        """Drop all ranges: the events are others."""
        facts: RangeFacts
        for facts in self.ranges.values():
            facts.remembered = False
        self.ranges, self.last = {}, None
        self.held -= self.held_ranges
        self.held_ranges = 0
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_view(self, view: RangeView) -> cython.int:
        """Remember a view, to which a range is added next."""
        self.views[view.roles] = view
        view.remembered = True
        self.held += view_nbytes(view)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def add_range(self, facts: RangeFacts) -> cython.int:
        """Remember a range."""
        self.ranges[facts.since, facts.until] = facts
        facts.remembered = True
        self.held += facts_nbytes(facts)
        self.held_ranges += facts_nbytes(facts)
        return self.shrink(facts.view, facts)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_prepared(self, key: tuple, found: Prepared) -> cython.int:
        """Remember what was prepared."""
        if found.facts.remembered:
            found.facts.prepared[key] = found
            self.held += prepared_nbytes(found.facts)
            self.held_ranges += prepared_nbytes(found.facts)
        return self.shrink(found.view, found.facts)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_index(self, facts: RangeFacts, index: cython.p_void) -> cython.int:
        """Remember an index of the events in a range, which has none yet; it is taken over."""
        facts.index = index
        if facts.remembered:
            self.held += index_nbytes(index)
            self.held_ranges += index_nbytes(index)
        return self.shrink(facts.view, facts)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_noise(self, view: RangeView, facts: RangeFacts, block: int64_t, noise: object) -> cython.int:
        """Remember what collisions add in the tables of a view."""
        if view.remembered:
            view.noise[block] = noise
            self.held += ENTRY + 8 * view.tables.many
        return self.shrink(view, facts)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_likely(self, view: RangeView, facts: RangeFacts, key: tuple, likely: cython.double) -> cython.int:
        """Remember what collisions rarely exceed in a view."""
        if view.remembered:
            view.likely[key] = likely
            self.held += ENTRY
        return self.shrink(view, facts)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_tables(self, view: RangeView, facts: RangeFacts, made: PlainTables) -> cython.int:
        """Remember plain tables of a view."""
        if view.remembered:
            self.held += made.nbytes - view.kept.nbytes
            view.kept = made
        return self.shrink(view, facts)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_singles(self, view: RangeView, facts: RangeFacts, block: int64_t, noise: object) -> cython.int:
        """Remember what collisions add in single slices."""
        self.singles[block] = noise
        self.held += ENTRY + noise.nbytes
        return self.shrink(view, facts)

    @cython.cfunc
    @cython.exceptval(-1)
    def add_steps(self, key: tuple, weights: object) -> cython.int:
        """Remember what collisions add in steps."""
        self.steps[key] = weights
        self.held += ENTRY + weights.nbytes
        return self.shrink(None, None)

    @cython.cfunc
    def spare(self, view: RangeView, facts: RangeFacts) -> int64_t:
        """Bytes that plain tables of a view may take besides those that are kept, if all else may be dropped."""
        singles: int64_t = 0
        count: int64_t
        for noise in self.singles.values():
            count = len(noise)
            singles += ENTRY + 8 * count
        expected: int64_t = prepared_nbytes(facts) + 3 * ENTRY + 8 * view.tables.many
        return self.limit - self.limit // 16 - view_nbytes(view) - facts_nbytes(facts) - singles - expected

    @cython.cfunc
    @cython.exceptval(-1)
    def shrink(self, view: RangeView, facts: RangeFacts) -> cython.int:
        """Drop what is too much."""
        while self.held > self.limit:
            if not self.drop_one(view, facts):
                self.forget()
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def drop_one(self, view: RangeView, facts: RangeFacts) -> cython.bint:
        """Drop the next thing; False if nothing else may be dropped."""
        other: RangeView
        some: RangeFacts
        for other in self.views.values():
            if other is not view and other.kept.count:
                self.drop_tables(other)
                return True
        for some in self.ranges.values():
            if some is not facts:
                self.drop_range(some)
                return True
        for key, weights in self.steps.items():
            self.held -= ENTRY + weights.nbytes
            del self.steps[key]
            return True
        for other in self.views.values():
            if other is not view:
                self.drop_view(other)
                return True
        if view is None or not view.remembered:
            return False
        if view.kept.count:
            self.drop_tables(view)
            view.tried = self.limit  # it would be too much again
            return True
        if facts is not None and facts.remembered and len(facts.prepared) > 1:
            for key in facts.prepared:
                del facts.prepared[key]
                self.last = None
                self.held -= prepared_nbytes(facts)
                self.held_ranges -= prepared_nbytes(facts)
                return True
        return False

    @cython.cfunc
    @cython.exceptval(-1)
    def drop_tables(self, view: RangeView) -> cython.int:
        """Give up the plain tables of a view."""
        none = new_plain(view.tables.many, None)
        self.held -= view.kept.nbytes
        view.kept, view.tried = none, -1
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def drop_range(self, facts: RangeFacts) -> cython.int:
        """Forget a range."""
        self.held -= facts_nbytes(facts)
        self.held_ranges -= facts_nbytes(facts)
        facts.remembered = False
        if self.last is not None and self.last.facts is facts:
            self.last = None
        del self.ranges[facts.since, facts.until]
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def drop_view(self, view: RangeView) -> cython.int:
        """Forget a view, which no range has any more."""
        self.held -= view_nbytes(view)
        view.remembered = False
        del self.views[view.roles]
        return 0
