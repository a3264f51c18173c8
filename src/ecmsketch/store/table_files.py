"""The Parquet files of one version of a store's table: which of them may hold a site, and how they are opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler

from ecmsketch.errors import StoreError


class TableFile(NamedTuple):
    """A file of the table, as the log knows it. What the log does not know is None."""

    path: str
    size: int
    rows: int | None
    first_site: str | None
    last_site: str | None
    """Bounds of the sites in the file; they need not be in it."""
    first_version: int | None
    last_version: int | None

    def may_hold(self, site: str) -> bool:
        """Whether rows of a site can be in the file."""
        return (self.first_site is None or self.first_site <= site) and (
            self.last_site is None or site <= self.last_site
        )

    @property
    def is_one_commit(self) -> bool:
        """Whether all rows came with one commit, so that nothing has put them together with others yet."""
        return self.first_version is not None and self.first_version == self.last_version


class TableFiles:
    """The files of one version, and how to open them."""

    def __init__(self, table: DeltaTable) -> None:
        _refuse_unreadable(table)
        self.all = _listed(table)
        self.system = file_system(table)
        self._footers: dict[str, Any] = {}

    def open(self, path: str) -> Any:
        """Open a file; its footer is read once."""
        file = pq.ParquetFile(self.system.open_input_file(path), metadata=self._footers.get(path))
        self._footers[path] = file.metadata
        return file


def file_system(table: DeltaTable) -> Any:
    """Where a table's files are, relative to the table. A disk is read directly, which is faster."""
    location = urlsplit(table.table_uri)
    if location.scheme == "file":
        return pa_fs.SubTreeFileSystem(str(Path(unquote(location.path))), pa_fs.LocalFileSystem())
    sizes = table._table.get_add_file_sizes()
    return pa_fs.PyFileSystem(DeltaStorageHandler.from_table(table._table, table._storage_options, sizes))


def _refuse_unreadable(table: DeltaTable) -> None:
    """Refuse a table whose files do not say everything, such as one with deletion vectors."""
    protocol = table.protocol()
    unknown = set(protocol.reader_features or ()) - {"timestampNtz"}
    if protocol.min_reader_version not in (1, 3) or unknown:
        raise StoreError(
            f"{table.table_uri}: expected a table that can be read from its files alone, got one with reader version "
            f"{protocol.min_reader_version} and {', '.join(sorted(unknown)) or 'no features'}, which another program "
            "has set; copy its rows into a new store"
        )


def _listed(table: DeltaTable) -> list[TableFile]:
    actions = pa.table(table.get_add_actions(flatten=True))
    nothing = pa.nulls(len(actions)).to_pylist()
    columns = [
        actions[name].to_pylist() if name in actions.column_names else nothing
        for name in ("path", "size_bytes", "num_records", "min.site", "max.site", "min.version", "max.version")
    ]
    return [TableFile(*values) for values in zip(*columns, strict=True)]
