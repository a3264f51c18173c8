"""Tables of slices as bits (docs/format.md, "Slices"): exponential Golomb codes of cells, or of differences.

A number c is written as q = (c >> parameter) + 1 in Elias' gamma code (as many zeros as q has bits after its first,
then q), then the `parameter` low bits of c. Of the parameters with which a table is shortest, the smallest is used. The
numbers are the cells, or, if that makes them smaller on the whole, their differences from a forecast: the sum of the
tables before it, each counted half as much as the one after it, scaled to the slice's arrivals. Readers check every
choice, so a table has one encoding.

Forecasts are IEEE doubles without fused operations, so every machine makes the same.
"""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.hashing import Row
from cython.cimports.ecmsketch.kernels.memory import allocate, bytes_of, int64s
from cython.cimports.ecmsketch.kernels.packing import bits_of, leading_zeros
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy, memset
from numpy.typing import NDArray

MOST_PARAMETER = cython.declare(int64_t, 53)
MOST_CELL = cython.declare(uint64_t, 2**53)
MOST_FORECAST = cython.declare(int64_t, 2**50)
"""A slice with more arrivals has no forecast: its differences might not fit the code of tables."""
SMALL = cython.declare(uint64_t, 256)
CHUNK = cython.declare(int64_t, 128)
"""So many cells never add up to more than a number holds."""


@cython.cfunc
@cython.nogil
def count_number(lengths: cython.pointer(CodeLengths), number: uint64_t, lane: int64_t) -> cython.void:
    """Note a number: how many bits it takes depends on its bits, and on how many ones these begin with."""
    bits: int64_t
    ones: int64_t
    if number < SMALL:
        lengths[0].small[4 * cython.cast(int64_t, number) + lane] += 1
    else:
        bits = 64 - leading_zeros(number)
        ones = leading_zeros(cython.cast(uint64_t, ~cython.cast(uint64_t, number << (64 - bits))))
        lengths[0].ones[bits * (bits - 1) // 2 + ones - 1] += 1
    lengths[0].sum = cython.cast(uint64_t, lengths[0].sum + number)
    lengths[0].largest |= number


@cython.cfunc
@cython.nogil
def best_parameter(lengths: cython.pointer(CodeLengths), count: int64_t, size: cython.pointer(int64_t)) -> int64_t:
    """The parameter with which the numbers noted are shortest, and the bits that they then take. Forgets them.

    A number of b bits takes one bit more than b - parameter says if it begins with as many ones.
    """
    top: int64_t = bits_of(lengths[0].largest)
    number: int64_t
    bits: int64_t
    some: int64_t
    base: int64_t
    place: int64_t
    parameter: int64_t
    best: int64_t = 0
    total: int64_t
    ones: cython.pointer(int64_t) = lengths[0].ones
    small: cython.pointer(int32_t) = lengths[0].small
    for number in range(cython.cast(int64_t, min(lengths[0].largest, SMALL - 1)) + 1):
        some = small[4 * number] + small[4 * number + 1] + small[4 * number + 2] + small[4 * number + 3]
        if number > 0 and some > 0:
            bits = 64 - leading_zeros(cython.cast(uint64_t, number))
            place = leading_zeros(cython.cast(uint64_t, ~(cython.cast(uint64_t, number) << (64 - bits))))
            ones[bits * (bits - 1) // 2 + place - 1] += some
        small[4 * number] = small[4 * number + 1] = small[4 * number + 2] = small[4 * number + 3] = 0
    for bits in range(2, top + 1):  # from numbers that begin with so many ones to those with as many or more
        base = bits * (bits - 1) // 2
        for place in range(bits - 2, -1, -1):
            ones[base + place] += ones[base + place + 1]
    middle: int64_t = bits_of(cython.cast(uint64_t, max(cython.cast(int64_t, lengths[0].sum) // count, 1)))
    size[0] = -1
    for parameter in range(max(middle - 6, 0), min(middle + 3, MOST_PARAMETER) + 1):
        total = count * (parameter + 1)
        for bits in range(parameter + 1, top + 1):
            base = bits * (bits - 1) // 2
            total += 2 * (ones[base] * (bits - parameter - 1) + ones[base + bits - parameter - 1])
        if size[0] < 0 or total < size[0]:
            best = parameter
            size[0] = total
    memset(ones, 0, cython.cast(cython.size_t, 8 * (top * (top + 1) // 2)))
    lengths[0].sum = 0
    lengths[0].largest = 0
    return best


@cython.cfunc
@cython.nogil
def put_word(out: cython.pointer(uint8_t), word: uint64_t) -> cython.void:
    """Write eight bytes, the highest first."""
    out[0] = cython.cast(uint8_t, word >> 56)
    out[1] = cython.cast(uint8_t, (word >> 48) & 255)
    out[2] = cython.cast(uint8_t, (word >> 40) & 255)
    out[3] = cython.cast(uint8_t, (word >> 32) & 255)
    out[4] = cython.cast(uint8_t, (word >> 24) & 255)
    out[5] = cython.cast(uint8_t, (word >> 16) & 255)
    out[6] = cython.cast(uint8_t, (word >> 8) & 255)
    out[7] = cython.cast(uint8_t, word & 255)


@cython.cfunc
@cython.nogil
def get_word(data: cython.pointer(uint8_t)) -> uint64_t:
    """Read eight bytes, the highest first."""
    return (
        (cython.cast(uint64_t, data[0]) << 56) | (cython.cast(uint64_t, data[1]) << 48)
        | (cython.cast(uint64_t, data[2]) << 40) | (cython.cast(uint64_t, data[3]) << 32)
        | (cython.cast(uint64_t, data[4]) << 24) | (cython.cast(uint64_t, data[5]) << 16)
        | (cython.cast(uint64_t, data[6]) << 8) | cython.cast(uint64_t, data[7])
    )  # fmt: skip


@cython.cfunc
@cython.nogil
def put_numbers(
    numbers: cython.pointer(uint64_t), count: int64_t, parameter: int64_t, out: cython.pointer(uint8_t)
) -> int64_t:
    """Write numbers; returns how many bytes they take. Eight more may be written, as zeros."""
    at: int64_t = 0
    held: uint64_t = 0
    filled: int64_t = 0
    low: uint64_t = cython.cast(uint64_t, cython.cast(uint64_t, 1) << parameter) - 1
    number: uint64_t
    q: uint64_t
    bits: int64_t
    part: int64_t
    step: cython.int
    j: int64_t
    for j in range(count):
        number = numbers[j]
        q = (number >> parameter) + 1
        bits = 64 - leading_zeros(q)
        if 2 * bits - 1 + parameter <= 56:
            held = cython.cast(uint64_t, held << (2 * bits - 1 + parameter)) | cython.cast(uint64_t, q << parameter)
            held |= number & low
            filled += 2 * bits - 1 + parameter
            put_word(out + at, cython.cast(uint64_t, held << (64 - filled)))
            at += filled >> 3
            filled &= 7
            continue
        for step in range(3):  # the zeros, q, and the low bits
            part = bits - 1 if step == 0 else bits if step == 1 else parameter
            held = cython.cast(uint64_t, held << part) | (0 if step == 0 else q if step == 1 else number & low)
            filled += part
            if filled:
                put_word(out + at, cython.cast(uint64_t, held << (64 - filled)))
            at += filled >> 3
            filled &= 7
    return at + (1 if filled else 0)


@cython.cfunc
@cython.nogil
def get_numbers(
    data: cython.pointer(uint8_t), at: int64_t, end: int64_t, parameter: int64_t, count: int64_t,
    numbers: cython.pointer(uint64_t), lengths: cython.pointer(CodeLengths),
) -> cython.bint:  # fmt: skip
    """Whether the bytes at .. end - 1 are so many numbers, none above 2^53. Reads and notes them."""
    held: uint64_t = 0
    filled: int64_t = 0
    less: uint64_t = cython.cast(uint64_t, 1) << parameter
    number: uint64_t
    zeros: int64_t
    part: int64_t
    step: cython.int
    j: int64_t
    for j in range(count):
        if filled < 32:
            if end - at >= 8:  # what is more than so many whole bytes is read again
                held |= get_word(data + at) >> filled
                at += (63 - filled) >> 3
                filled |= 56
            else:
                while filled <= 56 and at < end:
                    held |= cython.cast(uint64_t, data[at]) << (56 - filled)
                    at += 1
                    filled += 8
        zeros = leading_zeros(held | 1)
        part = 2 * zeros + 1 + parameter
        if part <= filled and part <= 56:
            number = (held >> (64 - part)) - less
            held = cython.cast(uint64_t, held << part)
            filled -= part
        else:
            number = 0
            for step in range(3):  # the zeros, then what follows them, then the low bits
                while filled <= 56 and at < end:
                    held |= cython.cast(uint64_t, data[at]) << (56 - filled)
                    at += 1
                    filled += 8
                if step == 0:
                    if held == 0:
                        return False
                    zeros = leading_zeros(held)
                    if zeros + parameter > MOST_PARAMETER:
                        return False
                    part = zeros
                else:
                    part = zeros + 1 if step == 1 else parameter
                    if filled < part:
                        return False
                    if part:
                        number = cython.cast(uint64_t, number << part) | (held >> (64 - part))
                    if step == 1:
                        number -= 1
                held = cython.cast(uint64_t, held << part)
                filled -= part
        if zeros + parameter > MOST_PARAMETER or number > MOST_CELL:
            return False
        numbers[j] = number
        count_number(lengths, number, j & 3)
    while filled <= 56 and at < end:
        held |= cython.cast(uint64_t, data[at]) << (56 - filled)
        at += 1
        filled += 8
    return filled < 8 and held == 0  # what is left of the last byte is zeros


@cython.cfunc
@cython.nogil
def has_forecast(arrivals: int64_t, work: cython.pointer(TableWork)) -> cython.bint:
    """Whether a slice of so many arrivals has a forecast."""
    return work[0].past[work[0].cells] > 0 and arrivals <= MOST_FORECAST


@cython.cfunc
@cython.nogil
def compare(arrivals: int64_t, work: cython.pointer(TableWork), numbers: cython.pointer(uint64_t)) -> cython.bint:
    """Write the differences between a table and its forecast; whether they are smaller than its cells on the whole."""
    scale: cython.double = cython.cast(cython.double, arrivals) / work[0].past[work[0].cells]
    table: cython.pointer(int64_t) = work[0].table
    past: cython.pointer(cython.double) = work[0].past
    counted: uint64_t = 0
    off: uint64_t = 0
    difference: int64_t
    number: uint64_t
    j: int64_t
    for j in range(work[0].cells):
        difference = table[j] - cython.cast(int64_t, past[j] * scale + 0.5)
        number = cython.cast(uint64_t, cython.cast(uint64_t, difference) << 1) ^ cython.cast(uint64_t, difference >> 63)
        numbers[j] = number
        counted = cython.cast(uint64_t, counted + cython.cast(uint64_t, table[j]))
        off = cython.cast(uint64_t, off + ((number + 1) >> 1))
    return cython.cast(int64_t, cython.cast(uint64_t, 2 * off)) < cython.cast(int64_t, counted)


@cython.cfunc
@cython.nogil
def restore(arrivals: int64_t, work: cython.pointer(TableWork)) -> cython.bint:
    """Make a table from its differences; whether no cell is negative, and writing differences is right."""
    scale: cython.double = cython.cast(cython.double, arrivals) / work[0].past[work[0].cells]
    table: cython.pointer(int64_t) = work[0].table
    numbers: cython.pointer(uint64_t) = work[0].numbers
    past: cython.pointer(cython.double) = work[0].past
    counted: uint64_t = 0
    off: uint64_t = 0
    signs: int64_t = 0
    cell: int64_t
    j: int64_t
    for j in range(work[0].cells):
        cell = cython.cast(int64_t, past[j] * scale + 0.5)
        cell += cython.cast(int64_t, numbers[j] >> 1) ^ -cython.cast(int64_t, numbers[j] & 1)
        table[j] = cell
        signs |= cell
        counted = cython.cast(uint64_t, counted + cython.cast(uint64_t, cell))
        off = cython.cast(uint64_t, off + ((numbers[j] + 1) >> 1))
    if signs < 0:
        return False
    return cython.cast(int64_t, cython.cast(uint64_t, 2 * off)) < cython.cast(int64_t, counted)


@cython.cfunc
@cython.nogil
def learn(arrivals: int64_t, work: cython.pointer(TableWork)) -> cython.void:
    """Count a table twice as much as the ones before it, each of which counts twice as much as the one before it."""
    past: cython.pointer(cython.double) = work[0].past
    j: int64_t
    for j in range(work[0].cells):
        past[j] = past[j] * 0.5 + cython.cast(cython.double, work[0].table[j])
    past[work[0].cells] = past[work[0].cells] * 0.5 + cython.cast(cython.double, arrivals)


@cython.cfunc
@cython.nogil
def new_work(cells: int64_t, work: cython.pointer(TableWork)) -> cython.bint:
    """Memory for tables of so many cells, without a past; False if there is none."""
    words: int64_t = (cells + 31) // 32
    size: int64_t = 8 * (32 * words + 2 * cells + 1)
    memset(work, 0, cython.sizeof(TableWork))
    work[0].memory = allocate(size + cython.cast(int64_t, cython.sizeof(CodeLengths)))
    if work[0].memory == cython.NULL:
        return False
    memset(work[0].memory, 0, cython.cast(cython.size_t, size + cython.cast(int64_t, cython.sizeof(CodeLengths))))
    work[0].cells = cells
    work[0].words = words
    work[0].table = cython.cast(cython.pointer(int64_t), work[0].memory)
    work[0].numbers = cython.cast(cython.pointer(uint64_t), work[0].table + 32 * words)
    work[0].past = cython.cast(cython.pointer(cython.double), work[0].numbers + cells)
    work[0].lengths = cython.cast(cython.pointer(CodeLengths), work[0].past + cells + 1)
    return True


@cython.cfunc
@cython.nogil
def free_work(work: cython.pointer(TableWork)) -> cython.void:
    """Give the memory of tables back."""
    free(work[0].memory)
    free(work[0].out)


@cython.cfunc
@cython.nogil
def judge_table(arrivals: int64_t, work: cython.pointer(TableWork), size: cython.pointer(int64_t)) -> int64_t:
    """How a table is written, in how many bits: what is written for its cells is in `numbers`. It becomes past."""
    numbers: cython.pointer(uint64_t) = work[0].numbers
    differs: int64_t = 0
    j: int64_t
    if has_forecast(arrivals, work):
        differs = compare(arrivals, work, numbers)
    if not differs:
        memcpy(numbers, work[0].table, cython.cast(cython.size_t, 8 * work[0].cells))
    learn(arrivals, work)
    for j in range(work[0].cells):
        count_number(work[0].lengths, numbers[j], j & 3)
    return 2 * best_parameter(work[0].lengths, work[0].cells, size) + differs


@cython.cfunc
@cython.nogil
def read_table(
    data: cython.pointer(uint8_t), at: int64_t, end: int64_t, how: int64_t, arrivals: int64_t,
    rows: cython.pointer(Row), depth: int64_t, work: cython.pointer(TableWork),
) -> cython.bint:  # fmt: skip
    """Whether the bytes at .. end - 1 are those of a table with so many arrivals. It becomes past."""
    size = cython.declare(int64_t[1])
    known: cython.bint = has_forecast(arrivals, work)
    differs: cython.bint = how & 1 != 0
    if differs and not known:
        return False
    if not get_numbers(data, at, end, how >> 1, work[0].cells, work[0].numbers, work[0].lengths):
        return False
    if best_parameter(work[0].lengths, work[0].cells, size) != how >> 1:
        return False
    if differs:
        if not restore(arrivals, work):
            return False
    else:
        memcpy(work[0].table, work[0].numbers, cython.cast(cython.size_t, 8 * work[0].cells))
        if known and compare(arrivals, work, work[0].numbers):
            return False
    if not adds_up(work[0].table, arrivals, rows, depth):
        return False
    learn(arrivals, work)
    return True


@cython.cfunc
@cython.nogil
def adds_up(
    table: cython.pointer(int64_t), arrivals: int64_t, rows: cython.pointer(Row), depth: int64_t
) -> cython.bint:
    """Whether every row has counted every arrival once."""
    counted: int64_t
    some: int64_t
    begin: int64_t
    end: int64_t
    row: int64_t
    j: int64_t
    for row in range(depth):
        begin = rows[row].first
        end = begin + cython.cast(int64_t, rows[row].width)
        counted = 0
        while begin < end:
            some = 0
            for j in range(begin, min(begin + CHUNK, end)):
                some += table[j]
            counted += some
            if counted > arrivals:
                return False
            begin += CHUNK
        if counted != arrivals:
            return False
    return True


def write_numbers(numbers: NDArray[np.int64]) -> tuple[int, bytes]:
    """For tests: the parameter with which some numbers are shortest, and their bytes."""
    count: int64_t = len(numbers)
    lengths = cython.declare(CodeLengths)
    given: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), int64s(numbers))
    size = cython.declare(int64_t[1])
    j: int64_t
    memset(cython.address(lengths), 0, cython.sizeof(CodeLengths))
    for j in range(count):
        count_number(cython.address(lengths), given[j], j & 3)
    parameter: int64_t = best_parameter(cython.address(lengths), count, size)
    out = np.empty((size[0] + 7) // 8 + 8, np.uint8)
    written: int64_t = put_numbers(given, count, parameter, bytes_of(out))
    return parameter, out[:written].tobytes()


def read_numbers(data: bytes, parameter: int, count: int) -> NDArray[np.int64] | None:
    """For tests: so many numbers with a parameter from 0 to 53, if the bytes are those of numbers."""
    lengths = cython.declare(CodeLengths)
    some: int64_t = count
    numbers = np.empty(some, np.int64)
    found: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), int64s(numbers))
    memset(cython.address(lengths), 0, cython.sizeof(CodeLengths))
    good: cython.bint = get_numbers(bytes_of(data), 0, len(data), parameter, some, found, cython.address(lengths))
    return numbers if good else None


def forecast_codes(tables: NDArray[np.int64], arrivals: NDArray[np.int64]) -> list[tuple[bool, list[int]]]:
    """For tests: of each of some tables, whether it is written as differences, and the numbers that are written."""
    work = cython.declare(TableWork)
    cells: int64_t = tables.shape[1]
    size = cython.declare(int64_t[1])
    how: int64_t
    i: int64_t
    given: cython.pointer(int64_t) = int64s(tables)
    found = []
    if not new_work(cells, cython.address(work)):
        raise MemoryError
    for i in range(cython.cast(int64_t, len(tables))):
        memcpy(work.table, given + i * cells, cython.cast(cython.size_t, 8 * cells))
        how = judge_table(arrivals[i], cython.address(work), size)
        found.append((bool(how & 1), [work.numbers[cell] for cell in range(cells)]))
    free_work(cython.address(work))
    return found
