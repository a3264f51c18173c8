"""Events by site: a hash table gives sites numbers, and one pass a column puts the events of a site together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numba import int64
from numpy.typing import NDArray

from ecmsketch.kernels import kernel
from ecmsketch.kernels.hash_table import find_slot, new_slots

Ints = NDArray[np.int64]
_FEW = 4096


def number_sites(columns: list[Any]) -> tuple[Any, list[NDArray[np.int32]]]:
    """The distinct sites of some columns without nulls, as one column, and for every row which of them."""
    found = _number_few(columns)
    if found is not None:
        return found
    if len({column.type for column in columns}) > 1:
        columns = [column.cast(pa.large_string()) for column in columns]
    encoded = pa.chunked_array(columns).dictionary_encode().unify_dictionaries()
    codes = [part.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False) for part in encoded.chunks]
    return encoded.chunk(0).dictionary, codes


def _number_few(columns: list[Any]) -> tuple[Any, list[NDArray[np.int32]]] | None:
    """What `number_sites` says if sites are integers and few: a small table is quicker. None otherwise."""
    slots, names, count = new_slots(2 * _FEW), np.empty(_FEW, np.int64), 0
    codes = []
    for column in columns:
        if not pa.types.is_integer(column.type):
            return None
        which = np.empty(len(column), np.int32)
        count = _number(column.to_numpy().astype(np.int64, copy=False), slots, names, count, which)
        if count < 0:
            return None
        codes.append(which)
    return pa.array(names[:count], pa.int64()), codes


@kernel
def _number(values: Any, slots: Any, names: Any, count: Any, codes: Any) -> Any:
    """Give new values the next numbers, and write every row's number; returns how many are known now, -1 if too many.

    `names` holds the values that are known, in order of appearance, and `slots` finds them.
    """
    for i in range(values.shape[0]):
        slot = find_slot(slots, int64(0), names, values[i])
        if slots[slot] < int64(0):
            if count == names.shape[0]:
                return int64(-1)
            slots[slot] = count
            names[count] = values[i]
            count += int64(1)
        codes[i] = slots[slot]
    return count


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
