"""What is known of many rows without reading their sketches, as columns: FACTS, the row's file and its place there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ecmsketch.errors import StoreError
from ecmsketch.store.delta import named
from ecmsketch.store.schema import FACTS, PARTS, SCHEMA
from ecmsketch.store.stored_rows import StoredRow
from ecmsketch.store.table_files import TableFile, TableFiles

_PLACE = pa.schema([("file", pa.string()), ("number", pa.int64())])
_SCHEMA = pa.schema([*(SCHEMA.field(name) for name in FACTS), *_PLACE])
_NEEDED = ("site", "kind", "part", "bytes", "version", "position", "written")


def read_facts(files: TableFiles, wanted: Iterable[TableFile], site: str | None = None) -> Any:
    """The facts of the rows of some files, or of those of one site. Raises an error if a row lacks what it needs."""
    parts = []
    for file in wanted:
        with named(file.path):
            parts += [_placed(rows, file.path, begin) for rows, begin in _read(files, file.path, site)]
    facts = pa.concat_tables(parts) if parts else _SCHEMA.empty_table()
    if site is not None:
        facts = facts.filter(pc.equal(facts["site"], site))
    _refuse_incomplete(facts)
    return facts


def read_sites(files: TableFiles) -> list[str]:
    """The names of all sites in order; no other column is read."""
    found: set[str] = set()
    for file in files.all:
        with named(file.path):
            column = files.open(file.path).read(columns=["site"])["site"].cast(pa.string())
        found.update(name for name in pc.unique(column).to_pylist() if name is not None)
    return sorted(found)


def stored_rows(facts: Any) -> list[StoredRow]:
    """The same as objects."""
    return [StoredRow(**fact) for fact in facts.to_pylist()]


def _read(files: TableFiles, path: str, site: str | None) -> Iterator[tuple[Any, int]]:
    """The facts of a file, or of its row groups that hold a site; with the place of their first row."""
    file = files.open(path)
    if site is None:
        yield file.read(columns=FACTS), 0
        return
    begin = 0
    for group in range(file.metadata.num_row_groups):
        about = file.metadata.row_group(group)
        if _may_hold(about, site):
            names = file.read_row_group(group, columns=["site"], use_threads=False)["site"].cast(pa.string())
            if pc.index(names, site).as_py() >= 0:
                yield file.read_row_group(group, columns=FACTS, use_threads=False), begin
        begin += about.num_rows


def _may_hold(group: Any, site: str) -> bool:
    """Whether a row group's statistics allow it to hold a site; the site is the first column of every store."""
    column = group.column(0)
    bounds = column.statistics
    if column.path_in_schema != "site" or bounds is None or not bounds.has_min_max:
        return True
    return bool(bounds.min <= site <= bounds.max)


def _placed(rows: Any, path: str, begin: int) -> Any:
    """Facts with the file that they are in and their places, as the store's types."""
    numbers = pa.array(np.arange(begin, begin + len(rows)))
    rows = rows.append_column("file", pa.array([path] * len(rows), pa.string())).append_column("number", numbers)
    return rows.select(_SCHEMA.names).cast(_SCHEMA)


def _refuse_incomplete(facts: Any) -> None:
    for name in _NEEDED:
        if facts[name].null_count:
            row = stored_rows(facts.filter(pc.is_null(facts[name])).slice(0, 1))[0]
            raise StoreError(f"{row}: expected a {name}, got none; delete the row")
    known = pc.is_in(facts["part"], pa.array(PARTS))
    if not pc.all(known, min_count=0).as_py():
        row = stored_rows(facts.filter(pc.invert(known)).slice(0, 1))[0]
        raise StoreError(f"{row}: expected as part one of {PARTS}, got {row.part!r}; delete the row")
