"""LEB128 numbers: seven bits a byte, least significant first, the top bit saying that more follow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint8
from numpy.typing import NDArray

from ecmsketch.kernels.decorator import kernel

MAX_BYTES = 9
"""Nine bytes hold 63 bits; a longer number is an error."""
MAX_SCALAR_BYTES = 10
"""Single numbers may have 64 bits."""
_ONE_BYTE = [bytes((number,)) for number in range(128)]


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


def put_varints(numbers: NDArray[np.int64]) -> bytes:
    """Write many non-negative numbers, one after the other."""
    out = np.empty(len(numbers) * MAX_BYTES, np.uint8)
    return out[: _put_all(numbers, out)].tobytes()


@kernel
def _put_all(numbers: Any, out: Any) -> Any:
    at = int64(0)
    for i in range(numbers.shape[0]):
        at = put_varint(out, at, numbers[i])
    return at


@kernel
def get_varints(data: Any, at: Any, count: Any) -> Any:
    """Read `count` numbers: (numbers, position after them, or -1). Each takes a byte or more, so data bounds them."""
    if count > data.shape[0] - at:
        return np.empty(0, np.int64), int64(-1)
    numbers = np.empty(count, np.int64)
    for i in range(count):
        numbers[i], at = get_varint(data, at)
        if at < int64(0):
            return numbers, int64(-1)
    return numbers, at


def put_scalar(number: int) -> bytes:
    """Write one non-negative number, without numba: for headers of a few numbers, of up to 64 bits each."""
    if number < 128:
        return _ONE_BYTE[number]
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def get_scalar(data: bytes, at: int) -> tuple[int, int]:
    """Read what `put_scalar` wrote: (number, position after it). A position of -1 means truncated or not minimal."""
    number = shift = 0
    for place in range(at, min(at + MAX_SCALAR_BYTES, len(data))):
        byte = data[place]
        number |= (byte & 127) << shift
        if byte < 128:
            good = (byte or not shift) and number < 2**64
            return (number, place + 1) if good else (0, -1)
        shift += 7
    return 0, -1
