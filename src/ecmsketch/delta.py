"""A Delta table with one schema: opened or created, written in commits that are tried again if others were faster.

docs/decisions/009-store.md says why it is Delta.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, TypeVar

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from ecmsketch.errors import StoreError

Done = TypeVar("Done")

_ATTEMPTS = 20


class DeltaFolder:
    """Where a table is, or will be. `holds` is what it holds, for messages."""

    def __init__(
        self,
        path: str,
        schema: Any,
        holds: str,
        storage_options: dict[str, str] | None = None,
        layout: WriterProperties | None = None,
    ) -> None:
        self.path, self.schema, self.holds = path, schema, holds
        self._options, self._layout = storage_options, layout or WriterProperties()

    def open(self, create: bool = False) -> DeltaTable:
        """The newest version; an error if it is another table."""
        with named(self.path):
            try:
                table = DeltaTable(self.path, storage_options=self._options)
            except TableNotFoundError as error:
                if not create:
                    raise StoreError(
                        f"{self.path}: expected a store of {self.holds}, got no Delta table ({_first_line(error)}); "
                        "append to it first"
                    ) from error
                table = self._create()
        found = {field.name: field.type for field in table.schema().fields}
        expected = {field.name: field.type for field in Schema.from_arrow(self.schema).fields}
        if found != expected:
            wrong = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
            raise StoreError(
                f"{self.path}: expected a store of {self.holds}, got another Delta table: its columns "
                f"{', '.join(wrong)} are not those of a store; give a path of its own"
            )
        return table

    def commit(self, attempt: Callable[[DeltaTable], Done], create: bool = False) -> Done:
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

    def write(self, table: DeltaTable, data: Any, mode: Any, transaction: Transaction | None = None) -> None:
        """Commit to a table as it was when opened: deltalake refuses what conflicts with later commits."""
        noted = CommitProperties(app_transactions=None if transaction is None else [transaction])
        write_deltalake(table, data, mode=mode, writer_properties=self._layout, commit_properties=noted)

    def append_once(self, data: Any, writer: str, batch: int) -> bool:
        """Append rows unless `writer` has written this batch or a later one; returns whether they were written.

        The batch is noted in the commit of the rows, so neither is ever there without the other.
        """

        def attempt(table: DeltaTable) -> bool:
            done = table.transaction_version(writer)
            if done is not None and done >= batch:
                return False
            self.write(table, data, "append", Transaction(writer, batch))
            return True

        return self.commit(attempt, create=True)

    def _create(self) -> DeltaTable:
        # Without retries: deltalake would write a second beginning on top of that of another writer.
        once = CommitProperties(max_commit_retries=0)
        try:
            DeltaTable.create(self.path, self.schema, storage_options=self._options, commit_properties=once)
        except DeltaError as error:
            if not DeltaTable.is_deltatable(self.path, self._options):
                raise StoreError(f"{self.path}: no store can be created here: {_first_line(error)}") from error
        return DeltaTable(self.path, storage_options=self._options)


def check_writer(writer: Any, batch: Any) -> tuple[str, int]:
    """The name and the number themselves, if they can be a writer's and a batch's."""
    if not isinstance(writer, str) or not writer:
        raise StoreError(f"writer: expected a name, got {writer!r}")
    if isinstance(batch, bool) or not isinstance(batch, Integral) or not 0 <= int(batch) < 2**63:
        raise StoreError(f"batch: expected a number from 0 to 2**63 - 1, got {batch!r}")
    return writer, int(batch)


@contextmanager
def named(path: str) -> Iterator[None]:
    """What is wrong with a table or its files, as a StoreError; a conflict with another writer stays one."""
    try:
        yield
    except CommitFailedError:
        raise
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: it cannot be read or written: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
