"""Reads the rows of one version of a store's table: first what is known of them, then the sketches that are needed."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from ecmsketch.config import SketchConfig
from ecmsketch.errors import EcmError, FormatError, StoreError
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.uniting import unite
from ecmsketch.store.delta import named
from ecmsketch.store.schema import FACTS, PARTS
from ecmsketch.store.stored_rows import StoredRow

_NEEDED = ("site", "kind", "part", "bytes", "version", "position", "written")
_CHUNK = 2**26
"""Bytes of sketches decoded at a time."""


class RowReader:
    """The rows of one version of the table, whatever is written meanwhile."""

    def __init__(self, table: DeltaTable, site: str | None = None) -> None:
        self.table = table
        self.all: list[StoredRow] = []
        self._files: dict[str, Any] = {}
        wanted = None if site is None else pc.field("site") == site
        for file in table.to_pyarrow_dataset().get_fragments(wanted):
            self._files[file.path] = file
            with named(file.path):
                facts = file.to_table(columns=FACTS)
            facts = facts.append_column("number", pa.array(range(len(facts))))
            if site is not None:
                facts = facts.filter(pc.equal(facts["site"], site))
            self.all += [_stored(fact, file.path) for fact in facts.to_pylist()]

    def sketches(self, rows: Iterable[StoredRow]) -> dict[StoredRow, AnySketch]:
        """The sketches of some rows, in their order."""
        wanted = list(rows)
        data = self.load(wanted)
        return {row: decode_row(row, data[row]) for row in wanted}

    def load(self, rows: Iterable[StoredRow]) -> dict[StoredRow, bytes]:
        """The bytes of some rows."""
        files = defaultdict(list)
        for row in rows:
            files[row.file].append(row)
        return {row: data for file, wanted in files.items() for row, data in self._load(file, wanted)}

    def _load(self, path: str, rows: list[StoredRow]) -> Iterator[tuple[StoredRow, bytes]]:
        """Read the row groups that the rows are in, and no others."""
        with named(path):
            file = self._files[path]
            ends = list(accumulate(group.num_rows for group in file.row_groups))
            needed = defaultdict(list)
            for row in rows:
                needed[bisect_right(ends, row.number)].append(row)
            for group, wanted in needed.items():
                column = file.subset(row_group_ids=[group]).to_table(columns=["sketch"])["sketch"]
                begin = ends[group] - len(column)
                for row in wanted:
                    yield row, column[row.number - begin].as_py()


def _stored(fact: dict[str, Any], file: str) -> StoredRow:
    missing = [name for name in _NEEDED if fact[name] is None]
    row = StoredRow(**fact, file=file)
    if missing:
        raise StoreError(f"{row}: expected a {missing[0]}, got none; delete the row")
    if row.part not in PARTS:
        raise StoreError(f"{row}: expected as part one of {PARTS}, got {row.part!r}; delete the row")
    return row


def chunks(sites: dict[str, list[StoredRow]]) -> Iterator[dict[str, list[StoredRow]]]:
    """Yields some sites at a time, in the order of the files, so that memory has room for their sketches."""
    chunk: dict[str, list[StoredRow]] = {}
    size = 0
    for site in sorted(sites):
        chunk[site] = sites[site]
        size += sum(row.bytes for row in sites[site])
        if size > _CHUNK:
            yield chunk
            chunk, size = {}, 0
    yield chunk


def latest_sketches(rows: RowReader, live: dict[str, list[StoredRow]]) -> dict[str, AnySketch]:
    """One sketch for each site: its live rows united, without those that have left the window."""
    newest = {site: max(given, key=lambda row: row.extent[1]) for site, given in live.items()}
    sketches = rows.sketches(newest.values())
    others = (
        row
        for site, given in live.items()
        for row in given
        if row is not newest[site] and _in_window(row, newest[site], sketches[newest[site]].config)
    )
    sketches |= rows.sketches(others)
    return {
        site: unite_pieces(site, [sketches[row] for row in given if row in sketches]) for site, given in live.items()
    }


def _in_window(row: StoredRow, newest: StoredRow, config: SketchConfig) -> bool:
    """Whether a row has anything that counts at the newest one's clock; with model="count" ticks do not tell."""
    return config.model == "count" or row.extent[1] > newest.extent[1] - config.window


def unite_pieces(site: str, pieces: list[AnySketch]) -> AnySketch:
    """One sketch for the pieces of a site."""
    try:
        return unite(pieces)
    except EcmError as error:
        raise StoreError(f"site {site!r}: its rows cannot be united: {error}") from error


def decode_row(row: StoredRow, data: bytes) -> AnySketch:
    """The sketch of a row, from its bytes."""
    try:
        return load(data, max_nbytes=None)
    except FormatError as error:
        raise StoreError(f"{row}: {error}; delete the row, or restore an older version of the table") from error
