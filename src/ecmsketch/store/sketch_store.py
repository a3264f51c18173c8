"""Sketches in a Delta table: many write it, anyone reads it, no Spark needed (docs/decisions/009-store.md).

A row is a piece of one site's stream. A *segment* adds to what is known of the site, a *snapshot* replaces what the
same writer said of it before. What is not replaced is *live* (stored_rows.py), and only that is read: the live rows of
all writers, united. All sketches of a store have one config (store_config.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder
from deltalake.exceptions import CommitFailedError

from ecmsketch.errors import StoreError
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.sketch.loading import AnySketch
from ecmsketch.store.clustering import cluster
from ecmsketch.store.compaction import CompactReport, compact
from ecmsketch.store.delta import DeltaFolder, Turn, check_writer, named
from ecmsketch.store.everywhere import Everywhere
from ecmsketch.store.fingerprints import split
from ecmsketch.store.given_rows import GivenRows, SketchRow
from ecmsketch.store.kept_groups import KeptGroups
from ecmsketch.store.rejections import Rejected, Rejections
from ecmsketch.store.row_facts import read_sites, stored_rows
from ecmsketch.store.row_reader import RowReader, latest_sketches, unite_pieces
from ecmsketch.store.schema import SCHEMA, group_size, layout, layout_of
from ecmsketch.store.store_config import PROPERTY, StoreConfig
from ecmsketch.store.stored_rows import StoredRow
from ecmsketch.store.table_files import TableFiles

KEEP_HOURS = 168
"""A week: files that nothing refers to may still be read by someone, or be about to be committed."""
READER_HOURS = 24
"""How long whoever opened the table finds all files of the version that was opened. Every call of a store opens the
newest version and is done within minutes; a Spark job over the table may take hours. A day is longer than both."""


class SketchStore:
    """Sketches of many sites over time, in one Delta table.

    >>> import tempfile
    >>> from ecmsketch import EcmSketch, SketchConfig
    >>> store = SketchStore(Path(tempfile.mkdtemp()) / "sketches")
    >>> for day in range(3):
    ...     sketch = EcmSketch(SketchConfig(epsilon=0.1, delta=0.1, window=1000))
    ...     sketch.update_many(["a", "b", "a"], [100 * day + 1, 100 * day + 2, 100 * day + 3])
    ...     store.append([SketchRow("berlin", sketch, events=3)])
    >>> print(store.latest()["berlin"].estimate("a"))
    6 in [6, 6] with probability 1
    >>> store.compact().rows_after
    1
    """

    def __init__(self, path: str | Path, storage_options: dict[str, str] | None = None, create: bool = False) -> None:
        """`path` may be a URL (s3://...), `storage_options` are deltalake's. The first append creates the table, or
        `create=True` does so now.
        """
        self.path = str(path)
        self._folder = DeltaFolder(self.path, SCHEMA, "sketches", storage_options, layout_of)
        self._kept = KeptGroups(self.path, storage_options)
        self._rejections = Rejections(self.path, storage_options)
        if create:
            self._folder.open(create={})

    def append(self, rows: Iterable[SketchRow], *, again: bool = False, rejected: Rejected | None = None) -> None:
        """Write rows in one commit, all or none; then note what was `rejected` beside them.

        A segment that was appended before is refused, since it would be counted twice; `again=True` allows it. If the
        storage fails in mid-commit the rows may be there or not, and appending them again is safe for segments.
        """
        given = GivenRows(rows)
        if not given.records:
            self._rejections.add(rejected or Rejected())
            return

        def attempt(table: DeltaTable) -> None:
            self._claim(table, given)
            if not again:
                self._refuse_known(table, given)
            self._folder.append(table, given.table(table.version() + 1))

        self._folder.commit(attempt, create=given.properties)
        self._rejections.add(rejected or Rejected())
        self._put_together()

    def append_once(
        self,
        rows: Iterable[SketchRow],
        writer: str,
        batch: int,
        *,
        generation: str = "",
        own: bool = False,
        rejected: Rejected | None = None,
    ) -> bool:
        """Write rows unless `writer` has written this batch or a later one; returns whether they were new.

        Without rows nothing is committed. The batch is noted in the commit of the rows, so neither is ever there
        without the other, also if two try at once or one is killed. Writers of different names count different streams:
        a site that several of them write is what they counted together. A writer that begins its stream anew says so by
        a new `generation`, any name; its batches then count from 0 again, and its rows of a site replace those of its
        earlier generations. `own=True` says that this library has just made the bytes: of snapshots only checksum and
        header are looked at. What the batch `rejected` is noted after its rows, and also once: a batch that is done
        again, because its writer died in between, notes it then.
        """
        writer, batch, generation = check_writer(writer, batch, generation)
        given = GivenRows(rows, own)

        def records(table: DeltaTable, turn: Turn) -> Any:
            self._claim(table, given)
            return given.table(table.version() + 1, writer, turn, batch)

        new = self._folder.append_once(writer, batch, generation, records, create=given.properties)
        self._rejections.add_once(rejected or Rejected(), writer, batch, generation)
        if new and given.records:
            self._put_together()
        return new

    def rejected(self) -> Rejected:
        """How many rows all writers and builds have rejected, by reason, and how many came late. No sketch is read.

        They are counted from when a store was first written by a version that notes them. A stream that is started
        with a new checkpoint counts from zero. `version` does not change if a trigger has rejected rows only.
        """
        return self._rejections.read()

    def sites(self) -> list[str]:
        """The names of all sites, in order."""
        with named(self.path):
            return read_sites(TableFiles(self._folder.open()))

    def latest(self, site: str | None = None) -> dict[str, AnySketch]:
        """One sketch for each site, or for one: its live rows united.

        What has left the window is not read: this costs what windows hold, however long the history.
        """
        return dict(self.latest_each(site))

    def latest_each(self, site: str | None = None) -> Iterator[tuple[str, AnySketch]]:
        """Yields each site, in order of names, with the sketch that `latest` gives.

        Memory holds some thousand sketches at a time, and the facts of all rows.
        """
        rows = self._rows(site)
        for chunk in rows.live_sites():
            yield from latest_sketches(rows, chunk).items()

    def everywhere(self, *, keep: bool = True, say: Callable[[str], object] | None = None) -> AnySketch:
        """One sketch for all sites: those of `latest` merged.

        It is kept beside the store for the next reader, if there are 256 sites or more: then only groups of sites that
        have changed are merged anew (everywhere.py), and nothing is if nothing has. Whatever is kept counts only while
        it fits the rows; if it is missing, old or damaged, sites are merged instead, and `say` is told. `keep=False`
        writes nothing.
        """
        with named(self.path):
            return Everywhere(self._folder.open(), self._kept, say or (lambda _: None)).sketch(keep)

    def version(self) -> int:
        """The version of the table, which every commit makes higher: whoever has read this one has read everything."""
        with named(self.path):
            return int(self._folder.open().version())

    def history(self, site: str) -> list[StoredRow]:
        """All rows of a site in order of time, also replaced ones; no sketch is read."""
        return sorted(self._rows(site).all, key=lambda row: (row.extent, row.order))

    def read(self, site: str, since: int | None = None, until: int | None = None) -> AnySketch:
        """A site's live rows that touch the ticks (since, until], united: for questions about the past.

        The clock is that of the newest row read, and a window before it can be asked about.
        """
        rows = self._rows(site)
        wanted = stored_rows(rows.live)
        if since is not None or until is not None:
            begin, end = MIN_TICK if since is None else since, MAX_TICK if until is None else until
            wanted = [row for row in wanted if row.touches(begin, end)]
            if not wanted:
                raise StoreError(f"site {site!r}: nothing is in the ticks ({begin}, {end}]; see history() for what is")
        pieces = list(rows.sketches(wanted).values())
        if (since, until) != (None, None) and pieces[0].config.model == "count":
            raise StoreError(f"site {site!r}: with model='count' rows have no common ticks; read it without a range")
        return unite_pieces(site, pieces)

    def compact(self, before_tick: int | None = None, span: int | None = None) -> CompactReport:
        """Join neighbouring segments of each site, all or those that end by `before_tick`; drop what is replaced.

        Segments that overlap stay as they are, so joining adds no error. A joined row covers `span` ticks at most, by
        default half a window: beyond a window it would forget its beginning, and with half of one any range up to the
        other half can still be `read`, wherever it ends. One commit; rows appended meanwhile stay.
        """
        return self._folder.commit(lambda table: compact(RowReader(table), before_tick, span))

    def vacuum(self, keep_hours: int = KEEP_HOURS, force: bool = False) -> list[str]:
        """Delete files that hold no rows any more, and those of writers that died; returns their names.

        Files that were in use within the last `keep_hours` stay: whoever opened the table since then can read on.
        Less than a day (READER_HOURS) needs `force=True`, and nobody may be reading or writing then.
        """
        if keep_hours < READER_HOURS and not force:
            raise StoreError(
                f"keep_hours: expected {READER_HOURS} or more, got {keep_hours}: someone may still be reading the "
                "files. Give force=True if nobody is"
            )
        with named(self.path):
            return self._folder.open().vacuum(keep_hours, dry_run=False, enforce_retention_duration=False, full=True)

    def forget(self, writer: str) -> None:
        """Delete the rows of a writer, such as a query that was renamed: under its new name it counts all again."""
        name = _quoted(check_writer(writer, 0, "")[0])

        def attempt(table: DeltaTable) -> None:
            files = TableFiles(table).all
            rows = group_size(sum(file.size for file in files), sum(file.rows or 0 for file in files))
            table.delete(f"writer = {name}", writer_properties=layout(rows))

        self._folder.commit(attempt)
        self._rejections.forget(f"writer = {name}")

    def _put_together(self) -> None:
        """Put the rows of small commits together if there are many; if another writer interferes, the next one does."""
        with named(self.path), suppress(CommitFailedError):
            cluster(self._folder.open())

    def _claim(self, table: DeltaTable, given: GivenRows) -> None:
        """Refuse sketches that do not go with the store's. The first ones decide what the store holds."""
        if given.config is None:
            return
        noted = table.metadata().configuration.get(PROPERTY)
        if noted is not None:
            stored = StoreConfig.parse(noted, self.path)
            different = stored.differences(given.config)
            if not different and (stored.items or not given.config.items):
                return
            if different and table.file_uris():
                raise StoreError(
                    f"rows: the sketches have {given.config.describe(different)}, but those in the store {self.path} "
                    f"have {stored.describe(different)}, and a store holds sketches of one config. Write these into "
                    "a store of their own; nothing was written"
                )
        once = CommitProperties(max_commit_retries=0)
        table.alter.set_table_properties(given.properties, raise_if_not_exists=False, commit_properties=once)

    def _refuse_known(self, table: DeltaTable, given: GivenRows) -> None:
        """Refuse segments that were appended before, be they joined with others meanwhile."""
        segments = [record for record in given.records if record["fingerprints"]]
        known = _known(table, segments) if segments else set()
        for record in segments:
            mark = record["site"], record["fingerprints"]
            if mark in known:
                raise StoreError(
                    f"rows: site {record['site']!r}: the segment from tick {record['first_tick']} to "
                    f"{record['last_tick']} was appended to {self.path} before, and would be counted twice. Leave it "
                    "out, or append with again=True (build --again) to count it again; nothing was written"
                )
            known.add(mark)

    def _rows(self, site: str | None = None) -> RowReader:
        with named(self.path):
            rows = RowReader(self._folder.open(), site)
        if site is not None and not len(rows.facts):
            raise StoreError(f"site: expected one that is in {self.path}, got {site!r}; sites() lists them")
        return rows


def _known(table: DeltaTable, segments: list[dict[str, Any]]) -> set[tuple[str, bytes]]:
    """Site and fingerprint of the segments without a writer that may be the same as some of these.

    Files whose sites or ticks are others are not opened.
    """
    sites = [record["site"] for record in segments]
    first = max(record["first_tick"] for record in segments)
    last = min(record["last_tick"] for record in segments)
    wanted = (
        f"site >= {_quoted(min(sites))} and site <= {_quoted(max(sites))} and writer is null and "
        f"(first_tick <= {first} and last_tick >= {last} or part = 'snapshot')"  # it may have replaced any segments
    )
    question = f"select site, fingerprints from store where {wanted}"  # noqa: S608, sites are quoted
    query = QueryBuilder().register("store", table).execute(question)
    rows = pa.table(query.read_all()).to_pylist()
    return {(row["site"], mark) for row in rows for mark in split(row["fingerprints"])}


def _quoted(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
