"""LiveStore: a store followed in a thread, without Spark. Whatever happens to the store, this goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from deltalake.exceptions import TableNotFoundError

from ecmsketch.alerts import AlertStore
from ecmsketch.errors import EcmError, StoreError
from ecmsketch.serve.shared_work import SharedWork
from ecmsketch.serve.spare_memory import give_back
from ecmsketch.serve.store_view import StoreView
from ecmsketch.serve.version_rows import VersionRows
from ecmsketch.store import Rejected, SketchStore
from ecmsketch.store.delta import DeltaFolder
from ecmsketch.store.schema import SCHEMA
from ecmsketch.store.table_follower import TableFollower, Version, version_of

EVERY = 0.4
"""Seconds between looks at the store."""
REJECTED_EVERY = 1.0
"""Seconds between looks at how many rows were rejected."""


class LiveStore:
    """The newest version of a store that can be read, and what is wrong with the store if anything is.

    Nothing that is wrong with the store raises an error: `problem` says it in a sentence, and `view` stays what it was.
    """

    def __init__(
        self,
        path: str | Path,
        alerts: str | Path | None = None,
        *,
        storage_options: dict[str, str] | None = None,
        every: float = EVERY,
    ) -> None:
        """`alerts` is the table of alerts that monitors write. Nothing is read before `start` or `refresh`."""
        self.path = str(path)
        self._sites = SharedWork()
        self.read_errors = 0
        """How often the store or its alerts could not be read."""
        self._every = every
        self._follower = TableFollower(DeltaFolder(self.path, SCHEMA, "sketches", storage_options))
        self._alerts = None if alerts is None else AlertStore(alerts, storage_options)
        self._alerts_version: Version | None = None
        self._raised: tuple[dict[str, Any], ...] = ()
        self._rows: VersionRows | None = None
        self._view: StoreView | None = None
        self._problem: str | None = f"{self.path}: the store has not been read yet; try again in a second"
        self.alerts_problem: str | None = None
        """What is wrong with the table of alerts."""
        self.rejected_problem: str | None = None
        """Why it cannot be read how many rows were rejected."""
        self._store = SketchStore(self.path, storage_options)
        self._rejected, self._rejected_read = Rejected(), -REJECTED_EVERY
        self._reading = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def problem(self) -> str | None:
        """What is wrong with the store and what to do about it, as a sentence; None if all is well."""
        return self._problem

    def view(self) -> StoreView | None:
        """The newest version that could be read; None if there never was one."""
        return self._view

    def start(self) -> Self:
        """Read the store now, and then follow it in a thread until `close`."""
        self.refresh()
        self._thread = threading.Thread(target=self._follow, name="ecmsketch-live-store", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop following. The last view can still be asked."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Look at the store and its alerts once."""
        with self._reading:
            with self._noting("_problem"):
                self._read_sketches()
            with self._noting("alerts_problem"):
                self._read_alerts()
            with self._noting("rejected_problem"):
                self._read_rejected()
            view, news = self._view, (self._problem, self._raised, self._rejected)
            if view is not None and any(new is not old for new, old in zip(news, view.news, strict=True)):
                self._view = view.with_news(*news)

    def _follow(self) -> None:
        while not self._stopped.wait(self._every):
            self.refresh()

    @contextmanager
    def _noting(self, where: str) -> Iterator[None]:
        """Note the error of the block, or that there is none."""
        try:
            yield
        except Exception as error:  # files may have been damaged in any way; the thread must go on
            self.read_errors += 1
            setattr(self, where, self._sentence(error))
        else:
            setattr(self, where, None)

    def _sentence(self, error: Exception) -> str:
        if isinstance(error.__cause__, TableNotFoundError):
            return f"{self.path}: there is no store here yet; run `ecmsketch build` or `stream` to write one"
        if isinstance(error, EcmError):
            return str(error)
        return f"{self.path}: it cannot be read: {type(error).__name__}: {str(error).partition(chr(10))[0]}"

    def _read_sketches(self) -> None:
        table = self._follower.table()
        if self._rows is not None and self._rows.version == version_of(table):
            return
        rows = VersionRows(table, self.path, self._rows)
        view = StoreView.of(rows, datetime.now(UTC), self._sites)
        if self._view is not None:  # readers have the version before until this one answers as fast
            view.prepare(self._view)
        self._rows, self._view = rows, view
        give_back()

    def _read_rejected(self) -> None:
        """Rows may be rejected without a new version, so this is asked now and then."""
        if self._view is not None and time.monotonic() >= self._rejected_read + REJECTED_EVERY:
            self._rejected_read = time.monotonic()
            found = self._store.rejected()
            if found != self._rejected:
                self._rejected = found

    def _read_alerts(self) -> None:
        if self._alerts is None:
            return
        try:
            version = self._alerts.version()
        except StoreError as error:
            if not isinstance(error.__cause__, TableNotFoundError):
                raise
            version = None  # the first alert makes the table
        if version != self._alerts_version:
            self._raised = () if version is None else tuple(self._alerts.read())
            self._alerts_version = version
