"""LEB128 numbers: seven bits a byte, least significant first, the top bit saying that more follow."""

from __future__ import annotations

from typing import Any

from numba import int64, uint8

from ecmsketch.kernels import kernel

MAX_BYTES = 9
"""Nine bytes hold 63 bits; a longer number is an error."""


@kernel
def put_varint(out: Any, at: Any, number: Any) -> Any:
    """Write a non-negative number; returns the position after it."""
    while number >= int64(128):
        out[at] = uint8((number & int64(127)) | int64(128))
        number >>= int64(7)
        at += int64(1)
    out[at] = uint8(number)
    return at + int64(1)


@kernel
def get_varint(data: Any, at: Any) -> Any:
    """Read a number: (number, position after it). A position of -1 means truncated or overlong, and stays -1."""
    number, shift = int64(0), int64(0)
    while int64(0) <= at < data.shape[0] and shift < int64(63):
        byte = int64(data[at])
        at += int64(1)
        number |= (byte & int64(127)) << shift
        if byte < int64(128):
            if byte == int64(0) and shift > int64(0):
                return int64(0), int64(-1)
            return number, at
        shift += int64(7)
    return int64(0), int64(-1)
