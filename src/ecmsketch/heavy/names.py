"""The names behind hashes: kept for the few items that may be heavy hitters, written along with them.

An item's hash is not stored with its name, since hashing the name gives it. Integers from 0 on need no name.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray
from ecmsketch.kernels.hashing import hash_bytes as xxh64_intdigest

from ecmsketch.errors import FormatError
from ecmsketch.inputs.items import columns_of, hash_item
from ecmsketch.inputs.xxhash64 import STRING_SEED
from ecmsketch.kernels import kernel
from ecmsketch.kernels.hash_table import find_slot, new_slots

Name = str | bytes | int | tuple[Any, ...]
Names = dict[int, Name]

_STR, _BYTES, _SIGNED, _UNSIGNED, _TUPLE = range(5)
_HEAD = struct.Struct("<BI")
_NUMBERS = {_SIGNED: struct.Struct("<q"), _UNSIGNED: struct.Struct("<Q")}


def need_no_names(items: Any) -> bool:
    """Whether items are numbers from 0 on in an array: their hashes are their names."""
    return (
        isinstance(items, np.ndarray)
        and items.ndim == 1
        and items.dtype.kind in "iu"
        and (not len(items) or int(items.min()) >= 0)
    )


def note_names(names: Names, wanted: NDArray[np.uint64], items: Any, hashed: NDArray[np.uint64]) -> None:
    """Look up in a batch the names of hashes that are wanted and not known yet."""
    unknown = np.array([key for key in wanted.tolist() if key not in names], np.uint64)
    if len(unknown) and len(hashed):
        found = find_last(unknown, hashed)
        note_rows(names, items, hashed, found[found >= 0])


def note_rows(names: Names, items: Any, hashed: NDArray[np.uint64], rows: NDArray[np.int64]) -> None:
    """Remember the names of some rows of a batch."""
    columns = columns_of(items)
    for row in rows.tolist():
        item = item_at(items, row) if columns is None else tuple(item_at(column, row) for column in columns)
        note_name(names, int(hashed[row]), item)


def note_name(names: Names, key: int, item: Any) -> None:
    """Remember one name, unless the hash says it already."""
    if key not in names and item != key:
        name = item if isinstance(item, str | bytes | tuple) else int(item)
        if hash_item(name) == key:  # what is written must be found again by its hash
            names[key] = name


def forget_names(names: Names, wanted: NDArray[np.uint64]) -> Names:
    """Keep only those names that are still wanted, in the order of `wanted`."""
    return {key: names[key] for key in wanted.tolist() if key in names}


def item_at(items: Any, index: int) -> Any:
    """One item of a column, as Python has it."""
    item = items.iloc[index] if hasattr(items, "iloc") else items[index]
    for unpack in ("as_py", "item"):
        if hasattr(item, unpack):
            return getattr(item, unpack)()
    return item


@kernel
def find_last(wanted: Any, hashed: Any) -> Any:
    """Find the last place of each of some distinct hashes, or -1."""
    slots = new_slots(wanted.shape[0])
    for i in range(wanted.shape[0]):
        slots[find_slot(slots, int64(0), wanted, wanted[i])] = i
    places = np.full(wanted.shape[0], -1, np.int64)
    left = wanted.shape[0]
    at = hashed.shape[0]
    while at > 0 and left > 0:
        at -= 1
        i = slots[find_slot(slots, int64(0), wanted, hashed[at])]
        if i >= int64(0) and places[i] < int64(0):
            places[i] = at
            left -= 1
    return places


def encode_names(names: Iterable[Name]) -> bytes:
    """Names as bytes (docs/format.md, section "Names")."""
    return b"".join(_encode(name) for name in names)


def _encode(name: Name) -> bytes:
    if isinstance(name, str):
        text = name.encode()
        return _HEAD.pack(_STR, len(text)) + text
    if isinstance(name, bytes):
        return _HEAD.pack(_BYTES, len(name)) + name
    if isinstance(name, tuple):
        return _HEAD.pack(_TUPLE, len(name)) + b"".join(_encode(part) for part in name)
    kind = _SIGNED if name < 2**63 else _UNSIGNED
    return _HEAD.pack(kind, 8) + _NUMBERS[kind].pack(name)


def decode_names(data: bytes) -> Names:
    """The names that `encode_names` wrote, by hash, in ascending order of the hashes."""
    name: Name
    names: Names = {}
    at, before, size = 0, -1, len(data)
    while at < size:
        begin = at + _HEAD.size
        kind, length = _HEAD.unpack_from(data, at) if begin <= size else (_TUPLE, 0)
        if kind == _STR and begin + length <= size:  # most names are texts: they are hashed as they are written
            at = begin + length
            written = data[begin:at]
            name, key = _text(written), xxh64_intdigest(written, STRING_SEED)
        else:
            name, at = _decode(data, at, nested=False)
            key = hash_item(name)
        if key <= before or name == key:
            raise FormatError("names: expected them in order of their hashes, and none for plain numbers")
        names[key] = name
        before = key
    return names


def _decode(data: bytes, at: int, nested: bool) -> tuple[Name, int]:
    if at + _HEAD.size > len(data):
        raise FormatError("names: a name is cut off; the data is truncated")
    kind, length = _HEAD.unpack_from(data, at)
    at += _HEAD.size
    if kind == _TUPLE and not nested and 2 <= length <= len(data):
        parts = []
        for _ in range(length):
            part, at = _decode(data, at, nested=True)
            parts.append(part)
        return tuple(parts), at
    if kind > _UNSIGNED or at + length > len(data):
        raise FormatError(f"names: expected a text, bytes or a number, got kind {kind} of {length} bytes")
    content = data[at : at + length]
    at += length
    if kind == _BYTES:
        return content, at
    if kind in _NUMBERS:
        if length != 8:
            raise FormatError(f"names: expected a number of 8 bytes, got {length}")
        return int(_NUMBERS[kind].unpack(content)[0]), at
    return _text(content), at


def _text(written: bytes) -> str:
    try:
        return written.decode()
    except UnicodeDecodeError as error:
        raise FormatError("names: expected text in UTF-8") from error
