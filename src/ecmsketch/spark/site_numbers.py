"""Events by site: a hash table gives sites numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecmsketch.kernels.grouping import Numbering

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
    sites = Numbering(_FEW)
    codes = []
    for column in columns:
        if not pa.types.is_integer(column.type):
            return None
        which = sites.number(column.to_numpy().astype(np.int64, copy=False))
        if which is None:
            return None
        codes.append(which)
    return pa.array(sites.known(), pa.int64()), codes
