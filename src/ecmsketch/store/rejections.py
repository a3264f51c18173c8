"""How many rows were not counted, and why: kept beside a store, in a small Delta table in its folder `_rejected`.

Sketches hold what was counted. What was rejected has no sketch, and often no site. So writers note it here, as numbers
to be added up: what one trigger, or one build, rejected or found late. A writer's batch is noted once, and only the
newest generation of a writer counts, as in the store itself. A store without the folder has nothing noted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from ecmsketch.store.delta import DeltaFolder, Turn, named
from ecmsketch.store.table_files import TableFiles

FOLDER = "_rejected"
"""Its name begins with _, so that neither our vacuum of the store nor Spark's deletes what is in it."""
_SCHEMA = pa.schema(
    [
        ("writer", pa.string()),
        ("generation", pa.int64()),
        ("what", pa.string()),
        ("reason", pa.string()),
        ("rows", pa.int64()),
    ]
)
_MOST = 16
"""Files from which on they are added up to one."""
_VACUUM_HOURS = 24
_REJECTED, _COUNTED, _DROPPED, _BEGUN = "rejected", "late_counted", "late_dropped", "begun"


class Rejected(NamedTuple):
    """Rows that were rejected, by reason, and late ones: counted in their place, and dropped."""

    reasons: Mapping[str, int] = {}
    late_counted: int = 0
    late_dropped: int = 0

    @property
    def rows(self) -> int:
        """How many rows were rejected in all. Late ones are not among them."""
        return sum(self.reasons.values())


class Rejections:
    """What is noted beside the store at a path."""

    def __init__(self, path: str, storage_options: dict[str, str] | None) -> None:
        self._folder = DeltaFolder(f"{path.rstrip('/')}/{FOLDER}", _SCHEMA, "numbers of rejected rows", storage_options)

    def add(self, more: Rejected) -> None:
        """Note what was rejected without a writer, as by a build."""
        if any(_numbers(more).values()):
            self._folder.commit(lambda table: self._folder.append(table, _rows(more, None, None)), create={})
            self._add_up()

    def add_once(self, more: Rejected, writer: str, batch: int, generation: str) -> None:
        """Note what a writer's batch rejected, unless that is noted.

        A new generation is noted also if it rejected nothing: what the one before has noted then counts no more.
        """
        if not any(_numbers(more).values()) and not self._folder.exists():
            return

        def rows(table: DeltaTable, turn: Turn) -> Any:
            begins = len(turn.notes) > 1
            return _rows(more, writer, turn.generation, begins=begins)

        self._folder.append_once(writer, batch, generation, rows, create={})
        self._add_up()

    def read(self) -> Rejected:
        """All that counts, added up."""
        if not self._folder.exists():
            return Rejected()
        with named(self._folder.path):
            found = _totals(_read(self._folder.open()))
        late: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        for (_, _, what, reason), rows in found.items():
            (reasons if what == _REJECTED else late)[reason if what == _REJECTED else what] += rows
        return Rejected(dict(sorted(reasons.items())), late[_COUNTED], late[_DROPPED])

    def forget(self, condition: str) -> None:
        """Delete what fulfils a condition in SQL."""
        if self._folder.exists():
            self._folder.commit(lambda table: table.delete(condition))

    def _add_up(self) -> None:
        """Replace many files by one; if another writer interferes, the next one does."""
        table = self._folder.open()
        with named(self._folder.path), suppress(CommitFailedError):
            if len(TableFiles(table).all) < _MOST:
                return
            names = _SCHEMA.names
            rows = [dict(zip(names, (*key, count), strict=True)) for key, count in _totals(_read(table)).items()]
            once = CommitProperties(max_commit_retries=0)
            write_deltalake(table, pa.Table.from_pylist(rows, _SCHEMA), mode="overwrite", commit_properties=once)
            table.vacuum(_VACUUM_HOURS, dry_run=False, enforce_retention_duration=False)


def _numbers(given: Rejected) -> dict[tuple[str, str], int]:
    late = {(_COUNTED, ""): given.late_counted, (_DROPPED, ""): given.late_dropped}
    return {(_REJECTED, reason): rows for reason, rows in given.reasons.items()} | late


def _rows(given: Rejected, writer: str | None, generation: int | None, begins: bool = False) -> Any:
    noted = {what: rows for what, rows in _numbers(given).items() if rows}
    if begins:
        noted[_BEGUN, ""] = 0
    common = {"writer": writer, "generation": generation}
    return pa.Table.from_pylist([{**common, "what": w, "reason": r, "rows": n} for (w, r), n in noted.items()], _SCHEMA)


def _read(table: DeltaTable) -> list[dict[str, Any]]:
    files = TableFiles(table)
    return [row for file in files.all for row in files.open(file.path).read().cast(_SCHEMA).to_pylist()]


def _totals(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """The numbers of each writer's newest generation, added up by what they count."""
    newest: dict[str | None, int] = {}
    for row in rows:
        newest[row["writer"]] = max(newest.get(row["writer"], 0), row["generation"] or 0)
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if (row["generation"] or 0) == newest[row["writer"]]:
            found[row["writer"], row["generation"], row["what"], row["reason"]] += row["rows"]
    return found
