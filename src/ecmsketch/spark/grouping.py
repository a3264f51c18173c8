"""Events by site: a hash table gives sites numbers, and one pass a column puts the events of a site together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numba import int64, uint64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel

Ints = NDArray[np.int64]
_FEW = 4096


def number_sites(sites: Any) -> tuple[list[Any], NDArray[np.int32]]:
    """The distinct sites of a column, and for every row which of them; null is a site too."""
    if pa.types.is_integer(sites.type) and not sites.null_count:
        names, codes = _number(sites.to_numpy().astype(np.int64, copy=False), _FEW)
        if len(names) < _FEW:
            return names.tolist(), codes
    if not pa.types.is_dictionary(sites.type):
        sites = sites.dictionary_encode(null_encoding="encode")
    return sites.dictionary.to_pylist(), sites.indices.to_numpy(zero_copy_only=False).astype(np.int32)


@kernel
def _number(values: Any, limit: Any) -> Any:
    """Distinct values in order of appearance, up to `limit` of them, and every row's number among them."""
    slots = int64(4) * limit
    table = np.full(slots, -1, np.int64)
    names = np.empty(limit, np.int64)
    codes = np.empty(values.shape[0], np.int32)
    count = int64(0)
    for i in range(values.shape[0]):
        slot = int64((uint64(values[i]) * uint64(0x9E3779B97F4A7C15)) >> uint64(32)) & (slots - int64(1))
        while table[slot] >= int64(0) and names[table[slot]] != values[i]:
            slot = (slot + int64(1)) & (slots - int64(1))
        if table[slot] < int64(0):
            if count == limit:
                break
            table[slot] = count
            names[count] = values[i]
            count += int64(1)
        codes[i] = table[slot]
    return names[:count], codes


@kernel
def tally(codes: Any, counts: Any) -> None:
    """Add every site's rows to its count."""
    for i in range(codes.shape[0]):
        counts[codes[i]] += int64(1)


@kernel
def scatter(columns: Any, codes: Any, at: Any, out: Any) -> None:
    """Put two columns of integers where each site's next rows go, and move these places on."""
    for i in range(codes.shape[0]):
        place = at[codes[i]]
        at[codes[i]] = place + int64(1)
        out[0][place] = columns[0][i]
        out[1][place] = columns[1][i]
