"""Where the names of gathered items are found (heavy_hitters=True), once it is known which of them are needed."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.counters.arrivals import Batch
from ecmsketch.heavy.names import item_at
from ecmsketch.inputs.items import columns_of


class Sources:
    """The items of batches that were gathered, by the places of their hashes in the buffers."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._parts: list[Any] = []

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, place: int) -> Any:
        """The item at a place; 0, which needs no name, where none was kept."""
        part = bisect_right(self._starts, place) - 1
        within = place - self._starts[part]
        return item_at(self._parts[part], within) if part >= 0 and within < len(self._parts[part]) else 0

    def keep(self, items: Any, hashed: NDArray[np.uint64], batch: Batch, start: int) -> bool:
        """Keep what tells the names of a batch; False if that takes too much, or its order is another."""
        if batch.items is not hashed:
            return False
        if _is_plain(items):
            return True  # hashes are the names
        if isinstance(items, list | np.ndarray):
            items = items.copy()  # the caller may change them
        elif not type(items).__module__.startswith("pyarrow") or columns_of(items) is not None:
            return False
        self._starts.append(start)
        self._parts.append(items)
        return True


def _is_plain(items: Any) -> bool:
    """Whether items are an array of integers from 0 on, which need no names."""
    kind = items.dtype.kind if isinstance(items, np.ndarray) else ""
    return kind == "u" or (kind == "i" and int(items.min()) >= 0)
