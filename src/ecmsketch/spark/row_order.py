"""Rows joined, picked and sorted by tick."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecmsketch.kernels.sorting import is_sorted, sort_by_tick
from ecmsketch.spark.cleaning import Rows

Ints = NDArray[np.int64]


def pick_rows(rows: Rows, order: Ints) -> Rows:
    """Rows in another order."""
    arrow = pa.array(order)
    return rows.each(lambda column: column[order] if isinstance(column, np.ndarray) else column.take(arrow))


def in_order(parts: list[Rows]) -> Rows:
    """Some rows joined and sorted by tick."""
    rows = join_rows(parts)
    if is_sorted(rows.ticks):
        return rows
    ticks, order = rows.ticks.copy(), np.arange(len(rows.ticks))
    sort_by_tick(ticks, order)
    return pick_rows(rows, order)


def join_rows(parts: list[Rows]) -> Rows:
    """Some rows, one after the other, as one."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first.items, dict):
        items: Any = {name: _concatenate([part.items[name] for part in parts]) for name in first.items}
    else:
        items = _concatenate([part.items for part in parts])
    weights = None if first.weights is None else np.concatenate([part.weights for part in parts])
    return Rows(items, np.concatenate([part.ticks for part in parts]), weights)


def _concatenate(columns: list[Any]) -> Any:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return one_chunk(pa.chunked_array(columns))


def plain_items(items: Any) -> Any:
    """Items with integers as numpy arrays, and other columns as they are."""
    if isinstance(items, dict):
        return {name: plain_items(column) for name, column in items.items()}
    return numbers(items) if pa.types.is_integer(items.type) else one_chunk(items)


def copied(column: Any) -> Any:
    """A column that stays as it is when scratch memory is used again."""
    return column.copy() if isinstance(column, np.ndarray) else column


def one_chunk(column: Any) -> Any:
    """A column of Arrow as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) and whole.num_chunks == 1 else whole


def numbers(column: Any) -> Ints:
    """A column of Arrow integers as int64 of numpy."""
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)
