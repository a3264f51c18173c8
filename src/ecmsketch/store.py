"""Sketches in a Delta table: many write it, anyone reads it, no Spark needed (docs/decisions/009-store.md).

A row is a piece of one site's stream. A *segment* adds to what is known of the site. A *snapshot* replaces the site's
earlier snapshots, and those earlier segments that end no later than it does. What is not replaced is *live*, and only
that is read. Earlier means by `written`, the writer's clock; rows of one commit are a microsecond apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.errors import EcmError, FormatError, StoreError
from ecmsketch.loading import Sketch, load
from ecmsketch.ticks import MAX_TICK, MIN_TICK
from ecmsketch.uniting import Extent, clusters, unite

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from deltalake import ColumnProperties, DeltaTable, WriterProperties

    from ecmsketch.delta import DeltaFolder, check_writer, named
except ImportError as error:
    raise ImportError("ecmsketch.store needs deltalake and pyarrow; pip install 'ecmsketch[store]'") from error

SCHEMA = pa.schema(
    [
        ("site", pa.string()),
        ("kind", pa.string()),
        ("part", pa.string()),
        ("sketch", pa.binary()),
        ("first_tick", pa.int64()),
        ("last_tick", pa.int64()),
        ("events", pa.int64()),
        ("bytes", pa.int64()),
        ("writer", pa.string()),
        ("batch", pa.int64()),
        ("written", pa.timestamp("us", "UTC")),
    ]
)
PARTS = ("segment", "snapshot")
KEEP_HOURS = 168
"""A week: files that nothing refers to may still be read by someone, or be about to be committed."""

_FACTS = [name for name in SCHEMA.names if name != "sketch"]
_NEEDED = ("site", "kind", "part", "bytes", "written")
_CHUNK = 2**26
"""Bytes of sketches decoded at a time."""
# Few rows a group, so that one site is read without the others; a sketch's bytes neither repeat nor have an order.
_LAYOUT = WriterProperties(
    compression="ZSTD",
    max_row_group_size=64,
    column_properties={"sketch": ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")},
)


class SketchRow(NamedTuple):
    """A row to be written: a sketch, or the bytes of one, and whose it is."""

    site: str
    sketch: Sketch | bytes
    events: int | None = None
    part: str = "segment"


class StoredRow(NamedTuple):
    """What is known of a stored row without reading its sketch, and where it lies."""

    site: str
    kind: str
    part: str
    first_tick: int | None
    """None if the sketch is empty."""
    last_tick: int | None
    """The sketch's clock."""
    events: int | None
    bytes: int
    writer: str | None
    batch: int | None
    written: datetime
    file: str
    number: int
    """Of the row in its file, from 0."""

    @property
    def extent(self) -> Extent:
        """First and last tick; where there is none, as early as can be."""
        end = MIN_TICK if self.last_tick is None else self.last_tick
        return (end if self.first_tick is None else self.first_tick), end

    def touches(self, since: int, until: int) -> bool:
        """Whether arrivals of it may lie in (since, until]."""
        begin, end = self.extent
        return self.first_tick is not None and begin <= until and end > since

    def __str__(self) -> str:
        return f"site {self.site!r}, row {self.number} of {self.file}"


class CompactReport(NamedTuple):
    """What compacting did to the rows, and to the bytes of their sketches."""

    rows_before: int
    rows_after: int
    bytes_before: int
    bytes_after: int


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
    6 in [5.8, 6] with probability 0.95
    >>> store.compact().rows_after
    1
    """

    def __init__(self, path: str | Path, storage_options: dict[str, str] | None = None, create: bool = False) -> None:
        """`path` may be a URL (s3://...), `storage_options` are deltalake's. The first append creates the table, or
        `create=True` does so now.
        """
        self.path = str(path)
        self._folder = DeltaFolder(self.path, SCHEMA, "sketches", storage_options, _LAYOUT)
        if create:
            self._folder.open(create=True)

    def append(self, rows: Iterable[SketchRow]) -> None:
        """Write rows in one commit, all or none.

        If the storage fails in mid-commit they may be there or not; `append_once` can then be repeated safely.
        """
        data = _to_write(rows)
        if len(data):
            self._folder.commit(lambda table: self._folder.write(table, data, "append"), create=True)

    def append_once(self, rows: Iterable[SketchRow], writer: str, batch: int) -> bool:
        """Write rows unless `writer` has written this batch or a later one; returns whether they were written.

        The batch is noted in the commit of the rows, so neither is ever there without the other, also if two try at
        once or one is killed.
        """
        writer, batch = check_writer(writer, batch)
        return self._folder.append_once(_to_write(rows, writer, batch), writer, batch)

    def sites(self) -> list[str]:
        """The names of all sites, in order."""
        return sorted({row.site for row in self._rows().all})

    def latest(self, site: str | None = None) -> dict[str, Sketch]:
        """One sketch for each site, or for one: its live rows united.

        What has left the window is not read: this costs what windows hold, however long the history.
        """
        rows = self._rows(site)
        return {name: united for chunk in _chunks(rows.live()) for name, united in _latest(rows, chunk).items()}

    def history(self, site: str) -> list[StoredRow]:
        """All rows of a site in order of time, also replaced ones; no sketch is read."""
        return sorted(self._rows(site).all, key=lambda row: (row.extent, row.written))

    def read(self, site: str, since: int | None = None, until: int | None = None) -> Sketch:
        """A site's live rows that touch the ticks (since, until], united: for questions about the past.

        The clock is that of the newest row read, and a window before it can be asked about.
        """
        rows = self._rows(site)
        wanted = rows.live()[site]
        if since is not None or until is not None:
            begin, end = MIN_TICK if since is None else since, MAX_TICK if until is None else until
            wanted = [row for row in wanted if row.touches(begin, end)]
            if not wanted:
                raise StoreError(f"site {site!r}: nothing is in the ticks ({begin}, {end}]; see history() for what is")
        pieces = list(rows.sketches(wanted).values())
        if (since, until) != (None, None) and pieces[0].config.model == "count":
            raise StoreError(f"site {site!r}: with model='count' rows have no common ticks; read it without a range")
        return _unite(site, pieces)

    def compact(self, before_tick: int | None = None, span: int | None = None) -> CompactReport:
        """Join neighbouring segments of each site, all or those that end by `before_tick`; drop what is replaced.

        Segments that overlap stay as they are, so joining adds no error. A joined row covers `span` ticks at most, by
        default half a window: beyond a window it would forget its beginning, and with half of one any range up to the
        other half can still be `read`, wherever it ends. One commit; rows appended meanwhile stay. Holds the bytes of
        all live rows in memory.
        """
        return self._folder.commit(lambda table: _compact(self._folder, _Rows(table), before_tick, span))

    def vacuum(self, keep_hours: int = KEEP_HOURS, force: bool = False) -> list[str]:
        """Delete files that hold no rows any more, and those of writers that died; returns their names.

        Files younger than `keep_hours` stay. Less than a week needs `force=True`, and nobody at work meanwhile.
        """
        if keep_hours < KEEP_HOURS and not force:
            raise StoreError(
                f"keep_hours: expected {KEEP_HOURS} or more, got {keep_hours}: someone may still be reading the files; "
                "force=True if nobody is"
            )
        with named(self.path):
            return self._folder.open().vacuum(keep_hours, dry_run=False, enforce_retention_duration=False, full=True)

    def _rows(self, site: str | None = None) -> _Rows:
        with named(self.path):
            rows = _Rows(self._folder.open(), site)
        if site is not None and not rows.all:
            raise StoreError(f"site: expected one that is in {self.path}, got {site!r}; sites() lists them")
        return rows


class _Rows:
    """The rows of one version of the table, whatever is written meanwhile."""

    def __init__(self, table: DeltaTable, site: str | None = None) -> None:
        self.table = table
        self.all: list[StoredRow] = []
        self._files: dict[str, Any] = {}
        wanted = None if site is None else pc.field("site") == site
        for file in table.to_pyarrow_dataset().get_fragments(wanted):
            self._files[file.path] = file
            with named(file.path):
                facts = file.to_table(columns=_FACTS)
            facts = facts.append_column("number", pa.array(range(len(facts))))
            if site is not None:
                facts = facts.filter(pc.equal(facts["site"], site))
            self.all += [_stored(fact, file.path) for fact in facts.to_pylist()]

    def live(self) -> dict[str, list[StoredRow]]:
        """Each site's rows that count, in the order they were written."""
        sites = defaultdict(list)
        for row in sorted(self.all, key=lambda row: (row.written, row.file, row.number)):
            sites[row.site].append(row)
        return {site: _live(rows) for site, rows in sites.items()}

    def sketches(self, rows: Iterable[StoredRow]) -> dict[StoredRow, Sketch]:
        """The sketches of some rows, in their order."""
        wanted = list(rows)
        data = self.load(wanted)
        return {row: _decode(row, data[row]) for row in wanted}

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


def _live(rows: list[StoredRow]) -> list[StoredRow]:
    """Of one site's rows those that no snapshot replaced."""
    newest = max((row for row in rows if row.part == "snapshot"), key=lambda row: row.written, default=None)
    if newest is None:
        return rows
    return [
        row
        for row in rows
        if row is newest
        or (row.part == "segment" and (row.written >= newest.written or row.extent[1] > newest.extent[1]))
    ]


def _chunks(sites: dict[str, list[StoredRow]]) -> Iterator[dict[str, list[StoredRow]]]:
    """Some sites at a time: in order, as they lie in the files, and no more than memory has room for."""
    chunk: dict[str, list[StoredRow]] = {}
    size = 0
    for site in sorted(sites):
        chunk[site] = sites[site]
        size += sum(row.bytes for row in sites[site])
        if size > _CHUNK:
            yield chunk
            chunk, size = {}, 0
    yield chunk


def _latest(rows: _Rows, live: dict[str, list[StoredRow]]) -> dict[str, Sketch]:
    newest = {site: max(given, key=lambda row: row.extent[1]) for site, given in live.items()}
    sketches = rows.sketches(newest.values())
    others = (
        row
        for site, given in live.items()
        for row in given
        if row is not newest[site] and _in_window(row, newest[site], sketches[newest[site]].config)
    )
    sketches |= rows.sketches(others)
    return {site: _unite(site, [sketches[row] for row in given if row in sketches]) for site, given in live.items()}


def _in_window(row: StoredRow, newest: StoredRow, config: SketchConfig) -> bool:
    """Whether a row has anything that counts at the newest one's clock; with model="count" ticks do not tell."""
    return config.model == "count" or row.extent[1] > newest.extent[1] - config.window


def _compact(folder: DeltaFolder, rows: _Rows, before_tick: int | None, span: int | None) -> CompactReport:
    records: list[dict[str, Any]] = []
    for chunk in _chunks(rows.live()):
        data = rows.load(row for given in chunk.values() for row in given)
        for given in chunk.values():
            config = _decode(given[0], data[given[0]]).config
            records += [_joined(run, data) for run in _runs(given, config, before_tick, span)]
    if len(records) < len(rows.all):  # the files of this version are replaced: what was appended since stays
        folder.write(rows.table, pa.Table.from_pylist(records, SCHEMA), "overwrite")
    before, after = sum(row.bytes for row in rows.all), sum(record["bytes"] for record in records)
    return CompactReport(len(rows.all), len(records), before, after)


def _runs(
    live: list[StoredRow], config: SketchConfig, before_tick: int | None, span: int | None
) -> list[list[StoredRow]]:
    """One site's rows, those together that are to be joined."""

    def old(row: StoredRow) -> bool:
        return row.part == "segment" and (before_tick is None or row.extent[1] <= before_tick)

    if config.model == "count":  # its rows have no common ticks, and no range of the past can be asked for
        segments = [row for row in live if row.part == "segment" and before_tick is None]
        return [[row] for row in live if row not in segments] + ([segments] if segments else [])
    longest = config.window // 2 if span is None else min(span, config.window)
    runs: list[list[StoredRow]] = []
    growing = False
    for cluster in clusters(live, lambda row: row.extent):
        alone = len(cluster) == 1 and old(cluster[0])
        if alone and growing and cluster[0].extent[1] - runs[-1][0].extent[0] <= longest:
            runs[-1].append(cluster[0])
        else:
            runs += [[row] for row in cluster]
        growing = alone
    return runs


def _joined(run: list[StoredRow], data: dict[StoredRow, bytes]) -> dict[str, Any]:
    """One row for several, as a record to be written; one alone stays as it is."""
    if len(run) == 1:
        return {**{name: getattr(run[0], name) for name in _FACTS}, "sketch": data[run[0]]}
    united = _unite(run[0].site, [_decode(row, data[row]) for row in run])
    events = [row.events for row in run if row.events is not None]
    row = SketchRow(run[0].site, united, sum(events) if len(events) == len(run) else None)
    return _record(row, max(part.written for part in run), None, None)


def _unite(site: str, pieces: list[Sketch]) -> Sketch:
    try:
        return unite(pieces)
    except EcmError as error:
        raise StoreError(f"site {site!r}: its rows cannot be united: {error}") from error


def _decode(row: StoredRow, data: bytes) -> Sketch:
    try:
        return load(data)
    except FormatError as error:
        raise StoreError(f"{row}: {error}; delete the row, or restore an older version of the table") from error


def _to_write(rows: Iterable[SketchRow], writer: str | None = None, batch: int | None = None) -> Any:
    """Rows as an Arrow table; an error if any of them is wrong. By site, so that a site's lie together."""
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise StoreError(f"rows: expected SketchRows, got {type(rows).__name__}")
    now = datetime.now(UTC)
    records = []
    for i, row in enumerate(rows):
        try:
            records.append(_record(_checked(row), now + timedelta(microseconds=i), writer, batch))
        except (FormatError, StoreError) as error:
            raise StoreError(f"rows[{i}]: {error}; nothing was written") from error
    records.sort(key=lambda record: str(record["site"]))
    return pa.Table.from_pylist(records, SCHEMA)


def _checked(row: Any) -> SketchRow:
    if not isinstance(row, tuple) or not 2 <= len(row) <= len(SketchRow._fields):
        raise StoreError(f"expected a SketchRow, got {type(row).__name__}")
    given = SketchRow(*row)
    if not isinstance(given.site, str) or not given.site:
        raise StoreError(f"site: expected a name, got {given.site!r}")
    if given.part not in PARTS:
        raise StoreError(f"part: expected one of {PARTS}, got {given.part!r}")
    if given.events is not None and _count(given.events) is None:
        raise StoreError(f"events: expected a number from 0 to 2**63 - 1 or None, got {given.events!r}")
    return given


def _count(value: Any) -> int | None:
    """A number that a column holds, or None."""
    good = isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**63
    return int(value) if good else None


def _record(row: SketchRow, written: datetime, writer: str | None, batch: int | None) -> dict[str, Any]:
    if isinstance(row.sketch, Sketch):
        sketch, data = row.sketch, row.sketch.serialize()
    else:
        sketch, data = load(row.sketch), bytes(row.sketch)
    state = sketch._flushed()
    return {
        "site": row.site,
        "kind": type(sketch).__name__,
        "part": row.part,
        "sketch": data,
        "first_tick": state.origin,
        "last_tick": state.now,
        "events": _count(row.events),
        "bytes": len(data),
        "writer": writer,
        "batch": batch,
        "written": written,
    }
