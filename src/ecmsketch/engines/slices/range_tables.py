"""Counts of items from the tables of a range: of slices inside it, one by one or added up by age, and of those it cuts.

A table may be there in plain numbers, which are read quickest. Else its slices are read as they are kept, packed.
A whole table adds an item's count less what collisions add, a cut one what `cut_count` says. Bounds always hold, but
for the lower one of `read_points`, which holds unless an item's least collision in the sum of all whole tables is above
`likely` (docs/guarantees.md).

Items are hashed some at a time, and each table is read for all of these. For one item, floats are always added in the
same order, that of the tables.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
from cython.cimports.ecmsketch.engines.slices.ranges import CUT, FEW, Range, sum_pairwise
from cython.cimports.ecmsketch.engines.slices.tables import unpack, unpack_many
from cython.cimports.ecmsketch.engines.slices.types import Cell
from cython.cimports.ecmsketch.kernels.hashing import Row, fill_cells
from cython.cimports.ecmsketch.kernels.memory import allocate
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memset

HEAD = cython.declare(int64_t, 3)
"""Words of a packed table before its planes (tables.py)."""
CELL_BITS = cython.declare(int64_t, 25)
CELL_MASK = cython.declare(int64_t, 2**25 - 1)
CHUNK = cython.declare(int64_t, 1024)
"""Items that are read at a time: what is known of them stays in the processor's cache."""
MOST_ROWS = cython.declare(int64_t, 64)
"""No table has as many rows: a delta of 1e-12 takes 28."""


@cython.cfunc
@cython.nogil
def cut_count(count: cython.double, noise: cython.double, share: cython.double, slack: cython.double) -> cython.double:
    """What a cut slice adds to a count: its share, within a slack of nothing and of everything."""
    return min(max(share * (count - noise), count - slack), slack)


@cython.cfunc
@cython.nogil
def group_slices(found: cython.pointer(Range), tables: cython.pointer(Tables)) -> cython.void:
    """Let slices of the same role be one table. Ages come from the newest on, slices one by one from the oldest on."""
    low: int64_t = found[0].low
    high: int64_t = found[0].high
    count: int64_t = 0
    many: int64_t = 0
    role: int32_t
    before: int32_t = CUT
    slot: int64_t
    k: int64_t
    for k in range(high - low):
        slot = low + k if found[0].whole <= FEW else high - 1 - k
        role = found[0].roles[slot]
        if role >= 0:
            if role != before:
                before = role
                many += 1
            tables[0].slots[count] = cython.cast(int32_t, slot)
            count += 1
            tables[0].ends[many - 1] = count
    tables[0].whole = many
    for k in range(found[0].cuts):
        tables[0].slots[count] = cython.cast(int32_t, found[0].slots[k])
        count += 1
        tables[0].ends[many] = count
        many += 1
    tables[0].many = many


# Plain numbers


@cython.cfunc
@cython.nogil
def fill_plain(
    tables: cython.pointer(Tables), t: int64_t, cells: cython.p_void, scratch: cython.pointer(uint64_t)
) -> cython.void:
    """Write the cells of a table in plain numbers."""
    size: int64_t = 256 * tables[0].words if tables[0].wide else 128 * tables[0].words
    memset(cells, 0, cython.cast(cython.size_t, size))
    if tables[0].wide:
        add_slices(tables, t, cython.cast(cython.pointer(int64_t), cells), scratch)
    else:
        add_slices(tables, t, cython.cast(cython.pointer(int32_t), cells), scratch)


@cython.cfunc
@cython.nogil
def add_slices(
    tables: cython.pointer(Tables), t: int64_t, cells: cython.pointer(Cell), scratch: cython.pointer(uint64_t)
) -> cython.void:
    """Add the slices of a table to plain numbers."""
    begin: int64_t = tables[0].ends[t - 1] if t else 0
    count: int64_t = tables[0].ends[t] - begin
    packed = cython.cast(cython.pointer(cython.pointer(uint64_t)), scratch + 4 * tables[0].words)
    i: int64_t
    for i in range(count):
        packed[i] = tables[0].slices[tables[0].slots[begin + i]].table
    if count == 1:
        unpack(packed[0], tables[0].words, cells)
    else:
        unpack_many(packed, count, tables[0].words, cells, scratch)


@cython.cfunc
@cython.nogil
def size_of_cells(cells: cython.p_void, count: int64_t, wide: cython.bint) -> int64_t:
    """In how many bytes each of some cells fits: 2, or as many as they have."""
    all_bits: int64_t = 0
    j: int64_t
    small: cython.pointer(int32_t) = cython.cast(cython.pointer(int32_t), cells)
    large: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), cells)
    if wide:
        for j in range(count):
            all_bits |= large[j]
    else:
        for j in range(count):
            all_bits |= small[j]
    return 2 if all_bits < 65536 else 8 if wide else 4


@cython.cfunc
@cython.nogil
def copy_cells(cells: cython.p_void, count: int64_t, wide: cython.bint, size: int64_t) -> cython.p_void:
    """The same cells in numbers of so many bytes; NULL without memory."""
    copied: cython.p_void = allocate(size * count)
    target: cython.pointer(uint16_t) = cython.cast(cython.pointer(uint16_t), copied)
    small: cython.pointer(int32_t) = cython.cast(cython.pointer(int32_t), cells)
    large: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), cells)
    j: int64_t
    if copied == cython.NULL:
        return copied
    if size != 2:
        memcpy(copied, cells, cython.cast(cython.size_t, size * count))
    elif wide:
        for j in range(count):
            target[j] = cython.cast(uint16_t, large[j])
    else:
        for j in range(count):
            target[j] = cython.cast(uint16_t, small[j])
    return copied


# Packed numbers


@cython.cfunc
@cython.nogil
def read_packed(
    table: cython.pointer(uint64_t), words: int64_t, cells: cython.pointer(uint32_t), count: int64_t,
    counts: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Add some cells of a packed table to counts. Entries are searched without branches."""
    planes: int64_t = table[1]
    entries: int64_t = table[2]
    size: int64_t = 8 * words
    rows: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), table + HEAD)
    over: cython.pointer(uint64_t) = table + HEAD + planes * words
    base: cython.pointer(uint64_t)
    value: int64_t
    cell: int64_t
    part: int64_t
    at: int64_t
    bits: cython.int
    plane: int64_t
    left: int64_t
    half: int64_t
    i: int64_t
    for i in range(count):
        cell = cells[i]
        part = (cell >= size) + (cell >= 2 * size) + (cell >= 3 * size)  # a division would take longer
        at = cell - part * size
        bits = 2 * part
        value = 0
        for plane in range(planes):
            value |= cython.cast(int64_t, (rows[plane * size + at] >> bits) & 3) << (2 * plane)
        if entries:
            base, left = over, entries
            while left > 1:
                half = left // 2
                base = base + (half if cython.cast(int64_t, base[half] & CELL_MASK) <= cell else 0)
                left -= half
            if cython.cast(int64_t, base[0] & CELL_MASK) == cell:
                value += cython.cast(int64_t, base[0] >> CELL_BITS) << (2 * planes)
        counts[i] += value


# One item


@cython.cfunc
@cython.nogil
def read_one(
    tables: cython.pointer(Tables), parts: cython.pointer(Parts), cells: cython.pointer(uint32_t), depth: int64_t,
    exact: cython.double,
) -> Counts:  # fmt: skip
    """What the tables and events of a range say about one item."""
    counts = cython.declare(int64_t[64])
    sums = cython.declare(int64_t[64])
    found = cython.declare(Counts)
    best: cython.double = 0.0
    largest: cython.double = 0.0
    least: int64_t
    count: cython.double
    begin: int64_t = 0
    row: int64_t
    t: int64_t
    k: int64_t
    short: cython.pointer(uint16_t)
    small: cython.pointer(int32_t)
    large: cython.pointer(int64_t)
    for row in range(depth):
        sums[row] = 0
    for t in range(tables[0].many):
        if tables[0].plain[t] == cython.NULL:
            for row in range(depth):
                counts[row] = 0
            for k in range(begin, tables[0].ends[t]):
                read_packed(tables[0].slices[tables[0].slots[k]].table, tables[0].words, cells, depth, counts)
        elif tables[0].sizes[t] == 2:
            short = cython.cast(cython.pointer(uint16_t), tables[0].plain[t])
            for row in range(depth):
                counts[row] = short[cells[row]]
        elif tables[0].sizes[t] == 4:
            small = cython.cast(cython.pointer(int32_t), tables[0].plain[t])
            for row in range(depth):
                counts[row] = small[cells[row]]
        else:
            large = cython.cast(cython.pointer(int64_t), tables[0].plain[t])
            for row in range(depth):
                counts[row] = large[cells[row]]
        begin = tables[0].ends[t]
        least = counts[0]
        for row in range(1, depth):
            least = min(least, counts[row])
        if t < tables[0].whole:
            for row in range(depth):
                sums[row] += counts[row]
        count = cython.cast(cython.double, least)
        largest += min(count, parts[0].most[t])
        best += cut_count(count, parts[0].noise[t], parts[0].shares[t], parts[0].slack[t])
    least = sums[0]
    for row in range(1, depth):
        least = min(least, sums[row])
    found.upper = exact + largest
    found.lower = min(exact + max(cython.cast(cython.double, least) - parts[0].likely, 0.0), found.upper)
    found.value = min(max(exact + best, found.lower), found.upper)
    return found


# Many items


@cython.cfunc
@cython.nogil
def least_of_table(
    tables: cython.pointer(Tables), t: int64_t, cells: cython.pointer(uint32_t), count: int64_t, depth: int64_t,
    sums: cython.pointer(int64_t), least: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """Write the least cell of each item, whose cells are depth x count; add cells to `sums`, unless that is NULL."""
    counts = cython.declare(int64_t[1024])
    begin: int64_t = tables[0].ends[t - 1] if t else 0
    row: int64_t
    i: int64_t
    k: int64_t
    if tables[0].plain[t] != cython.NULL:
        if tables[0].sizes[t] == 2:
            least_of_plain(cython.cast(cython.pointer(uint16_t), tables[0].plain[t]), cells, count, depth, sums, least)
        elif tables[0].sizes[t] == 4:
            least_of_plain(cython.cast(cython.pointer(int32_t), tables[0].plain[t]), cells, count, depth, sums, least)
        else:
            least_of_plain(cython.cast(cython.pointer(int64_t), tables[0].plain[t]), cells, count, depth, sums, least)
        return
    for row in range(depth):
        memset(counts, 0, cython.cast(cython.size_t, 8 * count))
        for k in range(begin, tables[0].ends[t]):
            read_packed(tables[0].slices[tables[0].slots[k]].table, tables[0].words, cells + row * count, count, counts)
        for i in range(count):
            least[i] = counts[i] if row == 0 else min(least[i], counts[i])
        if sums != cython.NULL:
            for i in range(count):
                sums[row * count + i] += counts[i]


@cython.cfunc
@cython.nogil
def least_of_plain(
    table: cython.pointer(Plain), cells: cython.pointer(uint32_t), count: int64_t, depth: int64_t,
    sums: cython.pointer(int64_t), least: cython.pointer(int64_t),
) -> cython.void:  # fmt: skip
    """The same from a table in plain numbers."""
    value: int64_t
    row: int64_t
    i: int64_t
    for row in range(depth):
        if row == 0:
            for i in range(count):
                least[i] = table[cells[i]]
        else:
            for i in range(count):
                value = table[cells[row * count + i]]
                least[i] = min(least[i], value)
        if sums != cython.NULL:
            for i in range(count):
                sums[row * count + i] += table[cells[row * count + i]]


@cython.cfunc
@cython.nogil
def read_points(
    tables: cython.pointer(Tables), parts: cython.pointer(Parts), keys: cython.pointer(uint64_t), count: int64_t,
    rows: cython.pointer(Row), depth: int64_t, exact: cython.pointer(cython.double),
    value: cython.pointer(cython.double), lower: cython.pointer(cython.double), upper: cython.pointer(cython.double),
) -> cython.bint:  # fmt: skip
    """What the tables and events of a range say about each of many items."""
    chunk: int64_t = min(count, CHUNK)
    memory: cython.p_void = allocate((24 + 12 * depth) * chunk)
    sums: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    least: cython.pointer(int64_t) = sums + depth * chunk
    best: cython.pointer(cython.double) = cython.cast(cython.pointer(cython.double), least + chunk)
    largest: cython.pointer(cython.double) = best + chunk
    cells: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), largest + chunk)
    begin: int64_t = 0
    some: int64_t
    smallest: int64_t
    i: int64_t
    row: int64_t
    t: int64_t
    noise: cython.double
    share: cython.double
    slack: cython.double
    most: cython.double
    number: cython.double
    if memory == cython.NULL:
        return False
    while begin < count:
        some = min(count - begin, CHUNK)
        fill_cells(keys + begin, some, rows, depth, cells)
        memset(sums, 0, cython.cast(cython.size_t, 8 * depth * some))
        for i in range(some):
            best[i], largest[i] = 0.0, 0.0
        for t in range(tables[0].many):
            least_of_table(tables, t, cells, some, depth, sums if t < tables[0].whole else cython.NULL, least)
            noise, share, slack, most = parts[0].noise[t], parts[0].shares[t], parts[0].slack[t], parts[0].most[t]
            for i in range(some):
                number = cython.cast(cython.double, least[i])
                largest[i] += min(number, most)
                best[i] += cut_count(number, noise, share, slack)
        for i in range(some):
            smallest = sums[i]
            for row in range(1, depth):
                smallest = min(smallest, sums[row * some + i])
            number = exact[begin + i]
            upper[begin + i] = number + largest[i]
            lower[begin + i] = min(
                number + max(cython.cast(cython.double, smallest) - parts[0].likely, 0.0), upper[begin + i]
            )
            value[begin + i] = min(max(number + best[i], lower[begin + i]), upper[begin + i])
        begin += some
    free(memory)
    return True


@cython.cfunc
@cython.nogil
def read_prefixes(
    tables: cython.pointer(Tables), parts: cython.pointer(Parts), keys: cython.pointer(uint64_t), count: int64_t,
    rows: cython.pointer(Row), depth: int64_t, exact: cython.pointer(cython.double),
    inside: cython.pointer(cython.double), value: cython.pointer(cython.double),
    upper: cython.pointer(cython.double),
) -> cython.bint:  # fmt: skip
    """How often prefixes came, in parts: in events and slices inside, with shares of cut slices, with all of these.

    Nothing is taken off for collisions. All children of a prefix collide alike, so what they have too much is found by
    adding them up (sketch/projection.py).
    """
    chunk: int64_t = min(count, CHUNK)
    memory: cython.p_void = allocate((24 + 4 * depth) * chunk)
    least: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    added: cython.pointer(cython.double) = cython.cast(cython.pointer(cython.double), least + chunk)
    largest: cython.pointer(cython.double) = added + chunk
    cells: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), largest + chunk)
    begin: int64_t = 0
    some: int64_t
    i: int64_t
    t: int64_t
    cut: int64_t
    share: cython.double
    slack: cython.double
    most: cython.double
    number: cython.double
    if memory == cython.NULL:
        return False
    while begin < count:
        some = min(count - begin, CHUNK)
        fill_cells(keys + begin, some, rows, depth, cells)
        for i in range(some):
            inside[begin + i] = exact[begin + i]
            added[i], largest[i] = 0.0, 0.0
        for t in range(tables[0].many):
            least_of_table(tables, t, cells, some, depth, cython.NULL, least)
            if t < tables[0].whole:
                for i in range(some):
                    inside[begin + i] += cython.cast(cython.double, least[i])
            else:
                cut = t - tables[0].whole
                share, slack, most = parts[0].shares[cut], parts[0].slack[cut], parts[0].most[cut]
                for i in range(some):
                    number = cython.cast(cython.double, least[i])
                    added[i] += min(cut_count(number, 0.0, share, slack), most)
                    largest[i] += min(number, most)
        for i in range(some):
            value[begin + i] = inside[begin + i] + added[i]
            upper[begin + i] = inside[begin + i] + largest[i]
        begin += some
    free(memory)
    return True


@cython.cfunc
@cython.nogil
def read_cells(
    tables: cython.pointer(Tables), parts: cython.pointer(Parts), numbers: cython.pointer(uint32_t), count: int64_t,
    exact: cython.pointer(cython.double), value: cython.pointer(cython.double), lower: cython.pointer(cython.double),
    upper: cython.pointer(cython.double),
) -> cython.bint:  # fmt: skip
    """What some cells hold, if events put `exact` arrivals into them. What cut slices add is added up in pairs."""
    cuts: int64_t = tables[0].many - tables[0].whole
    chunk: int64_t = min(count, CHUNK)
    memory: cython.p_void = allocate(8 * chunk * (cuts + 2))
    held: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), memory)
    least: cython.pointer(int64_t) = held + chunk
    added: cython.pointer(cython.double) = cython.cast(cython.pointer(cython.double), least + chunk)
    begin: int64_t = 0
    some: int64_t
    i: int64_t
    t: int64_t
    cut: int64_t
    number: cython.double
    most: cython.double
    if memory == cython.NULL:
        return False
    while begin < count:
        some = min(count - begin, CHUNK)
        memset(held, 0, cython.cast(cython.size_t, 8 * some))
        for t in range(tables[0].whole):
            least_of_table(tables, t, numbers + begin, some, 1, held, least)
        for i in range(some):
            lower[begin + i] = exact[begin + i] + cython.cast(cython.double, held[i])
            upper[begin + i] = 0.0
        for cut in range(cuts):
            least_of_table(tables, tables[0].whole + cut, numbers + begin, some, 1, cython.NULL, least)
            for i in range(some):
                number = cython.cast(cython.double, least[i])
                most = min(number, parts[0].most[cut])
                added[i * cuts + cut] = min(cut_count(number, 0.0, parts[0].shares[cut], parts[0].slack[cut]), most)
                upper[begin + i] += most
        for i in range(some):
            value[begin + i] = lower[begin + i] + sum_pairwise(added + i * cuts, cuts, 1)
            upper[begin + i] += lower[begin + i]
        begin += some
    free(memory)
    return True
