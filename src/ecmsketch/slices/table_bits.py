"""Tables as bits: exponential Golomb codes, whose parameter fits the table.

A cell c is written as q = (c >> parameter) + 1 in Elias' gamma code (as many zeros as q has bits after its first, then
q), followed by the `parameter` low bits of c. Small cells take a bit or two, and large ones little more than their own
bits. Of the parameters with which a table is shortest, the smallest is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint8, uint64

from ecmsketch.kernels import kernel, leading_zeros
from ecmsketch.kernels.bits import bits_of, put_bits, refill

MOST_PARAMETER = 53
_MOST_CELL = 2**53
_SMALL = 256
"""Cells below this are counted by their value, so that a parameter is tried on few numbers."""


@kernel
def best_parameter(table: Any) -> Any:
    """(The parameter with which a table is shortest, the bits that it then takes)."""
    arrivals, large = int64(0), int64(0)
    small = np.zeros(_SMALL, np.int64)
    for j in range(table.shape[0]):
        arrivals += table[j]
        if table[j] < int64(_SMALL):
            small[table[j]] += int64(1)
        else:
            large += int64(1)
    middle = bits_of(max(arrivals // table.shape[0], int64(1)))
    best, least = int64(0), int64(-1)
    for parameter in range(max(middle - int64(6), int64(0)), min(middle + int64(3), int64(MOST_PARAMETER)) + 1):
        bits = parameter * table.shape[0]
        for cell in range(_SMALL):
            bits += small[cell] * (int64(2) * bits_of((cell >> parameter) + int64(1)) - int64(1))
        if large:
            for j in range(table.shape[0]):
                if table[j] >= int64(_SMALL):
                    bits += int64(2) * bits_of((table[j] >> parameter) + int64(1)) - int64(1)
        if least < 0 or bits < least:
            best, least = int64(parameter), bits
    return best, least


@kernel
def put_table(table: Any, parameter: Any, bits: Any) -> Any:
    """A table as bytes, which take `bits` bits."""
    out = np.zeros((bits + int64(7)) // int64(8), np.uint8)
    at, held, filled = int64(0), uint64(0), int64(0)
    low = (uint64(1) << uint64(parameter)) - uint64(1)
    for j in range(table.shape[0]):
        cell = uint64(table[j])
        q = (cell >> uint64(parameter)) + uint64(1)
        length = bits_of(q)
        if int64(2) * length - int64(1) + parameter <= int64(56):
            number = (q << uint64(parameter)) | (cell & low)
            at, held, filled = put_bits(out, at, held, filled, number, int64(2) * length - int64(1) + parameter)
        else:
            at, held, filled = put_bits(out, at, held, filled, uint64(0), length - int64(1))
            at, held, filled = put_bits(out, at, held, filled, q, length)
            at, held, filled = put_bits(out, at, held, filled, cell & low, parameter)
    if filled:
        out[at] = uint8((held << uint64(int64(8) - filled)) & uint64(255))
    return out


@kernel
def get_table(data: Any, begin: Any, end: Any, parameter: Any, table: Any) -> Any:
    """Read a table from the bytes begin .. end - 1: `end`, or -1 if these are not the bytes of one table."""
    at, held, filled = begin, uint64(0), int64(0)
    for j in range(table.shape[0]):
        if filled < int64(32):
            at, held, filled = refill(data, at, end, held, filled)
        if held == uint64(0):  # few bits are held, or too many zeros follow
            at, held, filled = refill(data, at, end, held, filled)
            if held == uint64(0):
                return int64(-1)
        zeros = leading_zeros(held)
        length = zeros + int64(1)
        if zeros + parameter > int64(53):
            return int64(-1)
        held, filled = held << uint64(zeros), filled - zeros
        if filled < length:
            at, held, filled = refill(data, at, end, held, filled)
            if filled < length:
                return int64(-1)
        cell = (held >> uint64(int64(64) - length)) - uint64(1)
        held, filled = held << uint64(length), filled - length
        if parameter:
            if filled < parameter:
                at, held, filled = refill(data, at, end, held, filled)
                if filled < parameter:
                    return int64(-1)
            cell = (cell << uint64(parameter)) | (held >> uint64(int64(64) - parameter))
            held, filled = held << uint64(parameter), filled - parameter
        if cell > uint64(_MOST_CELL):
            return int64(-1)
        table[j] = int64(cell)
    at, held, filled = refill(data, at, end, held, filled)
    return end if filled < int64(8) and held == uint64(0) else int64(-1)  # what is left of the last byte is zeros
