"""Tables as bits: exponential Golomb codes, whose parameter fits the table.

A cell c is written as q = (c >> parameter) + 1 in Elias' gamma code (as many zeros as q has bits after its first, then
q), followed by the `parameter` low bits of c. Small cells take a bit or two, and large ones little more than their own
bits. Of the parameters with which a table is shortest, the smallest is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint8, uint64

from ecmsketch.kernels import kernel

MOST_PARAMETER = 53
_MOST_CELL = 2**53


@kernel
def _bits_of(number: Any) -> Any:
    """How many bits a positive number has."""
    bits = int64(0)
    if number >> int64(32):
        bits, number = bits + int64(32), number >> int64(32)
    if number >> int64(16):
        bits, number = bits + int64(16), number >> int64(16)
    if number >> int64(8):
        bits, number = bits + int64(8), number >> int64(8)
    while number:
        bits, number = bits + int64(1), number >> int64(1)
    return bits


@kernel
def best_parameter(table: Any) -> Any:
    """(The parameter with which a table is shortest, the bits that it then takes)."""
    arrivals = int64(0)
    for j in range(table.shape[0]):
        arrivals += table[j]
    middle = _bits_of(max(arrivals // table.shape[0], int64(1)))
    best, least = int64(0), int64(-1)
    for parameter in range(max(middle - int64(6), int64(0)), min(middle + int64(3), int64(MOST_PARAMETER)) + 1):
        bits = int64(0)
        for j in range(table.shape[0]):
            bits += int64(2) * _bits_of((table[j] >> parameter) + int64(1)) - int64(1)
        bits += parameter * table.shape[0]
        if least < 0 or bits < least:
            best, least = int64(parameter), bits
    return best, least


@kernel
def _put_bits(out: Any, at: Any, number: Any, bits: Any) -> Any:
    """Write the low bits of a number from bit `at` on, the highest first; returns the bit after them."""
    for i in range(bits - int64(1), int64(-1), int64(-1)):
        if (number >> i) & int64(1):
            out[at >> int64(3)] |= uint8(int64(128) >> (at & int64(7)))
        at += int64(1)
    return at


@kernel
def put_table(table: Any, parameter: Any, bits: Any) -> Any:
    """A table as bytes, which take `bits` bits."""
    out = np.zeros((bits + int64(7)) // int64(8), np.uint8)
    at = int64(0)
    for j in range(table.shape[0]):
        q = (table[j] >> parameter) + int64(1)
        length = _bits_of(q)
        at = _put_bits(out, at + length - int64(1), q, length)
        at = _put_bits(out, at, table[j], parameter)
    return out


@kernel
def get_table(data: Any, begin: Any, end: Any, parameter: Any, table: Any) -> Any:
    """Read a table from the bytes begin .. end - 1: the byte after it, or -1 if these are not a table's bytes."""
    at, stop = begin * int64(8), end * int64(8)
    for j in range(table.shape[0]):
        zeros = int64(0)
        while at < stop and not (data[at >> int64(3)] >> uint8(int64(7) - (at & int64(7)))) & uint8(1):
            zeros += int64(1)
            at += int64(1)
        needed = zeros + int64(1) + parameter
        if zeros > int64(53) or at + needed > stop:
            return int64(-1)
        q = uint64(0)
        low = uint64(0)
        for i in range(needed):
            bit = uint64((data[at >> int64(3)] >> uint8(int64(7) - (at & int64(7)))) & uint8(1))
            if i <= zeros:
                q = (q << uint64(1)) | bit
            else:
                low = (low << uint64(1)) | bit
            at += int64(1)
        if zeros + parameter > int64(53):
            return int64(-1)
        cell = ((q - uint64(1)) << uint64(parameter)) | low
        if cell > uint64(_MOST_CELL):
            return int64(-1)
        table[j] = int64(cell)
    while at & int64(7):  # what is left of the last byte is zeros
        if (data[at >> int64(3)] >> uint8(int64(7) - (at & int64(7)))) & uint8(1):
            return int64(-1)
        at += int64(1)
    return at >> int64(3)
