"""Merged sketches kept beside a store: one for each group of neighbouring sites, and one for all.

They lie in a Delta table in the folder `_everywhere` of the store. It holds nothing that cannot be made again, so it
may be deleted at any time. Each sketch is kept with a mark of the live rows that it was merged from, and counts only
while these are the live rows. Hence it does not matter who keeps what, or when.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from ecmsketch.errors import StoreError
from ecmsketch.store.delta import DeltaFolder, named
from ecmsketch.store.schema import group_size, layout
from ecmsketch.store.table_files import TableFiles

FOLDER = "_everywhere"
"""Its name begins with _, so that neither our vacuum of the store nor Spark's deletes what is in it."""
_SCHEMA = pa.schema(
    [
        ("first_site", pa.string()),
        ("sites", pa.int64()),
        ("mark", pa.binary()),
        ("sketch", pa.binary()),
        ("store", pa.string()),
        ("version", pa.int64()),
    ]
)
_VACUUM_EVERY, _VACUUM_HOURS = 16, 1


class KeptGroup(NamedTuple):
    """A merged sketch, the sites that it stands for, and the mark of the rows that it was merged from."""

    first_site: str
    """The group holds the sites from here to the next group's first one."""
    sites: int
    mark: bytes
    sketch: bytes


class Kept(NamedTuple):
    """What one reader kept: all sites, and the groups; for which table, and in which version of it."""

    store: str
    version: int
    everywhere: KeptGroup
    groups: list[KeptGroup]


class KeptGroups:
    """The folder of kept sketches beside the store at a path."""

    def __init__(self, path: str, storage_options: dict[str, str] | None) -> None:
        self._folder = DeltaFolder(f"{path.rstrip('/')}/{FOLDER}", _SCHEMA, "merged sketches", storage_options)

    def read(self, everywhere_only: bool = False) -> Kept:
        """What is kept; only the sketch of all sites, without the groups, if they are not asked for."""
        table = self._folder.open()
        with named(self._folder.path):
            files = TableFiles(table)
            if len(files.all) != 1:
                raise StoreError(f"{self._folder.path}: expected one file, got {len(files.all)}; delete the folder")
            file = files.open(files.all[0].path)
            rows = (file.read_row_group(0) if everywhere_only else file.read()).cast(_SCHEMA).to_pylist()
        if any(value is None for row in rows for value in row.values()) or not rows:
            raise StoreError(f"{self._folder.path}: expected sketches and their marks, got none; delete the folder")
        groups = [KeptGroup(*(row[name] for name in KeptGroup._fields)) for row in rows]
        return Kept(rows[0]["store"], rows[0]["version"], groups[0], [] if everywhere_only else groups[1:])

    def write(self, kept: Kept) -> bool:
        """Keep sketches instead of earlier ones; returns False if another reader was faster."""
        table = self._folder.open(create={})
        common = {"store": kept.store, "version": kept.version}
        rows = [{**group._asdict(), **common} for group in (kept.everywhere, *kept.groups)]
        data = pa.Table.from_pylist(rows, _SCHEMA)
        size = group_size(sum(len(group.sketch) for group in kept.groups), len(rows))
        try:
            with named(self._folder.path):
                write_deltalake(
                    table, data, mode="overwrite", writer_properties=layout(size),
                    commit_properties=CommitProperties(max_commit_retries=0),
                )  # fmt: skip
        except CommitFailedError:
            return False
        self._vacuum(table)
        return True

    def _vacuum(self, table: DeltaTable) -> None:
        """Now and then, delete what was replaced an hour ago. Who still reads it merges the sites instead."""
        if table.version() % _VACUUM_EVERY == 0:
            with named(self._folder.path):
                table.vacuum(_VACUUM_HOURS, dry_run=False, enforce_retention_duration=False)
