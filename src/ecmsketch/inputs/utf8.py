"""Columns of code points as UTF-8, in one compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from ecmsketch.kernels import kernel


@kernel
def utf8_many(points: Any) -> Any:
    """Rows of code points, padded with zeros, as UTF-8 one after the other: (bytes, ends).

    A last end of -1 means that some row holds a surrogate.
    """
    text = np.empty(4 * points.size, np.uint8)
    ends = np.empty(points.shape[0], np.int64)
    at = int64(0)
    lone = False
    for row in range(points.shape[0]):
        length = points.shape[1]
        while length > 0 and points[row, length - 1] == 0:
            length -= 1
        for i in range(length):
            point = int64(points[row, i])
            if point < int64(0x80):
                text[at] = point
                at += int64(1)
                continue
            lone = lone or int64(0xD800) <= point < int64(0xE000)
            more = int64(1) if point < int64(0x800) else int64(2) if point < int64(0x10000) else int64(3)
            text[at] = ((int64(0xFF00) >> (more + int64(1))) & int64(0xFF)) | (point >> (int64(6) * more))
            for byte in range(1, more + 1):
                text[at + byte] = int64(0x80) | ((point >> (int64(6) * (more - byte))) & int64(0x3F))
            at += more + int64(1)
        ends[row] = at
    if lone:
        ends[-1] = int64(-1)
    return text, ends
