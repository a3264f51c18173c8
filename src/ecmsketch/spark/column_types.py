"""Which Arrow types the columns of a log may have, by role, and the kind of items that they hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ecmsketch.errors import InputError
from ecmsketch.inputs.kinds import INTEGER, TEXT
from ecmsketch.spark.column_roles import Roles

ITEM_TYPES = {False: "strings, binaries or integers", True: "integers, as a PrefixSketch needs them"}
"""What items may be, by whether they must be numbers."""


def check_types(columns: dict[str, Any], roles: Roles) -> None:
    """Raise an error if a column has a type that its role cannot have; columns that are not there are left out."""
    for role, names, fits, wanted in (
        ("item", roles.items, _is_integer if roles.numbers else _is_item, ITEM_TYPES[roles.numbers]),
        ("tick", [roles.tick], _is_tick, "integers, timestamps or dates"),
        ("site", [roles.site], _is_item, "strings or integers"),
        ("weight", [roles.weight], _is_integer, "integers"),
    ):
        for name in names:
            if name in columns and not fits(decoded_type(columns[name])):
                kind = columns[name]
                raise InputError(f"{role}: expected a column of {wanted}, got {name!r} of {kind}; cast it first")
    kind = columns.get(roles.tick)
    if kind is not None and not _is_integer(decoded_type(kind)):
        check_unit(kind, roles)


def check_unit(kind: Any, roles: Roles) -> None:
    """Raise an error if ticks are times of a type, but the config does not say what a tick is."""
    if roles.unit is None:
        raise InputError(f"tick: {roles.tick!r} has {kind}s, but the config has no unit; set unit='s', for example")


def kind_of_items(columns: dict[str, Any], roles: Roles) -> str:
    """The kind of the items (kinds.py) that columns of these types hold."""
    types = [decoded_type(columns[name]) for name in roles.items]
    return "".join(INTEGER if _is_integer(kind) else TEXT for kind in types)


def decoded_type(kind: Any) -> Any:
    """The type of the values, where a column has a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def time_unit(kind: Any) -> str:
    """The unit in which Arrow counts times of a type since 1970."""
    if pa.types.is_timestamp(kind):
        return str(kind.unit)
    return "D" if pa.types.is_date32(kind) else "ms"


def _is_integer(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind))


def _is_item(kind: Any) -> bool:
    types = pa.types
    texts = (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary, types.is_string_view)
    return _is_integer(kind) or any(fits(kind) for fits in texts)


def _is_tick(kind: Any) -> bool:
    return _is_integer(kind) or bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
