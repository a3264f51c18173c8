"""Text as bytes: columns of code points as UTF-8, in one loop."""

# mypy: ignore-errors

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.ecmsketch.kernels.memory import bytes_of, int64s, uint32s
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t
from numpy.typing import NDArray


def utf8_many(points: NDArray[np.uint32]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Rows of code points, padded with zeros, as UTF-8 one after the other: (bytes, ends).

    A last end of -1 means that some row holds a surrogate.
    """
    rows: int64_t = points.shape[0]
    width: int64_t = points.shape[1]
    text, ends = np.empty(4 * points.size, np.uint8), np.empty(rows, np.int64)
    source, target, stops = uint32s(points), bytes_of(text), int64s(ends)
    at: int64_t = 0
    row: int64_t
    wrong: int64_t = 0
    with cython.nogil:
        for row in range(rows):
            at = put_text(source + row * width, width, target, at, cython.address(wrong))
            stops[row] = at
        if wrong:
            stops[rows - 1] = -1
    return text, ends


@cython.cfunc
@cython.nogil
def put_text(
    points: cython.pointer(uint32_t), length: int64_t, text: cython.pointer(uint8_t), at: int64_t,
    wrong: cython.pointer(int64_t),
) -> int64_t:  # fmt: skip
    """Write a row of code points; returns the position after it, and counts what UTF-8 cannot hold as wrong."""
    point: int64_t
    more: int64_t
    i: int64_t
    byte: int64_t
    while length > 0 and points[length - 1] == 0:
        length -= 1
    for i in range(length):
        point = points[i]
        if point < 0x80:
            text[at] = cython.cast(uint8_t, point)
            at += 1
            continue
        wrong[0] += 1 if 0xD800 <= point < 0xE000 or point > 0x10FFFF else 0
        more = 1 if point < 0x800 else 2 if point < 0x10000 else 3
        text[at] = cython.cast(uint8_t, ((0xFF00 >> (more + 1)) | (point >> (6 * more))) & 255)
        for byte in range(1, more + 1):
            text[at + byte] = cython.cast(uint8_t, 0x80 | ((point >> (6 * (more - byte))) & 0x3F))
        at += more + 1
    return at
