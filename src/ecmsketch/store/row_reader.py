"""Reads the rows of one version of a store's table: first what is known of them, then the sketches that are needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from ecmsketch.config import SketchConfig
from ecmsketch.errors import EcmError, FormatError, StoreError
from ecmsketch.sketch.loading import AnySketch, load
from ecmsketch.sketch.merging import unite
from ecmsketch.store.delta import named
from ecmsketch.store.liveness import live_mask
from ecmsketch.store.row_facts import read_facts, stored_rows
from ecmsketch.store.schema import SCHEMA
from ecmsketch.store.stored_rows import StoredRow
from ecmsketch.store.table_files import TableFile, TableFiles

CHUNK = 2**25
"""Bytes of sketches held at a time; also those of the files that are written by compacting."""
_SITES = 2**12
"""Sites held at a time: a decoded sketch takes more memory than its bytes."""


class RowReader:
    """The rows of one version of the table, whatever is written meanwhile: all, those of a site, or of some files."""

    def __init__(self, table: DeltaTable, site: str | None = None, only: list[TableFile] | None = None) -> None:
        self.table = table
        self.files = TableFiles(table)
        given = self.files.all if only is None else only
        self.facts = read_facts(self.files, [f for f in given if site is None or f.may_hold(site)], site)

    @cached_property
    def all(self) -> list[StoredRow]:
        """All rows as objects; for few of them."""
        return stored_rows(self.facts)

    @cached_property
    def live(self) -> Any:
        """The facts of the live rows, sorted by site and in each from the earliest to the newest."""
        return by_site(self.facts.filter(live_mask(self.facts)))

    def live_sites(self) -> Iterator[dict[str, list[StoredRow]]]:
        """Yields each site's live rows, some sites at a time, so that memory has room for their sketches."""
        for begin, end in pieces(self.live):
            yield rows_of_sites(self.live.slice(begin, end - begin))

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

    def whole(self, facts: Any) -> Any:
        """The rows with all columns whose facts are given, by site; no objects are made of them."""
        found = [SCHEMA.empty_table()]
        for path in pc.unique(facts["file"]).to_pylist():
            numbers = np.sort(facts.filter(pc.equal(facts["file"], path))["number"].to_numpy())
            with named(path):
                file = self.files.open(path)
                ends = _group_ends(file)
                groups = np.unique(np.searchsorted(ends, numbers, "right"))
                rows = file.read_row_groups(groups.tolist(), columns=SCHEMA.names, use_threads=False)
                rows = rows.select(SCHEMA.names).cast(SCHEMA)  # another writer may have other types of texts
                lengths = np.diff(np.r_[0, ends])[groups]
                before = np.repeat(ends[groups] - np.cumsum(lengths), lengths)  # rows of the groups left out
                places = np.searchsorted(np.arange(len(rows)) + before, numbers)
                found.append(rows.take(places))
        return by_site(pa.concat_tables(found))

    def _load(self, path: str, rows: list[StoredRow]) -> Iterator[tuple[StoredRow, bytes]]:
        """Read the row groups that the rows are in, and no others."""
        with named(path):
            file = self.files.open(path)
            ends = _group_ends(file)
            needed = defaultdict(list)
            for row in rows:
                needed[int(np.searchsorted(ends, row.number, "right"))].append(row)
            for group, wanted in needed.items():
                column = file.read_row_group(group, columns=["sketch"], use_threads=False)["sketch"]
                begin = int(ends[group]) - len(column)
                for row in wanted:
                    yield row, column[row.number - begin].as_py()


def _group_ends(file: Any) -> Any:
    """The place after the last row of each row group."""
    about = file.metadata
    return np.cumsum([about.row_group(group).num_rows for group in range(about.num_row_groups)])


def by_site(facts: Any) -> Any:
    """Facts sorted by site, and in each from the earliest row to the newest."""
    keys = [("site", "ascending"), ("version", "ascending"), ("position", "ascending")]
    return facts.take(pc.sort_indices(facts, keys))


def pieces(facts: Any) -> Iterator[tuple[int, int]]:
    """Cuts facts that are sorted by site into pieces of whole sites: yields where each begins and ends."""
    if not len(facts):
        return
    ends = site_ends(facts)
    size = np.cumsum(facts["bytes"].to_numpy())[ends - 1]
    begin, place, held = 0, 0, 0
    while place < len(ends):
        place = min(max(int(np.searchsorted(size, held + CHUNK, "right")), place + 1), place + _SITES)
        yield begin, int(ends[place - 1])
        begin, held = int(ends[place - 1]), int(size[place - 1])


def site_ends(facts: Any) -> Any:
    """The place after the last row of each site, in facts that are sorted by site."""
    sites = facts["site"].combine_chunks()
    changes = np.asarray(pc.not_equal(sites.slice(1), sites.slice(0, len(sites) - 1)))
    return np.r_[np.flatnonzero(changes) + 1, len(sites)]


def rows_of_sites(facts: Any) -> dict[str, list[StoredRow]]:
    """Rows as objects, by site, in the order given."""
    sites: dict[str, list[StoredRow]] = {}
    for row in stored_rows(facts):
        sites.setdefault(row.site, []).append(row)
    return sites


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
        return unite(pieces) if len(pieces) > 1 else pieces[0]
    except EcmError as error:
        raise StoreError(f"site {site!r}: its rows cannot be united: {error}") from error


def decode_row(row: StoredRow, data: bytes) -> AnySketch:
    """The sketch of a row, from its bytes."""
    try:
        return load(data, max_nbytes=None)
    except FormatError as error:
        raise StoreError(f"{row}: {error}; delete the row, or restore an older version of the table") from error
