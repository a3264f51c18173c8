"""The live rows of one version of a store, with their bytes in memory: they stay when the files go."""

from __future__ import annotations

from deltalake import DeltaTable

from ecmsketch.config import SketchConfig
from ecmsketch.errors import StoreError
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.store.delta import named
from ecmsketch.store.row_reader import RowReader, decode_row, rows_of_sites, unite_pieces
from ecmsketch.store.store_config import PROPERTY, StoreConfig
from ecmsketch.store.stored_rows import StoredRow
from ecmsketch.store.table_follower import Version, version_of

MAX_BYTES = 2**29
"""Bytes of rows that are held in memory. A store with more is read from its files when it is asked."""

RowKey = tuple[str, int]
"""The file of a row and its place in it. Files never change."""


class VersionRows:
    """What one version of a store says about each site, within the window that ends at `now`."""

    def __init__(self, table: DeltaTable, path: str, before: VersionRows | None = None) -> None:
        """Bytes that the version `before` has read already are not read again."""
        self.version: Version = version_of(table)
        with named(path):
            self._reader = RowReader(table)
        noted = table.metadata().configuration.get(PROPERTY)
        if not self._reader.facts.num_rows or noted is None:
            raise StoreError(f"{path}: this store holds no sketches yet; they appear here once they are written")
        self.stored = StoreConfig.parse(noted, path)
        live = rows_of_sites(self._reader.live)
        clocks = [row.last_tick for given in live.values() for row in given if row.last_tick is not None]
        self.now: int | None = max(clocks, default=None)
        self.rows = {site: self._in_window(given) for site, given in sorted(live.items())}
        self.written = max(row.written for given in self.rows.values() for row in given)
        self._bytes = self._load(before)

    @property
    def config(self) -> SketchConfig:
        """The config of all sketches."""
        return self.stored.config

    def keys(self, site: str) -> tuple[RowKey, ...]:
        """What a site's sketch is made from: the same in two versions if nothing about the site changed."""
        return tuple(_key(row) for row in self.rows[site])

    def sketch(self, site: str) -> AnySketch:
        """A site's rows, united."""
        rows = self.rows[site]
        absent = [row for row in rows if _key(row) not in self._bytes]
        read = self._reader.load(absent) if absent else {}
        pieces = [decode_row(row, read[row] if row in read else self._bytes[_key(row)]) for row in rows]
        return unite_pieces(site, pieces)

    def _in_window(self, live: list[StoredRow]) -> list[StoredRow]:
        """Leave out rows that have left the window, but keep a site's newest, so that the site stays known."""
        if self.config.model == "count" or self.now is None:
            return live
        newest = max(live, key=lambda row: row.extent[1])
        begin = self.now - self.config.window
        return [row for row in live if row is newest or row.extent[1] > begin]

    def _load(self, before: VersionRows | None) -> dict[RowKey, bytes]:
        wanted = [row for given in self.rows.values() for row in given]
        if sum(row.bytes for row in wanted) > MAX_BYTES:
            return {}
        known = {} if before is None or before.version[0] != self.version[0] else before._bytes
        kept = {_key(row): known[_key(row)] for row in wanted if _key(row) in known}
        read = self._reader.load(row for row in wanted if _key(row) not in kept)
        return kept | {_key(row): data for row, data in read.items()}


def _key(row: StoredRow) -> RowKey:
    return row.file, row.number
