"""Hashes: items become cells (row hashes), texts become keys (xxHash64), and words become random-looking (SplitMix64).

Row hashes give an item of 64 bits one cell in each row of a table. They are multiply-shift on the two 32-bit halves,
which is pairwise independent: without that, Count-Min's guarantee is void. Alone it treats neighbouring integers too
much alike, so the bits of an item are mixed first. Mixing is a bijection, so it takes nothing from independence
(docs/decisions/020-sharper-cells.md). Test vectors: tests/vectors/hashing.json.
"""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import allocate, bytes_of, int64s, uint32s, uint64s
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy
from numpy.typing import NDArray

Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
"""The step from one state of SplitMix64 to the next: 2^64 divided by the golden ratio, made odd."""
STRING_SEED = 42
"""The seed of Spark's `xxhash64`."""

CHUNK = cython.declare(int64_t, 4096)
"""Items hashed at a time in all rows: their mixed words stay in the processor's cache."""


@cython.cfunc
@cython.nogil
def mix_word(word: uint64_t) -> uint64_t:
    """SplitMix64's output function: a bijection; flipping any bit of the input flips every output bit half the time."""
    word = cython.cast(uint64_t, (word ^ (word >> 30)) * cython.cast(uint64_t, 0xBF58476D1CE4E5B9))
    word = cython.cast(uint64_t, (word ^ (word >> 27)) * cython.cast(uint64_t, 0x94D049BB133111EB))
    return word ^ (word >> 31)


def mix(words: Words) -> Words:
    """Mix an array of words, or one word, by SplitMix64's output function."""
    given = np.ascontiguousarray(words, np.uint64)
    mixed = np.empty(np.shape(words), np.uint64)
    source = uint64s(given)
    target = uint64s(mixed)
    i: int64_t
    for i in range(cython.cast(int64_t, given.size)):
        target[i] = mix_word(source[i])
    return mixed


def splitmix64(seed: int, count: int) -> Words:
    """The first `count` outputs of SplitMix64 started with a seed.

    >>> splitmix64(seed=0, count=2).tolist()
    [16294208416658607535, 7960286522194355700]
    """
    states = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(seed % 2**64)
    return mix(states)


def to_fraction(words: Words) -> NDArray[np.float64]:
    """The high 53 bits of each word, as a number in [0, 1)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


@cython.cclass
class RowHashes:
    """The hashes of some rows. Row r takes an item's bits above `drop`, mixes them if `mixed`, and hashes them, as x,
    to `width` cells from `first` on: h(x) = ((low * lo(x) + high * hi(x) + shift) mod 2^64) >> 32, scaled to the width.
    """

    def __cinit__(self, columns: object) -> None:
        table = np.ascontiguousarray(columns, np.uint64)
        self.depth = table.shape[0]
        self.rows = cython.cast(cython.pointer(Row), allocate(56 * self.depth))
        if self.rows == cython.NULL:
            raise MemoryError
        memcpy(self.rows, uint64s(table), cython.cast(cython.size_t, 56 * self.depth))

    def __dealloc__(self) -> None:
        free(self.rows)

    def __len__(self) -> int:
        return self.depth

    def __reduce__(self) -> tuple[Any, ...]:
        return RowHashes, (self.columns(),)

    def columns(self) -> Words:
        """Low, high, shift, drop, width, first and mixed of each row."""
        table = np.empty((self.depth, 7), np.uint64)
        memcpy(uint64s(table), self.rows, cython.cast(cython.size_t, 56 * self.depth))
        return table

    def some(self, begin: int, end: int) -> RowHashes:
        """The rows begin .. end - 1."""
        return RowHashes(self.columns()[begin:end])

    @property
    def cells(self) -> int:
        """Cells of all rows."""
        total: int64_t = 0
        row: int64_t
        for row in range(self.depth):
            total += cython.cast(int64_t, self.rows[row].width)
        return total


def row_hashes(seed: int, depth: int, width: int) -> RowHashes:
    """The row hashes that belong to a seed: three SplitMix64 outputs a row; rows lie one after the other."""
    columns = np.zeros((depth, 7), np.uint64)
    columns[:, :3] = splitmix64(seed, 3 * depth).reshape(depth, 3)
    columns[:, 4] = width
    columns[:, 5] = np.arange(depth, dtype=np.uint64) * np.uint64(width)
    columns[:, 6] = 1
    return RowHashes(columns)


def direct_row(bits: int) -> RowHashes:
    """One row in which every number below 2^bits has a cell of its own: a hash that is the identity."""
    return RowHashes(np.array([[1 << (64 - bits), 0, 0, 0, 1 << bits, 0, 0]], np.uint64))


def stack_rows(parts: list[tuple[RowHashes, int]]) -> RowHashes:
    """Rows of several tables as one; each table drops that many low bits of an item first."""
    first, stacked = 0, []
    for rows, drop in parts:
        columns = rows.columns()
        columns[:, 3] = drop
        columns[:, 5] += np.uint64(first)
        stacked.append(columns)
        first += rows.cells
    return RowHashes(np.concatenate(stacked))


def cells_of(items: Words, rows: RowHashes) -> NDArray[np.uint32]:
    """The cell of every item in every row, as [rows, items]."""
    items = np.ascontiguousarray(items, np.uint64)
    cells = np.empty((len(rows), len(items)), np.uint32)
    keys, target, hashes = uint64s(items), uint32s(cells), cython.cast(RowHashes, rows)
    count: int64_t = len(items)
    with cython.nogil:
        fill_cells(keys, count, hashes.rows, hashes.depth, target)
    return cells


@cython.cfunc
@cython.nogil
def mix_items(
    items: cython.pointer(uint64_t), count: int64_t, rows: cython.pointer(Row), row: int64_t,
    words: cython.pointer(uint64_t),
) -> cython.void:  # fmt: skip
    """Write the words that a row hashes for some items; they are there already if the row before hashes the same."""
    drop: uint64_t = rows[row].drop
    i: int64_t
    if row > 0 and drop == rows[row - 1].drop and rows[row].mixed == rows[row - 1].mixed:
        return
    if rows[row].mixed:
        for i in range(count):
            word: uint64_t = items[i] >> drop
            word = cython.cast(uint64_t, (word ^ (word >> 30)) * cython.cast(uint64_t, 0xBF58476D1CE4E5B9))
            word = cython.cast(uint64_t, (word ^ (word >> 27)) * cython.cast(uint64_t, 0x94D049BB133111EB))
            words[i] = word ^ (word >> 31)
    else:
        for i in range(count):
            words[i] = items[i] >> drop


@cython.cfunc
@cython.nogil
def hash_row(
    words: cython.pointer(uint64_t), count: int64_t, row: cython.pointer(Row), cells: cython.pointer(uint32_t)
) -> cython.void:
    """Write the cells of some words in one row.

    All products are of 32 bits by 32 bits, and the masks say so: for these there is a vector instruction.
    """
    mask: uint64_t = 0xFFFFFFFF
    low_low: uint64_t = row[0].low & mask
    low_high: uint64_t = row[0].low >> 32
    high_low: uint64_t = row[0].high & mask
    high_high: uint64_t = row[0].high >> 32
    shift: uint64_t = row[0].shift
    width: uint64_t = row[0].width & mask
    first: uint64_t = row[0].first
    low: uint64_t
    high: uint64_t
    carried: uint64_t
    i: int64_t
    for i in range(count):
        low = words[i] & mask
        high = words[i] >> 32
        carried = cython.cast(uint64_t, low_low * low + high_low * high + shift) >> 32
        carried = (carried + low_high * low + high_high * high) & mask
        cells[i] = cython.cast(uint32_t, first + ((carried * width) >> 32))


@cython.cfunc
@cython.nogil
def fill_cells(
    items: cython.pointer(uint64_t), count: int64_t, rows: cython.pointer(Row), depth: int64_t,
    cells: cython.pointer(uint32_t),
) -> cython.void:  # fmt: skip
    """Write the cells of all items in all rows, as [rows, items]."""
    words = cython.declare(uint64_t[4096])
    begin: int64_t = 0
    some: int64_t
    row: int64_t
    while begin < count:
        some = min(count - begin, CHUNK)
        for row in range(depth):
            mix_items(items + begin, some, rows, row, words)
            hash_row(words, some, rows + row, cells + row * count + begin)
        begin += some


@cython.cfunc
@cython.nogil
def rotate(x: uint64_t, bits: cython.int) -> uint64_t:
    """Rotate a word to the left."""
    return cython.cast(uint64_t, x << bits) | (x >> (64 - bits))


@cython.cfunc
@cython.nogil
def stripe(accumulator: uint64_t, lane: uint64_t) -> uint64_t:
    """One step of xxHash64 for eight bytes."""
    x: uint64_t = cython.cast(
        uint64_t, accumulator + cython.cast(uint64_t, lane * cython.cast(uint64_t, 0xC2B2AE3D27D4EB4F))
    )
    return cython.cast(uint64_t, rotate(x, 31) * cython.cast(uint64_t, 0x9E3779B185EBCA87))


@cython.cfunc
@cython.nogil
def fold(digest: uint64_t, accumulator: uint64_t) -> uint64_t:
    """Fold one of the four accumulators into the digest."""
    x: uint64_t = cython.cast(uint64_t, (digest ^ stripe(0, accumulator)) * cython.cast(uint64_t, 0x9E3779B185EBCA87))
    return cython.cast(uint64_t, x + cython.cast(uint64_t, 0x85EBCA77C2B2AE63))


@cython.cfunc
@cython.nogil
def word_at(data: cython.pointer(uint8_t)) -> uint64_t:
    """Eight bytes as a little-endian number."""
    word: uint64_t = 0
    i: cython.int
    for i in range(8):
        word |= cython.cast(uint64_t, data[i]) << (8 * i)
    return word


@cython.cfunc
@cython.nogil
def xxhash64(data: cython.pointer(uint8_t), size: int64_t, seed: uint64_t) -> uint64_t:
    """The xxHash64 of some bytes, after its public specification."""
    p1: uint64_t = 0x9E3779B185EBCA87
    p2: uint64_t = 0xC2B2AE3D27D4EB4F
    p3: uint64_t = 0x165667B19E3779F9
    p4: uint64_t = 0x85EBCA77C2B2AE63
    p5: uint64_t = 0x27D4EB2F165667C5
    a: uint64_t
    b: uint64_t
    c: uint64_t
    d: uint64_t
    x: uint64_t
    half: uint64_t
    i: cython.int
    left: int64_t = size
    if left >= 32:
        a = cython.cast(uint64_t, seed + p1 + p2)
        b = cython.cast(uint64_t, seed + p2)
        c = seed
        d = cython.cast(uint64_t, seed - p1)
        while left >= 32:
            a = stripe(a, word_at(data))
            b = stripe(b, word_at(data + 8))
            c = stripe(c, word_at(data + 16))
            d = stripe(d, word_at(data + 24))
            data = data + 32
            left -= 32
        x = cython.cast(uint64_t, rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18))
        x = fold(fold(fold(fold(x, a), b), c), d)
    else:
        x = cython.cast(uint64_t, seed + p5)
    x = cython.cast(uint64_t, x + cython.cast(uint64_t, size))
    while left >= 8:
        x = cython.cast(uint64_t, rotate(x ^ stripe(0, word_at(data)), 27) * p1)
        x = cython.cast(uint64_t, x + p4)
        data = data + 8
        left -= 8
    if left >= 4:
        half = 0
        for i in range(4):
            half |= cython.cast(uint64_t, data[i]) << (8 * i)
        x = cython.cast(uint64_t, rotate(x ^ cython.cast(uint64_t, half * p1), 23) * p2)
        x = cython.cast(uint64_t, x + p3)
        data = data + 4
        left -= 4
    while left > 0:
        half = data[0]
        x = cython.cast(uint64_t, rotate(x ^ cython.cast(uint64_t, half * p5), 11) * p1)
        data = data + 1
        left -= 1
    x = cython.cast(uint64_t, (x ^ (x >> 33)) * p2)
    x = cython.cast(uint64_t, (x ^ (x >> 29)) * p3)
    return x ^ (x >> 32)


def hash_bytes(data: Any, seed: int = STRING_SEED) -> int:
    """The xxHash64 of bytes.

    >>> hash_bytes(b"", 0)
    17241709254077376921
    """
    return xxhash64(bytes_of(data), len(data), seed)


def hash_text(text: str, seed: int = STRING_SEED) -> int:
    """The xxHash64 of a text in UTF-8; a UnicodeEncodeError if that cannot hold it."""
    data = text.encode()
    return xxhash64(bytes_of(data), len(data), seed)


def hash_many(data: Any, starts: NDArray[np.int64], ends: NDArray[np.int64], seeds: Words | int = STRING_SEED) -> Words:
    """The xxHash64 of data[starts[i]:ends[i]] with seeds[i] (or one seed for all), for every i."""
    starts, ends = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(ends, np.int64)
    digests = np.empty(len(starts), np.uint64)
    each = None if isinstance(seeds, int) else np.ascontiguousarray(seeds, np.uint64)
    one: uint64_t = seeds if each is None else 0
    source, begins, stops, found = bytes_of(data), int64s(starts), int64s(ends), uint64s(digests)
    given: cython.pointer(uint64_t) = cython.NULL
    if each is not None:
        given = uint64s(each)
    i: int64_t
    count: int64_t = len(starts)
    with cython.nogil:
        for i in range(count):
            found[i] = xxhash64(source + begins[i], stops[i] - begins[i], one if given == cython.NULL else given[i])
    return digests
