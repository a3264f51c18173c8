"""Items become keys of 64 bits.

Integers stand for themselves. Strings (as UTF-8) and bytes are hashed by xxhash64 with seed 42, which is what Spark's
`xxhash64` computes. Tuples and rows of several columns are hashed part by part, as in Spark's `xxhash64(a, b)`: each
part with the hash so far as its seed, integers as 8 bytes. Test vectors: tests/vectors/hashing.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from contextlib import suppress
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.inputs.columns import (
    INT64,
    NUMPY_INTEGERS,
    UINT64,
    adopt,
    as_column,
    count_missing,
    is_integer,
    missing_values,
    packed,
    wrong_type,
)
from ecmsketch.inputs.kinds import Hashed
from ecmsketch.kernels.hashing import STRING_SEED, hash_bytes, hash_many, hash_text
from ecmsketch.kernels.text import utf8_many

_MASK = 2**64 - 1
Keys = NDArray[np.uint64]
"""Items as 64 bits each."""
Seeds = NDArray[np.uint64] | None
_BLOCK = 65_536
"""Texts that are put together at a time."""
_UINT64 = Struct("<Q")
_AS_THEY_ARE = frozenset((INT64, UINT64))
"""Types of arrays whose 64 bits are the keys."""


def hash_item(item: Any) -> int:
    """The 64 bits of one item."""
    if isinstance(item, str):
        try:
            return hash_text(item) if item.__class__ is str else hash_bytes(item.encode())
        except UnicodeEncodeError as error:
            raise InputError(f"item: expected text that UTF-8 can hold, got {item!r}") from error
    if item.__class__ is int and 0 <= item <= _MASK:
        return item
    if item.__class__ is tuple and len(item) > 1:
        return _hash_tuple(item)
    if item.__class__ in NUMPY_INTEGERS:
        return int(item) & _MASK
    if isinstance(item, bytes):
        return hash_bytes(item)
    if isinstance(item, tuple) and len(item) > 1:
        return _hash_tuple(item)
    if is_integer(item) or isinstance(item, bool):
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
        if part.__class__ is str:  # the usual parts first, without a call
            try:
                digest = hash_text(part, digest)
            except UnicodeEncodeError:
                digest = _hash_part(part, digest)  # says what is wrong with it
        elif part.__class__ is int and 0 <= part <= _MASK:
            digest = hash_bytes(_UINT64.pack(part), digest)
        else:
            digest = _hash_part(part, digest)
    return digest


def _hash_part(part: Any, seed: int) -> int:
    if isinstance(part, tuple):
        raise InputError(f"item: expected a tuple of str, bytes and int, got a tuple inside it: {part!r}")
    digest = hash_item(part)  # says what is wrong with it
    if isinstance(part, str | bytes):
        return hash_bytes(part.encode() if isinstance(part, str) else part, seed)
    return hash_bytes(digest.to_bytes(8, "little"), seed)


def columns_of(items: Any) -> list[Any] | None:
    """The columns, if items are the rows of several: a dict, a data frame, an Arrow table or struct, a MultiIndex."""
    if isinstance(items, (np.ndarray, list)):
        return None
    if isinstance(items, Mapping):
        return list(items.values())
    module, kind = type(items).__module__, type(items).__name__
    if module.startswith("polars") and kind == "DataFrame":
        return list(items.get_columns())
    items = adopt(items)
    module, kind = type(items).__module__, type(items).__name__
    if module.startswith("pyarrow") and kind in ("Table", "RecordBatch"):
        return list(items.columns)
    if module.startswith("pyarrow") and str(getattr(items, "type", "")).startswith("struct<"):
        return list(items.flatten())
    if module.startswith("pandas") and kind == "DataFrame":
        return [items.iloc[:, position] for position in range(items.shape[1])]
    if module.startswith("pandas") and kind == "MultiIndex":
        return [items.get_level_values(level) for level in range(items.nlevels)]
    return None


def as_sequence(items: Any) -> Any:
    """Items that can be read more than once: an iterator becomes a list, a polars column an Arrow one."""
    if items.__class__ is np.ndarray or items.__class__ is list:
        return items
    items = adopt(items)
    once = isinstance(items, Iterable) and not hasattr(items, "__getitem__")
    return list(items) if once and columns_of(items) is None else items


def hash_items(items: Any) -> NDArray[np.uint64]:
    """The 64 bits of many items: numpy, Arrow, polars, pandas, or any sequence; of several columns, one per row."""
    if items.__class__ is np.ndarray and items.dtype in _AS_THEY_ARE and items.ndim == 1:
        return packed(items, items.dtype).view(UINT64)
    if isinstance(items, Hashed):
        return _hash_integers(as_column(items.keys, "items"), None)
    items = adopt(items)
    columns = columns_of(items)
    return _hash(items, None) if columns is None else _hash_columns(columns)


def _hash_columns(columns: list[Any]) -> NDArray[np.uint64]:
    if len(columns) < 2:
        raise InputError(f"items: expected two columns or more, got {len(columns)}; give one column as itself")
    columns = [adopt(column) for column in columns]
    for column in columns:
        if (
            isinstance(column, Mapping | str | bytes)
            or not isinstance(column, Sized)
            or not hasattr(column, "__getitem__")
            or getattr(column, "ndim", 1) != 1
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
    if column.dtype.kind not in "iubUSOT" and len(column):
        raise wrong_type(column, "items", "strings, bytes or integers")
    if column.dtype.kind in "iub":
        return _hash_integers(column, seeds)
    if column.dtype.kind == "U":
        return _hash_unicode(column, seeds)
    if column.dtype.kind == "S":
        return _hash_fixed_width(column, seeds)
    return _hash_objects(column.tolist(), seeds)


def _hash_integers(column: NDArray[Any], seeds: Seeds) -> NDArray[np.uint64]:
    numbers = packed(column, UINT64 if column.dtype.kind == "u" else INT64).view(UINT64)
    if seeds is None:
        return numbers
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
    return hash_many(text, starts, ends, STRING_SEED if seeds is None else seeds)


def _hash_objects(items: list[Any], seeds: Seeds) -> NDArray[np.uint64]:
    try:
        return _hash_each(items, seeds)
    except InputError as error:
        missing = count_missing(items)
        if missing:
            raise missing_values("items", missing, len(items)) from error
        raise


def _hash_each(items: list[Any], seeds: Seeds) -> NDArray[np.uint64]:
    if seeds is not None:
        return np.fromiter(map(_hash_part, items, seeds.tolist()), np.uint64, len(items))
    classes = set(map(type, items))
    if classes == {str}:
        with suppress(UnicodeEncodeError):  # the slow way below says which item it is
            return np.concatenate([_hash_texts(items[at : at + _BLOCK]) for at in range(0, len(items), _BLOCK)])
    if classes == {int}:
        with suppress(OverflowError):  # some of them are above 2**63, or wrong
            return np.fromiter(items, np.int64, len(items)).view(UINT64)
    return np.fromiter(map(hash_item, items), np.uint64, len(items))


def _hash_texts(items: list[str]) -> NDArray[np.uint64]:
    """Texts, in one compiled loop over all of them, one after the other with a zero behind each."""
    text = np.frombuffer(("\0".join(items) + "\0").encode(), np.uint8)
    ends = np.flatnonzero(text == 0)
    if len(ends) != len(items):  # some text has a zero itself
        return np.fromiter(map(hash_item, items), np.uint64, len(items))
    starts = np.zeros(len(items), np.int64)
    np.add(ends[:-1], 1, out=starts[1:])
    return _hash_text(text, starts, ends, None)


def _as_arrow(items: Any) -> Any:
    """An Arrow array when the caller already uses Arrow (also behind pandas), else None."""
    if type(items).__module__.startswith("pyarrow"):
        return items
    if type(items).__name__ == "MultiIndex":
        raise InputError("items: expected one column, got a MultiIndex as a column among others; give its levels")
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
    if not len(column):
        return np.empty(0, np.uint64)  # of any type: without values, Arrow calls it null
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
