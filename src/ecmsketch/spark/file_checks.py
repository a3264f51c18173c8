"""Checks of paths, formats, columns and their types, on the first file, before Spark starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ecmsketch.config import SketchConfig
from ecmsketch.errors import InputError
from ecmsketch.spark.column_roles import Roles, check_columns, make_roles
from ecmsketch.spark.column_types import ITEM_TYPES, check_types
from ecmsketch.spark.csv_lines import first_lines, parse_lines
from ecmsketch.spark.event_parsing import to_events
from ecmsketch.spark.file_filters import check_where
from ecmsketch.spark.file_formats import FORMATS
from ecmsketch.spark.file_reading import only_utf8, schema_of
from ecmsketch.spark.file_splits import Split, find_files


def check_files(
    paths: str | Sequence[str],
    config: SketchConfig,
    item: str | Sequence[str],
    tick: str,
    site: str | None = None,
    weight: str | None = None,
    *,
    format: str | None = None,
    bits: int | None = None,
    formats: Sequence[str] = FORMATS,
    other: Sequence[str] = (),
    partitions: bool = False,
    where: Any = None,
) -> None:
    """Raise an error if paths, format, columns or their types are wrong. Reads the beginning of one file, no Spark.

    `formats` are those that the caller can read, `other` are further columns that must be there. With `partitions`
    the names in a path such as log/day=7/1.parquet count as columns.
    """
    roles = make_roles(config, item, tick, site, weight, bits)
    first = find_files(paths, format)[0]
    if first.format not in formats:
        raise InputError(f"format: expected {' or '.join(formats)}, got {first.format} files in {paths!r}")
    check_file(first, roles, where, other, _partitions(first.path) if partitions else [])


def check_file(
    file: Split, roles: Roles, where: Any = None, other: Sequence[str] = (), beside: Sequence[str] = ()
) -> dict[str, Any]:
    """Names and types of the columns of a file; an error if they do not fit their roles.

    `other` are further columns that must be there, `beside` are columns that exist outside the file.
    """
    try:
        schema = schema_of(file)
        columns = {field.name: field.type for field in schema}
        check_columns([*columns, *beside], roles.named() | {name: name for name in other})
        check_where(where, schema)
        if file.format == "csv":
            _check_texts(file, roles)
        elif file.format != "worldcup98":
            check_types(columns, roles)
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowException) as error:
        raise InputError(f"{file.path}: cannot be read as {file.format}: {error}") from error
    return columns


def _partitions(path: str) -> list[str]:
    return [part.partition("=")[0] for part in path.split("/")[:-1] if "=" in part]


def _check_texts(file: Split, roles: Roles) -> None:
    """Raise an error if the first lines of a CSV file hold no number or time at all where some are needed."""
    table, _ = parse_lines(first_lines(file.path), file.path, schema_of(file).names, roles.all())
    columns, _ = only_utf8(table)
    events = to_events(columns, roles, 0)
    times = "integers" if roles.unit is None else "integers or times such as 2026-06-01 12:30:00"
    checked = [("tick", roles.tick, events.ticks, times)]
    if roles.weight is not None:
        checked.append(("weight", roles.weight, events.weights, "integers"))
    if roles.numbers:
        checked.append(("item", roles.items[0], events.items, ITEM_TYPES[True]))
    for role, name, parsed, wanted in checked:
        given = columns[name].drop_null()
        if len(given) and parsed.null_count == len(parsed):
            found = given[0].as_py()[:40]
            raise InputError(f"{role}: expected a column of {wanted}, got {name!r} with texts such as {found!r}")
