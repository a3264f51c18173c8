"""The checksums of many sketches at once, as the last eight bytes of each (docs/format.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint8, uint64
from numpy.typing import NDArray

from ecmsketch.inputs.xxhash64 import xxhash64_many
from ecmsketch.kernels import kernel

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

SIZE = 8


def are_sound(data: Bytes, begins: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which sketches have the checksum that their bytes say. Sketch i has the bytes begins[i] .. ends[i] - 1."""
    bodies = np.maximum(ends - SIZE, begins)
    found = xxhash64_many(data, begins, bodies, np.zeros(len(begins), np.uint64))
    sound: NDArray[np.bool_] = (ends - SIZE > begins) & (found == _stored(data, begins, bodies))
    return sound


def write_checksums(out: Bytes, begins: Ints, ends: Ints) -> None:
    """Write the checksums of sketches behind their bytes, where there is room for them. Empty ones get none."""
    bodies = np.maximum(ends - SIZE, begins)
    _put(out, begins, bodies, xxhash64_many(out, begins, bodies, np.zeros(len(begins), np.uint64)))


@kernel
def _stored(data: Any, begins: Any, places: Any) -> Any:
    stored = np.zeros(begins.shape[0], np.uint64)
    for i in range(begins.shape[0]):
        if places[i] > begins[i]:
            for byte in range(int64(SIZE)):
                stored[i] |= uint64(data[places[i] + byte]) << uint64(8 * byte)
    return stored


@kernel
def _put(out: Any, begins: Any, places: Any, checksums: Any) -> None:
    for i in range(begins.shape[0]):
        if places[i] > begins[i]:
            for byte in range(int64(SIZE)):
                out[places[i] + byte] = uint8((checksums[i] >> uint64(8 * byte)) & uint64(255))
