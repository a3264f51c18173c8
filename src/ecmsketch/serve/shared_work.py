"""Results that many readers share: each is made once; those used longest ago are dropped when memory is short."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")

MAX_BYTES = 2**29
"""Bytes of results that are kept, half a gibibyte."""


class SharedWork:
    """Results by key. Whoever asks for a result that is being made waits for it; nobody makes it twice."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._done: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._doing: dict[Hashable, Future[Any]] = {}
        self.nbytes = 0
        """Bytes of the results that are kept."""
        self.made = 0
        """How many results were made so far."""

    def get(self, key: Hashable, make: Callable[[], Result], size: Callable[[Result], int]) -> Result:
        """The result for a key. An error of `make` is raised for all who wait for it, and is not kept."""
        with self._lock:
            if key in self._done:
                self._done.move_to_end(key)
                return self._done[key][0]  # type: ignore[no-any-return]
            doing = self._doing.get(key)
            if doing is None:
                mine = self._doing[key] = Future()
        if doing is not None:
            return doing.result()  # type: ignore[no-any-return]
        return self._make(key, mine, make, size)

    def find(self, key: Hashable) -> Any:
        """The result for a key if it was made already, else None."""
        with self._lock:
            if key not in self._done:
                return None
            self._done.move_to_end(key)
            return self._done[key][0]

    def known(self) -> list[Hashable]:
        """The keys of the results that are kept; the one used last comes last."""
        with self._lock:
            return list(self._done)

    def forget(self, unless: Callable[[Hashable], bool]) -> None:
        """Drop the results whose keys are not wanted any more."""
        with self._lock:
            for key in [key for key in self._done if not unless(key)]:
                self.nbytes -= self._done.pop(key)[1]

    def _make(
        self, key: Hashable, mine: Future[Any], make: Callable[[], Result], size: Callable[[Result], int]
    ) -> Result:
        try:
            result = make()
            nbytes = size(result)
        except BaseException as error:
            with self._lock:
                del self._doing[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._doing[key]
            self.made += 1
            self._done[key] = result, nbytes
            self.nbytes += nbytes
            while self.nbytes > self._max_bytes and len(self._done) > 1:
                self.nbytes -= self._done.popitem(last=False)[1][1]
        mine.set_result(result)
        return result
