"""Item -> 64 bits -> one column per row.

Integers stand for themselves; strings (as UTF-8) and bytes are xxhash64 with seed 42, which is what
Spark's `xxhash64` computes. Tuples and rows of several columns are hashed part by part, as Spark's `xxhash64(a, b)`:
each part with the hash so far as its seed, integers as 8 bytes. Row hashes are multiply-shift on the two 32-bit
halves, which is pairwise independent: without that, Count-Min's guarantee is void. Test vectors:
tests/vectors/hashing.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from contextlib import suppress
from itertools import repeat
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numpy.typing import NDArray
from xxhash import xxh64_intdigest

from ecmsketch.columns import as_column
from ecmsketch.errors import InputError
from ecmsketch.kernels import kernel
from ecmsketch.xxhash64 import STRING_SEED, utf8_many, xxhash64_many

_MASK = 2**64 - 1
Seeds = NDArray[np.uint64] | None


class RowHashes(NamedTuple):
    """Row r takes an item's bits above `drop`, as x, and hashes them to `width` cells from `first` on.

    h(x) = ((low * lo(x) + high * hi(x) + shift) mod 2^64) >> 32, scaled to the width.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    shift: NDArray[np.uint64]
    drop: NDArray[np.uint64]
    width: NDArray[np.uint64]
    first: NDArray[np.uint64]


def row_hashes(seed: int, depth: int, width: int) -> RowHashes:
    """The row hashes that belong to a seed: three splitmix64 outputs a row; rows lie one after the other."""
    numbers = np.array(_splitmix64(seed, 3 * depth), np.uint64).reshape(depth, 3)
    low, high, shift = (np.ascontiguousarray(column) for column in numbers.T)
    widths = np.full(depth, width, np.uint64)
    return RowHashes(low, high, shift, np.zeros(depth, np.uint64), widths, np.arange(depth, dtype=np.uint64) * widths)


def direct_row(bits: int) -> RowHashes:
    """One row in which every number below 2^bits has a cell of its own: a hash that is the identity."""
    one = np.ones(1, np.uint64)
    return RowHashes(one << np.uint64(64 - bits), 0 * one, 0 * one, 0 * one, one << np.uint64(bits), 0 * one)


def stack_rows(parts: list[tuple[RowHashes, int]]) -> RowHashes:
    """Rows of several tables as one; each table drops that many low bits of an item first."""
    first, stacked = 0, []
    for rows, drop in parts:
        stacked.append(rows._replace(drop=np.full(len(rows.low), drop, np.uint64), first=rows.first + np.uint64(first)))
        first += int(rows.width.sum())
    return RowHashes(*(np.concatenate(columns) for columns in zip(*stacked, strict=True)))


def _splitmix64(state: int, count: int) -> list[int]:
    numbers = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        numbers.append(z ^ (z >> 31))
    return numbers


def cells_of(items: NDArray[np.uint64], rows: RowHashes) -> NDArray[np.uint32]:
    """The cell of every item in every row, as [rows, items]."""
    cells = np.empty((len(rows.low), len(items)), np.uint32)
    fill_cells(items, rows, cells)
    return cells


@kernel
def fill_cells(items: Any, rows: RowHashes, cells: Any) -> None:
    """As `cells_of`, into an array that can be used again."""
    for row in range(rows.low.shape[0]):
        low, high, shift = rows.low[row], rows.high[row], rows.shift[row]
        drop, width, first = rows.drop[row], rows.width[row], rows.first[row]
        for i in range(items.shape[0]):
            x = items[i] >> drop
            mixed = (low * (x & uint64(0xFFFFFFFF)) + high * (x >> uint64(32)) + shift) >> uint64(32)
            cells[row, i] = first + ((mixed * width) >> uint64(32))


def hash_item(item: Any) -> int:
    """The 64 bits of one item."""
    if isinstance(item, str):
        try:
            return xxh64_intdigest(item.encode(), STRING_SEED)
        except UnicodeEncodeError as error:
            raise InputError(f"item: expected text that UTF-8 can hold, got {item!r}") from error
    if item.__class__ is int and 0 <= item <= _MASK:
        return item
    if isinstance(item, bytes):
        return xxh64_intdigest(item, STRING_SEED)
    if isinstance(item, tuple) and len(item) > 1:
        return _hash_tuple(item)
    if isinstance(item, Integral) and not isinstance(item, np.timedelta64):
        number = int(item)
        if -(2**63) <= number < 2**64:
            return number & _MASK
        raise InputError(f"item: expected an integer of at most 64 bits, got {number}")
    raise InputError(
        f"item: expected str, bytes, int, or a tuple of several, got {item!r} ({type(item).__name__}); "
        "convert it, for example with str()"
    )


def _hash_tuple(item: tuple[Any, ...]) -> int:
    digest = STRING_SEED
    for part in item:
        digest = _hash_part(part, digest)
    return digest


def _hash_part(part: Any, seed: int) -> int:
    if isinstance(part, tuple):
        raise InputError(f"item: expected a tuple of str, bytes and int, got a tuple inside it: {part!r}")
    digest = hash_item(part)  # says what is wrong with it
    if isinstance(part, str | bytes):
        return xxh64_intdigest(part.encode() if isinstance(part, str) else part, seed)
    return xxh64_intdigest(digest.to_bytes(8, "little"), seed)


def columns_of(items: Any) -> list[Any] | None:
    """The columns, if items are the rows of several: a dict, a data frame, an Arrow table or struct."""
    if isinstance(items, Mapping):
        return list(items.values())
    module, kind = type(items).__module__, type(items).__name__
    if module.startswith("pyarrow") and kind in ("Table", "RecordBatch"):
        return list(items.columns)
    if module.startswith("pyarrow") and kind == "StructArray":
        return list(items.flatten())
    if module.startswith("pandas") and kind == "DataFrame":
        return [items[name] for name in items.columns]
    return None


def hash_items(items: Any) -> NDArray[np.uint64]:
    """The 64 bits of many items: numpy, Arrow, pandas, or any sequence; of several columns, one per row."""
    columns = columns_of(items)
    return _hash(items, None) if columns is None else _hash_columns(columns)


def _hash_columns(columns: list[Any]) -> NDArray[np.uint64]:
    if len(columns) < 2:
        raise InputError(f"items: expected two columns or more, got {len(columns)}; give one column as itself")
    for column in columns:
        if (
            isinstance(column, Mapping | str | bytes)
            or not isinstance(column, Sized)
            or not hasattr(column, "__getitem__")
        ):
            raise InputError(f"items: expected lists or arrays as columns, got a {type(column).__name__}")
    length = len(columns[0])
    digests = np.full(length, STRING_SEED, np.uint64)
    for column in columns:
        if len(column) != length:
            raise InputError(f"items: expected columns of one length, got {length} and {len(column)}")
        digests = _hash(column, digests)
    return digests


def _hash(items: Any, seeds: Seeds) -> NDArray[np.uint64]:
    """One column; with seeds as a part of a tuple, where integers are hashed too."""
    arrow = _as_arrow(items)
    if arrow is not None:
        return _hash_arrow(arrow, seeds)
    if isinstance(items, str | bytes | bytearray | memoryview) or not isinstance(items, Iterable):
        raise InputError(f"items: expected a sequence of items, got one {type(items).__name__}")
    dimensions: int = getattr(items, "ndim", 1)
    if dimensions != 1:
        raise InputError(f"items: expected one dimension, got a {type(items).__name__} of {dimensions}")
    if not hasattr(items, "dtype"):
        return _hash_objects(list(items), seeds)
    column = as_column(items, "items")
    if column.dtype.kind not in "iubUSO" and len(column):
        raise InputError(f"items: expected strings, bytes or integers, got an array of {column.dtype}; convert it")
    if column.dtype.kind in "iub":
        return _hash_integers(column, seeds)
    if column.dtype.kind == "U":
        return _hash_unicode(column, seeds)
    if column.dtype.kind == "S":
        return _hash_fixed_width(column, seeds)
    return _hash_objects(column.tolist(), seeds)


def _hash_integers(column: NDArray[Any], seeds: Seeds) -> NDArray[np.uint64]:
    numbers = np.ascontiguousarray(column.astype(np.int64, copy=False) if column.dtype.kind != "u" else column)
    if seeds is None:
        return numbers.astype(np.uint64, copy=False)
    starts = np.arange(len(numbers), dtype=np.int64) * 8
    return _hash_text(numbers.astype("<u8").view(np.uint8), starts, starts + 8, seeds)


def _hash_fixed_width(column: NDArray[Any], seeds: Seeds) -> NDArray[np.uint64]:
    column = np.ascontiguousarray(column)
    lengths = np.char.str_len(column).astype(np.int64)
    starts = np.arange(len(column), dtype=np.int64) * column.dtype.itemsize
    text = column.view(np.uint8) if len(column) else np.empty(0, np.uint8)
    return _hash_text(text, starts, starts + lengths, seeds)


def _hash_unicode(column: NDArray[Any], seeds: Seeds) -> NDArray[np.uint64]:
    column = np.ascontiguousarray(column.astype(column.dtype.newbyteorder("="), copy=False))
    if not len(column) or not column.dtype.itemsize:
        return _hash_objects(column.tolist(), seeds)
    text, ends = utf8_many(column.view(np.uint32).reshape(len(column), -1))
    if ends[-1] < 0:
        return _hash_objects(column.tolist(), seeds)  # says which item UTF-8 cannot hold
    return _hash_text(text, np.concatenate([np.zeros(1, np.int64), ends[:-1]]), ends, seeds)


def _hash_text(text: NDArray[np.uint8], starts: Any, ends: Any, seeds: Seeds) -> NDArray[np.uint64]:
    return xxhash64_many(text, starts, ends, np.full(len(starts), STRING_SEED, np.uint64) if seeds is None else seeds)


def _hash_objects(items: list[Any], seeds: Seeds) -> NDArray[np.uint64]:
    if seeds is not None:
        return np.fromiter(map(_hash_part, items, seeds.tolist()), np.uint64, len(items))
    if set(map(type, items)) == {str}:
        with suppress(UnicodeEncodeError):  # the slow way below says which item it is
            encoded = map(str.encode, items)
            return np.fromiter(map(xxh64_intdigest, encoded, repeat(STRING_SEED)), np.uint64, len(items))
    return np.fromiter(map(hash_item, items), np.uint64, len(items))


def _as_arrow(items: Any) -> Any:
    """An Arrow array when the caller already uses Arrow (also behind pandas), else None."""
    if type(items).__module__.startswith("pyarrow"):
        return items
    backing: Any = getattr(items, "array", None)
    in_pandas = type(backing).__module__.startswith("pandas") and hasattr(backing, "__arrow_array__")
    if in_pandas and (str(items.dtype).startswith("str") or "pyarrow" in str(items.dtype)):
        return backing.__arrow_array__()
    return None


def _hash_arrow(column: Any, seeds: Seeds) -> NDArray[np.uint64]:
    import pyarrow as pa

    if not isinstance(column, pa.Array | pa.ChunkedArray):
        raise InputError(f"items: expected one column, got a {type(column).__name__}")
    if column.null_count:
        raise InputError(f"items: {column.null_count} of {len(column)} are null; drop or fill them first")
    if isinstance(column, pa.ChunkedArray):
        ends = np.cumsum([len(chunk) for chunk in column.chunks])
        parts = [
            _hash_arrow(chunk, None if seeds is None else seeds[end - len(chunk) : end])
            for chunk, end in zip(column.chunks, ends, strict=True)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.uint64)
    kind = column.type
    if pa.types.is_dictionary(kind):
        if seeds is not None:
            return _hash_arrow(column.dictionary_decode(), seeds)
        positions: NDArray[np.int64] = column.indices.to_numpy(zero_copy_only=False)
        return _hash_arrow(column.dictionary, None)[positions]
    if pa.types.is_integer(kind):
        return _hash_integers(column.to_numpy(zero_copy_only=False), seeds)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        column, kind = column.cast(pa.large_binary()), pa.large_binary()
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind) or _is_large(pa, kind)):
        raise InputError(f"items: expected an Arrow column of strings, binaries or integers, got {kind}")
    _, offsets, data = column.buffers()
    width: Any = np.int64 if _is_large(pa, kind) else np.int32
    bounds = np.frombuffer(offsets, width, len(column) + 1, column.offset * np.dtype(width).itemsize).astype(np.int64)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return _hash_text(text, bounds[:-1], bounds[1:], seeds)


def _is_large(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))
