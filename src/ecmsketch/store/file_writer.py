"""Writes rows as Parquet files of a store's table, for a commit that adds and removes whole files."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from ecmsketch.store.schema import SCHEMA, UNSORTED, rows_in_group
from ecmsketch.store.table_files import TableFile, TableFiles, file_system

_ATTEMPTS = 100
"""Attempts to commit while others append, about half a minute of them."""
_LONGEST = 1024
"""Bytes of a text that the log holds at most as a bound; a longer one is left out, and the file is always opened."""
_BOUNDED = [field.name for field in SCHEMA if pa.types.is_string(field.type) or pa.types.is_integer(field.type)]


class FileWriter:
    """Writes files beside those of an opened table. They count once `commit` has named them in the log."""

    def __init__(self, table: DeltaTable) -> None:
        self._table = table
        self._system = file_system(table)
        self._added: list[AddAction] = []

    def write(self, rows: Any) -> None:
        """Write rows, sorted by site, as one file; no rows are no file."""
        if not len(rows):
            return
        path = f"part-{uuid4()}.parquet"
        with self._system.open_output_stream(path) as file:
            pq.write_table(
                rows, file, compression="zstd", row_group_size=rows_in_group(rows),
                use_dictionary=[name for name in SCHEMA.names if name not in UNSORTED],
                write_statistics=[name for name in SCHEMA.names if name not in UNSORTED],
            )  # fmt: skip
            size = file.tell()
        stats = json.dumps(_statistics(rows))
        self._added.append(AddAction(path, size, {}, _now(), True, stats))

    def commit(self, replaced: list[TableFile], changed: bool) -> None:
        """Replace files of the opened version by the written ones; what others append meanwhile stays.

        It fails if another commit has removed one of the files. This is checked here: deltalake's own retries let two
        such commits pass if `changed` is false, and all rows are there twice. False says that the rows are the same as
        before: a stream that reads the table then sees nothing.
        """
        for action in self._added:
            action.data_change = changed
        removed = [RemoveAction(file.path, changed, _now(), file.size) for file in replaced]
        once = CommitProperties(max_commit_retries=0)
        for tried in range(_ATTEMPTS):
            try:
                self._table.create_write_transaction([*self._added, *removed], "append", SCHEMA, commit_properties=once)
                return
            except CommitFailedError:
                self._table.update_incremental()
                left = {file.path for file in TableFiles(self._table).all}
                if tried == _ATTEMPTS - 1 or not left.issuperset(file.path for file in replaced):
                    raise
            time.sleep(0.005 * secrets.randbelow(2 ** min(tried + 1, 7)))

    def discard(self) -> None:
        """Delete the written files: no commit names them."""
        for action in self._added:
            self._system.delete_file(action.path)


def _statistics(rows: Any) -> dict[str, Any]:
    """What the log says of a file, in the form of the Delta protocol."""
    lowest, highest = {}, {}
    for name in _BOUNDED:
        bounds = pc.min_max(rows[name]).as_py()
        if bounds["min"] is not None and len(str(bounds["min"])) + len(str(bounds["max"])) <= _LONGEST:
            lowest[name], highest[name] = bounds["min"], bounds["max"]
    nulls = {name: rows[name].null_count for name in SCHEMA.names}
    return {"numRecords": len(rows), "minValues": lowest, "maxValues": highest, "nullCount": nulls}


def _now() -> int:
    return int(1000 * time.time())
