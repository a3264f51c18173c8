"""Records as columns of int64, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecmsketch.errors import InputError
from ecmsketch.inputs.columns import as_column
from ecmsketch.worldcup98.records import HIGHEST, NO_SIZE, RECORD, STATUSES, VERSIONS, as_records

COLUMNS = ("timestamp", "client", "object", "size", "method", "version", "status", "type", "server")

_LIMITS = {
    **dict.fromkeys(("timestamp", "client", "object"), (0, 2**32 - 1)),
    **{name: (0, highest) for name, highest in HIGHEST.items()},
    "size": (-1, NO_SIZE - 1),
    "version": (0, len(VERSIONS) - 1),
    "status": (-1, max(STATUSES)),
}
_CODES = np.full(64, -1)
_CODES[: len(STATUSES)] = STATUSES
_STATUS_OF_CODE = np.full(507, 255, np.uint8)  # code -1 is the last entry
_STATUS_OF_CODE[list(STATUSES)] = np.arange(len(STATUSES))


def to_columns(records: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Records as native int64 columns: `status` is the HTTP code (-1: other), `size` is -1 where there was none."""
    known = as_records(records)
    columns = {name: known[name].astype(np.int64) for name in COLUMNS if name != "version"}
    columns["size"][columns["size"] == NO_SIZE] = -1
    columns["version"] = columns["status"] >> 6
    columns["status"] = _CODES[columns["status"] & 63]
    return {name: columns[name] for name in COLUMNS}


def from_columns(columns: Mapping[str, Any]) -> NDArray[Any]:
    """The inverse of `to_columns`. Without a `version` column, all records are HTTP/1.0."""
    missing = [name for name in COLUMNS if name not in columns and name != "version"]
    if missing:
        raise InputError(f"columns: got none called {', '.join(missing)}, expected {', '.join(COLUMNS)}")
    length = len(as_column(columns["timestamp"], "timestamp"))
    given = {**columns, "version": columns.get("version", np.ones(length, np.int64))}
    values = {name: _checked(name, given[name], length) for name in COLUMNS}
    records = np.empty(length, RECORD)
    for name in RECORD.names or ():
        records[name] = values[name] & NO_SIZE  # a size of -1 becomes NO_SIZE
    records["status"] = _STATUS_OF_CODE[values["status"]] | (values["version"].astype(np.uint8) << 6)
    return records


def _checked(name: str, values: Any, length: int) -> NDArray[np.int64]:
    column = as_column(values, name)
    if len(column) != length:
        raise InputError(f"{name}: got {len(column)} values, expected {length}, one per timestamp")
    if length and column.dtype.kind not in "iu":
        raise InputError(f"{name}: got an array of {column.dtype}, expected integers")
    low, high = _LIMITS[name]
    if length and (int(column.min()) < low or int(column.max()) > high):
        raise InputError(f"{name}: got {column.min()} to {column.max()}, expected {low} to {high}")
    column = column.astype(np.int64)
    if name == "status" and (_STATUS_OF_CODE[column] == 255).any():
        unknown = int(column[_STATUS_OF_CODE[column] == 255][0])
        raise InputError(f"status: got {unknown}, expected one of STATUSES; use -1 for other codes")
    return column
