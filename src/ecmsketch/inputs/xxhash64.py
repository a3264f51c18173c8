"""xxHash64 over columns of text, in compiled loops. Single items are hashed by the xxhash package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel

STRING_SEED = 42
"""The seed of Spark's `xxhash64`."""


@kernel
def _rotate(x: Any, bits: Any) -> Any:
    return (x << bits) | (x >> (uint64(64) - bits))


@kernel
def _word(data: Any, at: Any, size: Any) -> Any:
    """`size` bytes as a little-endian number."""
    x = uint64(0)
    for i in range(size):
        x |= uint64(data[at + i]) << uint64(8 * i)
    return x


@kernel
def _stripe(accumulator: Any, lane: Any) -> Any:
    return _rotate(accumulator + lane * uint64(0xC2B2AE3D27D4EB4F), uint64(31)) * uint64(0x9E3779B185EBCA87)


@kernel
def _fold(digest: Any, accumulator: Any) -> Any:
    return (digest ^ _stripe(uint64(0), accumulator)) * uint64(0x9E3779B185EBCA87) + uint64(0x85EBCA77C2B2AE63)


@kernel
def _xxhash64(data: Any, at: Any, end: Any, seed: Any) -> Any:
    """xxHash64 of data[at:end], after its public specification."""
    p1, p2, p3 = uint64(0x9E3779B185EBCA87), uint64(0xC2B2AE3D27D4EB4F), uint64(0x165667B19E3779F9)
    p4, p5 = uint64(0x85EBCA77C2B2AE63), uint64(0x27D4EB2F165667C5)
    length = uint64(end - at)
    if end - at >= int64(32):
        a, b, c, d = seed + p1 + p2, seed + p2, seed, seed - p1
        while end - at >= int64(32):
            a = _stripe(a, _word(data, at, int64(8)))
            b = _stripe(b, _word(data, at + int64(8), int64(8)))
            c = _stripe(c, _word(data, at + int64(16), int64(8)))
            d = _stripe(d, _word(data, at + int64(24), int64(8)))
            at += int64(32)
        x = _rotate(a, uint64(1)) + _rotate(b, uint64(7)) + _rotate(c, uint64(12)) + _rotate(d, uint64(18))
        x = _fold(_fold(_fold(_fold(x, a), b), c), d)
    else:
        x = seed + p5
    x += length
    while end - at >= int64(8):
        x = _rotate(x ^ _stripe(uint64(0), _word(data, at, int64(8))), uint64(27)) * p1 + p4
        at += int64(8)
    if end - at >= int64(4):
        x = _rotate(x ^ (_word(data, at, int64(4)) * p1), uint64(23)) * p2 + p3
        at += int64(4)
    while at < end:
        x = _rotate(x ^ (uint64(data[at]) * p5), uint64(11)) * p1
        at += int64(1)
    x = (x ^ (x >> uint64(33))) * p2
    x = (x ^ (x >> uint64(29))) * p3
    return x ^ (x >> uint64(32))


@kernel
def xxhash64_many(data: Any, starts: Any, ends: Any, seeds: Any) -> NDArray[np.uint64]:
    """xxHash64 of data[starts[i]:ends[i]] with seeds[i], for every i."""
    digests = np.empty(starts.shape[0], np.uint64)
    for i in range(starts.shape[0]):
        digests[i] = _xxhash64(data, starts[i], ends[i], seeds[i])
    return digests
