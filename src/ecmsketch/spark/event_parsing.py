"""Columns of files into events: ticks in the config's unit, items as integers or hashes, texts parsed as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ecmsketch.errors import InputError
from ecmsketch.inputs.items import hash_items
from ecmsketch.inputs.ticks import TICKS_PER_DAY
from ecmsketch.spark.cleaning import Events
from ecmsketch.spark.column_roles import Roles
from ecmsketch.spark.column_types import check_unit, time_unit


def to_events(columns: dict[str, Any], roles: Roles, malformed: int) -> Events:
    """Events from columns of any type that their role may have. Texts are parsed where numbers are needed."""
    number_or_item = _integers if roles.numbers else _item_column
    items = {name: number_or_item(columns[name], name) for name in roles.items}
    return Events(
        _items(items, roles),
        tick_column(columns[roles.tick], roles),
        None if roles.site is None else _item_column(columns[roles.site], roles.site),
        None if roles.weight is None else _integers(columns[roles.weight], roles.weight),
        malformed,
    )


def _items(columns: dict[str, Any], roles: Roles) -> Any:
    """Integers stay as they are. Other items are hashed, unless their names are needed."""
    first = columns[roles.items[0]]
    if len(columns) == 1 and (roles.names or pa.types.is_integer(first.type)):
        return first
    if roles.names:
        return columns
    missing = None
    for column in columns.values():
        if column.null_count:
            missing = column.is_null() if missing is None else pc.or_(missing, column.is_null())
    filled = {
        name: column.fill_null(0 if pa.types.is_integer(column.type) else "") if column.null_count else column
        for name, column in columns.items()
    }
    hashed = hash_items(filled if len(filled) > 1 else filled[roles.items[0]]).view(np.int64)
    return pa.array(hashed, mask=None if missing is None else missing.to_numpy(zero_copy_only=False))


def _decode(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _item_column(column: Any, name: str) -> Any:
    column = _decode(column)
    kind = column.type
    if pa.types.is_integer(kind):
        return column.cast(pa.int64(), safe=False)  # an item above 2**63 is the same 64 bits
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return column
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return column
    raise InputError(f"item: expected a column of strings, binaries or integers, got {name!r} of {kind}; cast it first")


def _integers(column: Any, name: str) -> Any:
    """Integers as int64. A text that is no integer becomes null, and is rejected as such."""
    column = _decode(column)
    if pa.types.is_integer(column.type):
        return _at_most_64_bits(column)
    if pa.types.is_string(column.type):
        return _parsed(column, pa.int64())
    raise InputError(f"{name}: expected a column of integers, got {column.type}; cast it first")


def tick_column(column: Any, roles: Roles) -> Any:
    """Ticks as int64, from integers, times, or texts of either. A text that is neither becomes null."""
    column = _decode(column)
    kind = column.type
    if pa.types.is_integer(kind):
        return _at_most_64_bits(column)
    if pa.types.is_string(kind) and roles.unit is None:
        return _parsed(column, pa.int64())
    if pa.types.is_string(kind):
        numbers = _parsed(column, pa.int64())
        if numbers.null_count < len(numbers):
            return numbers
        column = _parsed(column, pa.timestamp("us"))
        kind = column.type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise InputError(f"tick: expected integers, timestamps or dates, got {roles.tick!r} of {kind}; cast it first")
    check_unit(kind, roles)
    assert roles.unit is not None
    counts = column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(kind) else column.cast(pa.int64())
    ticks = _in_unit(counts.fill_null(0).to_numpy(zero_copy_only=False), time_unit(kind), roles.unit)
    return pa.array(ticks, mask=counts.is_null().to_numpy(zero_copy_only=False) if counts.null_count else None)


def _in_unit(counts: Any, unit: str, wanted: str) -> Any:
    """Convert times to another unit, rounding down. A time that does not fit becomes a tick that is out of range."""
    have, want = TICKS_PER_DAY[unit], TICKS_PER_DAY[wanted]
    if want <= have:
        return counts // (have // want)
    factor = want // have
    most = (2**63 - 1) // factor
    return np.where((counts >= -most) & (counts <= most), counts * factor, 2**63 - 1)


def _at_most_64_bits(column: Any) -> Any:
    """Integers as int64. Larger ones become the largest int64, which is no tick and no weight, so it is rejected."""
    if column.type == pa.uint64():
        column = pc.min_element_wise(column, pa.scalar(2**63 - 1, pa.uint64()), skip_nulls=False)
    return column.cast(pa.int64())


def _parsed(column: Any, kind: Any) -> Any:
    """Texts as numbers or times; null where a text is neither."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_parse(text, kind) for text in column], kind)


def _parse(text: Any, kind: Any) -> Any:
    try:
        return text.cast(kind).as_py()
    except pa.ArrowInvalid:
        return None
