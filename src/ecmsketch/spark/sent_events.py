"""Events of small sites on their way to the task that makes their sketches: many sites at once, as columns of bytes.

A small site's events are fewer bytes than its rows, take no object each, and are united without loss. So a task that
sees few events of a site sends these instead of a sketch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecmsketch.spark.cleaning import Rows
from ecmsketch.spark.row_order import Ints

_BLOCK = 2**19
"""About how many events are sent at a time."""
_INTEGERS, _TEXTS = "bigint", {"string": pa.large_string(), "binary": pa.large_binary()}


class Layout(NamedTuple):
    """What the columns hold: the types of the items, as Spark calls them, and whether sites are texts."""

    items: tuple[str, ...]
    text: bool
    weighted: bool

    @property
    def columns(self) -> list[str]:
        """The columns of bytes. Texts need a second one, with their lengths."""
        names = ["ticks", "weights"] if self.weighted else ["ticks"]
        for i, kind in enumerate(self.items):
            names += [f"item_{i}", f"lengths_{i}"] if kind in _TEXTS else [f"item_{i}"]
        return names


class SmallSites(NamedTuple):
    """Events of some sites, site by site. A site's events end before the place that `ends` says."""

    names: Any
    """An Arrow column."""
    ends: Ints
    rows: Rows


def fits(rows: Rows, layout: Layout) -> bool:
    """Whether the items of some rows are of the types that can be sent."""
    items = list(rows.items.values()) if isinstance(rows.items, dict) else [rows.items]
    return [_kind_of(item) for item in items] == list(layout.items)


def blocks(sites: SmallSites, layout: Layout) -> Iterator[tuple[Any, Ints, list[Any]]]:
    """Names, numbers of events and columns of bytes, for some sites at a time."""
    begin = 0
    while begin < len(sites.ends):
        done = int(sites.ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(sites.ends, done + _BLOCK, side="right")), begin + 1)
        ends = sites.ends[begin:end] - done
        rows = sites.rows.part(done, int(sites.ends[end - 1]))
        yield sites.names.slice(begin, end - begin), np.diff(ends, prepend=0), _to_columns(rows, ends, layout)
        begin = end


def received(columns: dict[str, Any], layout: Layout) -> tuple[Rows, Ints]:
    """All events in some columns of bytes, one after the other, and where those of each row begin, and the last end."""
    ticks, begins = _numbers(columns["ticks"], np.int64)
    weights = _numbers(columns["weights"], np.int64)[0] if layout.weighted else None
    items = {f"item_{i}": _items(columns, i, kind) for i, kind in enumerate(layout.items)}
    return Rows(items if len(items) > 1 else items["item_0"], ticks, weights), begins


def type_name(kind: Any) -> str:
    """The type of an Arrow column of items, as Spark calls it."""
    if pa.types.is_integer(kind):
        return _INTEGERS
    return "binary" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "string"


def _kind_of(column: Any) -> str:
    return _INTEGERS if isinstance(column, np.ndarray) else type_name(column.type)


def _to_columns(rows: Rows, ends: Ints, layout: Layout) -> list[Any]:
    columns = [_bytes(rows.ticks, ends)]
    if layout.weighted:
        columns.append(_bytes(rows.weights, ends))
    for column in rows.items.values() if isinstance(rows.items, dict) else [rows.items]:
        if isinstance(column, np.ndarray):
            columns.append(_bytes(column, ends))
            continue
        texts = column.cast(_TEXTS[_kind_of(column)])
        offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        data = _data(texts)[offsets[0] : offsets[-1]]
        columns.append(_bytes(data, offsets[ends] - offsets[0]))
        columns.append(_bytes(np.diff(offsets).astype(np.int32), ends))
    return columns


def _bytes(values: Any, ends: Ints) -> Any:
    """A column of bytes: in row i the values from the end of row i - 1 to before ends[i]."""
    values = np.ascontiguousarray(values)
    offsets = np.concatenate([np.zeros(1, np.int64), ends]) * values.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.large_binary(), len(ends), buffers).cast(pa.binary())


def _data(column: Any) -> NDArray[np.uint8]:
    """The bytes of all rows."""
    data = column.buffers()[2]
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _numbers(column: Any, kind: Any) -> tuple[NDArray[Any], Ints]:
    """All numbers in a column of bytes, and where those of each row begin, and the last end; null is no numbers."""
    whole = column.cast(pa.large_binary())
    offsets = np.frombuffer(whole.buffers()[1], np.int64)[whole.offset : whole.offset + len(whole) + 1]
    data = _data(whole)[offsets[0] : offsets[-1]]
    return data.view(kind).copy(), (offsets - offsets[0]) // np.dtype(kind).itemsize


def _items(columns: dict[str, Any], i: int, kind: str) -> Any:
    if kind == _INTEGERS:
        return _numbers(columns[f"item_{i}"], np.int64)[0]
    lengths, _ = _numbers(columns[f"lengths_{i}"], np.int32)
    data, _ = _numbers(columns[f"item_{i}"], np.uint8)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(_TEXTS[kind], len(lengths), buffers)
