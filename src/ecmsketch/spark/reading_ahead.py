"""Batches read by a thread of their own, so that Spark goes on writing them while a worker counts.

Spark stops writing when what fits between it and the worker is full. Kernels count without the interpreter's lock, so
meanwhile another thread can read.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

AHEAD_BYTES = 2**26
"""The most bytes of batches that are read and not yet taken; one batch may always wait."""


def read_ahead(batches: Iterator[Any], most: int = AHEAD_BYTES) -> Iterator[Any]:
    """The same batches in the same order; an error of the iterator comes behind those that were read before it."""
    waiting = _Waiting(most)
    threading.Thread(target=waiting.fill, args=(batches,), name="read-ahead", daemon=True).start()
    try:
        while (batch := waiting.take()) is not None:
            yield batch
    finally:
        waiting.stop()


class _Waiting:
    """Batches that were read and not yet taken."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._batches: deque[Any] = deque()
        self._changed = threading.Condition()
        self._ended = self._stopped = False
        self._error: BaseException | None = None

    def fill(self, batches: Iterator[Any]) -> None:
        """Read everything; waits while there is no room."""
        try:
            for batch in batches:
                if not self._put(batch):
                    return
        except BaseException as error:  # it belongs to whoever takes the batches
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def take(self) -> Any:
        """The next batch, or None after the last."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._ended)
            if self._batches:
                batch = self._batches.popleft()
                self._bytes -= batch.nbytes
                self._changed.notify_all()
                return batch
        if self._error is not None:
            raise self._error
        return None

    def stop(self) -> None:
        """Nobody takes any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _put(self, batch: Any) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._batches or self._bytes < self._most)
            if self._stopped:
                return False
            self._batches.append(batch)
            self._bytes += batch.nbytes
            self._changed.notify_all()
        return True
