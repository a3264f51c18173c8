"""`where=`: which rows of the files count, as an expression of pyarrow.compute that is pushed into the files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ecmsketch.errors import InputError


def check_where(where: Any, schema: Any) -> None:
    """Raise an error if a filter is no expression, or does not fit the columns of a file."""
    if where is None:
        return
    if not isinstance(where, pc.Expression):
        raise InputError(f"where: expected an expression such as pyarrow.compute.field('status') >= 400, got {where!r}")
    try:
        schema.empty_table().filter(where)
    except pa.ArrowException as error:
        columns = ", ".join(f"{field.name} ({field.type})" for field in schema)
        raise InputError(
            f"where: {where} does not fit the columns: {str(error).splitlines()[0]}; the columns are {columns}. "
            "Columns of CSV files are texts: compare them with texts, or cast them: field('n').cast('int64')"
        ) from error


def columns_in(where: Any, schema: Any) -> list[str]:
    """The columns that a filter uses: those without which it cannot be evaluated."""
    return [] if where is None else [name for name in schema.names if not _fits(where, schema, name)]


def _fits(where: Any, schema: Any, without: str) -> bool:
    try:
        pa.schema([field for field in schema if field.name != without]).empty_table().filter(where)
    except pa.ArrowException:
        return False
    return True
