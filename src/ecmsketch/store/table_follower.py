"""Follows a Delta table: notices new versions cheaply, and also that it was deleted, damaged or made anew."""

from __future__ import annotations

import time

from deltalake import DeltaTable

from ecmsketch.store.delta import DeltaFolder, named

OPEN_EVERY = 2.0
"""Seconds after which the table is opened afresh. Looking for newer commits only takes a tenth of the time, but does
not notice that the table is gone or another one."""


class TableFollower:
    """The newest version of a table, again and again."""

    def __init__(self, folder: DeltaFolder, open_every: float = OPEN_EVERY) -> None:
        self._folder, self._open_every = folder, open_every
        self._table: DeltaTable | None = None
        self._opened = 0.0

    def table(self) -> DeltaTable:
        """The table at its newest version; a StoreError if there is none, or if it cannot be read."""
        table, self._table = self._table, None  # after an error it is opened afresh
        if table is None or time.monotonic() >= self._opened + self._open_every:
            table, self._opened = self._folder.open(), time.monotonic()
        else:
            with named(self._folder.path):
                table.update_incremental()
        self._table = table
        return table


Version = tuple[str, int]
"""The identity of a table and its version: a table that was made anew is another one."""


def version_of(table: DeltaTable) -> Version:
    """Which table this is, and in which version."""
    return str(table.metadata().id), int(table.version())
