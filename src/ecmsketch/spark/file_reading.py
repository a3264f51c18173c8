"""Splits of files read into events, in batches, so that memory does not depend on the size of a file.

Where a filter, a Delta table or ORC needs pyarrow.dataset to decode, memory grows with a row group or stripe, not
with the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ecmsketch import worldcup98
from ecmsketch.errors import InputError
from ecmsketch.inputs.kinds import describe
from ecmsketch.spark.cleaning import Events, not_utf8
from ecmsketch.spark.column_roles import Roles, check_columns
from ecmsketch.spark.column_types import check_types, kind_of_items
from ecmsketch.spark.csv_lines import header, parse_lines, read_lines
from ecmsketch.spark.event_parsing import to_events
from ecmsketch.spark.file_filters import check_where, columns_in
from ecmsketch.spark.file_formats import scan_options
from ecmsketch.spark.file_opening import open_stream
from ecmsketch.spark.file_splits import Split

_Columns = tuple[dict[str, Any], int]
"""Some rows as columns, and how many rows could not be read."""

_BATCH_ROWS = 2**18
_READ_AHEAD = 1
"""Batches that pyarrow.dataset may read before they are asked for."""


def schema_of(split: Split) -> Any:
    """Names and types of the columns of a split's file. All columns of a CSV file are texts."""
    if split.format == "worldcup98":
        return pa.schema([(name, pa.int64()) for name in worldcup98.FIELDS])
    if split.format == "csv":
        return pa.schema([(name, pa.string()) for name in header(split.path)])
    return split.fragment.physical_schema if split.schema is None else split.schema


def read_events(split: Split, roles: Roles, where: Any = None) -> Iterator[Events]:
    """The events of a split for which `where` holds."""
    schema = schema_of(split)
    check_columns(schema.names, {name: name for name in roles.all()})
    check_where(where, schema)
    if split.fragment is None:
        batches = _read_lines(split, roles, where) if split.format == "csv" else _read_records(split, roles, where)
    else:
        check_types({field.name: field.type for field in schema}, roles)
        batches = _read_batches(split, roles, where)
    for columns, malformed in batches:
        _check_kind(split, columns, roles)
        yield to_events(columns, roles, malformed)


def _read_batches(split: Split, roles: Roles, where: Any) -> Iterator[_Columns]:
    for batch in read_fragment(split, roles.all(), _BATCH_ROWS, where):
        yield dict(zip(batch.schema.names, batch.columns, strict=True)), 0


def read_fragment(split: Split, columns: list[str], rows: int, where: Any = None) -> Iterator[pa.RecordBatch]:
    """Batches of some columns of a split that pyarrow.dataset reads. The filter is applied inside the file."""
    if split.format == "parquet" and where is None:
        yield from _stream_row_groups(split, columns, rows)
        return
    yield from split.fragment.to_batches(
        schema=schema_of(split), columns=columns, filter=where, batch_size=rows, batch_readahead=_READ_AHEAD,
        fragment_scan_options=scan_options(split.format), use_threads=False,
    )  # fmt: skip


def _stream_row_groups(split: Split, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of Parquet, decoded one at a time. pyarrow.dataset would decode a whole row group at once."""
    groups = [group.id for group in split.fragment.row_groups]
    with split.fragment.open() as source, pq.ParquetFile(source) as file:
        yield from file.iter_batches(rows, groups, columns, use_threads=False)


def read_records(split: Split, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of some fields of a split of a worldcup98 log."""
    with open_stream(split.path) as stream:
        for records in worldcup98.read_batches(stream, rows, split.begin, split.end):
            found = worldcup98.to_columns(records)
            yield pa.RecordBatch.from_arrays([pa.array(found[name]) for name in columns], names=columns)


def _read_records(split: Split, roles: Roles, where: Any) -> Iterator[_Columns]:
    for batch in read_records(split, _wanted(split, roles, where), _BATCH_ROWS):
        yield _filtered(dict(zip(batch.schema.names, batch.columns, strict=True)), where), 0


def _read_lines(split: Split, roles: Roles, where: Any) -> Iterator[_Columns]:
    names = header(split.path)
    wanted = _wanted(split, roles, where)
    for block in read_lines(split.path, split.begin, split.end):
        table, malformed = parse_lines(block, split.path, names, wanted)
        columns, broken = only_utf8(table)
        yield _filtered(columns, where), malformed + broken


def _wanted(split: Split, roles: Roles, where: Any) -> list[str]:
    """The columns to read, with those that only the filter needs."""
    return list(dict.fromkeys([*roles.all(), *columns_in(where, schema_of(split))]))


def _filtered(columns: dict[str, Any], where: Any) -> dict[str, Any]:
    """The rows for which the filter holds, where pyarrow.dataset does not read the file."""
    if where is None:
        return columns
    kept = pa.table(columns).filter(where)
    return {name: kept.column(name).combine_chunks() for name in kept.column_names}


def only_utf8(table: Any) -> tuple[dict[str, Any], int]:
    """The columns of a table of texts, cut to the rows that are UTF-8 in all of them, and how many rows are not."""
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    broken = [bad for column in columns.values() for _, bad in not_utf8(column, "text")]
    if not broken:
        return columns, 0
    bad = broken[0]
    for more in broken[1:]:
        bad = pc.or_(bad, more)
    return {name: column.filter(pc.invert(bad)) for name, column in columns.items()}, pc.sum(bad).as_py()


def _check_kind(split: Split, columns: dict[str, Any], roles: Roles) -> None:
    """Raise an error if the items of a file are of another kind than those of the first file."""
    found = kind_of_items({name: column.type for name, column in columns.items()}, roles)
    if roles.kind not in ("", found):
        raise InputError(
            f"{split.path}: expected items of kind {describe(frozenset({roles.kind}))}, as in the first file, got "
            f"{describe(frozenset({found}))}; the same item would be counted as two. Build such files apart"
        )
