"""A Delta table with one schema: opened or created, written in commits that are tried again if others were faster.

docs/decisions/009-store.md says why it is Delta.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from ecmsketch.errors import StoreError
from ecmsketch.inputs.columns import is_integer

Done = TypeVar("Done")

_ATTEMPTS = 100
"""Attempts to commit, about half a minute of them. Appends wait for one another, so that what they checked holds."""

_LOG = {"delta.checkpointInterval": "20", "delta.logRetentionDuration": "interval 24 hours"}
"""Properties of new tables. Opening reads the newest checkpoint and the commits since. Each checkpoint deletes commits
that are older than a day: as long as whoever opened the table finds its files (READER_HOURS)."""


class Turn(NamedTuple):
    """What the commit of a writer's batch notes: the writer's generation, as a number from 1, and the transactions."""

    generation: int
    notes: list[Transaction]


class DeltaFolder:
    """Where a table is, or will be. `holds` is what it holds, for messages, `layout` that of a file of given rows."""

    def __init__(
        self,
        path: str,
        schema: Any,
        holds: str,
        storage_options: dict[str, str] | None = None,
        layout: Callable[[Any], WriterProperties] | None = None,
        *,
        later: Iterable[str] = (),
    ) -> None:
        """`later` are columns that tables of earlier versions lack; the next append adds them."""
        self.path, self.schema, self.holds, self._later = path, schema, holds, frozenset(later)
        self._options, self._layout = storage_options, layout or (lambda _: WriterProperties())

    def open(self, create: dict[str, str] | None = None) -> DeltaTable:
        """The newest version; an error if it is another table. If there is none, it is created with the properties
        `create`, unless they are None.
        """
        with named(self.path):
            try:
                table = DeltaTable(self.path, storage_options=self._options)
            except TableNotFoundError as error:
                if create is None:
                    raise StoreError(
                        f"{self.path}: expected a store of {self.holds}, got no Delta table ({_first_line(error)}); "
                        "append to it first"
                    ) from error
                table = self._create(create)
        found = {field.name: field.type for field in table.schema().fields}
        expected = {field.name: field.type for field in Schema.from_arrow(self.schema).fields}
        expected = {name: kind for name, kind in expected.items() if name in found or name not in self._later}
        if found != expected:
            wrong = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
            raise StoreError(
                f"{self.path}: expected a store of {self.holds}, got another Delta table: its columns "
                f"{', '.join(wrong)} are not those of a store; give a path of its own"
            )
        return table

    def exists(self) -> bool:
        """Whether there is a table."""
        with named(self.path):
            return bool(DeltaTable.is_deltatable(self.path, self._options))

    def commit(self, attempt: Callable[[DeltaTable], Done], create: dict[str, str] | None = None) -> Done:
        """Do something to the newest version, again if another writer was faster."""
        for tried in range(_ATTEMPTS):
            table = self.open(create)
            try:
                with named(self.path):
                    return attempt(table)
            except CommitFailedError as error:
                reason = _first_line(error)
            time.sleep(0.005 * secrets.randbelow(2 ** min(tried + 1, 7)))
        raise StoreError(
            f"{self.path}: expected to commit in {_ATTEMPTS} attempts, but other writers were faster each time "
            f"({reason}); try again with fewer of them"
        )

    def append(self, table: DeltaTable, data: Any, notes: Iterable[Transaction] = ()) -> None:
        """Commit rows as the version after the opened one, or fail.

        Without deltalake's own retries: whatever was checked in the opened version then still holds.
        """
        noted = CommitProperties(max_commit_retries=0, app_transactions=list(notes))
        write_deltalake(
            table, data, mode="append", schema_mode="merge" if self._later else None,
            writer_properties=self._layout(data), commit_properties=noted,
        )  # fmt: skip

    def append_once(
        self,
        writer: str,
        batch: int,
        generation: str,
        rows: Callable[[DeltaTable, Turn], Any],
        create: dict[str, str],
    ) -> bool:
        """Commit a batch unless its writer has written it or a later one; returns whether it was new.

        `rows` gives the rows to commit after an opened version, or raises an error. A batch without rows is not
        committed and not noted: done again it would have none again, or rows that are not there yet.
        """

        def attempt(table: DeltaTable) -> bool:
            turn = self.take_turn(table, writer, generation, batch)
            if turn is None:
                return False
            given = rows(table, turn)
            if len(given):
                self.append(table, given, turn.notes)
            return True

        return self.commit(attempt, create=create)

    def take_turn(self, table: DeltaTable, writer: str, generation: str, batch: int) -> Turn | None:
        """What to note with a batch, or None if the writer's generation has written this batch or a later one.

        A generation that has not written before takes over from all earlier ones of the writer. Those are then
        refused: two queries that write under one name would replace each other's rows for ever.
        """
        done = table.transaction_version(_key("batch", writer, generation))
        if done is not None and done >= batch:
            return None
        newest = table.transaction_version(_key("newest generation", writer)) or 0
        own = table.transaction_version(_key("generation", writer, generation))
        if own is not None and own < newest:
            raise StoreError(
                f"writer: generation {generation!r} of {writer!r} may not write into {self.path} any more: a newer "
                f"generation has taken over ({newest}, this one was {own}). One name is for one query at a time. Stop "
                "one of the two; if both are to run, start them with names of their own and a new store"
            )
        notes = [Transaction(_key("batch", writer, generation), batch)]
        if own is None:
            own = newest + 1
            notes.append(Transaction(_key("generation", writer, generation), own))
            notes.append(Transaction(_key("newest generation", writer), own))
        return Turn(own, notes)

    def _create(self, properties: dict[str, str]) -> DeltaTable:
        # Without retries: deltalake would write a second beginning on top of that of another writer.
        once = CommitProperties(max_commit_retries=0)
        try:
            DeltaTable.create(
                self.path, self.schema, configuration={**_LOG, **properties}, storage_options=self._options,
                commit_properties=once, raise_if_key_not_exists=False,
            )  # fmt: skip
        except DeltaError as error:
            if not DeltaTable.is_deltatable(self.path, self._options):
                raise StoreError(f"{self.path}: no store can be created here: {_first_line(error)}") from error
        return DeltaTable(self.path, storage_options=self._options)


def check_writer(writer: Any, batch: Any, generation: Any) -> tuple[str, int, str]:
    """Check a writer's name, a batch's number and a generation's name, and return them."""
    if not isinstance(writer, str) or not writer:
        raise StoreError(f"writer: expected a name, got {writer!r}")
    if not is_integer(batch) or not 0 <= int(batch) < 2**63:
        raise StoreError(f"batch: expected a number from 0 to 2**63 - 1, got {batch!r}")
    if not isinstance(generation, str):
        raise StoreError(f"generation: expected a name or '', got {generation!r}")
    return writer, int(batch), generation


def _key(*parts: str) -> str:
    """A transaction's identifier, which no other parts have."""
    return json.dumps(parts)


@contextmanager
def named(path: str) -> Iterator[None]:
    """Raise what is wrong with a table or its files as a StoreError; a conflict with another writer stays as it is."""
    try:
        yield
    except CommitFailedError:
        raise
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: it cannot be read or written: {_first_line(error)}") from error
    except BaseException as error:  # deltalake panics on paths with brackets, outside of all Exceptions
        if type(error).__name__ != "PanicException":
            raise
        raise StoreError(f"{path}: deltalake cannot use it: {_first_line(error)}; give another path") from error


def _first_line(error: BaseException) -> str:
    """What an error says first, and the reason where deltalake gives one: its last line, after a coloured arrow."""
    lines = str(error).strip().split("\n")
    _, arrow, reason = lines[-1].rpartition("\u21b3\x1b[0m")
    return f"{lines[0]}: {reason.strip()}" if arrow else lines[0]
